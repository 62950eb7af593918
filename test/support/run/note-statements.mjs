// Loaded into the processes of the tests and their threads: notes which SQL statements go to which engine, for the last file of
// a run. Does nothing if CROSSPOINT_TEST_STATEMENTS is unset.
import { appendFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isMainThread, threadId } from 'node:worker_threads'

const folder = process.env.CROSSPOINT_TEST_STATEMENTS

const createNote = (engine) => {
  const seen = new Set()
  const file = join(folder, `${engine}-${process.pid}-${threadId}.jsonl`)
  return (sql) => {
    if (typeof sql !== 'string' || seen.has(sql)) return
    seen.add(sql)
    appendFileSync(file, `${JSON.stringify(sql)}\n`)
  }
}

const noteSqlite = () => {
  const note = createNote('sqlite')
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (sql, ...rest) {
    // The store numbers its placeholders $1, SQLite ?1.
    note(sql.replace(/\?(\d+)/g, '$$$1'))
    return prepare.call(this, sql, ...rest)
  }
}

const notePostgres = () => {
  const { Client } = createRequire(import.meta.url)('pg')
  const note = createNote('postgres')
  const { query } = Client.prototype
  Client.prototype.query = function (asked, ...rest) {
    note(typeof asked === 'string' ? asked : asked?.text)
    return query.call(this, asked, ...rest)
  }
}

if (folder) {
  noteSqlite()
  // Only the main thread speaks with PostgreSQL in the servers of the tests.
  if (isMainThread) notePostgres()
}
