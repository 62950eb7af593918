import { hash } from 'node:crypto'
import type { Keyring } from '../../auth/keyring.ts'
import { isDead, thisProcess } from '../../jobs/holder.ts'
import type { Round } from '../../jobs/rounds.ts'
import type { Clock } from '../../lib/clock.ts'
import { Failure, failure, invalid } from '../../lib/failure.ts'
import { randomHex } from '../../lib/ids.ts'
import type { Settings } from '../../settings/settings.ts'
import { type CommittedChange, createKeyRows, type KeyClaim, type KeyRow } from '../../storage/idempotency.ts'
import type { Store } from '../../storage/store.ts'

// A request with an Idempotency-Key is carried out once: whoever sends it again gets the first answer, after a crash
// and through any process too. Whatever it commits is marked with its key in the same transaction (change-set.ts).

/** What is asked under a key. */
interface KeyedRequest {
  accountId: string
  key: string
  /** Method, path with query, and the digest of the body. */
  parts: readonly string[]
}

export interface KeptAnswer {
  status: number
  headers: Record<string, string>
  body: string
}

/** What to do with a request: send what was kept, or carry it out. */
type KeyVerdict =
  | { kept: KeptAnswer }
  /** `lost` is what an earlier try committed before it died unanswered. */
  | { claim: KeyClaim; lost: CommittedChange[] | undefined }

const longestKey = 255
const printable = /^[\x21-\x7e]+$/

// On another machine a process that died is not seen to be dead; no request takes as long as this.
const abandonedMs = 600_000

const underWay = () =>
  failure('idempotency_conflict', { message: 'a request with this key is under way', retryAfterSeconds: 1 })

const otherRequest = () =>
  failure('idempotency_conflict', { message: 'this key was used for another request' })

const isUnderWay = (error: unknown) => error instanceof Failure && error.kind === 'idempotency_conflict'

const assertKey = (key: string) => {
  if (key.length <= longestKey && printable.test(key)) return
  const message = `Must be 1 to ${longestKey} printable characters without spaces`
  throw invalid({ 'idempotency-key': { pattern: { message } } })
}

export type Idempotency = ReturnType<typeof createIdempotency>

interface Tools {
  store: Store
  keyring: Keyring
  settings: Settings
  clock: Clock
}

export const createIdempotency = ({ store, keyring, settings, clock }: Tools) => {
  const rows = createKeyRows(store)

  const contextOf = ({ accountId, key }: Pick<KeyClaim, 'accountId' | 'key'>) =>
    `idempotency/${accountId}/${key}`

  const isAbandoned = ({ holder, begunAt }: KeyRow) => isDead(holder) || clock.now() - begunAt > abandonedMs

  const oldest = async () => clock.now() - (await settings.of('crossbar')).idempotency_keep_s * 1000

  const begin = async (claim: KeyClaim, fingerprint: string): Promise<KeyVerdict> => {
    const fresh = { fingerprint, holder: thisProcess, begunAt: clock.now() }
    await rows.begin(claim, fresh, underWay)
    return { claim, lost: undefined }
  }

  const goOn = async (claim: KeyClaim, row: KeyRow): Promise<KeyVerdict> => {
    if (!isAbandoned(row)) throw underWay()
    await rows.takeOver(claim, row, thisProcess, underWay)
    return { claim, lost: row.changes }
  }

  const judge = async ({ accountId, key, parts }: KeyedRequest): Promise<KeyVerdict> => {
    const fingerprint = hash('sha256', JSON.stringify(parts), 'hex')
    const claim: KeyClaim = {
      accountId,
      key,
      token: randomHex(16),
      hasCommitted: false,
      toJSON: () => undefined,
    }
    const row = await rows.find(accountId, key)
    if (!row) return begin(claim, fingerprint)
    if (row.fingerprint !== fingerprint) throw otherRequest()
    if (row.answer === undefined) return goOn(claim, row)
    return { kept: JSON.parse(keyring.open(row.answer, contextOf(claim))) as KeptAnswer }
  }

  const round: Round = {
    name: 'idempotency',
    everySeconds: 300,
    due: async () => rows.anyOlderThan(await oldest()),
    run: async () => rows.forgetOlderThan(await oldest()),
  }

  return {
    /** Decides what becomes of a request; of several at once one is carried out. */
    async judge(request: KeyedRequest): Promise<KeyVerdict> {
      assertKey(request.key)
      try {
        return await judge(request)
      } catch (error) {
        // Between look and claim another one may have finished: then its answer is there.
        if (isUnderWay(error) && (await rows.find(request.accountId, request.key))?.answer)
          return judge(request)
        throw error
      }
    },

    /** Keeps an answer for whoever asks again. It may hold secrets. */
    keep: (claim: KeyClaim, answer: KeptAnswer) =>
      rows.keep(claim, keyring.seal(JSON.stringify(answer), contextOf(claim))),

    release: rows.release,

    /** Forgets keys after a time. */
    round,
  }
}
