import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import type { CarrierModule } from './carrier.ts'

/** A piece of a list of numbers in their order. */
interface Piece {
  /** E.164: with the plus. */
  prefix: string
  quantity: number
  offset: number
}

interface PoolEntry {
  accountId: string
  carrier: CarrierModule
  number: string
}

// The character behind the nine: every number with this prefix sorts before it.
const endOf = (prefix: string) => `${prefix}:`

const numbersOf = (rows: { number: string }[]) => rows.map(({ number }) => number)

/** The numbers that carriers have in this store. All reads are ranges of an index that holds nothing else. */
export const createStock = ({ all }: Store) => ({
  /** Numbers of a carrier that nobody has. */
  async available(carrier: CarrierModule, { prefix, quantity, offset }: Piece) {
    const rows = await all<{ number: string }>(
      `SELECT number FROM numbers WHERE state = 'available' AND carrier = $1 AND number >= $2 AND number < $3
        ORDER BY number LIMIT $4 OFFSET $5`,
      [carrier, prefix, endOf(prefix), quantity, offset],
    )
    return numbersOf(rows)
  },

  /** Numbers that an account has reserved, with their carriers. */
  reserved(accountId: string, { prefix, quantity, offset }: Piece) {
    return all<{ number: string; carrier: CarrierModule }>(
      `SELECT number, carrier FROM numbers WHERE state = 'reserved' AND account_id = $1 AND number >= $2 AND number < $3
        ORDER BY number LIMIT $4 OFFSET $5`,
      [accountId, prefix, endOf(prefix), quantity, offset],
    )
  },

  /** What of an account's pool is free. */
  async pooled(accountId: string, carrier: CarrierModule, { prefix, quantity, offset }: Piece) {
    const rows = await all<{ number: string }>(
      `SELECT number FROM number_pools WHERE taken_by = '' AND account_id = $1 AND carrier = $2
        AND number >= $3 AND number < $4 ORDER BY number LIMIT $5 OFFSET $6`,
      [accountId, carrier, prefix, endOf(prefix), quantity, offset],
    )
    return numbersOf(rows)
  },
})

/** Marks a pool entry as used. Whoever comes second looks again, and finds the number in the store. */
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
