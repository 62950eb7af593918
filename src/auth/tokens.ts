import { createHmac, createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../lib/clock.ts'
import { Failure, failure, invalidCredentials, isOutage } from '../lib/failure.ts'
import { evictOldest } from '../lib/forget-oldest.ts'
import { gregorianNow, gregorianOfUnix } from '../lib/gregorian.ts'
import { randomHex } from '../lib/ids.ts'
import { authSettings } from '../settings/documents.ts'
import type { Settings } from '../settings/settings.ts'
import { type Author, ChangeSet, systemScope } from '../storage/change-set.ts'
import { type CollectionDefinition, createCollection } from '../storage/collection.ts'
import type { StoredRecord } from '../storage/records.ts'
import type { Store } from '../storage/store.ts'
import {
  type ApiKeyRecord,
  apiKeyKind,
  bothAllow,
  everything,
  isKeyAlive,
  keyEnd,
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

/** An impersonator whose session is still valid. */
interface Impersonator {
  actor: Pick<Actor, 'account' | 'user' | 'key'>
  /** Gregorian seconds. */
  until: number
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
  /** Of an impersonation session: the sessions that led to it, oldest first. */
  origins?: readonly TokenOrigin[] | undefined
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
const maxVerified = 20_000
const makeKeyPair = promisify(generateKeyPair)

const remember = <T>(memory: Map<string, T>, token: string, entry: T) => {
  memory.set(token, entry)
  evictOldest(memory, maxVerified)
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

const refused = (reason?: unknown) => failure(invalidCredentials, {}, reason)

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

/** A session expires no later than the named key that opened it and the sessions in `origins`. */
const expiryOf = (
  issued: number,
  lifetime: number,
  { key, origins = [] }: Pick<TokenSubject, 'key' | 'origins'>,
) => {
  const end = key && keyEnd(key)
  const ends = [
    ...(lifetime > 0 ? [issued + lifetime] : []),
    ...(end === undefined ? [] : [end / 1000]),
    ...origins.flatMap(({ exp }) => (exp === undefined ? [] : [exp])),
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

  const unixNow = () => Math.floor(clock.now() / 1000)

  /** Unix seconds at which a token that is issued now usually expires; undefined: never. */
  const usualEnd = async () => {
    const { token_auth_expiry_s: lifetime } = await settings.of(authSettings)
    return lifetime > 0 ? unixNow() + lifetime : undefined
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

  const originServiceEnd = async (account: AccountRecord): Promise<number> => {
    try {
      return await assertInService(store, account)
    } catch (error) {
      // The caller learns nothing about the account of its impersonator.
      throw error instanceof Failure && !isOutage(error) ? refused(error) : error
    }
  }

  /** Fails unless the session that created an impersonation is still valid and may still impersonate users of the account. */
  const assertOriginOpen = async (
    identity: SystemRecord,
    origin: TokenOrigin,
    acted: AccountRecord,
  ): Promise<Impersonator> => {
    const { account_id: accountId, owner_id: userId, api_key_id: keyId, method } = origin
    const [account, user, key] = await Promise.all([
      store.records.find(accountId, accountKind, accountId),
      userId === undefined ? undefined : store.records.find(accountId, userKind, userId),
      keyId === undefined ? undefined : store.records.find(accountId, apiKeyKind, keyId),
    ])
    if (!account || (userId !== undefined && !user) || (keyId !== undefined && !key)) throw refused()
    if (origin.identity_sig !== signatureOf(identity, account, user)) throw refused()
    if (origin.token_id !== undefined && (await revocations.find(accountId, origin.token_id))) throw refused()
    if (user?.doc.enabled === false || (key && !isKeyAlive(key, clock.now()))) throw refused()
    if (isOfOneKey(origin) && origin.api_key_mark !== keyMarkOf(account)) throw refused()
    const scopes = settingScopes(user?.doc.scope_restrictions)
    const actor = { accountId, account, user, method, claims: undefined, token: undefined }
    const isLimited = scopes !== undefined && !scopes.includes(everything)
    if (isLimited || !impersonator.allows(actor, acted, {})) throw refused()
    const end = key && keyEnd(key)
    return {
      actor: { account, user, ...(key ? { key } : {}) },
      until: Math.min(
        await originServiceEnd(account),
        end === undefined ? Infinity : gregorianOfUnix(end / 1000),
      ),
    }
  }

  const judge = async (token: string): Promise<Omit<Session, 'era'>> => {
    const { claims, hash, account, user, key, system: identity } = await current(token)
    if (await revocations.find(account.id, hash)) throw refused()
    if (user?.doc.enabled === false) throw refused()
    if (key && !isKeyAlive(key, clock.now())) throw refused()
    const isReplaced = isOfOneKey(claims) && claims.api_key_mark !== keyMarkOf(account)
    if (isReplaced && isEndedWithKey(claims, account)) throw refused()
    const inServiceUntil = await assertInService(store, account)
    const impersonators: Impersonator[] = []
    for (const origin of claims.origins ?? [])
      impersonators.push(await assertOriginOpen(identity, origin, account))
    const actor = { accountId: account.id, account, user, method: claims.method, claims, token }
    const scopes = scopesNow(claims, user)
    return {
      actor: {
        ...actor,
        ...(key ? { key } : {}),
        ...(scopes ? { scopes } : {}),
        ...(isReplaced ? { hasReplacedKey: true as const } : {}),
        ...(impersonators.length > 0 ? { impersonators: impersonators.map((one) => one.actor) } : {}),
      },
      inServiceUntil: Math.min(inServiceUntil, ...impersonators.map(({ until }) => until)),
    }
  }

  const judgeAnew = async (token: string, era: number) => {
    const judged = await judge(token)
    remember(sessions, token, { era, ...judged })
    return judged.actor
  }

  return {
    /** The actor behind a token, or 401; 400 when the account is disabled, 423 when its trial has ended. */
    async verify(token: string): Promise<Actor> {
      const era = store.records.era()
      const session = sessions.get(token)
      return session?.era === era && isOpen(session) ? session.actor : judgeAnew(token, era)
    },

    async issue({
      account,
      user,
      method,
      key: apiKey,
      origins,
      multiFactor,
      lifetimeSeconds,
      purpose,
      scopes,
    }: TokenSubject): Promise<string> {
      const identity = await system()
      const key = await keys.get(systemScope, identity.hidden.currentKeyId)
      const { token_auth_expiry_s: usual } = await settings.of(authSettings)
      const lifetime = lifetimeSeconds ?? usual
      const issued = unixNow()
      const claims: TokenClaims = {
        iss: issuer,
        iat: issued,
        jti: randomHex(12),
        account_id: account.id,
        method,
        identity_sig: signatureOf(identity, account, user),
        ...expiryOf(issued, lifetime, { ...(apiKey ? { key: apiKey } : {}), origins }),
        ...(apiKey ? { api_key_id: apiKey.id } : {}),
        ...(method === 'cb_api_auth' && !apiKey ? { api_key_mark: keyMarkOf(account) } : {}),
        ...(user ? { owner_id: user.id } : {}),
        ...(origins ? { ...originalIn(origins), origins } : {}),
        ...(multiFactor ? { mfa_resp: true } : {}),
        ...(purpose ? { purpose } : {}),
        ...(scopes ? { scope: scopes.join(' ') } : {}),
      }
      const pem = keyring.open(key.hidden.sealedPrivateKey, `signing_key/${key.id}`)
      return new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: key.id })
        .sign(createPrivateKey(pem))
    },

    /** The origins of an impersonation session that an actor creates. */
    async originsOf({ accountId, account, user, method, key, claims, token }: Actor): Promise<TokenOrigin[]> {
      // Credentials without a token have no end: such a session would be renewed forever.
      const exp = claims ? claims.exp : await usualEnd()
      const own: TokenOrigin = {
        account_id: accountId,
        ...(user ? { owner_id: user.id } : {}),
        method,
        ...(key ? { api_key_id: key.id } : {}),
        ...(claims?.api_key_mark === undefined ? {} : { api_key_mark: claims.api_key_mark }),
        identity_sig: signatureOf(await system(), account, user),
        ...(token === undefined ? {} : { token_id: identityOf(token) }),
        ...(exp === undefined ? {} : { exp }),
      }
      return [...(claims?.origins ?? []), own]
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
