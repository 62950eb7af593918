import { datastoreConflict, failure, lostLease } from '../../../../lib/failure.ts'
import { timedPlace } from '../../../../lib/time-key.ts'
import type { Statement } from '../../../../storage/db.ts'
import { expireRows } from '../../../../storage/expire-rows.ts'
import type { Store } from '../../../../storage/store.ts'
import {
  conditions,
  integer,
  keyset,
  placeholders,
  type RowOf,
  table,
  text,
} from '../../../../storage/table.ts'
import type { Attempt } from '../schema.ts'

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
    const { terms, params, add } = conditions([accountId, from, to, limit])
    add((mark) => `AND hook_id = ${mark}`, hookId)
    const { behind, order } = keyset(['at', 'id'], descending)
    if (place) terms.push(`AND ${behind(params.push(place.time, place.mark) - 1)}`)
    const sql = `SELECT ${listed.columns} FROM webhook_attempts
      WHERE account_id = $1 AND at >= $2 AND at <= $3 ${terms.join(' ')} ORDER BY ${order} LIMIT $4`
    return listed.list(await store.all(sql, params))
  },
})

export type AttemptStore = ReturnType<typeof createAttemptStore>

const deliveries = table('webhook_deliveries', {
  hookId: text(),
  /** The record of the event: its deliveries are in order. */
  lane: text(),
  sequence: integer(),
  /** The replay; empty for a first delivery. */
  turn: text(),
  accountId: text(),
  /** Unix milliseconds. */
  dueAt: integer(),
  since: integer(),
  attempts: integer(),
})

export type Delivery = RowOf<typeof deliveries>

const added = {
  hook_id: 'text',
  lane: 'text',
  sequence: 'integer',
  turn: 'text',
  account_id: 'text',
  due_at: 'integer',
  since: 'integer',
} as const

const replays = table('webhook_replays', {
  turn: text(),
  accountId: text(),
  hookId: text(),
  sequence: integer(),
  last: integer(),
})

/** The events after `sequence`, up to `last`. */
export type Replay = RowOf<typeof replays>

const insertReplay = replays.insert()

const places = table('webhook_deliveries', { hookId: text(), accountId: text() })

const lanes = table('webhook_deliveries', { lane: text() })

export type HookPlace = RowOf<typeof places>

// Jumps from hook to hook along the index.
const dueHooks = `SELECT hook_id AS "hookId", (SELECT d.account_id FROM webhook_deliveries d
      WHERE d.hook_id = hooks.hook_id LIMIT 1) AS "accountId"
  FROM (WITH RECURSIVE jumps (hook_id) AS (
      SELECT min(hook_id) FROM webhook_deliveries WHERE hook_id > $1
      UNION ALL
      SELECT (SELECT min(d.hook_id) FROM webhook_deliveries d WHERE d.hook_id > jumps.hook_id)
        FROM jumps WHERE jumps.hook_id IS NOT NULL
    ) SELECT hook_id FROM jumps WHERE hook_id IS NOT NULL) AS hooks
  WHERE EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.hook_id = hooks.hook_id AND d.due_at <= $2)
  ORDER BY hook_id LIMIT $3`

const ofLane = `SELECT ${deliveries.columns} FROM webhook_deliveries
  WHERE hook_id = $1 AND lane = $2 ORDER BY sequence, turn LIMIT $3`

// A newer replay or the deletion of the webhook may have replaced it.
const stillAsked = { rows: 1, orElse: () => failure(datastoreConflict, {}) }

const leaseLost = () => failure(lostLease, {})

const keyOf = ({ hookId, lane, sequence, turn }: Delivery) => [hookId, lane, sequence, turn]
const theKey = 'hook_id = $1 AND lane = $2 AND sequence = $3 AND turn = $4'

const tablesOfHook = ['webhook_deliveries', 'webhook_replays', 'webhook_failures']

const rowsOf = (tables: readonly string[], column: 'hook_id' | 'account_id', id: string): Statement[] =>
  tables.map((name) => ({ sql: `DELETE FROM ${name} WHERE ${column} = $1`, params: [id] }))

/** Further deliveries of the record wait for the next attempt. */
const laneDueAt = ({ hookId, lane }: Delivery, dueAt: number): Statement => ({
  sql: 'UPDATE webhook_deliveries SET due_at = $3 WHERE hook_id = $1 AND lane = $2 AND due_at < $3',
  params: [hookId, lane, dueAt],
})

