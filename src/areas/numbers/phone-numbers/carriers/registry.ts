import { failure } from '../../../../lib/failure.ts'
import type { DepsOf } from '../../../area.ts'
import { numberFault } from '../failures.ts'
import { type Carrier, type CarrierSearch, carrierModules, type Handover, type Offer } from './carrier.ts'
import { otherCarrier, type Phonebook } from './phonebook.ts'
import { createStock, returnToPool, takeFromPool } from './store.ts'

type Stock = ReturnType<typeof createStock>

/** A company without an interface here: numbers can have its name, and it offers none. */
const labelOnly = (module: string): Carrier => ({ module, search: async () => [] })

/** Numbers that the installation owns. */
const ownStock = (stock: Stock, module: 'knm_local' | 'knm_inventory'): Carrier => ({
  module,
  async search(search) {
    const numbers = await stock.available(module, search)
    return numbers.map((number): Offer => ({ number, state: 'available', carrier: module }))
  },
})

/** Numbers that an account has reserved: an account may use those of its reseller. */
const reservedStock = (
  stock: Stock,
  module: 'knm_reserved' | 'knm_reserved_reseller',
  holderOf: (search: CarrierSearch) => string | undefined,
): Carrier => ({
  module,
  async search(search) {
    const holder = holderOf(search)
    const rows = holder === undefined ? [] : await stock.reserved(holder, search)
    return rows.map((row): Offer => ({ ...row, state: 'reserved' }))
  },
})

type PoolModule = 'knm_managed' | 'knm_inum'

/** The nearer pool first. */
const poolsFor = (module: PoolModule, { accountId, resellerId }: CarrierSearch) => {
  if (accountId === undefined) return []
  const isShared = module === 'knm_managed' && resellerId !== undefined && resellerId !== accountId
  return isShared ? [accountId, resellerId] : [accountId]
}

const poolEntryOf = (module: PoolModule, { number, carrierData: { pool } }: Handover) =>
  typeof pool === 'string' ? { accountId: pool, carrier: module, number } : undefined

const poolCarrier = (stock: Stock, module: PoolModule): Carrier => ({
  module,
  async search(search) {
    for (const pool of poolsFor(module, search)) {
      const numbers = await stock.pooled(pool, module, search)
      const offer = { state: 'discovery', carrier: module, carrierData: { pool } } as const
      if (numbers.length > 0) return numbers.map((number) => ({ number, ...offer }))
    }
    return []
  },
  /** The condition makes sure that only one of several accounts gets the number. */
  take(handover) {
    const entry = poolEntryOf(module, handover)
    if (!entry) throw failure(numberFault, { message: 'fault by carrier', cause: handover.number })
    takeFromPool(handover.set, entry, handover.accountId)
    return handover.carrierData
  },
  takeBack(handover) {
    const entry = poolEntryOf(module, handover)
    if (entry) returnToPool(handover.set, entry)
  },
})

export type Carriers = ReturnType<typeof createCarriers>

export const createCarriers = ({ store, phonebook }: DepsOf<'store'> & { phonebook: Phonebook }) => {
  const stock = createStock(store)
  const speaking = [
    ownStock(stock, 'knm_local'),
    ownStock(stock, 'knm_inventory'),
    reservedStock(stock, 'knm_reserved', ({ accountId }) => accountId),
    reservedStock(stock, 'knm_reserved_reseller', ({ accountId, resellerId }) =>
      accountId === undefined || accountId === resellerId ? undefined : resellerId,
    ),
    poolCarrier(stock, 'knm_managed'),
    poolCarrier(stock, 'knm_inum'),
    otherCarrier(phonebook),
  ]
  const carriers = new Map<string, Carrier>(carrierModules.map((module) => [module, labelOnly(module)]))
  for (const carrier of speaking) carriers.set(carrier.module, carrier)
  return { of: (module: string): Carrier => carriers.get(module) ?? labelOnly(module) }
}
