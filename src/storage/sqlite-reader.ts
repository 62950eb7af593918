import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { ScanAnswer, ScanRequest } from './sqlite.ts'

// Runs in a worker thread: long reads of the embedded store, beside the event loop that serves requests.
const connection = new DatabaseSync((workerData as { file: string }).file, { readOnly: true })
connection.exec('PRAGMA busy_timeout = 5000; PRAGMA cache_size = -8000;')
const statements = new Map<string, StatementSync>()

const prepared = (sql: string) => {
  let statement = statements.get(sql)
  if (!statement) {
    statement = connection.prepare(sql)
    statements.set(sql, statement)
  }
  return statement
}

const answer = ({ number, sql, params }: ScanRequest): ScanAnswer => {
  try {
    return { number, rows: prepared(sql).all(...params) as never[] }
  } catch (error) {
    return { number, error: error instanceof Error ? error.message : String(error) }
  }
}

parentPort?.on('message', (request: ScanRequest) => parentPort?.postMessage(answer(request)))
