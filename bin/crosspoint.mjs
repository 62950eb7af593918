#!/usr/bin/env node
// Plain JavaScript: a TypeScript file as the first one would be stripped of its types before the compile cache is there
// for all others, and what strips types takes 13 MB and never goes.
import { enableCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { compileCache } from '../src/compile-cache.mjs'

// Loading leaves hardly any garbage, and the heap would grow for it by 10 MB that it does not give back.
setFlagsFromString('--semi-space-growth-factor=1')

enableCompileCache(compileCache)
const { main } = await import('../src/commands/main.ts')
process.exitCode = await main(process.argv.slice(2))
