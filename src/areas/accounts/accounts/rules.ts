import { isDeepStrictEqual } from 'node:util'
import { type AccountDoc, type AccountRecord, type Actor, speaksForAccount } from '../../../auth/identity.ts'
import { adminCallFields, adminFieldProblems, reachFields } from '../../../auth/policies.ts'
import { accessListProblems } from '../../../lib/access-list.ts'
import type { Problems } from '../../../lib/failure.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import { accountLimitProblems } from '../../../lib/packet-limits.ts'
import { storedPart } from '../../../lib/record-shape.ts'
import { accountReadOnly } from './schema.ts'

type EdgeParts = Pick<AccountDoc, 'access_lists' | 'rate_limits'>

/** Rules of access lists and packet limits that the schema cannot express. */
export const edgeProblems = (
  { access_lists: lists, rate_limits: limits }: EdgeParts,
  before: EdgeParts | undefined,
): Problems => ({
  ...(lists && accessListProblems(lists, 'access_lists.')),
  // A stored invalid value does not block changes of other fields.
  ...(limits &&
    !isDeepStrictEqual(limits, before?.rate_limits) &&
    accountLimitProblems(limits, 'rate_limits.')),
})

/** Phones and other servers reach the account at its realm, so ordinary users leave it as it is. */
export const realmPowerProblems = (
  actor: Pick<Actor, 'user'>,
  // Without a realm in the request the account keeps the one that it has.
  { realm }: Json,
  before: AccountRecord | undefined,
): Problems =>
  speaksForAccount(actor) || realm === undefined || realm === before?.doc.realm
    ? {}
    : { realm: { forbidden: { message: 'Only an admin may change this', cause: 'realm' } } }

const adminFields = [
  ...adminCallFields,
  ...reachFields,
  'access_lists',
  'blacklists',
  'preflow',
  'rate_limits',
]

/** Restrictions of all calls of the account, where its calls go, and who may register. */
export const restrictionProblems = (actor: Actor, data: Json, before: AccountRecord | undefined): Problems =>
  before ? adminFieldProblems(actor, adminFields, data, before.doc) : {}

/** Letters, marks and digits of a name, in lower case and NFC. Stored as a claim: a new rule needs an upgrade. */
export const nameKey = (name: string) =>
  name
    .normalize('NFC')
    .toLowerCase()
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{N}]/gu, '')

export const isName = (name: string) => /[\p{L}\p{N}]/u.test(name)

/** The public half of an account's document: read-only values come from the server. */
export const publicHalf = (data: Json) =>
  storedPart<AccountDoc>(data, { computed: [...accountReadOnly, 'enabled', 'trial_expires'] })

const callers = ['internal', 'external', 'emergency'] as const

/** The three caller IDs of an account; missing names are empty. */
export const completeCallerId = (given: unknown): Json => {
  const known = isObject(given) ? given : {}
  const named = callers.map((caller) => [caller, { name: '', ...(isObject(known[caller]) && known[caller]) }])
  return { ...known, ...Object.fromEntries(named) }
}

/** The trial fields of a response; empty for accounts that are not trials. */
export const trialValues = (expires: number | undefined, now: number): Json =>
  expires === undefined
    ? {}
    : { is_trial_account: true, trial_expires: expires, trial_time_left: Math.max(0, expires - now) }

/** The ids of the accounts above, as far up as the caller may see: from the caller's own account downwards. */
export const visibleAncestors = (tree: readonly string[], callerId: string, seesAll: boolean) => {
  if (seesAll) return tree
  const own = tree.indexOf(callerId)
  return own < 0 ? [] : tree.slice(own)
}

export const isInSubtree = (account: AccountRecord, target: AccountRecord) =>
  target.id === account.id || target.hidden.tree.includes(account.id)

/** The tree of a descendant after its ancestor `moved` was moved below `newParent`. */
export const treeAfterMove = (tree: readonly string[], moved: string, newTree: readonly string[]) => [
  ...newTree,
  ...tree.slice(tree.indexOf(moved)),
]
