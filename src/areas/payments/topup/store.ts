import { type ChangeSet, conflict } from '../../../storage/change-set.ts'
import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'

/** An account whose balance has to be looked at. */
export interface TopupCheck {
  accountId: string
  /** Unix milliseconds. */
  dueAt: number
  /** Moves with every cause to look: what was looked at is put away only if nothing has happened since. */
  marks: number
  lastAt: number
}

export const createTopupStore = ({ all }: Store) => ({
  /** Has the balance looked at from `dueAt` on. */
  check: (set: ChangeSet, accountId: string, dueAt: number) =>
    set.run(
      `INSERT INTO topups (account_id, due_at, marks, last_at) VALUES ($1, $2, 1, 0)
        ON CONFLICT (account_id) DO UPDATE SET due_at = excluded.due_at, marks = topups.marks + 1`,
      [accountId, dueAt],
    ),

  /** Once in a while only: of two that want to top up at the same time one does. */
  claim: (set: ChangeSet, { accountId, marks }: TopupCheck, now: number, nextAt: number) =>
    set.run(
      'UPDATE topups SET last_at = $3, due_at = $4, marks = marks + 1 WHERE account_id = $1 AND marks = $2',
      [accountId, marks, now, nextAt],
      { rows: 1, orElse: conflict },
    ),

  /** There is nothing to do, until `dueAt` or until something happens (0). */
  putAway: ({ accountId, marks }: TopupCheck, dueAt: number): Statement => ({
    sql: 'UPDATE topups SET due_at = $3 WHERE account_id = $1 AND marks = $2',
    params: [accountId, marks, dueAt],
  }),

  async isDue(accountId: string, nowUnixMs: number): Promise<boolean> {
    const [row] = await all('SELECT due_at FROM topups WHERE account_id = $1', [accountId])
    const dueAt = (row?.due_at as number | undefined) ?? 0
    return dueAt > 0 && dueAt <= nowUnixMs
  },

  async due(nowUnixMs: number, limit: number): Promise<TopupCheck[]> {
    const rows = await all(
      `SELECT account_id, due_at, marks, last_at FROM topups WHERE due_at > 0 AND due_at <= $1
        ORDER BY due_at LIMIT $2`,
      [nowUnixMs, limit],
    )
    return rows.map((row) => ({
      accountId: row.account_id as string,
      dueAt: row.due_at as number,
      marks: row.marks as number,
      lastAt: row.last_at as number,
    }))
  },
})
