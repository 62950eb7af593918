import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, json, keyset, placeholders, type RowOf, table, text } from '../../../storage/table.ts'

interface Said {
  bindings: readonly string[]
  name?: string
  metadata?: unknown
}

const websockets = table('websockets', {
  /** The account of the tokens. */
  accountId: text(),
  id: text(),
  /** The lease of the process. */
  lease: text(),
  openedAt: integer(),
  source: text(),
  destination: text(),
  said: json<Said>(),
})

export type OpenRow = RowOf<typeof websockets>

export type OpenKey = Pick<OpenRow, 'accountId' | 'id'>

export interface OpenPage {
  accountId: string
  after?: readonly [string, string] | undefined
  limit: number
  descending: boolean
}

export const createWebSocketStore = ({ all, writeUnrecorded }: Store) => ({
  put: websockets.upsert('accountId', 'id'),

  remove: ({ accountId, id }: OpenKey): Statement => ({
    sql: 'DELETE FROM websockets WHERE account_id = $1 AND id = $2',
    params: [accountId, id],
  }),

  removeOf: (lease: string) =>
    writeUnrecorded([{ sql: 'DELETE FROM websockets WHERE lease = $1', params: [lease] }]),

  /** Those of dead processes too. */
  async leases(): Promise<string[]> {
    const rows = await all<{ lease: string }>('SELECT DISTINCT lease FROM websockets')
    return rows.map(({ lease }) => lease)
  },

  async find({ accountId, id }: OpenKey): Promise<OpenRow | undefined> {
    const sql = `SELECT ${websockets.columns} FROM websockets WHERE account_id = $1 AND id = $2`
    return websockets.first(await all(sql, [accountId, id]))
  },

  /** Connections to processes with one of these leases. */
  async page({ accountId, after, limit, descending }: OpenPage, leases: readonly string[]) {
    if (leases.length === 0) return []
    const keys = keyset(['id'], descending)
    const places = placeholders(leases.length, after ? 3 : 2)
    const sql = `SELECT ${websockets.columns} FROM websockets
      WHERE account_id = $1 ${after ? `AND ${keys.behind(2)}` : ''} AND lease IN (${places})
      ORDER BY ${keys.order} LIMIT ${limit}`
    return websockets.list(await all(sql, [accountId, ...(after ? [after[1]] : []), ...leases]))
  },
})
