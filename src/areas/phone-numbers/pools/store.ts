import type { ChangeSet } from '../../../storage/change-set.ts'
import type { PoolNumber } from './rules.ts'

const insertSql = `INSERT INTO number_pools (account_id, carrier, number) VALUES ($1, $2, $3)
  ON CONFLICT (account_id, carrier, number) DO NOTHING`
const deleteSql = 'DELETE FROM number_pools WHERE account_id = $1 AND carrier = $2 AND number = $3'

/** Stock that is there already stays as it is: it may be in use. */
export const addToPool = (set: ChangeSet, { accountId, carrier, number }: PoolNumber) =>
  set.run(insertSql, [accountId, carrier, number])

export const removeFromPool = (set: ChangeSet, { accountId, carrier, number }: PoolNumber) =>
  set.run(deleteSql, [accountId, carrier, number])
