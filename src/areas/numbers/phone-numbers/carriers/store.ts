import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import { oneOf, shape, text } from '../../../../storage/table.ts'
import type { PoolNumber } from '../pools/rules.ts'
import type { CarrierModule, CarrierSearch } from './carrier.ts'

type NumberRange = Pick<CarrierSearch, 'prefix' | 'quantity' | 'offset'>

// `:` sorts behind the digits.
const prefixRange = ({ prefix, quantity, offset }: NumberRange) => [prefix, `${prefix}:`, quantity, offset]

const numberColumn = (rows: { number: string }[]) => rows.map(({ number }) => number)

const takers = shape({ carrier: oneOf(['knm_managed', 'knm_inum']), takenBy: text() })

/** Numbers of carriers whose stock is here. Each query reads a range of its partial index. */
export const createStock = ({ all }: Store) => ({
  async available(carrier: CarrierModule, range: NumberRange) {
    const sql = `SELECT number FROM numbers WHERE state = 'available' AND carrier = $1 AND number >= $2 AND number < $3
      ORDER BY number LIMIT $4 OFFSET $5`
    return numberColumn(await all<{ number: string }>(sql, [carrier, ...prefixRange(range)]))
  },

  reserved(accountId: string, range: NumberRange) {
    const sql = `SELECT number, carrier FROM numbers WHERE state = 'reserved' AND account_id = $1 AND number >= $2 AND number < $3
      ORDER BY number LIMIT $4 OFFSET $5`
    return all<{ number: string; carrier: CarrierModule }>(sql, [accountId, ...prefixRange(range)])
  },

  /** Free numbers of an account's pool. */
  async pooled(accountId: string, carrier: CarrierModule, range: NumberRange) {
    const sql = `SELECT number FROM number_pools WHERE taken_by = '' AND account_id = $1 AND carrier = $2
      AND number >= $3 AND number < $4 ORDER BY number LIMIT $5 OFFSET $6`
    return numberColumn(await all<{ number: string }>(sql, [accountId, carrier, ...prefixRange(range)]))
  },

  /** Pools of an account with the number, and its users. */
  async poolsOf(accountId: string, number: string) {
    const sql = `SELECT ${takers.columns} FROM number_pools
      WHERE account_id = $1 AND carrier IN ('knm_managed', 'knm_inum') AND number = $2`
    return takers.list(await all(sql, [accountId, number]))
  },
})

const poolKeyOf = ({ accountId, carrier, number }: PoolNumber) => [accountId, carrier, number]

/** Marks a pool entry as used; a conflict if another account has it. */
export const takeFromPool = (set: ChangeSet, entry: PoolNumber, taker: string) =>
  set.run(
    `UPDATE number_pools SET taken_by = $4
      WHERE account_id = $1 AND carrier = $2 AND number = $3 AND taken_by IN ('', $4)`,
    [...poolKeyOf(entry), taker],
    { rows: 1, orElse: conflict },
  )

export const returnToPool = (set: ChangeSet, entry: PoolNumber) =>
  set.run(
    "UPDATE number_pools SET taken_by = '' WHERE account_id = $1 AND carrier = $2 AND number = $3",
    poolKeyOf(entry),
  )

/** An existing entry stays: it may be in use. */
export const addToPool = (set: ChangeSet, entry: PoolNumber) =>
  set.run(
    `INSERT INTO number_pools (account_id, carrier, number) VALUES ($1, $2, $3)
      ON CONFLICT (account_id, carrier, number) DO NOTHING`,
    poolKeyOf(entry),
  )

/** Imports an entry; `takenBy` is empty if it is free. */
export const placeInPool = (set: ChangeSet, entry: PoolNumber, takenBy: string) =>
  set.run(
    `INSERT INTO number_pools (account_id, carrier, number, taken_by) VALUES ($1, $2, $3, $4)
      ON CONFLICT (account_id, carrier, number) DO UPDATE SET taken_by = excluded.taken_by`,
    [...poolKeyOf(entry), takenBy],
  )

export const removeFromPool = (set: ChangeSet, entry: PoolNumber) =>
  set.run('DELETE FROM number_pools WHERE account_id = $1 AND carrier = $2 AND number = $3', poolKeyOf(entry))
