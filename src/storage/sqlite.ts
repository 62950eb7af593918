import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { failure } from '../lib/failure.ts'
import type { Database, Row, StaleListener, Statement, Value, Write } from './db.ts'

interface PendingWrite {
  write: Write
  resolve: () => void
  reject: (error: unknown) => void
}

interface PendingScan {
  resolve: (rows: never[]) => void
  reject: (error: unknown) => void
}

export interface ScanRequest {
  number: number
  sql: string
  params: readonly Value[]
}

export interface ScanAnswer {
  number: number
  rows?: never[]
  error?: string
}

/** SQLite numbers its placeholders `?1` where PostgreSQL says `$1`. */
export const sqliteText = (sql: string) => sql.replace(/\$(\d+)/g, '?$1')

interface Query {
  statement: StatementSync
  names: string[]
}

// Rows come as arrays and get their names here: objects that node:sqlite makes are twice as slow to make and to read.
const named = (names: readonly string[], values: readonly Value[]) => {
  const row: Record<string, Value> = {}
  for (let at = 0; at < names.length; at += 1) row[names[at] as string] = values[at] as Value
  return row
}

const isBusy = (error: unknown) => error instanceof Error && /database is (locked|busy)/.test(error.message)

/**
 * The embedded store: one connection that reads and writes on the event loop, one worker thread for long reads.
 * Writes that arrive within one turn of the event loop share one durable commit; each keeps a savepoint of its own.
 */
export const openSqlite = (file: string): Database => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const connection = new DatabaseSync(file)
  connection.exec(`
    PRAGMA page_size = 8192;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA busy_timeout = 5000;
    PRAGMA cache_size = -16000;
    PRAGMA mmap_size = 268435456;
    PRAGMA foreign_keys = OFF;
  `)
  const statements = new Map<string, StatementSync>()
  const queries = new Map<string, Query>()
  const listeners: StaleListener[] = []
  const dataVersion = connection.prepare('PRAGMA data_version')
  const readDataVersion = () => (dataVersion.get() as { data_version: number }).data_version
  let knownVersion = readDataVersion()
  let pending: PendingWrite[] = []
  let closing = false
  let isFenced = false
  const unfence = () => {
    isFenced = false
  }

  const prepared = (sql: string) => {
    let statement = statements.get(sql)
    if (!statement) {
      statement = connection.prepare(sqliteText(sql))
      statements.set(sql, statement)
    }
    return statement
  }

  const queryOf = (sql: string) => {
    let query = queries.get(sql)
    if (!query) {
      // Nothing is written but by change sets; PostgreSQL refuses it by itself.
      if (!/^\s*SELECT\b/.test(sql)) throw new Error('a read that is no SELECT')
      const statement = connection.prepare(sqliteText(sql))
      statement.setReturnArrays(true)
      query = { statement, names: statement.columns().map(({ name }) => name) }
      queries.set(sql, query)
    }
    return query
  }

  const announce = (keys: readonly string[] | 'everything') => {
    for (const listener of listeners) listener(keys)
  }

  const apply = (statement: Statement) => {
    const { changes } = prepared(statement.sql).run(...statement.params)
    if (statement.expect && Number(changes) !== statement.expect.rows) throw statement.expect.orElse()
  }

  const attempt = (entry: PendingWrite) => {
    prepared('SAVEPOINT one').run()
    try {
      for (const statement of entry.write.statements) apply(statement)
      prepared('RELEASE one').run()
      return true
    } catch (error) {
      // A full disk or an I/O error may have ended the transaction by itself.
      if (connection.isTransaction) {
        prepared('ROLLBACK TO one').run()
        prepared('RELEASE one').run()
      }
      entry.reject(error)
      return false
    }
  }

  const flush = () => {
    const batch = pending
    pending = []
    if (batch.length === 0) return
    let done: PendingWrite[] = []
    try {
      prepared('BEGIN IMMEDIATE').run()
      done = batch.filter(attempt)
      prepared('COMMIT').run()
    } catch (error) {
      if (connection.isTransaction) prepared('ROLLBACK').run()
      const reason = isBusy(error) ? failure('datastore_unreachable', {}, error) : error
      for (const entry of batch) entry.reject(reason)
      return
    }
    for (const entry of done) {
      announce(entry.write.stale)
      entry.resolve()
    }
  }

  const scans = createScans(file)

  return {
    engine: 'sqlite',
    async all<R>(sql: string, params: readonly Value[] = []) {
      const { statement, names } = queryOf(sql)
      const rows = statement.all(...params) as unknown as Value[][]
      return rows.map((values) => named(names, values)) as R[]
    },
    scan: <R>(sql: string, params: readonly Value[] = []) => scans.run<R>(sqliteText(sql), params),
    write(write) {
      if (closing) return Promise.reject(failure('datastore_unreachable', {}))
      return new Promise((resolve, reject) => {
        if (pending.length === 0) setImmediate(flush)
        pending.push({ write, resolve, reject })
      })
    },
    fence() {
      // The requests of one turn of the event loop arrived before it began: they share one look.
      if (isFenced) return undefined
      isFenced = true
      setImmediate(unfence)
      const version = readDataVersion()
      if (version === knownVersion) return undefined
      knownVersion = version
      announce('everything')
      return undefined
    },
    onStale: (listener) => void listeners.push(listener),
    async exclusively(work) {
      prepared('BEGIN IMMEDIATE').run()
      try {
        await work(async (sql, params = []) => connection.prepare(sqliteText(sql)).all(...params) as Row[])
        prepared('COMMIT').run()
      } catch (error) {
        if (connection.isTransaction) prepared('ROLLBACK').run()
        throw error
      }
    },
    async close() {
      closing = true
      flush()
      await scans.close()
      statements.clear()
      queries.clear()
      connection.close()
    },
  }
}

/** Long reads, carried to a worker thread that is started when the first one comes. */
const createScans = (file: string) => {
  let worker: Worker | undefined
  let lastNumber = 0
  const waiting = new Map<number, PendingScan>()

  const failAll = (error: unknown) => {
    for (const scan of waiting.values()) scan.reject(error)
    waiting.clear()
    worker = undefined
  }

  const start = () => {
    const started = new Worker(new URL('./sqlite-reader.ts', import.meta.url), { workerData: { file } })
    started.on('message', (answer: ScanAnswer) => {
      const scan = waiting.get(answer.number)
      waiting.delete(answer.number)
      if (answer.rows) scan?.resolve(answer.rows)
      else scan?.reject(new Error(answer.error))
    })
    started.on('error', failAll)
    started.unref()
    return started
  }

  return {
    run<R>(sql: string, params: readonly Value[]): Promise<R[]> {
      worker ??= start()
      const request: ScanRequest = { number: ++lastNumber, sql, params }
      worker.postMessage(request)
      return new Promise((resolve, reject) => {
        waiting.set(request.number, { resolve: resolve as PendingScan['resolve'], reject })
      })
    },
    async close() {
      await worker?.terminate()
      failAll(failure('datastore_unreachable', {}))
    },
  }
}
