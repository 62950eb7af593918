import { badIdentifier, failure } from '../lib/failure.ts'
import { conflict } from '../storage/change-set.ts'
import type { Statement, Value } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import { conditions, integer, keyset, oneOf, optional, type RowOf, table, text } from '../storage/table.ts'

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

type Tried = Pick<Work, 'state' | 'dueAt' | 'outcome' | 'finishedAt'> & { payload: unknown }

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

const dueOfAccount = `WHERE kind = $1 AND state = 'waiting' AND account_id = $2 AND due_at <= $3 AND ${isNext}
  ORDER BY due_at, id LIMIT $4`

const backlogOfKind = `SELECT
  (SELECT count(*) FROM (SELECT due_at FROM work WHERE kind = $1 AND state = 'waiting'
    ORDER BY due_at LIMIT $3) AS those) AS waiting,
  (SELECT count(*) FROM (SELECT due_at FROM work WHERE kind = $1 AND state = 'waiting' AND due_at <= $2
    ORDER BY due_at LIMIT $3) AS those_due) AS due,
  (SELECT due_at FROM work WHERE kind = $1 AND state = 'waiting' AND due_at <= $2 ORDER BY due_at LIMIT 1) AS oldest`

export type WorkStore = ReturnType<typeof createWorkStore>

export const createWorkStore = ({ all }: Store) => {
  const select = async (ending: string, params: readonly Value[]): Promise<Work[]> =>
    work.list(await all(`SELECT ${work.columns} FROM work AS w ${ending}`, params))

  const isAny = async (sql: string, params: readonly Value[]) => (await all(sql, params)).length > 0

  return {
    find: async (kind: string, id: string): Promise<Work | undefined> =>
      (await select('WHERE kind = $1 AND id = $2', [kind, id]))[0],

    isAnyDue: (kind: string, now: number) =>
      isAny("SELECT id FROM work WHERE kind = $1 AND state = 'waiting' AND due_at <= $2 LIMIT 1", [
        kind,
        now,
      ]),

    /** How many jobs of a kind wait and are due, each up to `most`, and since when the first is due; 0 if none is. */
    async backlog(kind: string, now: number, most: number) {
      const [row] = await all<{ waiting: number; due: number; oldest: number | null }>(backlogOfKind, [
        kind,
        now,
        most,
      ])
      return { waiting: row?.waiting ?? 0, due: row?.due ?? 0, oldest: row?.oldest ?? 0 }
    },

    /** Whether an earlier job of its subject waits. */
    isBehind: async ({ kind, id, subject }: Work): Promise<boolean> =>
      subject !== '' &&
      isAny(`SELECT w.id FROM work AS w WHERE kind = $1 AND id = $2 AND NOT ${isNext}`, [kind, id]),

    /** Accounts with due jobs after `after`, by id. */
    async accounts(kind: string, now: number, after: string, limit: number): Promise<string[]> {
      const rows = await all<{ account_id: string }>(accountsWithWork, [kind, now, after, limit])
      return rows.map((row) => row.account_id)
    },

    /** Due jobs of an account without earlier ones of their subject. */
    due: (kind: string, accountId: string, now: number, limit: number) =>
      select(dueOfAccount, [kind, accountId, now, limit]),

    waiting: (kind: string, accountId: string) =>
      select("WHERE kind = $1 AND account_id = $2 AND state = 'waiting'", [kind, accountId]),

    /** A conflict if another process was faster, or the job was requested again. */
    tried: (
      { kind, id, marks }: Marked,
      { state, dueAt, outcome, finishedAt, payload }: Tried,
    ): Statement => ({
      sql: `UPDATE work SET state = $4, due_at = $5, attempts = attempts + 1, outcome = $6, finished_at = $7, payload = $8
      WHERE kind = $1 AND id = $2 AND marks = $3 AND state = 'waiting'`,
      params: [kind, id, marks, state, dueAt, outcome, finishedAt, JSON.stringify(payload)],
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
      const { terms, params, add } = conditions([limit])
      add((place) => `kind = ${place}`, kind)
      add((place) => `state = ${place}`, state)
      add((place) => `account_id = ${place}`, accountId)
      const { behind, order } = keyset(['kind', 'id'], descending)
      if (after) terms.push(behind(params.push(...after) - 1))
      const where = terms.length === 0 ? '' : `WHERE ${terms.join(' AND ')}`
      return select(`${where} ORDER BY ${order} LIMIT $1`, params)
    },
  }
}
