// The command line. Plain JavaScript: a TypeScript file as the first one would be stripped of its types before the compile
// cache is there for all others, and what strips types takes 13 MB and never goes.
import { enableCompileCache, getCompileCacheDir } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { compileCache } from './compile-cache.mjs'

// What a server loads of the runtime: before the flag, under which it would be compiled anew.
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

// This thread has the young generation that the options of the command line gave it. Beside those options that of other threads would be
// as large, whatever they are given.
setFlagsFromString('--max-semi-space-size=0')
setFlagsFromString('--min-semi-space-size=0')

// A cache that the environment names is open already, and threads and commands share it.
if (process.argv[2] === 'serve' && !getCompileCacheDir()) {
  for (const name of runtimeModules) process.getBuiltinModule(`node:${name}`)
  // Loading leaves hardly any garbage, and the heap would grow for it by 5 MB that it does not give back. Before the cache is opened,
  // which keeps what is compiled under other flags apart: this thread gets one of its own.
  setFlagsFromString('--semi-space-growth-factor=1')
}
enableCompileCache(compileCache)
await import('./own-imports.mjs')
const { main } = await import('./commands/main.ts')
process.exitCode = await main(process.argv.slice(2))
