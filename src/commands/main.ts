import { flushCompileCache } from 'node:module'
import { letYoungGenerationGrow } from './heap-bounds.ts'

// The server does without the library that reads command lines: its memory is counted.
const runServer = async (args: readonly string[]) => {
  const { serve } = await import('./serve.ts')
  letYoungGenerationGrow()
  // Written now and not at the end, which may be a kill -9.
  flushCompileCache()
  return serve.run(args)
}

// What they read or write has no end: one that takes its time must not take the memory of the machine.
const boundedCommands = new Set(['import', 'export'])

const runCommand = async (args: readonly string[]) => {
  if (boundedCommands.has(args[0] ?? '')) {
    const { boundMemory } = await import('./memory-bounds.ts')
    boundMemory()
  }
  const { runProgram } = await import('./program.ts')
  return runProgram(args)
}

/** Runs a command line; answers with the status that the process ends with. */
export const main = async (args: readonly string[]): Promise<number> => {
  const [name, ...more] = args
  return name === 'serve' ? runServer(more) : runCommand(args)
}
