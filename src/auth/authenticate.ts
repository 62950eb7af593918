import { failure, invalidCredentials, SignInRefusal, signInRefused } from '../lib/failure.ts'
import { evictOldest } from '../lib/forget-oldest.ts'
import { crossbarSettings } from '../settings/documents.ts'
import type { Settings } from '../settings/settings.ts'
import type { Records } from '../storage/records.ts'
import type { Store } from '../storage/store.ts'
import type { Scopes } from './api-keys.ts'
import { type DigestMethod, digestWanted, isDigest, isEmptyPassword } from './credentials.ts'
import type { PasswordHasher } from './deriving/deriver.ts'
import {
  type AccountHidden,
  type AccountRecord,
  type Actor,
  accountKind,
  assertInService,
  type UserRecord,
  userKind,
} from './identity.ts'
import { sha256Hex } from './keyring.ts'
import type { Tokens } from './tokens.ts'

/** An account, or a substitute for one that does not exist: the look-up finds no user there, in the same time. */
export interface KeyPlace {
  id: string
  hidden: Pick<AccountHidden, 'signInSalt'>
}

interface Guess {
  method: DigestMethod
  digest: string
  clientAddress: string
  /** The subject of wrong digests if the account does not exist: the name that the client sent. */
  called?: string
}

/**
 * The user with this digest. Throws 429 after too many wrong ones, and counts this one if it is wrong. Weaker layers
 * first: a key that gets a layer during the look-up is still found.
 */
export const keyHolder = async (
  { records, deriver }: { records: Records; deriver: PasswordHasher },
  { id: accountId, hidden: { signInSalt } }: KeyPlace,
  { method, digest, clientAddress, called = accountId }: Guess,
): Promise<UserRecord | undefined> => {
  await deriver.guesses.assertFew(called, clientAddress)
  const caller = deriver.visitor(accountId, clientAddress)
  let holderId: string | undefined
  for (const value of await deriver.signInKeys(caller, signInSalt, method, digest)) {
    const found = await records.claimant({ scope: accountId, name: 'sign_in', value })
    holderId ??= found?.id
  }
  const found = holderId === undefined ? undefined : await records.find(accountId, userKind, holderId)
  const user = found && !isEmptyPassword(method, digest, found.doc.username) ? found : undefined
  if (!user) await deriver.guesses.countWrong(called, clientAddress)
  return user
}

/** Credentials of a request. */
export type Credential =
  | { kind: 'token'; token: string }
  | { kind: 'basic'; value: string }
  | { kind: 'bearer'; value: string }

interface CredentialPlaces {
  headers: Readonly<Record<string, string | string[] | undefined>>
  envelope: Readonly<Record<string, unknown>>
  query: URLSearchParams
}

const nonEmptyText = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)

const fromAuthorization = (header: string): Credential => {
  const [scheme = '', value = ''] = header.trim().split(/\s+/, 2)
  if (/^basic$/i.test(scheme)) return { kind: 'basic', value }
  return /^bearer$/i.test(scheme) ? { kind: 'bearer', value } : { kind: 'token', token: header }
}

/** The first credential that is found counts, in this order. A browser that holds no token sends the text `undefined`. */
export const findCredential = ({ headers, envelope, query }: CredentialPlaces): Credential | undefined => {
  const token =
    nonEmptyText(headers['x-auth-token']) ?? nonEmptyText(envelope.auth_token) ?? query.get('auth_token')
  if (token) return { kind: 'token', token }
  const header =
    nonEmptyText(headers.authorization) ?? nonEmptyText(envelope.authorization) ?? query.get('authorization')
  return header ? fromAuthorization(header) : undefined
}

interface BasicEntry {
  account: AccountRecord
  user: UserRecord
  method: DigestMethod
}

const maxBasic = 5_000
const basicText = /^([0-9a-f]{32}):([0-9a-fA-F]{32}|[0-9a-fA-F]{40})$/

interface Visitor {
  clientAddress: string
  /** Charges tokens before a slow check, or refuses the request. The returned function refunds them. */
  pledge(): Promise<() => Promise<void>>
}

