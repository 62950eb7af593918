import {
  type AccountRecord,
  type Actor,
  isAbove,
  isAccountAdmin,
  isSuperduper,
  isWithin,
  speaksForAccount,
} from './identity.ts'

/** Whose customer an account is: the id of the nearest reseller above it, else of the master account. */
export type ResellerOf = (account: AccountRecord) => Promise<string>

/**
 * Whether somebody sees what an account costs those above it: the account's reseller does, and whoever stands above
 * that one. The account's own members, and accounts between it and its reseller, see what it pays itself.
 */
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

const withToken = (name: string, allows: PlainPolicy['allows']): PlainPolicy => ({
  name,
  needsToken: true,
  allows,
})

const sees = (actor: Actor, account: AccountRecord | undefined) =>
  isSuperduper(actor) || (account !== undefined && isWithin(actor, account))

/** No credentials asked for; a bad token is ignored. */
export const anyone: PlainPolicy = { name: 'anyone', needsToken: false, allows: () => true }

/** Any valid token, whatever its account. */
export const anyToken = withToken('any token', () => true)

/** Anybody of the account in the path, or who speaks for one of its ancestors or a superduper account. */
export const accountMember = withToken('account or ancestor', sees)

/** As accountMember; somebody without credentials may, where the record in the path says so. */
export const accountMemberOrInvited: PlainPolicy = {
  name: 'account or ancestor, or anyone where the record allows it',
  needsToken: false,
  allows: sees,
}

/** As accountMember, and a user with `priv_level` admin (an API key of the account counts as one). */
export const accountAdmin = withToken(
  'admin of account or ancestor',
  (actor, account) => sees(actor, account) && speaksForAccount(actor),
)

/** As accountMember, and a person with `priv_level` admin: API keys do not do. */
export const accountAdminPerson = withToken(
  'admin user of account or ancestor',
  (actor, account) => sees(actor, account) && isAccountAdmin(actor),
)

/** An admin of the account or an ancestor, or the very user in the path. */
export const userOrAdmin = withToken(
  'the user itself, or an admin of account or ancestor',
  (actor, account, path) =>
    sees(actor, account) &&
    (isAccountAdmin(actor) || (actor.accountId === account?.id && actor.user?.id === path.user_id)),
)

/** As accountMember. Of ordinary users only the owner of the record may: the area checks that. */
export const ownerOrAdmin = withToken('admin of account or ancestor, or the owner of the record', sees)

/** Who speaks for a proper ancestor of the account in the path, or for a superduper account. */
export const ancestorOnly = withToken(
  'admin of an ancestor',
  (actor, account) => isSuperduper(actor) || (account !== undefined && isAbove(actor, account)),
)

/**
 * Who speaks for the account's own reseller, the nearest one above it, or a superduper account. A reseller further up deals with the
 * reseller below it, not with that one's customers.
 */
export const ownReseller: Policy = {
  name: 'the reseller of the account',
  needsToken: true,
  allows: async (actor, account, _path, resellerOf) => {
    if (isSuperduper(actor)) return true
    if (!account || !isAbove(actor, account)) return false
    return (await resellerOf(account)) === actor.accountId
  },
}

/** An admin (an API key counts as one) of a reseller that is the account or stands above it: who answers for the brand. */
export const resellerAdmin = withToken(
  'admin of a reseller: the account itself or above',
  (actor, account) =>
    speaksForAccount(actor) &&
    (isSuperduper(actor) ||
      (account !== undefined && actor.account.hidden.isReseller && isWithin(actor, account))),
)

/** An admin of the master account, or of one that it declared its equal. An API key counts as one. */
export const superduper = withToken('admin of a superduper account', isSuperduper)

/** As superduper, or an admin of an account above a reseller's: who may keep rates for the reseller's customers. */
export const rateKeeper = withToken(
  'admin of a superduper account, or above a reseller',
  (actor, account) => isSuperduper(actor) || (account?.hidden.isReseller === true && isAbove(actor, account)),
)

/** A user with `priv_level` admin, or an API key, of any account. */
export const anyAdmin = withToken('admin of any account', speaksForAccount)

/** A person with `priv_level` admin, of whatever account. */
export const anyAdminPerson = withToken('admin user of any account', isAccountAdmin)

/**
 * Who may act as a user: an admin user, or the API key, of a superduper account. Nobody acts as a user of the own
 * account, except the API key of the master account.
 */
export const impersonator = withToken('admin or API key of another, superduper account', (actor, account) => {
  if (!isSuperduper(actor)) return false
  const isKey = actor.method === 'cb_api_auth'
  if (account?.id !== actor.accountId) return isKey || isAccountAdmin(actor)
  return isKey && actor.account.hidden.tree.length === 0
})

/** The very user in the path, in a session of the own: nobody who acts as that user. */
export const userItself = withToken(
  'the user itself',
  (actor, account, path) =>
    actor.accountId === account?.id &&
    actor.user?.id === path.user_id &&
    actor.claims?.original_account_id === undefined,
)
