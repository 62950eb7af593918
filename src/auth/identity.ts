import type { AccessList } from '../lib/access-list.ts'
import { accountExpired, failure, validationError } from '../lib/failure.ts'
import { gregorianNow } from '../lib/gregorian.ts'
import type { AccountRateLimits } from '../lib/packet-limits.ts'
import { type Author, systemScope } from '../storage/change-set.ts'
import { kind, type RecordOf, type Records } from '../storage/records.ts'
import type { Store } from '../storage/store.ts'
import { type ApiKeyRecord, everything, isUnlimited, type Scopes } from './api-keys.ts'

/** What every area may know of an account. The whole shape of `doc` is the accounts area's affair. */
export interface AccountDoc {
  name: string
  realm: string
  language?: string
  timezone?: string
  access_lists?: AccessList
  rate_limits?: AccountRateLimits
  [custom: string]: unknown
}

export interface AccountHidden {
  /** Ancestors, the master account first, the parent last. */
  tree: readonly string[]
  isReseller: boolean
  isSuperduper: boolean
  allowsNumberAdditions: boolean
  enabled: boolean
  /** Gregorian seconds after which no user can sign in. Absent: the account is not a trial. */
  trialExpires?: number | undefined
  /** Part of every token's identity signature: a new one ends the account's sessions. */
  signatureSecret: string
  /** Salts the derivation of the account's sign-in keys. Hex. */
  signInSalt: string
  /** The API key, encrypted with the server's key. */
  sealedApiKey: string
  /** The API key's SHA-256: what it is found by. */
  apiKeyHash: string
  /** Ended sessions: those that API keys opened before this Unix second, and those of the key with this mark. */
  endedKeySessions?: { before: number; mark: string }
  /** The value of the account's name claim: not its plain name when another account of that name came first. */
  nameClaim: string
}

export interface UserDoc {
  first_name: string
  last_name: string
  username?: string
  email?: string
  priv_level?: 'user' | 'admin'
  enabled?: boolean
  require_password_update?: boolean
  language?: string
  timezone?: string
  [custom: string]: unknown
}

export interface UserHidden {
  signatureSecret: string
  /** The values of the user's sign-in claims (see credentials.ts); empty when the user cannot sign in. */
  signInKeys: readonly string[]
  /** Gregorian seconds of the last password change. */
  passwordChanged?: number
  hasAvatar?: boolean
}

export const accountKind = kind<AccountDoc, AccountHidden>('account')
export const userKind = kind<UserDoc, UserHidden>('user')

export type AccountRecord = RecordOf<typeof accountKind>
export type UserRecord = RecordOf<typeof userKind>

/** Identifies the account's current API key in a token. */
export const keyMarkOf = ({ hidden: { apiKeyHash } }: AccountRecord) => apiKeyHash.slice(0, 16)

/** Users have no owner: that column says who is an admin, so that the admins of an account are an index read. */
export const adminsAmongUsers = 'admin'

// Records that belong to one user, carry the user's id and end with the user.
export const secondFactorKind = 'second_factor'
export const passwordResetKind = 'password_reset'
export const userPhotoKind = 'user_photo'

export type AuthMethod = 'cb_user_auth' | 'cb_api_auth' | 'cb_basic_auth'

/** A token for one thing: `own_password`, a new password of its user. */
export type TokenPurpose = 'own_password'

/** The session that created an impersonation session. */
export interface TokenOrigin {
  account_id: string
  owner_id?: string
  method: AuthMethod
  api_key_id?: string
  api_key_mark?: string
  identity_sig: string
  /** Identity of its token, by which it is revoked; absent for credentials without a token. */
  token_id?: string
  /** Unix seconds. */
  exp?: number
}

/** Claims of a token. Only tokens.ts writes and reads them. */
export interface TokenClaims {
  iss: string
  /** Unix seconds; absent when tokens do not expire. */
  exp?: number
  iat: number
  account_id: string
  owner_id?: string
  method: AuthMethod
  identity_sig: string
  original_account_id?: string
  original_owner_id?: string
  jti: string
  mfa_resp?: boolean
  /** The sessions that led to an impersonation session, oldest first: it ends with each of them. */
  origins?: readonly TokenOrigin[]
  /** The named API key that opened the session: it ends with the key, and may do what the key may. */
  api_key_id?: string
  /** The mark of the account's API key that opened the session. */
  api_key_mark?: string
  purpose?: TokenPurpose
  /** The scopes of the sign-in method and the user's record at sign-in, separated by spaces; absent: all. */
  scope?: string
}

