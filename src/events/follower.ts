import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease, Leases } from '../jobs/leases.ts'
import { inOneLine } from '../jobs/queue.ts'
import type { Log } from '../lib/log.ts'
import { inTrace } from '../lib/trace.ts'
import type { Store } from '../storage/store.ts'
import type { Feed } from './feed.ts'

interface Tools {
  store: Pick<Store, 'fence'>
  leases: Leases
  feed: Pick<Feed, 'onMore'>
  log: Log
}

/** What is done behind the feed. `Way` says for whom, as the settings have it; `Shift` is what a process knows while it does it. */
interface Work<Way, Shift> {
  leaseName: string
  /** What the log is told when it cannot be done: `events could not be published`. */
  complaint: string
  /** What is committed within this time is taken together. */
  gatherMs: number
  /** Undefined: nobody wants it. Another one begins another shift. */
  wanted(): Promise<Way | undefined>
  /** Whatever it starts ends with the shift; when it fails there was none. */
  begin(way: Way, lease: Lease): Promise<Shift>
  /** At each look, and whenever there is more in the feed. */
  look?(shift: Shift): void
  /** Goes on behind where the shift is; whether there may be more. */
  next(shift: Shift): Promise<boolean>
  /** Waits for nobody from now on: the process stops. */
  hurry?(shift: Shift): void
  /** Before another process may go on. */
  end(shift: Shift): Promise<void>
}

interface Held<Shift> {
  lease: Lease
  /** As text. */
  way: string
  shift: Shift
}

// A setting takes effect, and a process that is gone is followed, within this time.
const lookMs = 1000

/** Follows the feed: of all processes one at a time does the work, for as long as it lives and somebody wants it. */
export const createFollower = <Way, Shift>(tools: Tools, work: Work<Way, Shift>) => {
  const { store, leases, feed, log } = tools
  let held: Held<Shift> | undefined
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let unfollow: (() => void) | undefined
  let isWoken = false
  let isStopped = false

  /** Lets another process, or work for somebody else, go on. */
  const end = async () => {
    const ended = held
    held = undefined
    unfollow?.()
    unfollow = undefined
    if (!ended) return
    try {
      await work.end(ended.shift)
    } finally {
      await ended.lease.release()
    }
  }

  const begin = async (way: Way): Promise<Held<Shift> | undefined> => {
    const lease = await leases.take(work.leaseName)
    if (!lease) return undefined
    try {
      held = { lease, way: JSON.stringify(way), shift: await work.begin(way, lease) }
    } catch (error) {
      await lease.release()
      throw error
    }
    unfollow = feed.onMore(wake)
    return held
  }

  const heldFor = async (way: Way) => {
    if (held && (held.lease.lost.aborted || held.way !== JSON.stringify(way))) await end()
    return held ?? begin(way)
  }

  const follow = async (way: Way) => {
    const current = await heldFor(way)
    if (!current) return
    work.look?.(current.shift)
    while (!current.lease.lost.aborted && !isStopped) {
      isWoken = false
      const isMore = await work.next(current.shift)
      if (JSON.stringify(await work.wanted()) !== current.way) return
      if (isMore) continue
      if (!isWoken) return
      await sleep(work.gatherMs)
    }
  }

  const run = async () => {
    await store.fence()
    const way = await work.wanted()
    return way === undefined ? end() : follow(way)
  }

  function wake() {
    isWoken = true
    if (isStopped || running) return
    // Whoever has woken it is not the one it works for.
    running = inTrace(undefined, run)
      .catch((error) => {
        // The store is not there: the next look tries again.
        log.write('warn', work.complaint, { reason: inOneLine(String(error)) })
      })
      .finally(() => {
        running = undefined
      })
  }

  return {
    /** Of this process; undefined while another one does the work, or nobody. */
    shift: () => held?.shift,

    /** To be called when the server is put together. */
    start() {
      timer = setInterval(wake, lookMs)
      timer.unref()
      wake()
    },

    async stop() {
      isStopped = true
      clearInterval(timer)
      if (held) work.hurry?.(held.shift)
      await running
      await end()
    },
  }
}
