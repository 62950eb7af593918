import { badIdentifier, failure } from '../lib/failure.ts'
import { conflict } from '../storage/change-set.ts'
import type { Statement } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import { integer, oneOf, optional, type RowOf, table, text } from '../storage/table.ts'

/** `waiting` jobs are to be run. The others have ended and are kept for a while. */
export const workStates = ['waiting', 'done', 'failed'] as const

export type WorkState = (typeof workStates)[number]

const work = table('work', {
  kind: text(),
  id: text(),
  accountId: text(),
  subject: text(),
  state: oneOf(workStates),
  dueAt: integer(),
  since: integer(),
  attempts: integer(),
  /** Incremented when the job is requested again. */
  marks: integer(),
  /** JSON text. */
  payload: text(),
  /** For operators. */
  outcome: text(),
  /** 0 while it waits. */
  finishedAt: integer(),
  /** The `traceparent` of the latest request. */
  trace: optional(text()),
})

/** Times in Unix milliseconds. */
export type Work = RowOf<typeof work>

type Marked = Pick<Work, 'kind' | 'id' | 'marks'>

/** The result of a try. */
export interface Tried {
  state: WorkState
  dueAt: number
  outcome: string
  finishedAt: number
  /** JSON text. */
  payload: string
}

interface WorkQuery {
  kind?: string
  state?: WorkState
  accountId?: string
  after?: readonly [string, string]
  limit: number
  descending: boolean
}

// Jumps along the index, so that the cost grows with the accounts found.
const accountsWithWork = `SELECT account_id FROM (
  WITH RECURSIVE turns (account_id, place) AS (
    SELECT account_id, 1 FROM (
      SELECT account_id FROM work WHERE kind = $1 AND state = 'waiting' AND due_at <= $2 AND account_id > $3
        ORDER BY account_id LIMIT 1) AS first_turn
    UNION ALL
    SELECT (SELECT w.account_id FROM work w
        WHERE w.kind = $1 AND w.state = 'waiting' AND w.due_at <= $2 AND w.account_id > turns.account_id
        ORDER BY w.account_id LIMIT 1), place + 1
      FROM turns WHERE turns.account_id IS NOT NULL AND place < $4
  ) SELECT account_id FROM turns) AS accounts
  WHERE account_id IS NOT NULL`

// No earlier job of its subject waits.
const isNext = `(subject = '' OR NOT EXISTS (SELECT 1 FROM work AS e
  WHERE e.subject = w.subject AND e.subject <> '' AND e.state = 'waiting' AND e.sequence < w.sequence))`

const dueOfAccount = `SELECT ${work.columns} FROM work AS w
  WHERE kind = $1 AND state = 'waiting' AND account_id = $2 AND due_at <= $3 AND ${isNext}
  ORDER BY due_at, id LIMIT $4`

const backlogOfKind = `SELECT
  (SELECT count(*) FROM (SELECT due_at FROM work WHERE kind = $1 AND state = 'waiting'
    ORDER BY due_at LIMIT $3) AS those) AS waiting,
  (SELECT count(*) FROM (SELECT due_at FROM work WHERE kind = $1 AND state = 'waiting' AND due_at <= $2
    ORDER BY due_at LIMIT $3) AS those_due) AS due,
  (SELECT due_at FROM work WHERE kind = $1 AND state = 'waiting' AND due_at <= $2 ORDER BY due_at LIMIT 1) AS oldest`

export type WorkStore = ReturnType<typeof createWorkStore>

