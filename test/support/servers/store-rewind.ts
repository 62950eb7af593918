// Puts an embedded store back to how it was, from outside: the server notices as it would another process's write.
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'

type Row = Record<string, SQLInputValue>

// Leases and scheduled jobs belong to the current work of the server, so they are not rewound. A fold of counts during a rewind
// finds its moves missing, and reads again.
const tablesOf = (db: DatabaseSync) =>
  (
    db
      .prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN ('writers', 'told_keys', 'leases', 'scheduled_jobs')",
      )
      .all() as {
      name: string
    }[]
  ).map(({ name }) => name)

// Every process that writes to the file counts its commits, so that the others forget what they cached.
const countCommit =
  "INSERT INTO writers VALUES ('rewind', 1) ON CONFLICT (process) DO UPDATE SET commits = commits + 1"

const insertAll = (db: DatabaseSync, table: string, rows: readonly Row[]) => {
  const [first] = rows
  if (!first) return
  const columns = Object.keys(first)
  const marks = columns.map(() => '?').join(', ')
  const insert = db.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`)
  for (const row of rows) insert.run(...columns.map((column) => row[column] as SQLInputValue))
}

export interface Rewind {
  /** Resets the store to its state at the creation of this function. */
  rewind(): void
  close(): void
}

export const createRewind = (file: string): Rewind => {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA synchronous = OFF; PRAGMA busy_timeout = 60000')
  // SQLite counts the commits of other connections to the file.
  const othersCommits = db.prepare('PRAGMA data_version')
  const countCommits = () => othersCommits.get()?.data_version
  db.exec('BEGIN')
  const content = tablesOf(db).map((table) => ({
    table,
    rows: db.prepare(`SELECT * FROM ${table}`).all() as Row[],
  }))
  let rewoundAt = countCommits()
  db.exec('COMMIT')
  return {
    rewind() {
      if (countCommits() === rewoundAt) return
      db.exec('BEGIN IMMEDIATE')
      for (const { table, rows } of content) {
        db.exec(`DELETE FROM ${table}`)
        insertAll(db, table, rows)
      }
      db.exec(countCommit)
      rewoundAt = countCommits()
      db.exec('COMMIT')
    },
    close: () => db.close(),
  }
}
