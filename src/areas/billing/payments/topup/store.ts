import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'

/** When accounts were topped up by themselves last. Unix milliseconds. */
export const createTopupStore = ({ all }: Store) => ({
  /** 0: never. */
  async lastAt(accountId: string): Promise<number> {
    const [row] = await all('SELECT last_at FROM topups WHERE account_id = $1', [accountId])
    return (row?.last_at as number | undefined) ?? 0
  },

  /** Once in a while only: of two that want to top up at the same time one does. */
  claim: (set: ChangeSet, accountId: string, before: number, now: number) =>
    set.run(
      `INSERT INTO topups (account_id, last_at) VALUES ($1, $3)
        ON CONFLICT (account_id) DO UPDATE SET last_at = excluded.last_at WHERE topups.last_at = $2`,
      [accountId, before, now],
      { rows: 1, orElse: conflict },
    ),
})
