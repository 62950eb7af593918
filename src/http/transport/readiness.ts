import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreTrouble } from '../../storage/db.ts'
import { noDatabase, outageInWords } from '../../storage/outages.ts'
import type { Store } from '../../storage/store.ts'
import type { ShutdownState } from '../exchange.ts'

// Whether load balancers should send requests here.

interface Deps {
  store: Pick<Store, 'all' | 'outages' | 'state' | 'writeObstacle'>
  life: ShutdownState
  /** Free bytes on the disk of the embedded store; undefined for PostgreSQL. */
  freeBytes: (() => Promise<number>) | undefined
  patienceMs?: number
}

export type Readiness = ReturnType<typeof createReadiness>

/** The result is cached for this time. */
const cachedMs = 1000
const usualPatienceMs = 5000

// The write-ahead log may grow by this before it is written back.
const leastFreeBytes = 32 * 1024 * 1024

const troubles: Record<StoreTrouble, string> = {
  standby_missing: 'the store cannot be written: the synchronous standby does not confirm',
  primary_missing: 'the store cannot be written: no database server accepts writes',
}

/** Public, so it names no hosts. The log has the error. */
const unreadable = (error: unknown) => {
  const why = outageInWords(error)
  return why === noDatabase ? 'the store does not respond' : `the store cannot be read: ${why}`
}

const megabytes = (bytes: number) => Math.floor(bytes / (1024 * 1024))

/** The store is queried at most once a second, one query at a time. */
export const createReadiness = ({ store, life, freeBytes, patienceMs = usualPatienceMs }: Deps) => {
  let verdict: { obstacle: string | undefined; at: number; outages: number } | undefined
  let asking: { answer: Promise<string | undefined>; since: number } | undefined

  const knownTrouble = () => {
    const trouble = store.state()
    return trouble && troubles[trouble]
  }

  const ask = async () => {
    try {
      await store.all('SELECT 1 AS one')
    } catch (error) {
      return knownTrouble() ?? unreadable(error)
    }
    const obstacle = await store.writeObstacle()
    if (obstacle !== undefined) return knownTrouble() ?? `the store cannot be written: ${obstacle}`
    const free = await freeBytes?.()
    if (free === undefined || free >= leastFreeBytes) return undefined
    return `the store's disk has ${megabytes(free)} MB left, and needs ${megabytes(leastFreeBytes)}`
  }

  const begin = () => {
    const outages = store.outages()
    const answer = ask()
      .catch(() => 'the store cannot be queried')
      .then((obstacle) => {
        verdict = { obstacle, at: performance.now(), outages }
        asking = undefined
        return obstacle
      })
    return { answer, since: performance.now() }
  }

  const waitFor = async ({ answer, since }: NonNullable<typeof asking>) => {
    const giveUp = new AbortController()
    const left = Math.max(0, since + patienceMs - performance.now())
    const stuck = sleep(left, true, { signal: giveUp.signal, ref: false }).catch(() => false)
    const isStuck = await Promise.race([stuck, answer.then(() => false)])
    giveUp.abort()
    if (!isStuck) return answer
    return knownTrouble() ?? `the store has not responded for ${Math.ceil(patienceMs / 1000)} s`
  }

  const isFresh = () =>
    verdict !== undefined &&
    performance.now() - verdict.at < cachedMs &&
    // A write failed since then.
    (verdict.obstacle !== undefined || verdict.outages === store.outages())

  return {
    /** Why the server cannot serve; undefined if it can. */
    async obstacle(): Promise<string | undefined> {
      if (life.isEnding) return 'the server is shutting down'
      if (isFresh()) return verdict?.obstacle
      asking ??= begin()
      return waitFor(asking)
    },
  }
}
