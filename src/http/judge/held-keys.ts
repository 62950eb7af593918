import type { Keyring } from '../../auth/keyring.ts'
import { isDead, thisProcess } from '../../jobs/holder.ts'
import type { Clock } from '../../lib/clock.ts'
import { randomHex } from '../../lib/ids.ts'
import { describeError, type Log } from '../../lib/log.ts'
import type { createKeyRows, KeyClaim, KeyHolder, KeyRow } from '../../storage/idempotency.ts'

// The keys of the requests that this server carries out just now, and what the store could not be told of them yet.

export interface StoredResponse {
  status: number
  headers: Record<string, string>
  /** JSON, without a token. */
  body: string
  /** Where the token stood of whoever asked, if one was told: whoever asks again is told the own. */
  tokenAt?: number
}

/** What became of a request: the answer to keep, or none when its key is let go. */
interface News {
  claim: KeyClaim
  answer: StoredResponse | undefined
  /** Unix milliseconds. */
  since: number
}

interface Deps {
  rows: ReturnType<typeof createKeyRows>
  keyring: Keyring
  clock: Clock
  log: Log
}

// Other servers take a request for abandoned when its own has not said more for this long.
const leaseMs = 4000
const renewEveryMs = 1000
// Most requests have ended by then and cost no renewal.
const renewBelowMs = 2500

// News that get lost do no harm: the answer is made again from what was committed. So there is a bound to patience.
const maxBytes = 16_000_000
const bytesOfNews = 1000
const longestMs = 600_000
const newsAtOnce = 64
const shortestPauseMs = 50
const longestPauseMs = 1000

type Place = Pick<KeyClaim, 'accountId' | 'asker' | 'key'>

const placeOf = ({ accountId, asker, key }: Place) => `${accountId}/${asker}/${key}`

const contextOf = (claim: Place) => `idempotency/${placeOf(claim)}`

const sizeOf = ({ answer }: News) => bytesOfNews + (answer ? 2 * answer.body.length : 0)

export const createIdempotencyLocks = ({ rows, keyring, clock, log }: Deps) => {
  const server = randomHex(8)
  /** By token; until when other servers know that the request is under way. */
  const held = new Map<string, { claim: KeyClaim; until: number }>()
  /** By place: a later request under the same key has taken over what the earlier one left behind. */
  const untold = new Map<string, News>()
  let untoldBytes = 0
  let pauseMs = shortestPauseMs
  let timer: NodeJS.Timeout | undefined
  let telling: Promise<void> | undefined
  let isStopped = false

  const holderUntil = (until: number): KeyHolder => ({ ...thisProcess, server, until })

  const forget = (place: string) => {
    const news = untold.get(place)
    if (!news) return
    untold.delete(place)
    untoldBytes -= sizeOf(news)
  }

  const remember = (news: News) => {
    forget(placeOf(news.claim))
    if (untoldBytes + sizeOf(news) > maxBytes) return held.delete(news.claim.token)
    untold.set(placeOf(news.claim), news)
    untoldBytes += sizeOf(news)
    schedule()
  }

  const write = ({ claim, answer }: News) =>
    answer
      ? rows.keep(claim, keyring.seal(JSON.stringify(answer), contextOf(claim)))
      : rows.letGo(claim, holderUntil(0))

  /** Whether the store has heard it, or never will. */
  const tell = async (news: News): Promise<boolean> => {
    try {
      await write(news)
    } catch {
      if (clock.now() - news.since < longestMs) return false
    }
    held.delete(news.claim.token)
    return true
  }

  const tellSome = async () => {
    const some = [...untold.values()].slice(0, newsAtOnce)
    const told = await Promise.all(some.map(tell))
    for (const [index, news] of some.entries())
      if (told[index] && untold.get(placeOf(news.claim)) === news) forget(placeOf(news.claim))
    return told.every(Boolean)
  }

  const tellAll = async () => {
    while (untold.size > 0) {
      if (!(await tellSome())) {
        pauseMs = Math.min(pauseMs * 2, longestPauseMs)
        return
      }
    }
    pauseMs = shortestPauseMs
  }

  const schedule = () => {
    if (timer || telling || isStopped) return
    timer = setTimeout(() => {
      timer = undefined
      telling = tellAll().finally(() => {
        telling = undefined
        if (untold.size > 0) schedule()
      })
    }, pauseMs)
    timer.unref()
  }

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

  const heartbeat = setInterval(() => void renew(), renewEveryMs)
  heartbeat.unref()

  /** Tells the store at once, and else in the background until it listens. */
  const settle = async (claim: KeyClaim, answer: StoredResponse | undefined) => {
    const news = { claim, answer, since: clock.now() }
    // Whoever asks for a key that is let go may go on, whether or not the store has heard of it.
    if (!answer) held.delete(claim.token)
    try {
      await write(news)
      held.delete(claim.token)
    } catch (error) {
      log.write('warn', 'an idempotency key is settled later', { error: describeError(error) })
      remember(news)
    }
  }

  return {
    /** Holds a key while `take` gets it in the store and from then on, unless that fails. */
    async hold<T>(claim: KeyClaim, take: (holder: KeyHolder) => Promise<T>): Promise<T> {
      const until = clock.now() + leaseMs
      held.set(claim.token, { claim, until })
      try {
        return await take(holderUntil(until))
      } catch (error) {
        held.delete(claim.token)
        throw error
      }
    },

    /** Whether a request is under way: this server knows its own, of others the store tells. */
    isHeld({ token, holder }: KeyRow): boolean {
      if (holder.server === server) return held.has(token)
      return !isDead(holder) && holder.until > clock.now()
    },

    /** The answer under a key, and to what, which is not in the store yet. */
    untoldAnswer(place: Place) {
      const news = untold.get(placeOf(place))
      return news?.answer && { fingerprint: news.claim.fingerprint, answer: news.answer }
    },

    open: (claim: KeyClaim, sealed: string) =>
      JSON.parse(keyring.open(sealed, contextOf(claim))) as StoredResponse,

    keep: (claim: KeyClaim, answer: StoredResponse) => settle(claim, answer),
    letGo: (claim: KeyClaim) => settle(claim, undefined),

    /** Says once more what has not been heard. */
    async stop() {
      isStopped = true
      clearInterval(heartbeat)
      clearTimeout(timer)
      await telling
      await tellAll()
    },
  }
}
