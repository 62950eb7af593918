import type { Value } from './db.ts'
import type { Store } from './store.ts'

/** Rows that are of no use any more. */
interface Forgettable {
  table: string
  /** The columns of its primary key. */
  key: readonly string[]
  /** Which rows, by an index: `at < $1`. */
  where: string
  params: readonly Value[]
}

// The embedded store has one writer: nobody should wait for long behind a day's worth of rows.
const rowsAtOnce = 1000

/** Removes rows in transactions of bounded size, until none is left or `signal` says to stop. */
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
