#!/usr/bin/env node
import { existsSync } from 'node:fs'

const oldestUsableNode = 24

const isRepository = existsSync(new URL('../src', import.meta.url))

// Started by name, it runs on the machine's Node, which may be too old: the launcher knows the pinned one.
if (Number.parseInt(process.versions.node, 10) < oldestUsableNode) await import('../scripts/bootstrap.mjs')
else await import(isRepository ? '../src/crosspoint.mjs' : '../lib/crosspoint.js')
