import { type ChangeSet, conflict } from '../../../storage/change-set.ts'
import type { Statement } from '../../../storage/db.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, type RowOf, table, text } from '../../../storage/table.ts'

const watch = table('balance_watch', {
  accountId: text(),
  /** Moves with every cause to look: what was looked at is put away only if nothing has happened since. */
  marks: integer(),
  /** Unix milliseconds; 0: nobody was told that the balance is low. */
  mailedAt: integer(),
})

/** An account whose balance is to be looked at. */
export type Watched = RowOf<typeof watch>

export const createWatchStore = ({ all }: Store) => ({
  /** Has the balance looked at from `dueAt` on. */
  look: (set: ChangeSet, accountId: string, dueAt: number) =>
    set.run(
      `INSERT INTO balance_watch (account_id, due_at, mailed_at, marks) VALUES ($1, $2, 0, 1)
        ON CONFLICT (account_id) DO UPDATE SET due_at = excluded.due_at, marks = balance_watch.marks + 1`,
      [accountId, dueAt],
    ),

  async due(nowUnixMs: number, limit: number): Promise<Watched[]> {
    return watch.list(
      await all(`SELECT ${watch.columns} FROM balance_watch WHERE due_at <= $1 ORDER BY due_at LIMIT $2`, [
        nowUnixMs,
        limit,
      ]),
    )
  },

  /** The balance is not low, or nobody wants to know: nothing is left of it. */
  forget: ({ accountId, marks }: Watched): Statement => ({
    sql: 'DELETE FROM balance_watch WHERE account_id = $1 AND marks = $2',
    params: [accountId, marks],
  }),

  /** The balance is still low: to be looked at again from `dueAt` on. */
  wait: ({ accountId, marks }: Watched, dueAt: number): Statement => ({
    sql: 'UPDATE balance_watch SET due_at = $3 WHERE account_id = $1 AND marks = $2',
    params: [accountId, marks, dueAt],
  }),

  /** Somebody is told in this change set: of two that want to tell, one does. */
  told: (set: ChangeSet, { accountId, marks }: Watched, now: number, dueAt: number) =>
    set.run(
      'UPDATE balance_watch SET mailed_at = $3, due_at = $4, marks = marks + 1 WHERE account_id = $1 AND marks = $2',
      [accountId, marks, now, dueAt],
      { rows: 1, orElse: conflict },
    ),
})
