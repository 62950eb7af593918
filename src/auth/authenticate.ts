import { failure, invalidCredentials, SignInRefusal, signInRefused } from '../lib/failure.ts'
import { evictOldest } from '../lib/forget-oldest.ts'
import { isId } from '../lib/ids.ts'
import { crossbarSettings } from '../settings/documents.ts'
import type { Settings } from '../settings/settings.ts'
import type { Records } from '../storage/records.ts'
import type { Store } from '../storage/store.ts'
import type { Scopes } from './api-keys.ts'
import { type DigestMethod, digestWanted, isDigest, isEmptyPassword } from './credentials.ts'
import type { Asker, PasswordHasher } from './deriving/deriver.ts'
import {
  type AccountRecord,
  type Actor,
  accountKind,
  assertInService,
  type UserRecord,
  userKind,
} from './identity.ts'
import { sha256Hex } from './keyring.ts'
import type { Tokens } from './tokens.ts'

/** Where sign-in keys are looked for: an account, or nobody's place, where none is found in the same time. */
export interface KeyPlace {
  accountId: string
  /** Hex. */
  salt: string
}

/** The user with this digest. Weaker layers first: a key that gets a layer during the look-up is still found. */
export const keyHolder = async (
  { records, deriver }: { records: Records; deriver: PasswordHasher },
  asker: Asker,
  { accountId, salt }: KeyPlace,
  { method, digest }: { method: DigestMethod; digest: string },
): Promise<UserRecord | undefined> => {
  let holderId: string | undefined
  for (const value of await deriver.signInKeys(asker, salt, method, digest)) {
    const found = await records.claimant({ scope: accountId, name: 'sign_in', value })
    holderId ??= found?.id
  }
  const user = holderId === undefined ? undefined : await records.find(accountId, userKind, holderId)
  return user && !isEmptyPassword(method, digest, user.doc.username) ? user : undefined
}

/** What a request brought to prove who sends it. */
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
  /** Asks a price before a slow check, or refuses it; what it answers with gives the price back. */
  pledge(): Promise<() => Promise<void>>
}

const isFormed = (text: string, method: DigestMethod) =>
  isDigest(method, basicText.exec(text)?.[2]?.toLowerCase() ?? '')

const misshapen = (method: DigestMethod) => {
  const cause = `Basic credentials are ACCOUNT_ID:DIGEST, with ${digestWanted(method)}`
  const data = { message: 'invalid credentials', cause }
  return failure(invalidCredentials, { data }, new SignInRefusal('misshapen Basic credentials'))
}

// Base64 has many spellings of one text.
const basicTextOf = (value: string) => Buffer.from(value, 'base64').toString('latin1')

/** What stands for a password, whoever is named in front of it. */
const passwordIn = (text: string) => /^[^:]*:(.*)$/.exec(text)?.[1] ?? ''

/** The account that Basic credentials name, as far as they name one. */
const accountIdIn = (text: string) => basicText.exec(text)?.[1]

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
  /** What a user who brings one may do; undefined: everything. */
  scopesOf(account: AccountRecord, user: UserRecord): Promise<Scopes | undefined>
}

/** From a credential to the actor behind it, or 401. */
export const createAuthenticate = (tools: Deps) => {
  const { store, tokens, deriver, settings, apiKeys, admitsPassword, scopesOf } = tools
  // Verified Basic credentials by their hash: each check would cost a slow derivation otherwise.
  const known = new Map<string, BasicEntry>()

  const recordsOf = async (accountId: string, userId: string) => {
    const account = await store.records.find(accountId, accountKind, accountId)
    const user = await store.records.find(accountId, userKind, userId)
    return { account, user }
  }

  const isCurrent = async (entry: BasicEntry) => {
    const { account, user } = await recordsOf(entry.account.id, entry.user.id)
    const { basic_auth_type: method } = await settings.of(crossbarSettings)
    return account === entry.account && user === entry.user && method === entry.method
  }

  const lookUp = async (
    account: AccountRecord,
    proof: { method: DigestMethod; digest: string },
    clientAddress: string,
  ) => {
    const place = { accountId: account.id, salt: account.hidden.signInSalt }
    const asker = deriver.visitor(account.id, clientAddress)
    return keyHolder({ records: store.records, deriver }, asker, place, proof)
  }

  const check = async (
    method: DigestMethod,
    text: string,
    clientAddress: string,
  ): Promise<BasicEntry | undefined> => {
    const [, accountId = '', digest = ''] = basicText.exec(text) ?? []
    const account = isId(accountId) ? await store.records.find(accountId, accountKind, accountId) : undefined
    if (!account) return undefined
    await deriver.guesses.assertFew(account.id, clientAddress)
    const user = await lookUp(account, { method, digest }, clientAddress)
    if (!user) await deriver.guesses.countWrong(account.id, clientAddress)
    return user && { account, user, method }
  }

  const basic = async (value: string, { clientAddress, pledge }: Visitor): Promise<Actor> => {
    const text = basicTextOf(value)
    const hash = sha256Hex(text)
    let entry = known.get(hash)
    if (!entry || !(await isCurrent(entry))) {
      known.delete(hash)
      const { basic_auth_type: method } = await settings.of(crossbarSettings)
      if (!isFormed(text, method)) throw misshapen(method)
      const giveBack = await pledge()
      entry = await check(method, text, clientAddress)
      if (!entry) throw signInRefused('wrong Basic credentials', accountIdIn(text))
      await giveBack()
      deriver.acquaintances.note(entry.account.id, clientAddress)
      known.set(hash, entry)
      evictOldest(known, maxBasic)
    }
    const { account, user } = entry
    if (user.doc.enabled === false) throw signInRefused('the user is disabled', account.id)
    await assertInService(store, account)
    // Asked each time: the account's settings may have changed since the password was checked.
    if (!(await admitsPassword(account, user)))
      throw signInRefused('a password alone will not do', account.id)
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
    // Programs that know no other way send a named key as a password.
    const password = passwordIn(basicTextOf(credential.value))
    return apiKeys.isKey(password) ? apiKeys.actorOf(password) : basic(credential.value, visitor)
  }
}
