// The command line. Plain JavaScript: a TypeScript file as the first one would be stripped of its types before the compile
// cache is there for all others, and what strips types takes 13 MB and never goes.
import { enableCompileCache } from 'node:module'
import { compileCache } from './compile-cache.mjs'

enableCompileCache(compileCache)
await import('./own-imports.mjs')
const { main } = await import('./commands/main.ts')
process.exitCode = await main(process.argv.slice(2))
