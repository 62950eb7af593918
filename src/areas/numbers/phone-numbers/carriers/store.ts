import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import { shape, text } from '../../../../storage/table.ts'
import type { PoolNumber } from '../pools/rules.ts'
import type { CarrierModule } from './carrier.ts'

interface Piece {
  /** E.164 with the plus. */
  prefix: string
  quantity: number
  offset: number
}

interface PoolEntry {
  accountId: string
  carrier: CarrierModule
  number: string
}

// `:` sorts behind the digits.
const endOf = (prefix: string) => `${prefix}:`

const numbersOf = (rows: { number: string }[]) => rows.map(({ number }) => number)

/** Numbers of carriers with their stock here. Each query reads a range of its own partial index. */
export const createStock = ({ all }: Store) => ({
  async available(carrier: CarrierModule, { prefix, quantity, offset }: Piece) {
    const rows = await all<{ number: string }>(
      `SELECT number FROM numbers WHERE state = 'available' AND carrier = $1 AND number >= $2 AND number < $3
        ORDER BY number LIMIT $4 OFFSET $5`,
      [carrier, prefix, endOf(prefix), quantity, offset],
    )
    return numbersOf(rows)
  },

  reserved(accountId: string, { prefix, quantity, offset }: Piece) {
    return all<{ number: string; carrier: CarrierModule }>(
      `SELECT number, carrier FROM numbers WHERE state = 'reserved' AND account_id = $1 AND number >= $2 AND number < $3
        ORDER BY number LIMIT $4 OFFSET $5`,
      [accountId, prefix, endOf(prefix), quantity, offset],
    )
  },

  /** Free numbers of an account's pool. */
  async pooled(accountId: string, carrier: CarrierModule, { prefix, quantity, offset }: Piece) {
    const rows = await all<{ number: string }>(
      `SELECT number FROM number_pools WHERE taken_by = '' AND account_id = $1 AND carrier = $2
        AND number >= $3 AND number < $4 ORDER BY number LIMIT $5 OFFSET $6`,
      [accountId, carrier, prefix, endOf(prefix), quantity, offset],
    )
    return numbersOf(rows)
  },
})

/** Marks a pool entry as used; a conflict if another account has it. */
export const takeFromPool = (set: ChangeSet, { accountId, carrier, number }: PoolEntry, taker: string) =>
  set.run(
    `UPDATE number_pools SET taken_by = $4
      WHERE account_id = $1 AND carrier = $2 AND number = $3 AND taken_by IN ('', $4)`,
    [accountId, carrier, number, taker],
    { rows: 1, orElse: conflict },
  )

export const returnToPool = (set: ChangeSet, { accountId, carrier, number }: PoolEntry) =>
  set.run("UPDATE number_pools SET taken_by = '' WHERE account_id = $1 AND carrier = $2 AND number = $3", [
    accountId,
    carrier,
    number,
  ])

const insertSql = `INSERT INTO number_pools (account_id, carrier, number) VALUES ($1, $2, $3)
  ON CONFLICT (account_id, carrier, number) DO NOTHING`
const deleteSql = 'DELETE FROM number_pools WHERE account_id = $1 AND carrier = $2 AND number = $3'
const placeSql = `INSERT INTO number_pools (account_id, carrier, number, taken_by) VALUES ($1, $2, $3, $4)
  ON CONFLICT (account_id, carrier, number) DO UPDATE SET taken_by = excluded.taken_by`

const takers = shape({ carrier: text(), takenBy: text() })

/** An existing entry stays: it may be in use. */
export const addToPool = (set: ChangeSet, { accountId, carrier, number }: PoolNumber) =>
  set.run(insertSql, [accountId, carrier, number])

/** Imports an entry; `takenBy` is empty if it is free. */
export const placeInPool = (set: ChangeSet, { accountId, carrier, number }: PoolNumber, takenBy: string) =>
  set.run(placeSql, [accountId, carrier, number, takenBy])

export const removeFromPool = (set: ChangeSet, { accountId, carrier, number }: PoolNumber) =>
  set.run(deleteSql, [accountId, carrier, number])

export const createPoolStore = ({ all }: Store) => ({
  /** Pools of an account with the number, and its users. */
  of: async (accountId: string, number: string) =>
    takers.list(
      await all(
        `SELECT ${takers.columns} FROM number_pools
          WHERE account_id = $1 AND carrier IN ('knm_managed', 'knm_inum') AND number = $2`,
        [accountId, number],
      ),
    ),
})
