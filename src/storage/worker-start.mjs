// The first script of every worker thread. Plain JavaScript, as bin/crosspoint.mjs is and for the same reason: a thread
// takes half as much memory.
import { enableCompileCache, flushCompileCache } from 'node:module'
import { workerData } from 'node:worker_threads'
import { compileCache } from '../compile-cache.mjs'

enableCompileCache(compileCache)
await import(workerData.script)
flushCompileCache()
