import { failure } from '../../../../lib/failure.ts'
import type { Settings } from '../../../../settings/settings.ts'
import type { Store } from '../../../../storage/store.ts'
import { numberFault } from '../failures.ts'
import {
  type Carrier,
  type CarrierSearch,
  carrierModules,
  type Handover,
  isBillable,
  maximalPrefixLengthOf,
  type Offer,
} from './carrier.ts'
import { otherCarrier, type Phonebook } from './phonebook.ts'
import { createStock, returnToPool, takeFromPool } from './store.ts'

type Stock = ReturnType<typeof createStock>

const facts = (module: Carrier['module']) => ({
  module,
  maximalPrefixLength: maximalPrefixLengthOf(module),
  isBillable: isBillable(module),
})

/** Numbers that the installation owns. */
const ownStock = (stock: Stock, module: 'knm_local' | 'knm_inventory'): Carrier => ({
  ...facts(module),
  async search(search) {
    const numbers = await stock.available(module, search)
    return numbers.map((number): Offer => ({ number, state: 'available', carrier: module }))
  },
})

const reservedBy = async (stock: Stock, accountId: string | undefined, search: CarrierSearch) => {
  if (accountId === undefined) return []
  const rows = await stock.reserved(accountId, search)
  return rows.map((row): Offer => ({ ...row, state: 'reserved' }))
}

const reservedStock = (stock: Stock): Carrier => ({
  ...facts('knm_reserved'),
  search: (search) => reservedBy(stock, search.accountId, search),
})

/** An account may use numbers that its reseller has reserved. */
const reservedByReseller = (stock: Stock): Carrier => ({
  ...facts('knm_reserved_reseller'),
  async search(search) {
    const { accountId, resellerId } = search
    if (accountId === undefined || accountId === resellerId) return []
    return reservedBy(stock, resellerId, search)
  },
})

/** A company without an interface here: numbers can have its name, and it offers none. */
const labelOnly = (module: Carrier['module']): Carrier => ({
  ...facts(module),
  search: async () => [],
})

type PoolModule = 'knm_managed' | 'knm_inum'

/** The nearer pool first. */
const poolsFor = (module: PoolModule, { accountId, resellerId }: CarrierSearch) => {
  if (accountId === undefined) return []
  const isShared = module === 'knm_managed' && resellerId !== undefined && resellerId !== accountId
  return isShared ? [accountId, resellerId] : [accountId]
}

const entryOf = (module: PoolModule, { number, carrierData }: Handover) => {
  const { pool } = carrierData
  return typeof pool === 'string' ? { accountId: pool, carrier: module, number } : undefined
}

const poolCarrier = (stock: ReturnType<typeof createStock>, module: PoolModule): Carrier => ({
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

  /** The condition makes sure that only one of several accounts gets the number. */
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

interface Deps {
  store: Store
  settings: Settings
  phonebook: Phonebook
}

export interface Carriers {
  of(module: string): Carrier
}

export const createCarriers = ({ store, settings, phonebook }: Deps): Carriers => {
  const stock = createStock(store)
  const speaking = [
    ownStock(stock, 'knm_local'),
    ownStock(stock, 'knm_inventory'),
    reservedStock(stock),
    reservedByReseller(stock),
    poolCarrier(stock, 'knm_managed'),
    poolCarrier(stock, 'knm_inum'),
    otherCarrier(phonebook, settings),
  ]
  const carriers = new Map<string, Carrier>(carrierModules.map((module) => [module, labelOnly(module)]))
  for (const carrier of speaking) carriers.set(carrier.module, carrier)
  return { of: (module) => carriers.get(module) ?? labelOnly(module) }
}
