import { createHmac } from 'node:crypto'
import type { Clock } from '../lib/clock.ts'
import { Failure, isOutage } from '../lib/failure.ts'
import { evictOldest } from '../lib/forget-oldest.ts'
import { gregorianNow, unixOfGregorian } from '../lib/gregorian.ts'
import { randomHex } from '../lib/ids.ts'
import { authSettings } from '../settings/documents.ts'
import type { Settings } from '../settings/settings.ts'
import type { Author } from '../storage/change-set.ts'
import { createCollection } from '../storage/collection.ts'
import { committed, type Store } from '../storage/store.ts'
import {
  type ApiKeyRecord,
  apiKeyKind,
  bothAllow,
  everything,
  isKeyAlive,
  type Scopes,
  settingScopes,
} from './api-keys.ts'
import {
  type AccountRecord,
  type Actor,
  type AuthMethod,
  accountKind,
  assertInService,
  keyMarkOf,
  type TokenClaims,
  type TokenOrigin,
  type TokenPurpose,
  type UserRecord,
  userKind,
} from './identity.ts'
import { type Keyring, sha256Hex } from './keyring.ts'
import { impersonator } from './policies.ts'
import { createSigningKeys, issuer, type SystemRecord, tokenRefused } from './signing-keys.ts'

/** The records that a token names. */
interface Subjects {
  system: SystemRecord
  account: AccountRecord
  user: UserRecord | undefined
  key: ApiKeyRecord | undefined
}

interface Verified extends Subjects {
  claims: TokenClaims
  hash: string
}

interface CredentialSession<Caller = Actor> {
  actor: Caller
  /** Gregorian seconds: a trial ends then. */
  inServiceUntil: number
}

type Impersonator = CredentialSession<Pick<Actor, 'account' | 'user' | 'key'>>

export interface TokenSubject {
  account: AccountRecord
  user: UserRecord | undefined
  method: AuthMethod
  key?: ApiKeyRecord
  /** For an impersonation session: the sessions that led to it, oldest first. */
  origins?: readonly TokenOrigin[] | undefined
  multiFactor?: boolean
  /** 0 or less: the token does not expire. Undefined: the value of the system's settings. */
  lifetimeSeconds?: number
  /** The only purpose of the token; absent: all rights of its user. */
  purpose?: TokenPurpose
  scopes?: Scopes | undefined
}

const maxVerified = 20_000

const isAlive = (claims: TokenClaims | undefined, clock: Clock) =>
  claims?.exp === undefined || claims.exp * 1000 > clock.now()

/**
 * The actors behind credentials, by their texts. An entry is good while no record of the store changes, and until its
 * token, its key or a trial ends.
 */
export const createSessionCache = (
  { records, clock }: Pick<Store, 'records' | 'clock'>,
  maxSessions: number,
  load: (text: string) => Promise<CredentialSession>,
) => {
  const sessions = new Map<string, CredentialSession & { era: number }>()
  // A key's end may have come nearer since the token was made.
  const isOpen = ({ actor: { claims, key }, inServiceUntil }: CredentialSession) =>
    isAlive(claims, clock) &&
    (key === undefined || isKeyAlive(key, clock.now())) &&
    inServiceUntil > gregorianNow(clock)

  return async (text: string): Promise<Actor> => {
    const era = records.era()
    const known = sessions.get(text)
    if (known?.era === era && isOpen(known)) return known.actor
    const session = await load(text)
    sessions.set(text, { era, ...session })
    evictOldest(sessions, maxSessions)
    return session.actor
  }
}

/** The only accepted spelling: decoders also accept padding, another alphabet and unused bits. */
const canonical = (token: string) =>
  token
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('base64url'))
    .join('.')

/** The key of an ended token: a digest of its bytes. */
const tokenIdOf = (token: string) => sha256Hex(canonical(token)).slice(0, 32)

const identitySignature = (system: SystemRecord, account: AccountRecord, user: UserRecord | undefined) =>
  createHmac('sha256', system.hidden.signatureSecret)
    .update(
      `${account.hidden.signatureSecret}.${user?.hidden.signatureSecret ?? ''}.${account.id}.${user?.id ?? ''}`,
    )
    .digest('base64url')

const areSameSubjects = (a: Subjects, b: Subjects) =>
  a.system === b.system && a.account === b.account && a.user === b.user && a.key === b.key

/** A session expires no later than the named key that opened it and the sessions in `origins`. */
const expiryOf = (
  issued: number,
  lifetime: number,
  { key, origins = [] }: Pick<TokenSubject, 'key' | 'origins'>,
) => {
  const end = key?.doc.expires
  const ends = [
    ...(lifetime > 0 ? [issued + lifetime] : []),
    ...(end === undefined ? [] : [unixOfGregorian(end)]),
    ...origins.flatMap(({ exp }) => exp ?? []),
  ]
  return ends.length > 0 ? { exp: Math.min(...ends) } : {}
}