const deliveryReads = ({ all }: Store) => ({
  /** In the order of their ids. */
  dueHooks: async (now: number, after: string, limit: number): Promise<HookPlace[]> =>
    places.list(await all(dueHooks, [after, now, limit])),

  /** Due lanes, oldest first; a lane repeats for each of its deliveries. */
  async dueLanes(hookId: string, now: number, except: readonly string[], limit: number): Promise<string[]> {
    const others = except.length === 0 ? '' : `AND lane NOT IN (${placeholders(except.length, 4)})`
    const sql = `SELECT ${lanes.columns} FROM webhook_deliveries WHERE hook_id = $1 AND due_at <= $2 ${others}
      ORDER BY due_at, sequence LIMIT $3`
    return lanes.list(await all(sql, [hookId, now, limit, ...except])).map(({ lane }) => lane)
  },

  ofLane: async (hookId: string, lane: string, limit: number): Promise<Delivery[]> =>
    deliveries.list(await all(ofLane, [hookId, lane, limit])),

  /** Round robin over all replays. */
  async nextReplay(after: string): Promise<Replay | undefined> {
    const select = `SELECT ${replays.columns} FROM webhook_replays`
    const behind = replays.first(await all(`${select} WHERE turn > $1 ORDER BY turn LIMIT 1`, [after]))
    return behind ?? replays.first(await all(`${select} ORDER BY turn LIMIT 1`))
  },

  /** Unix milliseconds; undefined: the last attempt succeeded. */
  async failingSince(hookId: string): Promise<number | undefined> {
    const [row] = await all('SELECT since FROM webhook_failures WHERE hook_id = $1', [hookId])
    return row === undefined ? undefined : Number(row.since)
  },
})

export const createDeliveryStore = (store: Store) => ({
  ...deliveryReads(store),

  add: (rows: readonly Omit<Delivery, 'attempts'>[]): readonly Statement[] =>
    store.words.forEachRow({
      shape: added,
      rows: rows.map(({ hookId, accountId, dueAt, ...row }) => ({
        ...row,
        hook_id: hookId,
        account_id: accountId,
        due_at: dueAt,
      })),
      params: [],
      sql: (given) => `INSERT INTO webhook_deliveries
          (hook_id, lane, sequence, turn, account_id, due_at, since, attempts)
        SELECT hook_id, lane, sequence, turn, account_id, due_at, since, 0 FROM ${given}`,
      orElse: leaseLost,
    }),

  forget: (delivery: Delivery): Statement => ({
    sql: `DELETE FROM webhook_deliveries WHERE ${theKey}`,
    params: keyOf(delivery),
  }),

  postpone: (delivery: Delivery, dueAt: number): Statement[] => [
    {
      sql: `UPDATE webhook_deliveries SET attempts = attempts + 1 WHERE ${theKey}`,
      params: keyOf(delivery),
    },
    laneDueAt(delivery, dueAt),
  ],

  lineUp: (delivery: Delivery) => store.writeUnrecorded([laneDueAt(delivery, delivery.dueAt)]),

  hurry: (hookId: string, now: number): Statement => ({
    sql: 'UPDATE webhook_deliveries SET due_at = $2 WHERE hook_id = $1 AND due_at > $2',
    params: [hookId, now],
  }),

  forgetHook: (hookId: string) => rowsOf(tablesOfHook, 'hook_id', hookId),

  forgetAccount: (accountId: string) =>
    rowsOf([...tablesOfHook, 'webhook_attempts'], 'account_id', accountId),

  /** Deliveries of an expired time. */
  forgetBefore: (hookId: string, since: number, signal: AbortSignal) =>
    expireRows(
      store,
      {
        table: 'webhook_deliveries',
        key: ['hook_id', 'lane', 'sequence', 'turn'],
        where: 'hook_id = $1 AND since < $2',
        params: [hookId, since],
      },
      signal,
    ),

  /** Replaces the replay in progress of the webhook. */
  askReplay: (replay: Replay): Statement[] => [
    { sql: 'DELETE FROM webhook_replays WHERE hook_id = $1', params: [replay.hookId] },
    { sql: "DELETE FROM webhook_deliveries WHERE hook_id = $1 AND turn <> ''", params: [replay.hookId] },
    insertReplay(replay),
  ],

  /** Undefined: the replay is complete. Fails with `datastore_conflict` if it was replaced. */
  replayed: ({ turn }: Replay, sequence: number | undefined): Statement =>
    sequence === undefined
      ? { sql: 'DELETE FROM webhook_replays WHERE turn = $1', params: [turn], expect: stillAsked }
      : {
          sql: 'UPDATE webhook_replays SET sequence = $2 WHERE turn = $1',
          params: [turn, sequence],
          expect: stillAsked,
        },

  /** Inserts nothing for a deleted webhook. */
  failing: ({ hookId, accountId }: HookPlace, since: number): Statement => ({
    sql: `INSERT INTO webhook_failures (hook_id, account_id, since)
      SELECT id, account_id, CAST($3 AS BIGINT) FROM records
        WHERE account_id = $2 AND kind = 'webhook' AND id = $1
      ON CONFLICT (hook_id) DO NOTHING`,
    params: [hookId, accountId, since],
  }),

  sound: (hookId: string): Statement => ({
    sql: 'DELETE FROM webhook_failures WHERE hook_id = $1',
    params: [hookId],
  }),
})

export type DeliveryStore = ReturnType<typeof createDeliveryStore>
