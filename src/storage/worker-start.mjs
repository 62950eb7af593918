// The first script of every worker thread. Plain JavaScript, as bin/crosspoint.mjs is and for the same reason: a thread
// takes half as much memory.
import { readlinkSync } from 'node:fs'
import { enableCompileCache, flushCompileCache } from 'node:module'
import { setPriority } from 'node:os'
import { basename } from 'node:path'
import { workerData } from 'node:worker_threads'
import { compileCache } from '../compile-cache.mjs'
import '../own-imports.mjs'

/** Linux has a priority for each thread. Elsewhere, and where that is forbidden, all threads stay alike. */
const giveWay = (niceness) => {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), niceness)
  } catch {
    // Heavy reads in other threads only make responses slower.
  }
}

if (workerData.niceness) giveWay(workerData.niceness)
enableCompileCache(compileCache)
await import(workerData.script)
flushCompileCache()
