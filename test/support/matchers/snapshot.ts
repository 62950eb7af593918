import type { Store } from '../../../src/storage/store.ts'
import type { Engine } from '../servers/databases.ts'

// Tables of data about requests, and of data that the server changes in the background.
const logTables = new Set([
  'audit_log',
  'audit_index',
  'audit_heads',
  'feed_below',
  'feed_marks',
  'writers',
  'told_keys',
  'leases',
  'scheduled_jobs',
  'number_searches',
  'billing_progress',
  'balance_watch',
  'charge_quotes',
  'idempotency_keys',
  'api_key_uses',
  'sign_in_buckets',
  'feed_below',
  'feed_marks',
  'webhook_deliveries',
  'webhook_replays',
  'webhook_failures',
])
// Counts are folded in the background: only their sums can be compared.
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

// Text in a column is escaped, so this is the column.
const kindColumn = /"kind":"([^"]*)"/

/**
 * Attempts to sign in, and jobs that have ended: they tell of what was, and change nothing. Months of calls get their
 * tables ahead: what is in them shows in their rows.
 */
const isLogRow = ({ table, text }: TableRow) =>
  logKinds.test(kindColumn.exec(text)?.[1] ?? '') ||
  (table === 'work' && JSON.parse(text).state !== 'waiting') ||
  (table === 'monthly_tables' && JSON.parse(text).state === 'present')

interface TableRow {
  table: string
  /** An object of JSON. */
  text: string
}

const eachByItself = async (store: Store, tables: readonly string[]): Promise<TableRow[]> => {
  const rowsOf = async (table: string) =>
    (await store.all(`SELECT * FROM ${table}`)).map((row) => ({ table, text: JSON.stringify(row) }))
  return (await Promise.all(tables.map(rowsOf))).flat()
}

const selectTexts = (table: string) =>
  `SELECT '${table}' AS "table", row_to_json(whole)::text AS text FROM ${table} AS whole`

/** A test takes two snapshots of about sixty tables: one query needs a tenth of the time. */
const allAtOnce = (store: Store, tables: readonly string[]) =>
  store.all<TableRow>(tables.map(selectTexts).join(' UNION ALL '))

// Tables that Citus distributes are read one by one.
const isOneServer = process.env.CROSSPOINT_TEST_CITUS === undefined

const readRows = (engine: Engine) => (engine === 'postgres' && isOneServer ? allAtOnce : eachByItself)

/** Every row of every table that has some, as sorted texts. */
export type Snapshot = Record<string, string[]>

export const snapshotOf = async (store: Store, engine: Engine): Promise<Snapshot> => {
  const found = await store.all<{ name: string }>(tableNames[engine])
  const tables = found
    .map(({ name }) => name)
    .filter((name) => !(logTables.has(name) || countTables.has(name) || logKinds.test(name)))
  const content: Snapshot = {}
  for (const row of await readRows(engine)(store, tables)) {
    if (isLogRow(row)) continue
    content[row.table] ??= []
    content[row.table]?.push(row.text)
  }
  for (const rows of Object.values(content)) rows.sort()
  content.counts = (await store.all(countsSql)).map((row) => JSON.stringify(row)).sort()
  return content
}

/** Takes snapshots of a store. On SQLite it returns the last one again if nothing was committed since. */
export const createSnapshots = (store: Store, engine: Engine) => {
  let last: { version: number; snapshot: Snapshot } | undefined

  // Commits of other connections are counted, and the connection that reads writes nothing.
  const versionOf = async () => {
    const [row] = await store.all<{ data_version: number }>('SELECT data_version FROM pragma_data_version')
    return row?.data_version ?? 0
  }

  return async (): Promise<Snapshot> => {
    if (engine !== 'sqlite') return snapshotOf(store, engine)
    const version = await versionOf()
    if (last?.version !== version) last = { version, snapshot: await snapshotOf(store, engine) }
    return last.snapshot
  }
}

const areEqual = (before: Snapshot, after: Snapshot) => {
  const tables = Object.keys(before)
  return (
    tables.length === Object.keys(after).length &&
    tables.every((table) => before[table]?.join('\n') === after[table]?.join('\n'))
  )
}

/** The rows that only one of two snapshots has. */
export const differenceOf = (before: Snapshot, after: Snapshot) => {
  if (before === after || areEqual(before, after)) return { gone: [], new: [] }
  const rowsOf = (snapshot: Snapshot) =>
    Object.entries(snapshot).flatMap(([table, rows]) => rows.map((row) => `${table} ${row}`))
  const had = new Set(rowsOf(before))
  const has = new Set(rowsOf(after))
  return { gone: [...had].filter((row) => !has.has(row)), new: [...has].filter((row) => !had.has(row)) }
}

/** How many events, audit entries, webhook deliveries and mails there are. */
export const countTraces = async (store: Store) => {
  const [row] = await store.all(`SELECT
    (SELECT count(*) FROM audit_log) AS events,
    (SELECT count(*) FROM webhook_deliveries) AS deliveries,
    (SELECT count(*) FROM records WHERE kind IN ('mail', 'password_recovery', 'new_user')) AS mails`)
  return row
}
