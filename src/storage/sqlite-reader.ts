import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { Value } from './db.ts'
import { createStatements } from './sqlite-statements.ts'
import type { Numbered } from './worker-link.ts'

export interface Scan {
  sql: string
  params: readonly Value[]
}

export type ScanAnswer = { rows: never[] } | { error: string }

// Runs in a worker thread: long reads of the embedded store, beside the event loop that serves requests.
const connection = new DatabaseSync((workerData as { file: string }).file, { readOnly: true })
connection.exec('PRAGMA busy_timeout = 5000; PRAGMA cache_size = -8000;')

const prepared = createStatements(connection)

const answer = ({ sql, params }: Scan): ScanAnswer => {
  try {
    return { rows: prepared(sql).all(...params) as never[] }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

parentPort?.on('message', ({ number, content }: Numbered<Scan>) => {
  parentPort?.postMessage({ number, content: answer(content) })
})
