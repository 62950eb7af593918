import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, importInProgress, isFailure, storeMoved } from '../lib/failure.ts'
import { describeError, type Log } from '../lib/log.ts'

/** Work that follows a request. The response does not wait for it, and its timing does not reveal it. */
export interface Afterwards {
  /** Starts after the response, and after `pauseMs`. A failure is logged under `name`. */
  run(name: string, work: () => Promise<void>, pauseMs?: number): void
  /** Resolves when all started work has ended. */
  settle(): Promise<void>
}

// Bounds memory.
const maxFollowUps = 20_000

export const createAfterwards = (log: Log): Afterwards => {
  const running = new Set<Promise<void>>()

  const perform = async (name: string, work: () => Promise<void>, pauseMs: number) => {
    await sleep(pauseMs)
    try {
      await work()
    } catch (error) {
      // Skipped while an import has the write lock.
      if (error instanceof Failure && (isFailure(error, importInProgress) || isFailure(error, storeMoved)))
        return
      log.write('error', `${name} failed`, { error: describeError(error) })
    }
  }

  return {
    run(name, work, pauseMs = 0) {
      if (running.size >= maxFollowUps) return log.write('warn', `${name} was left out: too much waits`)
      const run = perform(name, work, pauseMs).finally(() => running.delete(run))
      running.add(run)
    },
    async settle() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
