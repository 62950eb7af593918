import { isDeepStrictEqual } from 'node:util'
import { isInCidr, parseAddress, parseNetwork } from '../lib/cidr.ts'
import type { Problems } from '../lib/failure.ts'
import { isObject, type Json } from '../lib/json.ts'
import { memberOf } from '../lib/member.ts'
import {
  type AccountRecord,
  type Actor,
  isAbove,
  isAccountAdmin,
  isSuperduper,
  isWithin,
  speaksForAccount,
  type UserRecord,
} from './identity.ts'

/** Whose customer an account is: the id of the nearest reseller above it, else of the master account. */
export type ResellerOf = (account: AccountRecord) => Promise<string>

/** The reseller of the account, and accounts above that one, see its costs. The account and those between do not. */
export const seesCosts = async (actor: Actor, account: AccountRecord, resellerOf: ResellerOf) => {
  if (isSuperduper(actor)) return true
  const { tree } = account.hidden
  const place = tree.indexOf(actor.accountId)
  return place >= 0 && place <= tree.indexOf(await resellerOf(account))
}

type Path = Readonly<Record<string, string>>

/** Who may call a route. The account is the one in the path, when the path has one. */
export interface Policy {
  name: string
  /** False only for routes that answer without credentials. */
  needsToken: boolean
  allows(
    actor: Actor,
    account: AccountRecord | undefined,
    path: Path,
    resellerOf: ResellerOf,
  ): boolean | Promise<boolean>
}

/** A policy that needs to look nothing up. */
export interface PlainPolicy extends Policy {
  allows(actor: Actor, account: AccountRecord | undefined, path: Path): boolean
}

const tokenPolicy = (name: string, allows: PlainPolicy['allows']): PlainPolicy => ({
  name,
  needsToken: true,
  allows,
})

const sees = (actor: Actor, account: AccountRecord | undefined) =>
  isSuperduper(actor) || (account !== undefined && isWithin(actor, account))

/** No credentials asked for; a bad token is ignored. */
export const anyone: PlainPolicy = { name: 'anyone', needsToken: false, allows: () => true }

export const anyToken = tokenPolicy('any token', () => true)

/** Any user of the account in the path, or an actor of one of its ancestors or of a superduper account. */
export const accountMember = tokenPolicy('account or ancestor', sees)

/** As accountMember; also callers without credentials, if the record in the path allows it. */
export const accountMemberOrInvited: PlainPolicy = {
  name: 'account or ancestor, or anyone where the record allows it',
  needsToken: false,
  allows: sees,
}

/** As accountMember, and a user with `priv_level` admin (an API key of the account counts as one). */
export const accountAdmin = tokenPolicy(
  'admin of account or ancestor',
  (actor, account) => sees(actor, account) && speaksForAccount(actor),
)

/** As accountMember, and a person with `priv_level` admin: API keys do not do. */
export const accountAdminPerson = tokenPolicy(
  'admin user of account or ancestor',
  (actor, account) => sees(actor, account) && isAccountAdmin(actor),
)

export const userOrAdmin = tokenPolicy(
  'the user itself, or an admin of account or ancestor',
  (actor, account, path) =>
    sees(actor, account) &&
    (isAccountAdmin(actor) || (actor.accountId === account?.id && actor.user?.id === path.user_id)),
)

/** As accountMember. Ordinary users must own the record: the area checks that. */
export const ownerOrAdmin = tokenPolicy('admin of account or ancestor, or the owner of the record', sees)

/** Callers of a parent account of the account in the path, or of a superduper account. */
export const ancestorOnly = tokenPolicy(
  'admin of an ancestor',
  (actor, account) => isSuperduper(actor) || (account !== undefined && isAbove(actor, account)),
)

/** The nearest reseller above, or a superduper account. */
export const ownReseller: Policy = {
  name: 'the reseller of the account',
  needsToken: true,
  allows: async (actor, account, _path, resellerOf) => {
    if (isSuperduper(actor)) return true
    if (!account || !isAbove(actor, account)) return false
    return (await resellerOf(account)) === actor.accountId
  },
}

/**
 * An admin (an API key counts as one) of the reseller that is the account or is above it, and is responsible
 * for the brand.
 */
export const resellerAdmin = tokenPolicy(
  'admin of a reseller: the account itself or above',
  (actor, account) =>
    speaksForAccount(actor) &&
    (isSuperduper(actor) ||
      (account !== undefined && actor.account.hidden.isReseller && isWithin(actor, account))),
)

/** An admin of the master account, or of one that it declared its equal. An API key counts as one. */
export const superduper = tokenPolicy('admin of a superduper account', isSuperduper)

/** As superduper, or an admin of an account above a reseller's: who may keep rates for the reseller's customers. */
export const rateKeeper = tokenPolicy(
  'admin of a superduper account, or above a reseller',
  (actor, account) => isSuperduper(actor) || (account?.hidden.isReseller === true && isAbove(actor, account)),
)

/** A user with `priv_level` admin, or an API key, of any account. */
export const anyAdmin = tokenPolicy('admin of any account', speaksForAccount)

/** A person with `priv_level` admin, of whatever account. */
export const anyAdminPerson = tokenPolicy('admin user of any account', isAccountAdmin)

