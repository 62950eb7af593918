import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Statements by their text, each prepared once. */
export const createStatements = (connection: DatabaseSync) => {
  const statements = new Map<string, StatementSync>()
  return (sql: string) => {
    let statement = statements.get(sql)
    if (!statement) {
      statement = connection.prepare(sql)
      statements.set(sql, statement)
    }
    return statement
  }
}
