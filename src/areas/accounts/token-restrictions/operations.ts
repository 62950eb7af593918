import {
  type AccountRecord,
  type Actor,
  type AuthMethod,
  isSuperduper,
  privLevelOf,
} from '../../../auth/identity.ts'
import { memberOf } from '../../../lib/member.ts'
import { type AttachmentRecord, createAttachment } from '../../../storage/attachment.ts'
import type { Author } from '../../../storage/change-set.ts'
import { holderOf } from '../../../storage/records.ts'
import { committed } from '../../../storage/store.ts'
import { type Importer, importingInto } from '../../adoption.ts'
import type { DepsOf } from '../../area.ts'
import { isAllowedByRestrictions } from './rules.ts'
import { TokenRestrictions as RestrictionDoc } from './schema.ts'
import { tokenRestrictionSettings } from './settings.ts'

type RestrictionRecord = AttachmentRecord<RestrictionDoc>

interface RestrictionQuery {
  actor: Actor
  account: AccountRecord | undefined
  endpoint: string
  endpointArguments: readonly string[]
  method: string
}

/** Rules for user tokens also apply to Basic credentials, whose own rules only narrow them. */
const boundAs = (method: AuthMethod, restrictions: unknown): readonly AuthMethod[] => {
  if (method !== 'cb_basic_auth') return [method]
  const ownRules = memberOf(restrictions, method)
  return ownRules === undefined ? ['cb_user_auth'] : ['cb_user_auth', method]
}

export type TokenRestrictions = ReturnType<typeof createTokenRestrictions>

export const createTokenRestrictions = ({ store, settings }: DepsOf<'store' | 'settings'>) => {
  const restrictions = createAttachment<RestrictionDoc>(store, 'token_restrictions')
  const { collection } = restrictions

  /** The account's rules replace those of the system, which may be under `restrictions` or at the top level. */
  const restrictionsOf = async (accountId: string): Promise<unknown> => {
    const own = await collection.find(accountId, accountId)
    if (own) return own.doc.restrictions
    const system = await settings.of(tokenRestrictionSettings)
    return memberOf(system, 'restrictions') ?? system
  }

  return {
    adoption: {
      schema: RestrictionDoc,
      ...importingInto(collection, ({ doc }) => ({ doc: doc as RestrictionDoc, hidden: {} })),
    } satisfies Importer,

    find: (accountId: string) => collection.find(accountId, accountId),
    get: (accountId: string) => collection.get(accountId, accountId),

    /** Called for each request: it reads cached records only. */
    async isUnrestricted({ actor, account, endpoint, endpointArguments, method }: RestrictionQuery) {
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

    replace: (
      author: Author,
      account: AccountRecord,
      before: RestrictionRecord | undefined,
      { id, ...doc }: RestrictionDoc & { id?: unknown },
    ) => committed(store, author, (set) => restrictions.put(set, holderOf(account), before, doc)),

    remove: (author: Author, record: RestrictionRecord) =>
      committed(store, author, (set) => restrictions.remove(set, record)),
  }
}
