import { setTimeout as sleep } from 'node:timers/promises'
import { inOneLine } from '../jobs/queue.ts'
import type { ScheduledJob, Scheduler } from '../jobs/scheduler.ts'
import { createWaker } from '../jobs/waker.ts'
import type { Log } from '../lib/log.ts'
import type { Statement } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import type { Feed } from './feed.ts'

interface Deps {
  store: Pick<Store, 'fence'>
  scheduler: Pick<Scheduler, 'isHeld'>
  feed: Pick<Feed, 'onMore'>
  log: Log
}

/** Work on the events of the feed. `Way` comes from the settings; `Shift` is the state of the process that does the work. */
interface Work<Way, Shift> {
  name: string
  /** The log message of a failure: `events could not be published`. */
  complaint: string
  /** Events of this time are processed together. */
  gatherMs: number
  /** Undefined: the work is disabled. A changed value restarts it. */
  wanted(): Promise<Way | undefined>
  begin(way: Way, guard: Statement): Promise<Shift>
  /** Called at least once a second. */
  look?(shift: Shift): void
  /** Continues with the next events; returns whether there may be more. */
  next(shift: Shift): Promise<boolean>
  /** The process stops: cancel what is waiting. */
  hurry?(shift: Shift): void
  /** Called before another process may continue. */
  end(shift: Shift): Promise<void>
}

// A changed setting takes effect within this time.
const pollMs = 1000

/** Follows the feed with one process at a time. */
export const createFollower = <Way, Shift>(tools: Deps, work: Work<Way, Shift>) => {
  const { store, scheduler, feed, log } = tools
  let current: Shift | undefined

  const isStillWanted = async (way: Way) => {
    await store.fence()
    return !(await scheduler.isHeld()) && JSON.stringify(await work.wanted()) === JSON.stringify(way)
  }

  const follow = async (way: Way, shift: Shift, signal: AbortSignal) => {
    const bell = createWaker()
    const unfollow = feed.onMore(bell.ring)
    try {
      while (!signal.aborted) {
        try {
          if (!(await isStillWanted(way))) return
          work.look?.(shift)
          if (await work.next(shift)) continue
        } catch (error) {
          // The store may be unreachable: the next look tries again.
          log.write('warn', work.complaint, { reason: inOneLine(String(error)) })
        }
        if (await bell.heard(pollMs, signal)) await sleep(work.gatherMs)
      }
    } finally {
      unfollow()
    }
  }

  const job: ScheduledJob = {
    name: work.name,
    everySeconds: 1,
    due: async () => (await work.wanted()) !== undefined,
    async run(signal, guard) {
      const way = await work.wanted()
      if (way === undefined) return
      const shift = await work.begin(way, guard)
      const hurry = () => work.hurry?.(shift)
      signal.addEventListener('abort', hurry, { once: true })
      current = shift
      try {
        await follow(way, shift, signal)
      } finally {
        current = undefined
        signal.removeEventListener('abort', hurry)
        await work.end(shift)
      }
    },
  }

  return {
    job,
    /** Undefined in processes that do not do the work. */
    shift: () => current,
  }
}
