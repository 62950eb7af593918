import { failure } from '../../../../lib/failure.ts'
import { numberFault } from '../failures.ts'
import type { Carrier, CarrierSearch, Handover, Offer } from './carrier.ts'
import { isBillable, maximalPrefixLengthOf } from './names.ts'
import { type createStock, returnToPool, takeFromPool } from './store.ts'

type PoolModule = 'knm_managed' | 'knm_inum'

/** Whose pools a search looks into, the nearer first. */
const poolsFor = (module: PoolModule, { accountId, resellerId }: CarrierSearch) => {
  if (accountId === undefined) return []
  const isShared = module === 'knm_managed' && resellerId !== undefined && resellerId !== accountId
  return isShared ? [accountId, resellerId] : [accountId]
}

const entryOf = (module: PoolModule, { number, carrierData }: Handover) => {
  const { pool } = carrierData
  return typeof pool === 'string' ? { accountId: pool, carrier: module, number } : undefined
}

/** Numbers that an account keeps in stock for itself, and a reseller for the accounts below it. */
export const poolCarrier = (stock: ReturnType<typeof createStock>, module: PoolModule): Carrier => ({
  module,
  maximalPrefixLength: maximalPrefixLengthOf(module),
  isBillable: isBillable(module),

  async search(search) {
    for (const pool of poolsFor(module, search)) {
      const numbers = await stock.pooled(pool, module, search)
      const offers = numbers.map(
        (number): Offer => ({
          number,
          state: 'discovery',
          carrier: module,
          carrierData: { pool },
        }),
      )
      if (offers.length > 0) return offers
    }
    return []
  },

  /** Marks the entry in the same transaction: of two who want it, one gets it. */
  take(handover) {
    const entry = entryOf(module, handover)
    if (!entry) throw failure(numberFault, { message: 'fault by carrier', cause: handover.number })
    takeFromPool(handover.set, entry, handover.accountId)
    return handover.carrierData
  },

  takeBack(handover) {
    const entry = entryOf(module, handover)
    if (entry) returnToPool(handover.set, entry)
  },
})
