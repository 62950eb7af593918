import { timingSafeEqual } from 'node:crypto'
import {
  type ApiKeyDoc,
  type ApiKeyRecord,
  isFromAllowedNetwork,
  isKeyAlive,
} from '../../../auth/api-keys.ts'
import { type AccountRecord, type Actor, accountKind, assertInService } from '../../../auth/identity.ts'
import { sha256Hex } from '../../../auth/keyring.ts'
import { createSessionCache } from '../../../auth/tokens.ts'
import {
  failure,
  forbidden,
  hasProblems,
  invalid,
  joinProblems,
  type Problems,
  signInRefused,
} from '../../../lib/failure.ts'
import { evictOldest } from '../../../lib/forget-oldest.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { newId, randomKey } from '../../../lib/ids.ts'
import type { Author, ChangeSet } from '../../../storage/change-set.ts'
import { readsOf } from '../../../storage/collection.ts'
import { committed } from '../../../storage/store.ts'
import type { DepsOf } from '../../area.ts'
import type { Security } from '../security/operations.ts'
import {
  beyondKey,
  beyondScopes,
  excessProblems,
  idInKey,
  keyProblems,
  keyText,
  secretBytes,
} from './rules.ts'
import type { ApiKey } from './schema.ts'
import { apiKeySettings } from './settings.ts'
import { createApiKeyStore, idClaim } from './store.ts'

interface Deps extends DepsOf<'store' | 'settings' | 'afterwards'> {
  security: Security
}

const maxKeySessions = 5_000

const isHashOf = (text: string, hash: string) =>
  timingSafeEqual(Buffer.from(sha256Hex(text)), Buffer.from(hash))

/** A limited caller cannot make or change keys that may do more. */
const assertWithin = ({ key: own, scopes, hasReplacedKey }: Actor, doc: Readonly<ApiKeyDoc>) => {
  if (hasReplacedKey) throw failure(forbidden, { cause: 'the API key that opened this session was replaced' })
  const problems = joinProblems(
    scopes ? excessProblems(doc, { scopes }, beyondScopes) : {},
    own ? excessProblems(doc, own.doc, beyondKey) : {},
  )
  if (hasProblems(problems)) throw invalid(problems)
}

export type ApiKeys = ReturnType<typeof createApiKeys>

/** Named API keys of accounts: with limits, next to the one key that every account has. */
export const createApiKeys = ({ store, settings, afterwards, security }: Deps) => {
  const keys = createApiKeyStore(store)
  const { records, clock } = store
  /** Unix milliseconds by key: until then a use is not written down again. */
  const noted = new Map<string, number>()

  /** The key's record, whatever its limits. */
  const find = async (text: string): Promise<ApiKeyRecord | undefined> => {
    const id = idInKey(text)
    const key = id === undefined ? undefined : await keys.holder(idClaim(id))
    return key && isHashOf(text, key.hidden.hash) ? key : undefined
  }

  const sessionOf = async (text: string) => {
    const key = await find(text)
    const account = key && (await records.find(key.accountId, accountKind, key.accountId))
    if (!account) throw signInRefused('unknown API key')
    if (!isKeyAlive(key, clock.now())) throw signInRefused('the API key has ended', account.id)
    const { enabled, scopes } = await security.policyOf(account, 'cb_api_auth')
    if (!enabled) throw signInRefused('this sign-in method is disabled', account.id)
    const inServiceUntil = await assertInService(store, account)
    const unsigned = { user: undefined, claims: undefined, token: undefined }
    const actor = { accountId: account.id, account, key, method: 'cb_api_auth' as const, ...unsigned }
    return { actor: scopes ? { ...actor, scopes } : actor, inServiceUntil }
  }

  return {
    ...readsOf(keys),
    usesOf: keys.usesOf,

    isKey: (text: string) => idInKey(text) !== undefined,

    /** The actor of an API key in a request, or 401. The network is checked for each request. */
    actorOf: createSessionCache(store, maxKeySessions, sessionOf),

    /** The key that opens a session. Undefined: unknown key. Throws a 401 if the key may not. */
    async opening(text: string, clientAddress: string): Promise<ApiKeyRecord | undefined> {
      const key = await find(text)
      if (key && !isKeyAlive(key, clock.now())) throw signInRefused('the API key has ended', key.accountId)
      if (key && !isFromAllowedNetwork(key, clientAddress))
        throw signInRefused('the API key is not valid from this network', key.accountId)
      return key
    },

    /** Records the use of a key after the response, at most once in the interval of the settings. */
    noteUse(key: ApiKeyRecord) {
      const now = clock.now()
      if ((noted.get(key.id) ?? 0) > now) return
      // Other callers wait until the settings are read.
      noted.set(key.id, now + 1000)
      evictOldest(noted, maxKeySessions)
      afterwards.run('recording the use of an API key', async () => {
        const { last_used_every_s: pause } = await settings.of(apiKeySettings)
        noted.set(key.id, now + pause * 1000)
        await keys.noteUse(key, gregorianNow(clock))
      })
    },

    judge: (data: Partial<ApiKey>, before?: ApiKeyRecord): Problems =>
      keyProblems(data, { now: gregorianNow(clock), before: before?.doc }),

    /** A new key. Only this response contains its text. */
    async create(author: Author, actor: Actor, account: AccountRecord, doc: ApiKey) {
      assertWithin(actor, doc)
      const id = newId(clock.now())
      const text = keyText(id, randomKey(secretBytes))
      const key = keys.draft(account.id, { doc, hidden: { hash: sha256Hex(text) } }, id)
      await committed(store, author, (set) => keys.insert(set, key))
      return { key, text }
    },

    async replace(author: Author, actor: Actor, before: ApiKeyRecord, doc: ApiKey) {
      assertWithin(actor, before.doc)
      assertWithin(actor, doc)
      const after = keys.revise(before, { doc })
      await committed(store, author, (set) => keys.replace(set, before, after))
      return after
    },

    /** Ends a key, and every session that it opened. */
    async remove(author: Author, actor: Actor, key: ApiKeyRecord) {
      assertWithin(actor, key.doc)
      await committed(store, author, (set) => keys.remove(set, key))
      return key
    },

    removeWith: async (set: ChangeSet, account: AccountRecord) => void keys.removeUses(set, account.id),
  }
}