const isEndedWithKey = ({ iat, api_key_mark: mark }: TokenClaims, { hidden }: AccountRecord) => {
  const { endedKeySessions: ended } = hidden
  return ended !== undefined && (iat < ended.before || mark === ended.mark)
}

const isOfOneKey = ({ method, api_key_id: named }: Pick<TokenClaims, 'method' | 'api_key_id'>) =>
  method === 'cb_api_auth' && named === undefined

/** The impersonator, as claims and audit entries name it. */
const originalIn = ([first]: readonly TokenOrigin[]) => ({
  ...(first ? { original_account_id: first.account_id } : {}),
  ...(first?.owner_id === undefined ? {} : { original_owner_id: first.owner_id }),
})

/**
 * The current rights of a token: those at its creation and those of its user today. A token for one purpose has
 * only that.
 */
const scopesNow = ({ scope, purpose }: TokenClaims, user: UserRecord | undefined) =>
  purpose === undefined
    ? bothAllow(scope?.split(' ').filter(Boolean), settingScopes(user?.doc.scope_restrictions))
    : undefined

type TokenOwner = Pick<TokenClaims, 'account_id' | 'owner_id' | 'api_key_id'>
type SigningKeys = ReturnType<typeof createSigningKeys>

const createVerification = (store: Store, signing: SigningKeys, isRevoked: IsRevoked) => {
  const { records, clock } = store
  const verified = new Map<string, Verified>()

  const subjectsOf = async ({ account_id: id, owner_id: userId, api_key_id: keyId }: TokenOwner) => {
    const [system, account, user, key] = await Promise.all([
      signing.system(),
      records.find(id, accountKind, id),
      userId ? records.find(id, userKind, userId) : undefined,
      keyId ? records.find(id, apiKeyKind, keyId) : undefined,
    ])
    if (!account || (userId && !user) || (keyId && !key)) throw tokenRefused()
    return { system, account, user, key }
  }

  const assertUsable = ({ user, key }: Pick<Verified, 'user' | 'key'>) => {
    if (user?.doc.enabled === false || (key && !isKeyAlive(key, clock.now()))) throw tokenRefused()
  }

  /** The token's entry, its identity checked against the records as they are now. */
  const current = async (token: string): Promise<Verified> => {
    const known = verified.get(token)
    if (!known && canonical(token) !== token) throw tokenRefused()
    const claims = known?.claims ?? (await signing.decode(token))
    if (!isAlive(claims, clock)) throw tokenRefused()
    const now = await subjectsOf(claims)
    if (known && areSameSubjects(known, now)) return known
    if (claims.identity_sig !== identitySignature(now.system, now.account, now.user)) throw tokenRefused()
    const entry = { claims, hash: known?.hash ?? tokenIdOf(token), ...now }
    verified.set(token, entry)
    evictOldest(verified, maxVerified)
    return entry
  }

  /** Fails unless the session that created an impersonation is still valid and may still impersonate users of the account. */
  const assertOriginOpen = async (origin: TokenOrigin, acted: AccountRecord): Promise<Impersonator> => {
    const { system, account, user, key } = await subjectsOf(origin)
    if (origin.identity_sig !== identitySignature(system, account, user)) throw tokenRefused()
    if (origin.token_id !== undefined && (await isRevoked(account.id, origin.token_id))) throw tokenRefused()
    assertUsable({ user, key })
    if (isOfOneKey(origin) && origin.api_key_mark !== keyMarkOf(account)) throw tokenRefused()
    const scopes = settingScopes(user?.doc.scope_restrictions)
    const { method } = origin
    const actor = { accountId: account.id, account, user, method, claims: undefined, token: undefined }
    const isLimited = scopes !== undefined && !scopes.includes(everything)
    if (isLimited || !impersonator.allows(actor, acted, {})) throw tokenRefused()
    const trialEnd = await assertInService(store, account).catch((error) => {
      // The caller learns nothing about the account of its impersonator.
      throw error instanceof Failure && !isOutage(error) ? tokenRefused(error) : error
    })
    const inServiceUntil = Math.min(trialEnd, key?.doc.expires ?? Infinity)
    return { actor: { account, user, ...(key ? { key } : {}) }, inServiceUntil }
  }

  return async (token: string): Promise<CredentialSession> => {
    const { claims, hash, account, user, key } = await current(token)
    if (await isRevoked(account.id, hash)) throw tokenRefused()
    assertUsable({ user, key })
    const isReplaced = isOfOneKey(claims) && claims.api_key_mark !== keyMarkOf(account)
    if (isReplaced && isEndedWithKey(claims, account)) throw tokenRefused()
    const inServiceUntil = await assertInService(store, account)
    const impersonators: Impersonator[] = []
    for (const origin of claims.origins ?? []) impersonators.push(await assertOriginOpen(origin, account))
    const scopes = scopesNow(claims, user)
    return {
      actor: {
        accountId: account.id,
        account,
        user,
        method: claims.method,
        claims,
        token,
        ...(key ? { key } : {}),
        ...(scopes ? { scopes } : {}),
        ...(isReplaced ? { hasReplacedKey: true as const } : {}),
        ...(impersonators.length > 0 ? { impersonators: impersonators.map((one) => one.actor) } : {}),
      },
      inServiceUntil: Math.min(inServiceUntil, ...impersonators.map((one) => one.inServiceUntil)),
    }
  }
}

