import type { Value } from './db.ts'
import type { Store } from './store.ts'

interface Forgettable {
  table: string
  /** Primary key. */
  key: readonly string[]
  /** By an index: `at < $1`. */
  where: string
  params: readonly Value[]
}

// The embedded store has one writer: others should not wait long.
const rowsAtOnce = 1000

/** Removes rows in bounded transactions, until none is left or `signal` aborts. */
export const expireRows = async (
  { all, writeUnrecorded }: Pick<Store, 'all' | 'writeUnrecorded'>,
  { table, key, where, params }: Forgettable,
  signal?: AbortSignal,
) => {
  const columns = key.join(', ')
  const sql = `DELETE FROM ${table} WHERE (${columns}) IN (SELECT ${columns} FROM ${table} WHERE ${where} LIMIT ${rowsAtOnce})`
  const isAnyLeft = async () =>
    (await all(`SELECT 1 AS one FROM ${table} WHERE ${where} LIMIT 1`, params)).length > 0
  while (!signal?.aborted && (await isAnyLeft())) await writeUnrecorded([{ sql, params }])
}
