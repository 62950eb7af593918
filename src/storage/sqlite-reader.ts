import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { Value } from './db.ts'
import { createStatements } from './sqlite-open.ts'
import type { Numbered } from './worker-link.ts'

export interface SqliteReaderData {
  file: string
  cacheKilobytes: number
}

export interface Scan {
  /** Rows, or the bytes of the only value. */
  as: 'rows' | 'bytes'
  sql: string
  params: readonly Value[]
  /** A module with functions for the statement. */
  functions?: string | undefined
}

/** Without column names in each row. */
export type ScanChunk =
  | { names: string[]; rows: Value[][] }
  | { bytes: Uint8Array<ArrayBuffer> }
  | { error: string }

// Runs in a thread: long reads.
const { file, cacheKilobytes }: SqliteReaderData = workerData
const connection = new DatabaseSync(file, { readOnly: true })
connection.exec(`PRAGMA busy_timeout = 5000; PRAGMA cache_size = -${cacheKilobytes}`)

const prepared = createStatements(connection)

const learnt = new Set<string>()

const learn = async (module: string) => {
  const functions: Record<string, (...values: SQLOutputValue[]) => SQLInputValue> = await import(module)
  for (const [name, call] of Object.entries(functions))
    connection.function(name, { deterministic: true }, call)
  learnt.add(module)
}

const nothing = () => new Uint8Array(0)

const bytesOf = ({ sql, params }: Scan): Uint8Array<ArrayBuffer> => {
  const row = prepared(sql).get(...params) as { bytes: Uint8Array<ArrayBuffer> | null } | undefined
  return row?.bytes ?? nothing()
}

const rowsOf = ({ sql, params }: Scan) => {
  const statement = prepared(sql)
  statement.setReturnArrays(true)
  const rows = statement.all(...params) as unknown as Value[][]
  return { names: statement.columns().map(({ name }) => name), rows }
}

const answer = async (scan: Scan): Promise<ScanChunk> => {
  try {
    if (scan.functions && !learnt.has(scan.functions)) await learn(scan.functions)
    return scan.as === 'bytes' ? { bytes: bytesOf(scan) } : rowsOf(scan)
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

parentPort?.on('message', async ({ number, content }: Numbered<Scan>) => {
  const found = await answer(content)
  parentPort?.postMessage({ number, content: found }, 'bytes' in found ? [found.bytes.buffer] : [])
})