/** The 401 for credentials that are not a digest: `cause` is for the client, `reason` for the log. */
export const noDigest = (cause: string, reason: string) =>
  failure(invalidCredentials, { data: { message: 'invalid credentials', cause } }, new SignInRefusal(reason))

const misshapen = (method: DigestMethod) =>
  noDigest(
    `Basic credentials are ACCOUNT_ID:DIGEST, with ${digestWanted(method)}`,
    'malformed Basic credentials',
  )

// Base64 has many spellings of one text.
const basicTextOf = (value: string) => Buffer.from(value, 'base64').toString('latin1')

/** The digest that replaces a password, for the user named before it. */
const passwordIn = (text: string) => /^[^:]*:(.*)$/.exec(text)?.[1] ?? ''

export type Authenticate = ReturnType<typeof createAuthenticate>

interface Deps {
  store: Store
  tokens: Tokens
  deriver: PasswordHasher
  settings: Settings
  /** Named API keys, which are sent like tokens. */
  apiKeys: { isKey(text: string): boolean; actorOf(key: string): Promise<Actor> }
  /** Whether a password alone will do for this user. */
  admitsPassword(account: AccountRecord, user: UserRecord): Promise<boolean>
  /** Scopes of a user who signs in with a password; undefined: all. */
  scopesOf(account: AccountRecord, user: UserRecord): Promise<Scopes | undefined>
}

/** From a credential to the actor behind it, or 401. */
export const createAuthenticate = (deps: Deps) => {
  const { store, tokens, deriver, settings, apiKeys, admitsPassword, scopesOf } = deps
  const { records } = store
  // Verified Basic credentials by their hash: each check would cost a slow derivation otherwise.
  const known = new Map<string, BasicEntry>()

  const isCurrent = async ({ account, user, method }: BasicEntry) =>
    method === (await settings.of(crossbarSettings)).basic_auth_type &&
    account === (await records.find(account.id, accountKind, account.id)) &&
    user === (await records.find(account.id, userKind, user.id))

  const check = async (text: string, { clientAddress, pledge }: Visitor): Promise<BasicEntry> => {
    const { basic_auth_type: method } = await settings.of(crossbarSettings)
    const [, accountId = '', digest = ''] = basicText.exec(text) ?? []
    if (!isDigest(method, digest.toLowerCase())) throw misshapen(method)
    const giveBack = await pledge()
    const account = await records.find(accountId, accountKind, accountId)
    const user =
      account && (await keyHolder({ records, deriver }, account, { method, digest, clientAddress }))
    if (!user) throw signInRefused('wrong Basic credentials', accountId)
    await giveBack()
    deriver.acquaintances.note(account.id, clientAddress)
    return { account, user, method }
  }

  const entryOf = async (value: string, visitor: Visitor) => {
    const text = basicTextOf(value)
    const hash = sha256Hex(text)
    const before = known.get(hash)
    if (before && (await isCurrent(before))) return before
    known.delete(hash)
    const entry = await check(text, visitor)
    known.set(hash, entry)
    evictOldest(known, maxBasic)
    return entry
  }

  const basic = async (value: string, visitor: Visitor): Promise<Actor> => {
    const { account, user } = await entryOf(value, visitor)
    if (user.doc.enabled === false) throw signInRefused('the user is disabled', account.id)
    await assertInService(store, account)
    // Checked for each request: the account's settings may have changed since the password was checked.
    if (!(await admitsPassword(account, user)))
      throw signInRefused('a password alone is not enough', account.id)
    const scopes = await scopesOf(account, user)
    return {
      accountId: account.id,
      account,
      user,
      method: 'cb_basic_auth',
      ...(scopes ? { scopes } : {}),
      claims: undefined,
      token: undefined,
    }
  }

  const bearer = (value: string) => (apiKeys.isKey(value) ? apiKeys.actorOf(value) : tokens.verify(value))

  return async (credential: Credential, visitor: Visitor): Promise<Actor> => {
    if (credential.kind === 'token') return tokens.verify(credential.token)
    if (credential.kind === 'bearer') return bearer(credential.value)
    // Programs without another method send a named key as a password.
    const password = passwordIn(basicTextOf(credential.value))
    return apiKeys.isKey(password) ? apiKeys.actorOf(password) : basic(credential.value, visitor)
  }
}
