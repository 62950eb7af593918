// The rows of a small store, stored as a copy that can be restored after an import.
import type { Row, Statement, Value } from './db.ts'
import { allTables } from './distribution/placements.ts'
import type { Store } from './store.ts'
import { integer, shape, table, text } from './table.ts'

// Internal tables, and the audit log.
const untouched: readonly string[] = [
  'audit_heads',
  'audit_index',
  'audit_log',
  'feed_below',
  'feed_marks',
  'leases',
  'monthly_tables',
  'scheduled_jobs',
  'sign_in_buckets',
  'storage_upgrades',
  'websockets',
  'writers',
]

const earlier = table('kazoo_before', { name: text(), number: integer(), content: text() })
const insert = earlier.insert()
const counted = shape({ count: integer() })

const maxRows = 5000

const tables = allTables.filter((name) => !untouched.includes(name) && !name.startsWith('kazoo_'))

/** The store has too many rows to be restored. */
export class TooMuch extends Error {}

const columnsIn = (row: Row) => Object.keys(row)

const insertionOf = (name: string, row: Row): Statement => {
  const columns = columnsIn(row)
  return {
    sql: `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map((_, at) => `$${at + 1}`).join(', ')})`,
    params: columns.map((column): Value => row[column] ?? null),
  }
}

export const keepState = async ({ all, scan }: Pick<Store, 'all' | 'scan'>): Promise<Statement[]> => {
  const kept: Statement[] = []
  for (const name of tables) {
    const [{ count } = { count: 0 }] = counted.list(
      await all(
        `SELECT count(*) AS count FROM (SELECT 1 AS one FROM ${name} LIMIT ${maxRows}) AS first_rows`,
      ),
    )
    if (kept.length + count >= maxRows)
      throw new TooMuch(`${name} contains more rows than after a first start`)
    for (const row of await scan(`SELECT * FROM ${name}`))
      kept.push(insert({ name, number: kept.length, content: JSON.stringify(row) }))
  }
  return kept
}

/** Months are dropped before. */
export const putBackState = async ({ scan }: Pick<Store, 'scan'>): Promise<Statement[]> => {
  const rows = earlier.list(await scan(`SELECT ${earlier.columns} FROM kazoo_before ORDER BY number`))
  return [
    // A dropped month would accept no records.
    { sql: "DELETE FROM monthly_tables WHERE state = 'dropped'", params: [] },
    ...tables.map((name) => ({ sql: `DELETE FROM ${name}`, params: [] })),
    ...rows.map(({ name, content }) => insertionOf(name, JSON.parse(content))),
  ]
}
