import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { Stretch } from './rules.ts'

/** Some seconds of an allotment that were used in one minute. */
export interface Use {
  accountId: string
  allotment: string
  /** Gregorian second with which the minute begins. */
  minute: number
  seconds: number
}

export const createAllotmentStore = ({ all }: Store) => ({
  add: (set: ChangeSet, { accountId, allotment, minute, seconds }: Use) =>
    set.run(
      `INSERT INTO allotment_uses (account_id, allotment, minute, seconds) VALUES ($1, $2, $3, $4)
        ON CONFLICT (account_id, allotment, minute) DO UPDATE SET seconds = allotment_uses.seconds + excluded.seconds`,
      [accountId, allotment, minute, seconds],
    ),

  async used(accountId: string, allotment: string, { from, to }: Stretch): Promise<number> {
    const [row] = await all(
      `SELECT CAST(COALESCE(sum(seconds), 0) AS BIGINT) AS seconds FROM allotment_uses
        WHERE account_id = $1 AND allotment = $2 AND minute >= $3 AND minute < $4`,
      [accountId, allotment, from, to],
    )
    return row?.seconds as number
  },
})