/** Admin users and API keys of superduper accounts. In the own account, only the API key of the master account. */
export const impersonator = tokenPolicy(
  'admin or API key of another, superduper account',
  (actor, account) => {
    if (!isSuperduper(actor)) return false
    const isKey = actor.method === 'cb_api_auth'
    if (account?.id !== actor.accountId) return isKey || isAccountAdmin(actor)
    return isKey && actor.account.hidden.tree.length === 0
  },
)

/** The user in the path, in their own session: not an impersonation session. */
export const userItself = tokenPolicy(
  'the user itself',
  (actor, account, path) =>
    actor.accountId === account?.id &&
    actor.user?.id === path.user_id &&
    actor.claims?.original_account_id === undefined,
)

// Accounts and users may allow certain proxies only: this checks the address of the connection, not its
// headers.

const proxiesIn = ({ allowed_proxy_ips: list }: Readonly<Record<string, unknown>>): readonly unknown[] =>
  Array.isArray(list) ? list : []

const isAmong = (list: readonly unknown[], peer: string) => {
  const address = parseAddress(peer)
  return list.some((text) => {
    const network = typeof text === 'string' ? parseNetwork(text) : undefined
    return address !== undefined && network !== undefined && isInCidr(address, network)
  })
}

const isAllowedProxy = (doc: Readonly<Record<string, unknown>>, peer: string) => {
  const list = proxiesIn(doc)
  return list.length === 0 || isAmong(list, peer)
}

/** Whether connections from an address may use credentials of an account and its user. Checked for each request. */
export const isThroughAllowedProxy = (
  { account, user }: { account: AccountRecord; user: UserRecord | undefined },
  peer: string,
) => isAllowedProxy(account.doc, peer) && (user === undefined || isAllowedProxy(user.doc, peer))

export const proxyRefusal = 'allowed_proxy_ips does not contain the address of this connection'

interface ProxyChange {
  actor: Actor
  before: AccountRecord | UserRecord | undefined
  /** Where the request's own connection comes from. */
  peer: string
}

const changeProblem = (list: readonly unknown[], { actor, before, peer }: ProxyChange) => {
  if (!speaksForAccount(actor)) return { forbidden: { message: 'Only an admin may change this' } }
  const isOwn = before?.id === actor.accountId || (actor.user !== undefined && before?.id === actor.user.id)
  if (!isOwn || list.length === 0 || isAmong(list, peer)) return undefined
  const message = `This request comes from ${peer}, which the list would lock out. Add it to the list`
  return { invalid: { message, value: peer } }
}

/** Items of a list that are neither addresses nor CIDRs. */
export const networkProblems = (field: string, list: readonly unknown[]): Problems => {
  const message = 'Must be an address or a CIDR, for example 192.0.2.0/24'
  const problems = list.flatMap((value, index) => {
    const isNetwork = typeof value === 'string' && parseNetwork(value)
    return isNetwork ? [] : [[`${field}.${index}`, { wrong_format: { message, format: 'cidr', value } }]]
  })
  return Object.fromEntries(problems)
}

/** Problems of the allowed proxies in a request. */
export const proxyProblems = (data: Readonly<Record<string, unknown>>, change: ProxyChange): Problems => {
  const list = proxiesIn(data)
  const problems = networkProblems('allowed_proxy_ips', list)
  if (isDeepStrictEqual(list, proxiesIn(change.before?.doc ?? {}))) return problems
  const refused = changeProblem(list, change)
  return refused ? { ...problems, allowed_proxy_ips: refused } : problems
}

/** Fields of accounts, users and devices that restrict or record calls, choose carriers, or name the caller to the outside. */
export const adminCallFields = [
  'call_limits',
  'call_recording',
  'call_restriction',
  'caller_id.asserted',
  'caller_id.emergency',
  'caller_id.external',
  'caller_id_options.format',
  'caller_id_options.type',
  'flags',
  'formatters',
] as const

/** Fields that route calls of a user. Users set them for themselves and their devices, admins for all. */
export const reachFields = [
  'call_failover',
  'call_forward',
  'dial_plan',
  'do_not_disturb',
  'metaflows',
] as const

/** Without these fields a record is like one with these values. */
const standards: Readonly<Json> = { enabled: true }

const isEmpty = (value: unknown) =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0)

/** A member that is an object says something by its key, as in `users: {[id]: {}}`. */
const isNothing = (value: unknown) =>
  typeof value === 'object' && value !== null ? Object.values(value).every(isEmpty) : isEmpty(value)

/** The value of a field, of restrictions those that deny. */
const guardedValue = (doc: object, field: string) => {
  const value = memberOf(doc, ...field.split('.')) ?? standards[field]
  if (field !== 'call_restriction' || !isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).filter(([, restriction]) => memberOf(restriction, 'action') !== 'inherit'),
  )
}

export const isFieldChanged = (field: string, data: object, before: object) => {
  const [after, earlier] = [guardedValue(data, field), guardedValue(before, field)]
  return !isDeepStrictEqual(after, earlier) && !(isNothing(after) && isNothing(earlier))
}

/** The refusal of a request in which an ordinary user sets, changes or removes one of these fields. */
export const adminFieldProblems = (
  actor: Pick<Actor, 'user'>,
  fields: readonly string[],
  data: object,
  before: object,
  message = 'Only an admin may change this',
): Problems =>
  speaksForAccount(actor)
    ? {}
    : Object.fromEntries(
        fields
          .filter((field) => isFieldChanged(field, data, before))
          // The sent value is not repeated: it may be a secret.
          .map((field) => [field, { forbidden: { message, cause: field } }]),
      )
