import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'

const longestMs = 2

/** For long loops: awaiting the result yields to the event loop after 2 ms of work. */
export const createLoopYield = () => {
  let begun = performance.now()
  return async () => {
    if (performance.now() - begun < longestMs) return
    await nextTurn()
    begun = performance.now()
  }
}
