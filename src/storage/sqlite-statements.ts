import type { DatabaseSync, StatementSync } from 'node:sqlite'

// What filters and months make of statements is without end: the oldest is given up, and prepared anew if it comes back.
const mostKept = 300

/** Statements by their text, each prepared once as long as they are not too many. */
export const createStatements = (connection: DatabaseSync) => {
  const statements = new Map<string, StatementSync>()
  return (sql: string) => {
    let statement = statements.get(sql)
    if (!statement) {
      statement = connection.prepare(sql)
      statements.set(sql, statement)
      forgetOldest(statements, mostKept)
    }
    return statement
  }
}

/** Keeps a map of what can be made again from growing. */
export const forgetOldest = (map: Map<string, unknown>, most: number) => {
  if (map.size <= most) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