/** Who calls: an account, and the user who signed in unless an API key did. */
export interface Actor {
  accountId: string
  account: AccountRecord
  user: UserRecord | undefined
  method: AuthMethod
  /** The named API key that was sent, or that opened the session. Absent with the account's one key. */
  key?: ApiKeyRecord
  /** The scopes of the sign-in method and the user's record; absent: all. A key has its own scopes. */
  scopes?: Scopes
  /** The account's API key opened the session and was replaced since: the session cannot read keys or renew. */
  hasReplacedKey?: true
  /** For an impersonation session: the callers who created it and the sessions before it. */
  impersonators?: readonly Pick<Actor, 'account' | 'user' | 'key'>[]
  /** Absent with Basic credentials and named API keys. */
  claims: TokenClaims | undefined
  /** The token as it was sent. Absent where there are no claims. */
  token: string | undefined
}

/** An API key carries the rights of an admin, except where a person is asked for. */
export const privLevelOf = (actor: Actor) => (actor.user ? (actor.user.doc.priv_level ?? 'user') : 'admin')

/** Whether the actor may do less than others of the account: because of scopes, a limited API key, or a replaced one. */
export const isLimited = ({ key, scopes, hasReplacedKey }: Actor) =>
  hasReplacedKey === true ||
  (key !== undefined && !isUnlimited(key)) ||
  (scopes !== undefined && !scopes.includes(everything))

export const isAccountAdmin = (actor: Actor) => actor.user?.doc.priv_level === 'admin'

/** Only admins and the API key of an account act on other accounts; its ordinary users do not. */
export const speaksForAccount = ({ user }: Pick<Actor, 'user'>) =>
  user === undefined || user.doc.priv_level === 'admin'

export const isSuperduper = (actor: Pick<Actor, 'account' | 'user'>) =>
  actor.account.hidden.isSuperduper && speaksForAccount(actor)

/** Whether the actor acts for an account above this one. */
export const isAbove = (actor: Pick<Actor, 'accountId' | 'user'>, account: AccountRecord) =>
  account.hidden.tree.includes(actor.accountId) && speaksForAccount(actor)

/** Whether `account` is the actor's own, or one below that the actor may deal with. */
export const isWithin = (actor: Pick<Actor, 'accountId' | 'user'>, account: AccountRecord) =>
  account.id === actor.accountId || isAbove(actor, account)

/** The claim that the very first account holds: a store has one master account. */
export const masterClaim = { scope: systemScope, name: 'master_account', value: 'master' }

/** Author of the master account at the first start. */
export const startAuthor: Author = { requestId: 'first-start' }

/** The nearest disabled one of an account and its parents, and when the first of their trials ends (Gregorian seconds). */
const serviceOf = async (records: Records, account: AccountRecord) => {
  let disabled: string | undefined
  let trialEnd = Infinity
  for (const id of [account.id, ...account.hidden.tree.toReversed()]) {
    const one = id === account.id ? account : await records.find(id, accountKind, id)
    if (one && !one.hidden.enabled) disabled ??= id
    trialEnd = Math.min(trialEnd, one?.hidden.trialExpires ?? Infinity)
  }
  return { disabled, trialEnd }
}

/** The account, or the nearest one above it, that is disabled: with it all accounts below are. */
export const disabledOf = async (records: Records, account: AccountRecord): Promise<string | undefined> =>
  (await serviceOf(records, account)).disabled

type StoreReader = Pick<Store, 'records' | 'clock'>

/** Whether users and API keys of an account may sign in. */
export const isInService = async ({ records, clock }: StoreReader, account: AccountRecord) => {
  const { disabled, trialEnd } = await serviceOf(records, account)
  return disabled === undefined && trialEnd > gregorianNow(clock)
}

/** Throws if the account or one above is disabled, or a trial has ended. Returns the end of the trial (Gregorian seconds). */
export const assertInService = async ({ records, clock }: StoreReader, account: AccountRecord) => {
  const { disabled: cause, trialEnd } = await serviceOf(records, account)
  if (cause !== undefined)
    throw failure(validationError, {
      problems: { account: { disabled: { message: 'account disabled', cause } } },
    })
  if (trialEnd <= gregorianNow(clock)) throw failure(accountExpired, { accountId: account.id, at: trialEnd })
  return trialEnd
}
