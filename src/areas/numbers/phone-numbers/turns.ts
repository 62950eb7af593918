import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

const longestMs = 2

/**
 * For long work on the event loop: to be called again and again, it lets others have their turn when the work has gone
 * on for two milliseconds.
 */
export const createLoopYield = () => {
  let begun = performance.now()
  return async () => {
    if (performance.now() - begun < longestMs) return
    await nextTurn()
    begun = performance.now()
  }
}
