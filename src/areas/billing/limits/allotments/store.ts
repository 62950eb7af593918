import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, type RowOf, table, text } from '../../../../storage/table.ts'
import type { UseWindow } from './rules.ts'

const uses = table('allotment_uses', {
  accountId: text(),
  allotment: text(),
  /** The Gregorian second of its start. */
  minute: integer(),
  seconds: integer(),
})

export type AllotmentUse = RowOf<typeof uses>

const addUse = uses.insert(
  'ON CONFLICT (account_id, allotment, minute) DO UPDATE SET seconds = allotment_uses.seconds + excluded.seconds',
)
const replace = uses.upsert('accountId', 'allotment', 'minute')
const summed = uses.pick('seconds')

export const createAllotmentStore = ({ all }: Store) => ({
  add: (set: ChangeSet, use: AllotmentUse) => set.add(addUse(use)),

  /** Replaces what is stored for that minute. */
  put: (set: ChangeSet, use: AllotmentUse) => set.add(replace(use)),

  remove: (set: ChangeSet, { accountId, allotment, minute }: Omit<AllotmentUse, 'seconds'>) =>
    set.run('DELETE FROM allotment_uses WHERE account_id = $1 AND allotment = $2 AND minute = $3', [
      accountId,
      allotment,
      minute,
    ]),

  async used(accountId: string, allotment: string, { from, to }: UseWindow): Promise<number> {
    const rows = await all(
      `SELECT CAST(COALESCE(sum(seconds), 0) AS BIGINT) AS seconds FROM allotment_uses
        WHERE account_id = $1 AND allotment = $2 AND minute >= $3 AND minute < $4`,
      [accountId, allotment, from, to],
    )
    return summed.first(rows)?.seconds ?? 0
  },
})
