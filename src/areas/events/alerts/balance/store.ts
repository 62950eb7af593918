import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Statement } from '../../../../storage/db.ts'
import type { Store } from '../../../../storage/store.ts'

export const createWatchStore = ({ all }: Store) => ({
  /** Unix milliseconds; 0: not since the balance became low. */
  async mailedAt(accountId: string): Promise<number> {
    const [row] = await all<{ mailed_at: number }>(
      'SELECT mailed_at FROM balance_watch WHERE account_id = $1',
      [accountId],
    )
    return row?.mailed_at ?? 0
  },

  forget: (accountId: string): Statement => ({
    sql: 'DELETE FROM balance_watch WHERE account_id = $1',
    params: [accountId],
  }),

  /** Of two change sets that report the same balance, one succeeds. */
  told: (set: ChangeSet, accountId: string, before: number, now: number) =>
    set.run(
      `INSERT INTO balance_watch (account_id, mailed_at) VALUES ($1, $3)
        ON CONFLICT (account_id) DO UPDATE SET mailed_at = excluded.mailed_at WHERE balance_watch.mailed_at = $2`,
      [accountId, before, now],
      { rows: 1, orElse: conflict },
    ),
})
