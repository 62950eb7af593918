import {
  type AccountRecord,
  type Actor,
  type AuthMethod,
  isSuperduper,
  privLevelOf,
} from '../../auth/identity.ts'
import { memberOf } from '../../lib/member.ts'
import type { Settings } from '../../settings/settings.ts'
import { type Author, ChangeSet } from '../../storage/change-set.ts'
import type { StoredRecord } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { isAllowedByRestrictions } from './rules.ts'
import type { TokenRestrictions as RestrictionDoc } from './schema.ts'
import { tokenRestrictionSettings } from './settings.ts'
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

/**
 * The ways to sign in whose rules hold. Basic credentials are the user's password: what binds the user's tokens binds
 * them too, and rules of their own only narrow that.
 */
const boundAs = (method: AuthMethod, restrictions: unknown): readonly AuthMethod[] => {
  if (method !== 'cb_basic_auth') return [method]
  const ownRules = memberOf(restrictions, method)
  return ownRules === undefined ? ['cb_user_auth'] : ['cb_user_auth', method]
}

export type TokenRestrictions = ReturnType<typeof createTokenRestrictions>

/** What tokens of an account may be used for, by way of signing in and privilege level. */
export const createTokenRestrictions = ({ store, settings }: { store: Store; settings: Settings }) => {
  const documents = createRestrictionStore(store)

  /** The account's own rules replace the system's, which may stand under `restrictions` or by themselves. */
  const restrictionsOf = async (accountId: string): Promise<unknown> => {
    const own = await documents.find(accountId, accountId)
    if (own) return own.doc.restrictions
    const system = await settings.of(tokenRestrictionSettings)
    return memberOf(system, 'restrictions') ?? system
  }

  return {
    find: (accountId: string) => documents.find(accountId, accountId),
    get: (accountId: string) => documents.get(accountId, accountId),

    /** Asked for each request: it reads cached records only. */
    async isUnrestricted({ actor, account, endpoint, endpointArguments, method }: Question) {
      if (isSuperduper(actor)) return true
      const restrictions = await restrictionsOf(actor.accountId)
      const request = {
        restrictions,
        privLevel: privLevelOf(actor),
        endpoint,
        endpointArguments,
        method,
        accountId: account?.id,
        authAccountId: actor.accountId,
        isDescendant: account?.hidden.tree.includes(actor.accountId) ?? false,
      }
      return boundAs(actor.method, restrictions).every((authMethod) =>
        isAllowedByRestrictions({ ...request, authMethod }),
      )
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
