import { setTimeout as sleep } from 'node:timers/promises'
import { Failure, importInProgress, isFailure, storeMoved } from '../lib/failure.ts'
import { describeError, type Log } from '../lib/log.ts'

export type Afterwards = ReturnType<typeof createAfterwards>

// Bounds memory.
const maxFollowUps = 20_000

/** Work that follows a request. The response does not wait for it, and its timing does not reveal it. */
export const createAfterwards = (log: Log) => {
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
    /** Starts after the response, and after `pauseMs`. A failure is logged under `name`. */
    run(name: string, work: () => Promise<void>, pauseMs = 0) {
      if (running.size >= maxFollowUps)
        return log.write('warn', `${name} was skipped: too many events are waiting`)
      const run = perform(name, work, pauseMs).finally(() => running.delete(run))
      running.add(run)
    },
    /** Resolves when all started work has ended. */
    async settle() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
