import { timedPlace } from '../../../lib/time-key.ts'
import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, keyset, type RowOf, table, text } from '../../../storage/table.ts'
import type { Attempt } from './schema.ts'

const attempts = table('webhook_attempts', {
  accountId: text(),
  id: text(),
  hookId: text(),
  /** Gregorian seconds. */
  at: integer(),
  docText: text('doc'),
})

// Inserts nothing if the account was deleted.
const insert = `INSERT INTO webhook_attempts (account_id, id, hook_id, at, doc)
  SELECT account_id, CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS TEXT) FROM records
    WHERE account_id = $1 AND kind = 'account' AND id = $1`

const listed = attempts.pick('id', 'at', 'docText')

export type AttemptRow = RowOf<typeof listed>

/** Gregorian seconds, both included. */
export interface AttemptScope {
  accountId: string
  hookId?: string
  from: number
  to: number
}

interface Reading {
  after?: readonly [string, string]
  limit: number
  descending: boolean
}

export const createAttemptStore = (store: Store) => ({
  add: (accountId: string, attempt: Attempt): Statement => ({
    sql: insert,
    params: [accountId, attempt.id, attempt.hook_id, attempt.timestamp, JSON.stringify(attempt)],
  }),

  async find(accountId: string, hookId: string, id: string): Promise<Attempt | undefined> {
    const rows = await store.all(
      `SELECT ${listed.columns} FROM webhook_attempts WHERE account_id = $1 AND id = $2 AND hook_id = $3`,
      [accountId, id, hookId],
    )
    const found = listed.first(rows)
    return found && JSON.parse(found.docText)
  },

  async page({ accountId, hookId, from, to }: AttemptScope, { after, limit, descending }: Reading) {
    const place = timedPlace(after)
    const ofHook = hookId === undefined ? [] : [hookId]
    const params = [accountId, from, to, limit, ...ofHook, ...(place ? [place.time, place.mark] : [])]
    const { behind, order } = keyset(['at', 'id'], descending)
    const sql = `SELECT ${listed.columns} FROM webhook_attempts
      WHERE account_id = $1 AND at >= $2 AND at <= $3 ${hookId === undefined ? '' : 'AND hook_id = $5'}
        ${place ? `AND ${behind(5 + ofHook.length)}` : ''}
      ORDER BY ${order} LIMIT $4`
    return listed.list(await store.all(sql, params))
  },
})

export type AttemptStore = ReturnType<typeof createAttemptStore>
