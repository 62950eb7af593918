import { scheduler } from 'node:timers/promises'

/** Counts how often other work has its turn until `work` ends: rounds of the event loop. */
export const turnsDuring = async (work: () => Promise<unknown>) => {
  let turns = 0
  let isOver = false
  const count = async () => {
    while (!isOver) {
      // delays.mjs delays setImmediate, which would stop the loop. It does not delay this.
      await scheduler.yield()
      turns += 1
    }
  }
  void count()
  try {
    await work()
    return turns
  } finally {
    isOver = true
  }
}
