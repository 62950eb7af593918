import { DatabaseSync, type DatabaseSyncOptions, type StatementSync } from 'node:sqlite'
import { namingPath } from '../lib/error-facts.ts'
import { evictOldest } from '../lib/forget-oldest.ts'

// The variety of statements is unbounded.
const maxKept = 300

/** `$1` becomes `?1`. */
export const sqliteText = (sql: string) => sql.replace(/\$(\d+)/g, '?$1')

export const createStatements = (connection: DatabaseSync) => {
  const statements = new Map<string, StatementSync>()
  return (sql: string) => {
    let statement = statements.get(sql)
    if (!statement) {
      statement = connection.prepare(sqliteText(sql))
      statements.set(sql, statement)
      evictOldest(statements, maxKept)
    }
    return statement
  }
}

// A checkpoint at 32 MB, rarer than usual: pages that many commits change are written once. Deleted content is zeroed in written pages.
const durable = `
  PRAGMA busy_timeout = 5000;
  PRAGMA page_size = 8192;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA cache_size = -16000;
  PRAGMA foreign_keys = OFF;
  PRAGMA temp_store = MEMORY;
  PRAGMA secure_delete = FAST;
`

const attempts = 250
const pauseMilliseconds = 20

const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMilliseconds)

const isLocked = (error: unknown) => error instanceof Error && /database is locked/.test(error.message)

/** An error contains the file name. */
export const openFile = (file: string, options: DatabaseSyncOptions = {}): DatabaseSync => {
  try {
    return new DatabaseSync(file, options)
  } catch (error) {
    throw namingPath(file, error)
  }
}

/**
 * Write-ahead log, every commit synced. Processes that start at once on a new file fail to switch the log on, so they retry.
 */
export const openDurable = (file: string): DatabaseSync => {
  const connection = openFile(file)
  for (let attempt = 1; ; attempt += 1) {
    try {
      connection.exec(durable)
      return connection
    } catch (error) {
      if (!isLocked(error) || attempt === attempts) throw namingPath(file, error)
      pause()
    }
  }
}

export const makeSqliteFile = (file: string, script: string) => {
  const connection = new DatabaseSync(file)
  try {
    connection.exec(script)
  } finally {
    connection.close()
  }
}
