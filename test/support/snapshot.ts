import type { Store } from '../../src/storage/store.ts'
import type { Engine } from './databases.ts'

// What is written about requests, not by them, and what the server moves about by itself.
const logTables = new Set([
  'audit_log',
  'audit_heads',
  'feed_below',
  'feed_marks',
  'writers',
  'leases',
  'rounds',
  'number_searches',
  'billing_progress',
  'balance_watch',
  'idempotency_keys',
  'api_key_uses',
  'sign_in_buckets',
  'feed_below',
  'feed_marks',
  'webhook_deliveries',
  'webhook_replays',
  'webhook_failures',
])
// Counts are folded in the background: only what they come to says something.
const countTables = new Set(['quantities', 'quantity_moves', 'quantity_days'])
const countsSql = `SELECT account_id, category, item, CAST(sum(own) AS BIGINT) AS own
  FROM (SELECT account_id, category, item, own FROM quantities
    UNION ALL SELECT account_id, category, item, own FROM quantity_moves) AS counted
  WHERE account_id IN (SELECT account_id FROM records WHERE kind = 'account')
  GROUP BY account_id, category, item HAVING sum(own) <> 0`
const logKinds = /attempt|^(?:mail|password_recovery|new_user|low_balance|sign_in_networks|domain_checks)$/

const tableNames: Record<Engine, string> = {
  sqlite: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
  postgres: "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename",
}

/** Attempts to sign in, and errands that have ended: they tell of what was, and change nothing. */
const isLogRow = (table: string, row: Record<string, unknown>) =>
  logKinds.test(String(row.kind ?? '')) || (table === 'work' && row.state !== 'waiting')

/** Every row of every table, as sorted texts. */
export type Snapshot = Record<string, string[]>

export const snapshotOf = async (store: Store, engine: Engine): Promise<Snapshot> => {
  const tables = await store.all<{ name: string }>(tableNames[engine])
  const content: Snapshot = {}
  for (const { name } of tables) {
    if (logTables.has(name) || countTables.has(name) || logKinds.test(name)) continue
    const rows = await store.all<Record<string, unknown>>(`SELECT * FROM ${name}`)
    content[name] = rows
      .filter((row) => !isLogRow(name, row))
      .map((row) => JSON.stringify(row))
      .sort()
  }
  content.counts = (await store.all(countsSql)).map((row) => JSON.stringify(row)).sort()
  return content
}

/** The rows that only one of two snapshots has. */
export const differenceOf = (before: Snapshot, after: Snapshot) => {
  const rowsOf = (snapshot: Snapshot) =>
    Object.entries(snapshot).flatMap(([table, rows]) => rows.map((row) => `${table} ${row}`))
  const had = new Set(rowsOf(before))
  const has = new Set(rowsOf(after))
  return { gone: [...had].filter((row) => !has.has(row)), new: [...has].filter((row) => !had.has(row)) }
}
