// The command line. Plain JavaScript: stripping the types of a first TypeScript file would load the type stripper (13 MB) before
// the compile cache is active.
import { enableCompileCache, getCompileCacheDir } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { compileCache } from './compile-cache.mjs'

// Loads the parts of the runtime that a server needs before the flag is set, which would make V8 compile them
// again.
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

// This thread keeps the young generation of the command line options. Other threads would get the same size
// from these options, whatever they ask for.
setFlagsFromString('--max-semi-space-size=0')
setFlagsFromString('--min-semi-space-size=0')

// A cache that the environment names is open already, and threads and commands share it.
if (process.argv[2] === 'serve' && !getCompileCacheDir()) {
  for (const name of runtimeModules) process.getBuiltinModule(`node:${name}`)
  // Loading leaves little garbage, but the heap would grow by 5 MB that it never returns. Set before the cache
  // is opened, which separates code compiled under other flags: this thread has its own cache.
  setFlagsFromString('--semi-space-growth-factor=1')
}
enableCompileCache(compileCache)
await import('./own-imports.mjs')
const { main } = await import('./commands/main.ts')
process.exitCode = await main(process.argv.slice(2))
