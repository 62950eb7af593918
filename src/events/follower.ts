import { setTimeout as sleep } from 'node:timers/promises'
import { createWaker } from '../jobs/bell.ts'
import { inOneLine } from '../jobs/queue.ts'
import type { ScheduledJob, Scheduler } from '../jobs/rounds.ts'
import type { Log } from '../lib/log.ts'
import type { Statement } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import type { Feed } from './feed.ts'

interface Deps {
  store: Pick<Store, 'fence'>
  rounds: Pick<Scheduler, 'isHeld'>
  feed: Pick<Feed, 'onMore'>
  log: Log
}

/** What is done behind the feed. `Way` is what the settings say of it; `Shift` is what a process knows while it does it. */
interface Work<Way, Shift> {
  name: string
  /** The log entry when it fails: `events could not be published`. */
  complaint: string
  /** What is committed within this time is taken together. */
  gatherMs: number
  /** Undefined: nobody wants it. Another one begins another shift. */
  wanted(): Promise<Way | undefined>
  /** Whatever it starts ends with the shift; when it fails there was none. */
  begin(way: Way, guard: Statement): Promise<Shift>
  /** At each look, and whenever there is more in the feed. */
  look?(shift: Shift): void
  /** Continues behind where the shift is; whether there may be more. */
  next(shift: Shift): Promise<boolean>
  /** To wait for nothing any longer: the process stops. */
  hurry?(shift: Shift): void
  /** Before another process may continue. */
  end(shift: Shift): Promise<void>
}

// A setting takes effect within this time.
const lookMs = 1000

/** Follows the feed: of all processes one at a time does the work, for as long as it lives and the work is wanted. */
export const createFollower = <Way, Shift>(tools: Deps, work: Work<Way, Shift>) => {
  const { store, rounds, feed, log } = tools
  let current: Shift | undefined

  const isStillWanted = async (way: Way) => {
    await store.fence()
    return !(await rounds.isHeld()) && JSON.stringify(await work.wanted()) === JSON.stringify(way)
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
          // The store is not there: the next look tries again.
          log.write('warn', work.complaint, { reason: inOneLine(String(error)) })
        }
        if (await bell.heard(lookMs, signal)) await sleep(work.gatherMs)
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
    /** Of this process; undefined while another one does the work, or nobody. */
    shift: () => current,
  }
}
