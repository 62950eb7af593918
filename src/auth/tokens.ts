import { createHmac, createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../lib/clock.ts'
import { failure } from '../lib/failure.ts'
import { forgetOldest } from '../lib/forget-oldest.ts'
import { gregorianNow } from '../lib/gregorian.ts'
import { randomHex } from '../lib/ids.ts'
import type { Soon } from '../lib/soon.ts'
import type { Settings } from '../settings/settings.ts'
import { type Author, ChangeSet, systemScope } from '../storage/change-set.ts'
import { type CollectionDefinition, createCollection } from '../storage/collection.ts'
import type { StoredRecord } from '../storage/records.ts'
import type { Store } from '../storage/store.ts'
import { type ApiKeyRecord, apiKeyKind, isKeyAlive, keyEnd } from './api-keys.ts'
import {
  type AccountRecord,
  type Actor,
  type AuthMethod,
  accountKind,
  type TokenClaims,
  type TokenPurpose,
  type UserRecord,
  userKind,
} from './identity.ts'
import { type Keyring, sha256Hex } from './keyring.ts'
import { bothAllow, type Scopes, settingScopes } from './scopes.ts'
import { assertInService } from './standing.ts'

interface SystemHidden {
  /** Part of every token's identity signature: a new one ends all sessions. */
  signatureSecret: string
  currentKeyId: string
}

interface SigningKeyDoc {
  alg: 'RS256'
  public_key_pem: string
}

interface SigningKeyHidden {
  sealedPrivateKey: string
}

type SystemRecord = StoredRecord<object, SystemHidden>

interface Verified {
  claims: TokenClaims
  hash: string
  account: AccountRecord
  user: UserRecord | undefined
  key: ApiKeyRecord | undefined
  system: SystemRecord
}

/** Whom a token stood for when no record was newer than `era`. */
interface Session {
  era: number
  actor: Actor
  /** Gregorian seconds: a trial ends then. */
  inServiceUntil: number
}

export interface TokenSubject {
  account: AccountRecord
  user: UserRecord | undefined
  method: AuthMethod
  /** The named API key that opens the session. */
  key?: ApiKeyRecord
  /** Who acts as the user, when somebody does. */
  original?: { accountId: string; userId?: string }
  multiFactor?: boolean
  /** Not positive: the token does not expire. Undefined: as the system's settings say. */
  lifetimeSeconds?: number
  /** The one thing that the token is good for; absent: everything that its user may do. */
  purpose?: TokenPurpose
  /** What it is good for; undefined: everything. */
  scopes?: Scopes | undefined
}

const issuer = 'kazoo'
const systemId = 'token_identity'
const mostVerified = 20_000
const makeKeyPair = promisify(generateKeyPair)

const remember = <T>(memory: Map<string, T>, token: string, entry: T) => {
  memory.set(token, entry)
  forgetOldest(memory, mostVerified)
}

const systemDefinition: CollectionDefinition<object, SystemHidden> = {
  kind: 'token_identity',
  sortKey: (_doc, id) => id,
  row: () => ({}),
}

const keyDefinition: CollectionDefinition<SigningKeyDoc, SigningKeyHidden> = {
  kind: 'signing_key',
  sortKey: (_doc, id) => id,
  row: () => ({}),
}

const revocationDefinition: CollectionDefinition<{ exp?: number }, object> = {
  kind: 'revoked_token',
  sortKey: (doc) => String(doc.exp ?? Number.MAX_SAFE_INTEGER).padStart(16, '0'),
  row: () => ({}),
}

const refused = (reason?: unknown) => failure('invalid_credentials', {}, reason)

/**
 * The one spelling of a token: what its parts decode to, encoded again. Decoders also take padding, the other alphabet
 * and unused bits that are set, so that the same bytes have many spellings; only this one is taken.
 */
const canonical = (token: string) =>
  token
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('base64url'))
    .join('.')

/** What a token is ended by: a digest of its bytes. */
const identityOf = (token: string) => sha256Hex(canonical(token)).slice(0, 32)

const signatureOf = (system: SystemRecord, account: AccountRecord, user: UserRecord | undefined) =>
  createHmac('sha256', system.hidden.signatureSecret)
    .update(
      `${account.hidden.signatureSecret}.${user?.hidden.signatureSecret ?? ''}.${account.id}.${user?.id ?? ''}`,
    )
    .digest('base64url')

type Subjects = Pick<Verified, 'system' | 'account' | 'user' | 'key'>

