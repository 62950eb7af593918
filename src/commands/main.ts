import { flushCompileCache } from 'node:module'
import { letYoungGenerationGrow } from './heap-bounds.ts'

// The server does not load the command line library, to save memory.
const runServer = async (args: readonly string[]) => {
  const { serve } = await import('./serve.ts')
  letYoungGenerationGrow()
  // Before a kill -9 can end the process.
  flushCompileCache()
  return serve.run(args)
}

// Their data are unbounded, their memory must not be.
const boundedCommands = new Set(['import', 'export'])

const runCommand = async (args: readonly string[]) => {
  if (boundedCommands.has(args[0] ?? '')) {
    const { boundMemory } = await import('./memory-bounds.ts')
    boundMemory()
  }
  const { runProgram } = await import('./program.ts')
  return runProgram(args)
}

export const main = async (args: readonly string[]): Promise<number> => {
  const [name, ...more] = args
  return name === 'serve' ? runServer(more) : runCommand(args)
}
