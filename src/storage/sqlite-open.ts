import { DatabaseSync, type DatabaseSyncOptions, type StatementSync } from 'node:sqlite'
import { namingPath } from '../lib/error-facts.ts'
import { evictOldest } from '../lib/forget-oldest.ts'

// What filters and months make of statements is without end: the oldest is given up, and prepared anew if it comes back.
const maxKept = 300

/** SQLite numbers its placeholders `?1` where PostgreSQL says `$1`. */
export const sqliteText = (sql: string) => sql.replace(/\$(\d+)/g, '?$1')

/** Statements by their text, each prepared once as long as they are not too many. */
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

// The log is written back to the file when it holds 32 MB: rarer than usual, so that pages which many commits touch
// are written back once. What a row held before is overwritten with zeros, where its page is written anyway.
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

/** Opens the file; an error names it. */
export const openFile = (file: string, options: DatabaseSyncOptions = {}): DatabaseSync => {
  try {
    return new DatabaseSync(file, options)
  } catch (error) {
    throw namingPath(file, error)
  }
}

/**
 * Opens the file as every connection that writes does: write-ahead log, every commit synced to disk.
 * Of processes that start at once on a new file one switches the log on; SQLite lets the others fail at that without
 * waiting, so they try again.
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

/** A new file for a program that is not this one, with what a script puts into it. */
export const makeSqliteFile = (file: string, script: string) => {
  const connection = new DatabaseSync(file)
  try {
    connection.exec(script)
  } finally {
    connection.close()
  }
}