const isSame = (a: Subjects, b: Subjects) =>
  a.system === b.system && a.account === b.account && a.user === b.user && a.key === b.key

/** A session that a named key opens does not outlive it. */
const expiryOf = (issued: number, lifetime: number, key: ApiKeyRecord | undefined) => {
  const end = key && keyEnd(key)
  const ends = [lifetime > 0 ? [issued + lifetime] : [], end === undefined ? [] : [end / 1000]].flat()
  return ends.length > 0 ? { exp: Math.min(...ends) } : {}
}

/** What a token allows now: what it was made for, and what its user may do today. What is for one thing is bound by that. */
const scopesNow = ({ scope, purpose }: TokenClaims, user: UserRecord | undefined) =>
  purpose === undefined
    ? bothAllow(scope?.split(' ').filter(Boolean), settingScopes(user?.doc.scope_restrictions))
    : undefined

export type Tokens = ReturnType<typeof createTokens>

/** Signed tokens: made at sign-in, verified on each request, ended at once by log-out or a new signature secret. */
export const createTokens = (store: Store, keyring: Keyring, settings: Settings, clock: Clock) => {
  const systems = createCollection(store, systemDefinition)
  const keys = createCollection(store, keyDefinition)
  const revocations = createCollection(store, revocationDefinition)
  const verified = new Map<string, Verified>()
  const sessions = new Map<string, Session>()
  const keyObjects = new WeakMap<object, KeyObject>()

  const system = async () => {
    const record = await systems.find(systemScope, systemId)
    if (!record) throw new Error('the token identity is missing: the store was not prepared')
    return record
  }

  const draftKey = async () => {
    const pair = await makeKeyPair('rsa', { modulusLength: 2048 })
    const id = randomHex(16)
    const pem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    return keys.draft(
      systemScope,
      {
        doc: {
          alg: 'RS256',
          public_key_pem: pair.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
        },
        hidden: { sealedPrivateKey: keyring.seal(pem, `signing_key/${id}`) },
      },
      id,
    )
  }

  const publicKey = (record: StoredRecord<SigningKeyDoc, SigningKeyHidden>) => {
    const known = keyObjects.get(record) ?? createPublicKey(record.doc.public_key_pem)
    keyObjects.set(record, known)
    return known
  }

  const checkSignature = async (token: string) => {
    const { kid } = decodeProtectedHeader(token)
    const key = kid && (await keys.find(systemScope, kid))
    if (!key) throw refused()
    const { payload } = await jwtVerify<TokenClaims>(token, publicKey(key), {
      issuer,
      algorithms: ['RS256'],
      currentDate: new Date(clock.now()),
    })
    return payload
  }

  const decode = async (token: string) => {
    if (canonical(token) !== token) throw refused()
    try {
      return await checkSignature(token)
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) throw refused(error)
      throw error
    }
  }

  const subjects = async (claims: TokenClaims) => {
    const [identity, account, user, key] = await Promise.all([
      system(),
      store.records.find(claims.account_id, accountKind, claims.account_id),
      claims.owner_id ? store.records.find(claims.account_id, userKind, claims.owner_id) : undefined,
      claims.api_key_id ? store.records.find(claims.account_id, apiKeyKind, claims.api_key_id) : undefined,
    ])
    if (!account || (claims.owner_id && !user) || (claims.api_key_id && !key)) throw refused()
    return { system: identity, account, user, key }
  }

  const isAlive = (claims: TokenClaims | undefined) =>
    claims?.exp === undefined || claims.exp * 1000 > clock.now()

  // A key's end may have come nearer since the token was made.
  const isOpen = ({ actor: { claims, key }, inServiceUntil }: Session) =>
    isAlive(claims) &&
    (key === undefined || isKeyAlive(key, clock.now())) &&
    inServiceUntil > gregorianNow(clock)

  /** The token's entry, its identity checked against the records as they are now. */
  const current = async (token: string): Promise<Verified> => {
    const known = verified.get(token)
    const claims = known?.claims ?? (await decode(token))
    if (!isAlive(claims)) throw refused()
    const now = await subjects(claims)
    if (known && isSame(known, now)) return known
    if (claims.identity_sig !== signatureOf(now.system, now.account, now.user)) throw refused()
    const entry = { claims, hash: known?.hash ?? identityOf(token), ...now }
    remember(verified, token, entry)
    return entry
  }

  const judge = async (token: string): Promise<Omit<Session, 'era'>> => {
    const { claims, hash, account, user, key } = await current(token)
    if (await revocations.find(account.id, hash)) throw refused()
    if (user?.doc.enabled === false) throw refused()
    if (key && !isKeyAlive(key, clock.now())) throw refused()
    const inServiceUntil = await assertInService(store, account)
    const actor = { accountId: account.id, account, user, method: claims.method, claims, token }
    const scopes = scopesNow(claims, user)
    return { actor: { ...actor, ...(key ? { key } : {}), ...(scopes ? { scopes } : {}) }, inServiceUntil }
  }

  const judgeAnew = async (token: string, era: number) => {
    const judged = await judge(token)
    remember(sessions, token, { era, ...judged })
    return judged.actor
  }

  return {
    /** The actor behind a token, or 401; 400 when the account is disabled, 423 when its trial has ended. */
    verify(token: string): Soon<Actor> {
      const era = store.records.era()
      const session = sessions.get(token)
      return session?.era === era && isOpen(session) ? session.actor : judgeAnew(token, era)
    },

    async issue({
      account,
      user,
      method,
      key: apiKey,
      original,
      multiFactor,
      lifetimeSeconds,
      purpose,
      scopes,
    }: TokenSubject): Promise<string> {
      const identity = await system()
      const key = await keys.get(systemScope, identity.hidden.currentKeyId)
      const { token_auth_expiry_s: usual } = await settings.of('crossbar.auth')
      const lifetime = lifetimeSeconds ?? usual
      const issued = Math.floor(clock.now() / 1000)
      const claims: TokenClaims = {
        iss: issuer,
        iat: issued,
        jti: randomHex(12),
        account_id: account.id,
        method,
        identity_sig: signatureOf(identity, account, user),
        ...expiryOf(issued, lifetime, apiKey),
        ...(apiKey ? { api_key_id: apiKey.id } : {}),
        ...(user ? { owner_id: user.id } : {}),
        ...(original ? { original_account_id: original.accountId } : {}),
        ...(original?.userId ? { original_owner_id: original.userId } : {}),
        ...(multiFactor ? { mfa_resp: true } : {}),
        ...(purpose ? { purpose } : {}),
        ...(scopes ? { scope: scopes.join(' ') } : {}),
      }
      const pem = keyring.open(key.hidden.sealedPrivateKey, `signing_key/${key.id}`)
      return new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: key.id })
        .sign(createPrivateKey(pem))
    },

    /** Ends one token for good; forgets older revocations of the account that have run out by themselves. */
    async revoke(author: Author, { claims, token, accountId }: Actor) {
      if (!claims || !token) return
      const set = new ChangeSet(author)
      const hash = identityOf(token)
      const exp = claims.exp
      revocations.insert(
        set,
        revocations.draft(accountId, { doc: exp === undefined ? {} : { exp }, hidden: {} }, hash),
      )
      const past = await revocations.page({ accountId, limit: 20, descending: false })
      for (const record of past) {
        if (record.doc.exp !== undefined && record.doc.exp * 1000 < clock.now())
          revocations.remove(set, record)
      }
      await store.commit(set)
    },

    /** Ends all sessions of the whole system. */
    async resetSystemSecret(author: Author) {
      const record = await system()
      const set = new ChangeSet(author)
      systems.replace(
        set,
        record,
        systems.revise(record, { hidden: { ...record.hidden, signatureSecret: randomHex(32) } }),
      )
      await store.commit(set)
    },

    /** A new key pair signs from now on; the old one still verifies what it signed. */
    async rotateSigningKey(author: Author) {
      const record = await system()
      const key = await draftKey()
      const set = new ChangeSet(author)
      keys.insert(set, key)
      systems.replace(
        set,
        record,
        systems.revise(record, { hidden: { ...record.hidden, currentKeyId: key.id } }),
      )
      await store.commit(set)
      return key
    },

    signingKeys: keys,

    /** Makes the first signing key and secret of a new store. Harmless when another process does the same. */
    async prepare(author: Author) {
      if (await systems.find(systemScope, systemId)) return
      const key = await draftKey()
      const set = new ChangeSet(author)
      keys.insert(set, key)
      const hidden = { signatureSecret: randomHex(32), currentKeyId: key.id }
      systems.insert(set, systems.draft(systemScope, { doc: {}, hidden }, systemId))
      await store.commit(set).catch(async (error) => {
        await store.fence()
        if (!(await systems.find(systemScope, systemId))) throw error
      })
    },
  }
}
