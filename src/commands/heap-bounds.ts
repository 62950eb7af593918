import { setFlagsFromString } from 'node:v8'

// Set at run time: with these flags on the command line V8 would reject the runtime's compiled code, at 40 ms for each thread.

// After this time the threads of a start have loaded their modules.
const settlingMs = 2000

/** Loaded code stays, garbage follows. */
export const letYoungGenerationGrow = () => setFlagsFromString('--semi-space-growth-factor=2')

/** Bounds the old generation, which would grow to a multiple of the live data (docs/decisions/0013). */
export const boundOldGeneration = () => {
  setTimeout(() => setFlagsFromString('--heap-growing-percent=100'), settlingMs).unref()
}
