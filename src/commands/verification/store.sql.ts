import type { Check, Fault } from '../../lib/check.ts'

import { messageOf, messageOfReading } from '../../lib/error-facts.ts'
import type { Row } from '../../storage/db.ts'
import { connectTo, runnerOn } from '../../storage/postgres-dump.ts'
import type { Store } from '../../storage/store.ts'
import type { Run } from '../../storage/upgrades.ts'

/** `key`: for paging. */
interface Documents {
  table: string
  key: readonly string[]
  columns: readonly string[]
}

const ofAccounts = ['account_id', 'id'] as const

const tables: readonly Documents[] = [
  { table: 'records', key: ['account_id', 'kind', 'id'], columns: ['doc', 'hidden', 'row_json'] },
  { table: 'numbers', key: ['number'], columns: ['doc', 'hidden', 'row_json'] },
  { table: 'ledger_entries', key: ofAccounts, columns: ['doc'] },
  { table: 'transactions', key: ofAccounts, columns: ['doc'] },
  { table: 'invoices', key: ofAccounts, columns: ['doc'] },
  { table: 'credit_notes', key: ['account_id', 'invoice_id', 'id'], columns: ['doc'] },
  { table: 'service_audit', key: ofAccounts, columns: ['doc'] },
  { table: 'webhook_attempts', key: ofAccounts, columns: ['doc'] },
  { table: 'kazoo_kept', key: ['account_id', 'source', 'id', 'name'], columns: ['doc'] },
  { table: 'work', key: ['kind', 'id'], columns: ['payload'] },
]

// Documents may be large.
const rowsPerPage = 200

const pageOf = ({ table, key, columns }: Documents) => {
  const places = key.map((_, index) => `$${index + 1}`).join(', ')
  return `SELECT ${[...key, ...columns].join(', ')} FROM ${table} WHERE (${key.join(', ')}) > (${places})
    ORDER BY ${key.join(', ')} LIMIT ${rowsPerPage}`
}

const whyUnreadable = (text: unknown) => {
  try {
    JSON.parse(String(text))
    return undefined
  } catch (error) {
    return messageOfReading(error)
  }
}

const placeOf = ({ table, key }: Documents, row: Row) => `${table} ${key.map((name) => row[name]).join(' ')}`

const faultsIn = (documents: Documents, row: Row): Fault[] =>
  documents.columns.flatMap((column) => {
    const text = row[column]
    const reason = text === null ? undefined : whyUnreadable(text)
    return reason === undefined
      ? []
      : [{ place: placeOf(documents, row), reason: `its ${column} cannot be read (${reason})` }]
  })

async function* rowsOf({ scan }: Pick<Store, 'scan'>, documents: Documents): AsyncGenerator<Row> {
  const sql = pageOf(documents)
  let after = documents.key.map(() => '')
  for (;;) {
    const rows = await scan(sql, after)
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < rowsPerPage) return
    after = documents.key.map((name) => String(last[name]))
  }
}

type Parts = Pick<Store, 'scan' | 'sealing'>

/** A secret of another key, or an altered one, cannot be opened. */
const sealFault = ({ sealing }: Parts, documents: Documents, row: Row): Fault[] => {
  const place = { accountId: String(row.account_id), kind: String(row.kind), id: String(row.id) }
  return sealing.isShut(place, String(row.doc))
    ? []
    : [{ place: placeOf(documents, row), reason: 'a secret in it cannot be opened with keys/server.key' }]
}

/** `opensSecrets` requires the server's key. */
export const checkDocuments = (parts: Parts, opensSecrets: boolean): Check => ({
  name: 'records',
  async run(tell) {
    let seen = 0
    for (const documents of tables)
      for await (const row of rowsOf(parts, documents)) {
        seen += 1
        const unreadable = faultsIn(documents, row)
        const sealed =
          opensSecrets && documents.table === 'records' && unreadable.length === 0
            ? sealFault(parts, documents, row)
            : []
        for (const fault of [...unreadable, ...sealed]) tell(fault)
      }
    return seen
  },
})

const sound = 'ok'

/** Pages, rows and indexes of the embedded store. */
export const checkSqlite = ({ scan }: Pick<Store, 'scan'>): Check => ({
  name: 'indices',
  async run(tell) {
    for (const { text } of await scan('SELECT integrity_check AS text FROM pragma_integrity_check'))
      if (text !== sound) tell({ place: 'crosspoint.db', reason: String(text) })
    const [row] = await scan("SELECT count(*) AS count FROM sqlite_schema WHERE type = 'index'")
    return Number(row?.count)
  },
})

const ours = "c.relnamespace = current_schema()::regnamespace AND c.relpersistence = 'p'"

const indicesSql = `SELECT c.oid::regclass::text AS name, c.oid::bigint AS oid
  FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_am a ON a.oid = c.relam
  WHERE ${ours} AND c.relkind = 'i' AND a.amname = 'btree' AND i.indisvalid ORDER BY name`

const tablesSql = `SELECT c.oid::regclass::text AS name, c.oid::bigint AS oid
  FROM pg_class c WHERE ${ours} AND c.relkind = 'r' ORDER BY name`

const checkIndex = 'SELECT bt_index_check($1::bigint::oid::regclass, true)'
const checkTable = 'SELECT msg FROM verify_heapam($1::bigint::oid::regclass) LIMIT 20'

const isThere = async (run: Run) =>
  (await run("SELECT extname FROM pg_extension WHERE extname = 'amcheck'")).length > 0

export const hasAmcheck = async (url: string): Promise<boolean> => {
  const client = await connectTo(url)
  try {
    return await isThere(runnerOn(client))
  } finally {
    await client.end()
  }
}

/** Tables and indexes of PostgreSQL, by its extension amcheck. */
export const checkPostgres = (url: string): Check => ({
  name: 'indices',
  async run(tell) {
    const client = await connectTo(url)
    try {
      const run = runnerOn(client)
      const foundTables = await run(tablesSql)
      for (const { name, oid } of foundTables)
        for (const { msg } of await run(checkTable, [oid ?? null]))
          tell({ place: `table ${name}`, reason: String(msg) })
      const found = await run(indicesSql)
      for (const { name, oid } of found) {
        const wrong = await run(checkIndex, [oid ?? null]).then(() => undefined, messageOf)
        if (wrong !== undefined) tell({ place: `index ${name}`, reason: wrong })
      }
      return foundTables.length + found.length
    } finally {
      await client.end()
    }
  },
})
