import { hash } from 'node:crypto'
import type { Keyring } from '../../auth/keyring.ts'
import { deleteOldRows } from '../../jobs/retention/old-rows.ts'
import type { Clock } from '../../lib/clock.ts'
import { failure, idempotencyConflict, invalid } from '../../lib/failure.ts'
import { randomHex } from '../../lib/ids.ts'
import type { Log } from '../../lib/log.ts'
import { crossbarSettings } from '../../settings/documents.ts'
import type { Settings } from '../../settings/settings.ts'
import { conflict } from '../../storage/change-set.ts'
import { type CommittedChange, createKeyRows, type KeyClaim, type KeyRow } from '../../storage/idempotency.ts'
import { retrying, type Store } from '../../storage/store.ts'
import { createIdempotencyLocks, type StoredResponse } from './held-keys.ts'

// A request with an Idempotency-Key is carried out once: whoever sends it again gets the first answer, after a crash
// and through any process too. Whatever it commits is marked with its key in the same transaction (change-set.ts).

/** What is asked under a key. */
interface KeyedRequest {
  accountId: string
  /** Who of the account asks, and how. */
  asker: string
  key: string
  /** Method, path with query, and the digest of the body. */
  parts: readonly string[]
}

/** What to do with a request: send what was kept, or carry it out. */
type KeyVerdict =
  | { kept: StoredResponse }
  /** `lost` is what an earlier try committed before it died unanswered. */
  | { claim: KeyClaim; lost: CommittedChange[] | undefined }

const longestKey = 255
const printable = /^[\x21-\x7e]+$/

// What says that it would go otherwise the next time is not kept: request_timeout, conflicts, too_many_requests.
const passing = new Set([408, 409, 429])

/** Whether an answer will be as true whenever it is asked for again. No 5xx ever is. */
const isLasting = (status: number) => status < 500 && !passing.has(status)

const underWay = () =>
  failure(idempotencyConflict, { message: 'a request with this key is under way', retryAfterSeconds: 1 })

const otherRequest = () => failure(idempotencyConflict, { message: 'this key was used for another request' })

const assertKey = (key: string) => {
  if (key.length <= longestKey && printable.test(key)) return
  const message = `Must be 1 to ${longestKey} printable characters without spaces`
  throw invalid({ 'idempotency-key': { pattern: { message } } })
}

export type Idempotency = ReturnType<typeof createIdempotency>

interface Deps {
  store: Store
  keyring: Keyring
  settings: Settings
  clock: Clock
  log: Log
}

export const createIdempotency = ({ store, keyring, settings, clock, log }: Deps) => {
  const rows = createKeyRows(store)
  const held = createIdempotencyLocks({ rows, keyring, clock, log })

  const begin = async (claim: KeyClaim): Promise<KeyVerdict> => {
    await held.hold(claim, (holder) => rows.begin(claim, { holder, begunAt: clock.now() }, conflict))
    return { claim, lost: undefined }
  }

  const goOn = async (claim: KeyClaim, before: KeyRow): Promise<KeyVerdict> => {
    if (held.isHeld(before)) throw underWay()
    const row = await held.hold(claim, async (holder) => {
      await rows.takeOver(claim, before.token, holder, conflict)
      return rows.find(claim)
    })
    claim.hasCommitted = row?.changes !== undefined
    return { claim, lost: row?.changes }
  }

  const claimOf = ({ accountId, asker, key, parts }: KeyedRequest): KeyClaim => ({
    accountId,
    asker,
    key,
    token: randomHex(16),
    fingerprint: hash('sha256', JSON.stringify(parts), 'hex'),
    hasCommitted: false,
    toJSON: () => undefined,
  })

  const judge = async (request: KeyedRequest): Promise<KeyVerdict> => {
    const claim = claimOf(request)
    const { fingerprint } = claim
    const untold = held.untoldAnswer(claim)
    if (untold && untold.fingerprint !== fingerprint) throw otherRequest()
    if (untold) return { kept: untold.answer }
    const row = await rows.find(claim)
    if (!row) return begin(claim)
    if (row.fingerprint !== fingerprint) throw otherRequest()
    if (row.answer !== undefined) return { kept: held.open(claim, row.answer) }
    return goOn(claim, row)
  }

  const round = deleteOldRows(store, {
    name: 'idempotency',
    everySeconds: 300,
    table: 'idempotency_keys',
    key: ['account_id', 'asker', 'idem_key'],
    where: 'begun_at < $1',
    before: async () => clock.now() - (await settings.of(crossbarSettings)).idempotency_keep_s * 1000,
  })

  return {
    /** Decides what becomes of a request; of several at once one is carried out. */
    async judge(request: KeyedRequest): Promise<KeyVerdict> {
      assertKey(request.key)
      // Between look and claim another one may have begun, gone on or ended: then it is looked at again.
      return retrying(() => judge(request))
    },

    /**
     * Says how a request has ended. What was carried out is answered alike to whoever asks again; its answer may hold
     * secrets. What failed and did nothing may be tried anew, and what failed half-way is answered from what it did.
     */
    settle: (claim: KeyClaim, answer?: StoredResponse): Promise<void> =>
      answer && (answer.status < 400 || (claim.hasCommitted && isLasting(answer.status)))
        ? held.keep(claim, answer)
        : held.letGo(claim),

    /** Forgets keys after a time. */
    round,

    stop: held.stop,
  }
}
