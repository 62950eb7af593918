import type { Store } from '../../../../storage/store.ts'
import type { ImportedRecord, Importer } from '../../../adoption.ts'
import { createPoolStore, placeInPool, removeFromPool } from '../pools/store.ts'
import type { NumberStore } from '../store.ts'
import type { ImportedStock } from './rules.ts'

interface Deps {
  store: Store
  numbers: NumberStore
}

const kind = 'number_pool'

/** Numbers that accounts of another system have in stock. Whoever uses one of them has it as a number as well. */
export const createStockImporter = ({ store, numbers }: Deps): ImportedRecord => {
  const pools = createPoolStore(store)

  const takerOf = async ({ accountId, id }: Importer) => {
    const number = await numbers.findAnywhere(id)
    return number?.accountId || accountId
  }

  return {
    async put(set, arrival) {
      const { accountId, id } = arrival
      const { carrier, isTaken } = arrival.facts as unknown as ImportedStock
      const taker = isTaken ? await takerOf(arrival) : ''
      const before = (await pools.of(accountId, id)).find((entry) => entry.carrier === carrier)
      if (before?.takenBy === taker) return false
      placeInPool(set, { accountId, carrier, number: id }, taker)
      const action = before ? 'edited' : 'created'
      const after = JSON.stringify({ carrier })
      set.record({ accountId, kind, id, action, ...(before ? { before: after } : {}), after })
      return true
    },

    async remove(set, { accountId, id }) {
      const found = await pools.of(accountId, id)
      for (const { carrier } of found)
        if (carrier === 'knm_managed' || carrier === 'knm_inum')
          removeFromPool(set, { accountId, carrier, number: id })
      if (found.length > 0) set.record({ accountId, kind, id, action: 'deleted' })
      return found.length > 0
    },
  }
}
