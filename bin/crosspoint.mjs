#!/usr/bin/env node
// Plain JavaScript: a TypeScript file as the first one would be stripped of its types before the compile cache is there
// for all others, and what strips types takes 13 MB and never goes.
import { existsSync } from 'node:fs'
import * as module from 'node:module'
import { setFlagsFromString } from 'node:v8'

const oldestUsableNode = 24

// A package has its code without types.
const [code, ending] = existsSync(new URL('../src', import.meta.url)) ? ['../src', 'ts'] : ['../lib', 'js']

const run = async () => {
  // Loading leaves hardly any garbage, and the heap would grow for it by 10 MB that it does not give back.
  setFlagsFromString('--semi-space-growth-factor=1')

  const { compileCache } = await import(`${code}/compile-cache.mjs`)
  module.enableCompileCache(compileCache)
  const { main } = await import(`${code}/commands/main.${ending}`)
  process.exitCode = await main(process.argv.slice(2))
}

// Whoever calls it by its name has the machine's Node, which may be too old: the launcher knows the pinned one.
if (Number.parseInt(process.versions.node, 10) < oldestUsableNode) await import('../scripts/bootstrap.mjs')
else await run()
