import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { ImportedRecord, Importer } from '../../adoption.ts'
import type { CarrierModule } from './carriers/carrier.ts'
import { createStock, placeInPool, removeFromPool } from './carriers/store.ts'
import { type NumberFacts, numberAt } from './number-facts.ts'
import type { NumberPlanning } from './numbering.ts'
import { addCounts } from './planner.ts'
import type { NumberRecord, NumberStore } from './store.ts'

type ImportedNumber = Pick<NumberFacts, 'state' | 'carrier' | 'usedBy' | 'hidden'>

interface ImportedStock {
  carrier: Extract<CarrierModule, 'knm_managed' | 'knm_inum'>
  isTaken: boolean
}

interface Deps {
  numbers: NumberStore
  planning: Pick<NumberPlanning, 'rules'>
}

/**
 * Imports numbers as they are: no carrier is asked, and features may be on that no user can switch on. `number`:
 * from the inventory. `hearsay`: known from other records only, and replaced by the inventory's.
 */
export const createNumberImporter = ({ numbers, planning }: Deps): Record<'number' | 'hearsay', Importer> => {
  // Stored numbers of a batch; valid for the first attempt to put them.
  const looked = new WeakMap<ImportedRecord, { before: NumberRecord | undefined }>()
  // Numbers that a change set has withdrawn: a later record of the set may put them into another account.
  const withdrawn = new WeakMap<ChangeSet, Set<string>>()

  const prepare = async (arrivals: readonly ImportedRecord[]) => {
    const found = await numbers.findSeveral(arrivals.map(({ id }) => id))
    for (const arrival of arrivals) looked.set(arrival, { before: found.get(arrival.id) })
  }

  const findBefore = async (set: ChangeSet, arrival: ImportedRecord) => {
    const known = looked.get(arrival)
    looked.delete(arrival)
    if (withdrawn.get(set)?.has(arrival.id)) return undefined
    return known ? known.before : numbers.findAnywhere(arrival.id)
  }

  const importerOf = (isHearsay: boolean): Importer => ({
    prepare,

    async put(set, arrival) {
      const { accountId, id, created, modified, revision, doc } = arrival
      const { hidden, ...facts } = arrival.facts as unknown as ImportedNumber
      const before = await findBefore(set, arrival)
      if ((isHearsay && before && !before.hidden.isHearsay) || before?.revision === revision) return false
      const imported = { accountId, doc, ...facts, hidden: isHearsay ? { ...hidden, isHearsay } : hidden }
      const after = numberAt(id, { created, modified, revision }, imported, await planning.rules())
      numbers.arrive(set, before, after)
      addCounts(set, before, after)
      return true
    },

    async remove(set, { accountId, id }) {
      const number = await numbers.findAnywhere(id)
      if (number?.accountId !== accountId || (number.hidden.isHearsay ?? false) !== isHearsay) return false
      numbers.withdraw(set, number)
      addCounts(set, number, undefined)
      withdrawn.set(set, (withdrawn.get(set) ?? new Set()).add(id))
      return true
    },
  })

  return { number: importerOf(false), hearsay: importerOf(true) }
}

const poolKind = 'number_pool'

/** Imports numbers that accounts have in stock. */
export const createStockImporter = (store: Store, numbers: NumberStore): Importer => {
  const pools = createStock(store)

  const takerOf = async ({ accountId, id }: ImportedRecord) => {
    const number = await numbers.findAnywhere(id)
    return number?.accountId || accountId
  }

  return {
    async put(set, arrival) {
      const { accountId, id } = arrival
      const { carrier, isTaken } = arrival.facts as unknown as ImportedStock
      const taker = isTaken ? await takerOf(arrival) : ''
      const before = (await pools.poolsOf(accountId, id)).find((entry) => entry.carrier === carrier)
      if (before?.takenBy === taker) return false
      placeInPool(set, { accountId, carrier, number: id }, taker)
      const action = before ? 'edited' : 'created'
      const after = JSON.stringify({ carrier })
      set.record({ accountId, kind: poolKind, id, action, ...(before ? { before: after } : {}), after })
      return true
    },

    async remove(set, { accountId, id }) {
      const found = await pools.poolsOf(accountId, id)
      for (const { carrier } of found) removeFromPool(set, { accountId, carrier, number: id })
      if (found.length > 0) set.record({ accountId, kind: poolKind, id, action: 'deleted' })
      return found.length > 0
    },
  }
}
