import { hash } from 'node:crypto'
import type { Keyring } from '../../auth/keyring.ts'
import { isDead, thisProcess } from '../../jobs/leases.ts'
import { deleteOldRows } from '../../jobs/scheduler.ts'
import type { Clock } from '../../lib/clock.ts'
import { failure, idempotencyConflict, invalid } from '../../lib/failure.ts'
import { randomHex } from '../../lib/ids.ts'
import { describeError, type Log } from '../../lib/log.ts'
import { crossbarSettings } from '../../settings/documents.ts'
import type { Settings } from '../../settings/settings.ts'
import { conflict } from '../../storage/change-set.ts'
import {
  type CommittedChange,
  createKeyRows,
  type KeyClaim,
  type KeyHolder,
  type KeyRow,
} from '../../storage/idempotency.ts'
import { retrying, type Store } from '../../storage/store.ts'

// Keys of running requests, and results that could not be stored yet.

export interface StoredResponse {
  status: number
  headers: Record<string, string>
  body: string
  /** The position of the token. A repeated request gets its own token. */
  tokenAt?: number
}

/** A result to store; none releases the key. */
interface News {
  claim: KeyClaim
  answer: StoredResponse | undefined
  since: number
}

interface LockDeps {
  rows: ReturnType<typeof createKeyRows>
  keyring: Keyring
  clock: Clock
  log: Log
}

// Other servers treat a request as abandoned after this time without a renewal.
const leaseMs = 4000
const renewEveryMs = 1000
const renewBelowMs = 2500

// A lost result does no harm: the response is made again from what was committed.
const maxBytes = 16_000_000
const bytesOfNews = 1000
const longestMs = 600_000
const newsAtOnce = 64
const shortestPauseMs = 50
const maxLockPauseMs = 1000

type Place = Pick<KeyClaim, 'accountId' | 'asker' | 'key'>

const placeOf = ({ accountId, asker, key }: Place) => `${accountId}/${asker}/${key}`

const contextOf = (claim: Place) => `idempotency/${placeOf(claim)}`

const sizeOf = ({ answer }: News) => bytesOfNews + (answer ? 2 * answer.body.length : 0)

interface RetryDeps {
  clock: Clock
  write(news: News): Promise<void>
  /** The result is stored, or was given up. */
  onOver(claim: KeyClaim): void
}

/** Stores results in the background, with growing pauses. */
const createRetries = ({ clock, write, onOver }: RetryDeps) => {
  /** By key: a later request with the key replaces the result of an earlier one. */
  const untold = new Map<string, News>()
  let untoldBytes = 0
  let pauseMs = shortestPauseMs
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isStopped = false

  const forget = (place: string) => {
    const news = untold.get(place)
    if (!news) return
    untold.delete(place)
    untoldBytes -= sizeOf(news)
  }

  const isOver = async (news: News): Promise<boolean> => {
    try {
      await write(news)
    } catch {
      if (clock.now() - news.since < longestMs) return false
    }
    onOver(news.claim)
    return true
  }

  const writeSome = async () => {
    const some = [...untold.values()].slice(0, newsAtOnce)
    const over = await Promise.all(some.map(isOver))
    for (const [index, news] of some.entries())
      if (over[index] && untold.get(placeOf(news.claim)) === news) forget(placeOf(news.claim))
    return over.every(Boolean)
  }

  const writeAll = async () => {
    while (untold.size > 0) {
      if (!(await writeSome())) {
        pauseMs = Math.min(pauseMs * 2, maxLockPauseMs)
        return
      }
    }
    pauseMs = shortestPauseMs
  }

  const schedule = () => {
    if (timer || running || isStopped) return
    timer = setTimeout(() => {
      timer = undefined
      running = writeAll().finally(() => {
        running = undefined
        if (untold.size > 0) schedule()
      })
    }, pauseMs).unref()
  }

  return {
    add(news: News) {
      forget(placeOf(news.claim))
      if (untoldBytes + sizeOf(news) > maxBytes) return onOver(news.claim)
      untold.set(placeOf(news.claim), news)
      untoldBytes += sizeOf(news)
      schedule()
    },

    at: (place: Place) => untold.get(placeOf(place)),

    async stop() {
      isStopped = true
      clearTimeout(timer)
      await running
      await writeAll()
    },
  }
}

