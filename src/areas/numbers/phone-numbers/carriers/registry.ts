import type { Settings } from '../../../../settings/settings.ts'
import type { Store } from '../../../../storage/store.ts'
import type { Carrier } from './carrier.ts'
import { carrierModules } from './names.ts'
import { otherCarrier } from './other.ts'
import type { Phonebook } from './phonebook.ts'
import { poolCarrier } from './pools.ts'
import { labelOnly, ownStock, reservedByReseller, reservedStock } from './stock.ts'
import { createStock } from './store.ts'

interface Deps {
  store: Store
  settings: Settings
  phonebook: Phonebook
}

export interface Carriers {
  /** The carrier of a module. Most names are labels: outside companies whose interfaces nothing here speaks. */
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