export const createWorkStore = ({ all }: Store) => ({
  async find(kind: string, id: string): Promise<Work | undefined> {
    return work.first(await all(`SELECT ${work.columns} FROM work WHERE kind = $1 AND id = $2`, [kind, id]))
  },

  async isAnyDue(kind: string, now: number): Promise<boolean> {
    const sql = "SELECT id FROM work WHERE kind = $1 AND state = 'waiting' AND due_at <= $2 LIMIT 1"
    return (await all(sql, [kind, now])).length > 0
  },

  /**
   * How many jobs of a kind wait and are due, each counted up to `most`, and since when the first is due; 0 if none
   * is.
   */
  async backlog(kind: string, now: number, most: number) {
    const rows = await all<{ waiting: number; due: number; oldest: number | null }>(backlogOfKind, [
      kind,
      now,
      most,
    ])
    return { waiting: rows[0]?.waiting ?? 0, due: rows[0]?.due ?? 0, oldest: rows[0]?.oldest ?? 0 }
  },

  /** Whether an earlier job of its subject waits. */
  async isBehind({ kind, id, subject }: Work): Promise<boolean> {
    if (subject === '') return false
    const sql = `SELECT e.id FROM work AS w JOIN work AS e ON e.subject = w.subject AND e.subject <> ''
        AND e.state = 'waiting' AND e.sequence < w.sequence
      WHERE w.kind = $1 AND w.id = $2 LIMIT 1`
    return (await all(sql, [kind, id])).length > 0
  },

  /** Accounts with due jobs after `after`, by id. */
  async accounts(kind: string, now: number, after: string, limit: number): Promise<string[]> {
    const rows = await all<{ account_id: string }>(accountsWithWork, [kind, now, after, limit])
    return rows.map((row) => row.account_id)
  },

  /** Due jobs of an account without earlier ones of their subject. */
  async due(kind: string, accountId: string, now: number, limit: number): Promise<Work[]> {
    return work.list(await all(dueOfAccount, [kind, accountId, now, limit]))
  },

  async waiting(kind: string, accountId: string): Promise<Work[]> {
    const sql = `SELECT ${work.columns} FROM work WHERE kind = $1 AND account_id = $2 AND state = 'waiting'`
    return work.list(await all(sql, [kind, accountId]))
  },

  /** A conflict if another process was faster, or the job was requested again. */
  tried: ({ kind, id, marks }: Marked, { state, dueAt, outcome, finishedAt, payload }: Tried): Statement => ({
    sql: `UPDATE work SET state = $4, due_at = $5, attempts = attempts + 1, outcome = $6, finished_at = $7, payload = $8
      WHERE kind = $1 AND id = $2 AND marks = $3 AND state = 'waiting'`,
    params: [kind, id, marks, state, dueAt, outcome, finishedAt, payload],
    expect: { rows: 1, orElse: conflict },
  }),

  /** Deletes the job; a conflict like `tried`. */
  forget: ({ kind, id, marks }: Marked): Statement => ({
    sql: "DELETE FROM work WHERE kind = $1 AND id = $2 AND marks = $3 AND state = 'waiting'",
    params: [kind, id, marks],
    expect: { rows: 1, orElse: conflict },
  }),

  /** Makes a job that was requested again due now, unless it is due later. */
  renew: ({ kind, id }: Marked, now: number): Statement => ({
    sql: "UPDATE work SET due_at = $3 WHERE kind = $1 AND id = $2 AND state = 'waiting' AND due_at < $3",
    params: [kind, id, now],
  }),

  hurry: (kind: string, id: string, dueAt: number): Statement => ({
    sql: "UPDATE work SET due_at = $3 WHERE kind = $1 AND id = $2 AND state = 'waiting'",
    params: [kind, id, dueAt],
    expect: { rows: 1, orElse: () => failure(badIdentifier, { cause: id }) },
  }),

  /** By kind and id. */
  async page({ kind, state, accountId, after, limit, descending }: WorkQuery): Promise<Work[]> {
    const params: (string | number)[] = [limit]
    const conditions: string[] = []
    for (const [column, value] of Object.entries({ kind, state, account_id: accountId }))
      if (value !== undefined) conditions.push(`${column} = $${params.push(value)}`)
    if (after) {
      params.push(...after)
      conditions.push(`(kind, id) ${descending ? '<' : '>'} ($${params.length - 1}, $${params.length})`)
    }
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
    const order = descending ? 'DESC' : 'ASC'
    const sql = `SELECT ${work.columns} FROM work ${where} ORDER BY kind ${order}, id ${order} LIMIT $1`
    return work.list(await all(sql, params))
  },
})
