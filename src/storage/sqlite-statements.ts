import type { DatabaseSync, StatementSync } from 'node:sqlite'
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
