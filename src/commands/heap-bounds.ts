import { setFlagsFromString } from 'node:v8'

// Set here, and not as options of the command line: V8 takes no compiled code from the runtime while such a flag differs from
// its default, and to compile the runtime's modules anew is 40 ms of processor in each thread that starts.

/** Loading leaves hardly any garbage, and the heap would grow for it by 5 MB that it does not give back. */
export const holdYoungGeneration = () => setFlagsFromString('--semi-space-growth-factor=1')

/** What is loaded stays; from now on there is garbage. */
export const letYoungGenerationGrow = () => setFlagsFromString('--semi-space-growth-factor=2')

/** The old generation would grow to several times what lives before it is collected (docs/decisions/0013). */
export const boundOldGeneration = () => setFlagsFromString('--heap-growing-percent=40')
