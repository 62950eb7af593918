import { type AccountRecord, type Actor, isSuperduper, privLevelOf } from '../../auth/identity.ts'
import { memberOf } from '../../lib/member.ts'
import type { Settings } from '../../settings/settings.ts'
import { type Author, ChangeSet } from '../../storage/change-set.ts'
import type { StoredRecord } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { isAllowedByRestrictions } from './rules.ts'
import type { TokenRestrictions as RestrictionDoc } from './schema.ts'
import { createRestrictionStore } from './store.ts'

export type RestrictionRecord = StoredRecord<RestrictionDoc, object>

/** What a request is judged by. */
interface Question {
  actor: Actor
  /** The account in the path. */
  account: AccountRecord | undefined
  endpoint: string
  endpointArguments: readonly string[]
  method: string
}

export type TokenRestrictions = ReturnType<typeof createTokenRestrictions>

/** What tokens of an account may be used for, by way of signing in and privilege level. */
export const createTokenRestrictions = ({ store, settings }: { store: Store; settings: Settings }) => {
  const documents = createRestrictionStore(store)

  /** The account's own rules replace the system's, which may stand under `restrictions` or by themselves. */
  const restrictionsOf = async (accountId: string): Promise<unknown> => {
    const own = await documents.find(accountId, accountId)
    if (own) return own.doc.restrictions
    const system = await settings.of('crossbar.token_restrictions')
    return memberOf(system, 'restrictions') ?? system
  }

  return {
    find: (accountId: string) => documents.find(accountId, accountId),
    get: (accountId: string) => documents.get(accountId, accountId),

    /** Asked for each request: it reads cached records only. */
    async isUnrestricted({ actor, account, endpoint, endpointArguments, method }: Question) {
      if (isSuperduper(actor)) return true
      return isAllowedByRestrictions({
        restrictions: await restrictionsOf(actor.accountId),
        authMethod: actor.method,
        privLevel: privLevelOf(actor),
        endpoint,
        endpointArguments,
        method,
        accountId: account?.id,
        authAccountId: actor.accountId,
        isDescendant: account?.hidden.tree.includes(actor.accountId) ?? false,
      })
    },

    async replace(
      author: Author,
      accountId: string,
      before: RestrictionRecord | undefined,
      data: RestrictionDoc & { id?: unknown },
    ) {
      const { id, ...doc } = data
      const content = { doc, hidden: {} }
      const set = new ChangeSet(author)
      const after = before
        ? documents.revise(before, content)
        : documents.draft(accountId, content, accountId)
      if (before) documents.replace(set, before, after)
      else documents.insert(set, after)
      await store.commit(set)
      return after
    },

    async remove(author: Author, record: RestrictionRecord) {
      const set = new ChangeSet(author)
      documents.remove(set, record)
      await store.commit(set)
      return record
    },
  }
}