type IsRevoked = (accountId: string, tokenId: string) => Promise<boolean>

export type Tokens = ReturnType<typeof createTokens>

/** Signed tokens: made at sign-in, verified on each request, ended at once by log-out or a new signature secret. */
export const createTokens = (store: Store, keyring: Keyring, settings: Settings) => {
  const signing = createSigningKeys(store, keyring)
  const revocations = createCollection<{ exp?: number }, object>(store, {
    kind: 'revoked_token',
    sortKey: (doc) => String(doc.exp ?? Number.MAX_SAFE_INTEGER).padStart(16, '0'),
  })
  const isRevoked: IsRevoked = async (accountId, id) => (await revocations.find(accountId, id)) !== undefined
  const { clock } = store
  const unixNow = () => Math.floor(clock.now() / 1000)
  const usualLifetime = async () => (await settings.of(authSettings)).token_auth_expiry_s

  return {
    /** The actor behind a token, or 401; 400 when the account is disabled, 423 when its trial has ended. */
    verify: createSessionCache(store, maxVerified, createVerification(store, signing, isRevoked)),

    async issue({ account, user, method, key, origins, ...subject }: TokenSubject): Promise<string> {
      const { multiFactor, lifetimeSeconds, purpose, scopes } = subject
      const iat = unixNow()
      return signing.sign({
        iss: issuer,
        iat,
        jti: randomHex(12),
        account_id: account.id,
        method,
        identity_sig: identitySignature(await signing.system(), account, user),
        ...expiryOf(iat, lifetimeSeconds ?? (await usualLifetime()), { ...(key ? { key } : {}), origins }),
        ...(key ? { api_key_id: key.id } : {}),
        ...(method === 'cb_api_auth' && !key ? { api_key_mark: keyMarkOf(account) } : {}),
        ...(user ? { owner_id: user.id } : {}),
        ...(origins ? { ...originalIn(origins), origins } : {}),
        ...(multiFactor ? { mfa_resp: true } : {}),
        ...(purpose ? { purpose } : {}),
        ...(scopes ? { scope: scopes.join(' ') } : {}),
      })
    },

    /** The origins of an impersonation session that an actor creates. */
    async originsOf({ accountId, account, user, method, key, claims, token }: Actor): Promise<TokenOrigin[]> {
      // Credentials without a token have no end: such a session would be renewed forever.
      const { exp } = claims ?? expiryOf(unixNow(), await usualLifetime(), {})
      const own: TokenOrigin = {
        account_id: accountId,
        ...(user ? { owner_id: user.id } : {}),
        method,
        ...(key ? { api_key_id: key.id } : {}),
        ...(claims?.api_key_mark === undefined ? {} : { api_key_mark: claims.api_key_mark }),
        identity_sig: identitySignature(await signing.system(), account, user),
        ...(token === undefined ? {} : { token_id: tokenIdOf(token) }),
        ...(exp === undefined ? {} : { exp }),
      }
      return [...(claims?.origins ?? []), own]
    },

    /** Ends one token for good; deletes older revocations of the account that have expired. */
    async revoke(author: Author, { claims, token, accountId }: Actor) {
      if (!claims || !token) return
      const { exp } = claims
      const content = { doc: exp === undefined ? {} : { exp }, hidden: {} }
      await committed(store, author, async (set) => {
        revocations.insert(set, revocations.draft(accountId, content, tokenIdOf(token)))
        for (const record of await revocations.page({ accountId, limit: 20, descending: false }))
          if (record.doc.exp !== undefined && record.doc.exp * 1000 < clock.now())
            revocations.remove(set, record)
      })
    },

    signingKeys: signing.keys,
    resetSystemSecret: signing.resetSystemSecret,
    rotateSigningKey: signing.rotateSigningKey,
    prepare: signing.prepare,
  }
}
