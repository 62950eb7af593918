import { workerData } from 'node:worker_threads'
import { openSharedRows, type SharedMemory } from '../../../src/lib/shared-rows.ts'

// Adds one to each of some rows, again and again, while other threads do the same.
const { memory, times, keys }: { memory: SharedMemory; times: number; keys: number } = workerData
const rows = openSharedRows(memory, 1)
for (let n = 0; n < times; n += 1) rows.at(`key ${n % keys}`, (row) => row.write(0, row.read(0) + 1))