const createIdempotencyLocks = ({ rows, keyring, clock, log }: LockDeps) => {
  const server = randomHex(8)
  /** By token; until when other servers treat the request as running. */
  const held = new Map<string, { claim: KeyClaim; until: number }>()

  const holderUntil = (until: number): KeyHolder => ({ ...thisProcess, server, until })

  const write = ({ claim, answer }: News) =>
    answer
      ? rows.keep(claim, keyring.seal(JSON.stringify(answer), contextOf(claim)))
      : rows.letGo(claim, holderUntil(0))

  const release = ({ token }: KeyClaim) => void held.delete(token)

  const retries = createRetries({ clock, write, onOver: release })

  const renew = async () => {
    const now = clock.now()
    const due = [...held.values()].filter(({ until }) => until - now < renewBelowMs)
    if (due.length === 0) return
    try {
      const until = now + leaseMs
      await rows.renew(
        due.map(({ claim }) => claim),
        holderUntil(until),
      )
      for (const one of due) one.until = until
    } catch (error) {
      log.write('debug', 'idempotency keys could not be renewed', { error: describeError(error) })
    }
  }

  const heartbeat = setInterval(() => void renew(), renewEveryMs).unref()

  return {
    /** Holds a key from before it is taken in the store. */
    async hold<T>(claim: KeyClaim, take: (holder: KeyHolder) => Promise<T>): Promise<T> {
      const until = clock.now() + leaseMs
      held.set(claim.token, { claim, until })
      try {
        return await take(holderUntil(until))
      } catch (error) {
        release(claim)
        throw error
      }
    },

    /** This server knows its own requests; the store knows those of others. */
    isHeld({ token, holder }: KeyRow): boolean {
      if (holder.server === server) return held.has(token)
      return !isDead(holder) && holder.until > clock.now()
    },

    /** A result that is not stored yet. */
    untoldAnswer(place: Place) {
      const news = retries.at(place)
      return news?.answer && { fingerprint: news.claim.fingerprint, answer: news.answer }
    },

    open: (claim: KeyClaim, sealed: string) =>
      JSON.parse(keyring.open(sealed, contextOf(claim))) as StoredResponse,

    /** Stores the result now, or retries in the background. Without one the key is free at once. */
    async settle(claim: KeyClaim, answer: StoredResponse | undefined) {
      const news = { claim, answer, since: clock.now() }
      if (!answer) release(claim)
      try {
        await write(news)
        release(claim)
      } catch (error) {
        log.write('warn', 'an idempotency key will be settled later', { error: describeError(error) })
        retries.add(news)
      }
    },

    async stop() {
      clearInterval(heartbeat)
      await retries.stop()
    },
  }
}

// A request with an Idempotency-Key runs once; a repeated one gets the first response, also after a crash and from another process.
// Everything that it commits is marked with its key in the same transaction.

interface KeyedRequest {
  accountId: string
  /** The caller within the account. */
  asker: string
  key: string
  /** Method, path with query, and the digest of the body. */
  parts: readonly string[]
}

type KeyVerdict =
  | { kept: StoredResponse }
  /** `lost`: what an earlier attempt committed before it crashed. */
  | { claim: KeyClaim; lost: CommittedChange[] | undefined }

const longestKey = 255
const printable = /^[\x21-\x7e]+$/

// Statuses that may change when the request is repeated. Such responses are not stored.
const passing = new Set([408, 409, 429])

const isLasting = (status: number) => status < 500 && !passing.has(status)

const underWay = () =>
  failure(idempotencyConflict, {
    message: 'a request with this Idempotency-Key is still running. Retry after 1 second',
    retryAfterSeconds: 1,
  })

const otherRequest = () =>
  failure(idempotencyConflict, {
    message: 'Idempotency-Key was already used for a different request. Send a new key',
  })

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

  const deletion = deleteOldRows(store, {
    name: 'idempotency',
    everySeconds: 300,
    table: 'idempotency_keys',
    key: ['account_id', 'asker', 'idem_key'],
    where: 'begun_at < $1',
    before: async () => clock.now() - (await settings.of(crossbarSettings)).idempotency_keep_s * 1000,
  })

  return {
    async judge(request: KeyedRequest): Promise<KeyVerdict> {
      assertKey(request.key)
      // Another request may have taken the key since it was read.
      return retrying(() => judge(request))
    },

    /** Stores the response of a request that did something. A request that failed without effect may be repeated. */
    settle(claim: KeyClaim, answer?: StoredResponse): Promise<void> {
      const isStored = answer && (answer.status < 400 || (claim.hasCommitted && isLasting(answer.status)))
      return held.settle(claim, isStored ? answer : undefined)
    },

    deletion,

    stop: held.stop,
  }
}
