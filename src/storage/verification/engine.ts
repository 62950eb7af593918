import type { Check } from '../../lib/check.ts'
import { messageOf } from '../../lib/error-facts.ts'
import { connectTo, runnerOn } from '../postgres-dump.ts'
import type { Store } from '../store.ts'
import type { Run } from '../upgrades.ts'

const sound = 'ok'

/** The file of the embedded store: pages, rows and the order of every index. */
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

const indices = `SELECT c.oid::regclass::text AS name, c.oid::bigint AS oid
  FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_am a ON a.oid = c.relam
  WHERE ${ours} AND c.relkind = 'i' AND a.amname = 'btree' AND i.indisvalid ORDER BY name`

const tables = `SELECT c.oid::regclass::text AS name, c.oid::bigint AS oid
  FROM pg_class c WHERE ${ours} AND c.relkind = 'r' ORDER BY name`

const checkIndex = 'SELECT bt_index_check($1::bigint::oid::regclass, true)'
const checkTable = 'SELECT msg FROM verify_heapam($1::bigint::oid::regclass) LIMIT 20'

const isThere = async (run: Run) =>
  (await run("SELECT extname FROM pg_extension WHERE extname = 'amcheck'")).length > 0

/** Whether the database has PostgreSQL's own checks of tables and indices. */
export const hasAmcheck = async (url: string): Promise<boolean> => {
  const client = await connectTo(url)
  try {
    return await isThere(runnerOn(client))
  } finally {
    await client.end()
  }
}

/** Tables and indices of PostgreSQL, by its extension amcheck: each index against its order and its table. */
export const checkPostgres = (url: string): Check => ({
  name: 'indices',
  async run(tell) {
    const client = await connectTo(url)
    try {
      const run = runnerOn(client)
      const foundTables = await run(tables)
      for (const { name, oid } of foundTables)
        for (const { msg } of await run(checkTable, [oid ?? null]))
          tell({ place: `table ${name}`, reason: String(msg) })
      const found = await run(indices)
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
