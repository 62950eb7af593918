import { flushCompileCache } from 'node:module'
import { holdYoungGeneration, letYoungGenerationGrow } from './heap-bounds.ts'

// What a server loads of the runtime: before a flag of the heap, under which it would be compiled anew.
const runtimeModules = [
  'async_hooks',
  'crypto',
  'dgram',
  'dns/promises',
  'fs/promises',
  'https',
  'perf_hooks',
  'sqlite',
  'timers/promises',
  'worker_threads',
  'zlib',
]

// The server does without the library that reads command lines: its memory is counted.
const runServer = async (args: readonly string[]) => {
  for (const name of runtimeModules) process.getBuiltinModule(`node:${name}`)
  holdYoungGeneration()
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
