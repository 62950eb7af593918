import { setFlagsFromString } from 'node:v8'

// Set here, and not as options of the command line: V8 takes compiled code only where such flags are as they were when it was made.
// The runtime's own was made without any, and to compile its modules anew is 40 ms of processor in each thread that starts.

// By then the threads that a start needs have loaded what they run, but where nothing is kept of an earlier start. Threads that start
// later pay for it.
const settlingMs = 2000

/** What is loaded stays; from now on there is garbage. */
export const letYoungGenerationGrow = () => setFlagsFromString('--semi-space-growth-factor=2')

/**
 * The old generation would grow to several times what lives before it is collected (docs/decisions/0013). From soon on: what is loaded
 * until then comes out of the compile cache.
 */
export const boundOldGeneration = () => {
  setTimeout(() => setFlagsFromString('--heap-growing-percent=100'), settlingMs).unref()
}
