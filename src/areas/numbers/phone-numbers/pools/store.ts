import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import { shape, text } from '../../../../storage/table.ts'
import type { PoolNumber } from './rules.ts'

const insertSql = `INSERT INTO number_pools (account_id, carrier, number) VALUES ($1, $2, $3)
  ON CONFLICT (account_id, carrier, number) DO NOTHING`
const deleteSql = 'DELETE FROM number_pools WHERE account_id = $1 AND carrier = $2 AND number = $3'
const placeSql = `INSERT INTO number_pools (account_id, carrier, number, taken_by) VALUES ($1, $2, $3, $4)
  ON CONFLICT (account_id, carrier, number) DO UPDATE SET taken_by = excluded.taken_by`

const takers = shape({ carrier: text(), takenBy: text() })

/** Stock that is there already stays as it is: it may be in use. */
export const addToPool = (set: ChangeSet, { accountId, carrier, number }: PoolNumber) =>
  set.run(insertSql, [accountId, carrier, number])

/** Stock as another system has it: taken by somebody, or free where that is empty. */
export const placeInPool = (set: ChangeSet, { accountId, carrier, number }: PoolNumber, takenBy: string) =>
  set.run(placeSql, [accountId, carrier, number, takenBy])

export const removeFromPool = (set: ChangeSet, { accountId, carrier, number }: PoolNumber) =>
  set.run(deleteSql, [accountId, carrier, number])

export const createPoolStore = ({ all }: Store) => ({
  /** In which pools of an account a number is, and who has taken it out of them. */
  of: async (accountId: string, number: string) =>
    takers.list(
      await all(
        `SELECT ${takers.columns} FROM number_pools
          WHERE account_id = $1 AND carrier IN ('knm_managed', 'knm_inum') AND number = $2`,
        [accountId, number],
      ),
    ),
})
