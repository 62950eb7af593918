import type { Carrier, CarrierSearch, Offer } from './carrier.ts'
import { isBillable, maximalPrefixLengthOf } from './names.ts'
import type { createStock } from './store.ts'

type Stock = ReturnType<typeof createStock>

const facts = (module: Carrier['module']) => ({
  module,
  maximalPrefixLength: maximalPrefixLengthOf(module),
  isBillable: isBillable(module),
})

/** Numbers that this installation owns itself. Ordering them, or giving them back, asks nobody. */
export const ownStock = (stock: Stock, module: 'knm_local' | 'knm_inventory'): Carrier => ({
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

/** What the account itself has reserved. */
export const reservedStock = (stock: Stock): Carrier => ({
  ...facts('knm_reserved'),
  search: (search) => reservedBy(stock, search.accountId, search),
})

/** What its reseller has reserved: an account may use it. */
export const reservedByReseller = (stock: Stock): Carrier => ({
  ...facts('knm_reserved_reseller'),
  async search(search) {
    const { accountId, resellerId } = search
    if (accountId === undefined || accountId === resellerId) return []
    return reservedBy(stock, resellerId, search)
  },
})

/** A company that nothing here speaks with: numbers may carry its name, and it has none to give. */
export const labelOnly = (module: Carrier['module']): Carrier => ({
  ...facts(module),
  search: async () => [],
})
