import { unixOfGregorian } from '../../../../lib/gregorian.ts'
import type { Store } from '../../../../storage/store.ts'
import type { ImportedRecord, Importer } from '../../../adoption.ts'
import type { AuditDoc, AuditEntry, QuantityDay } from './rules.ts'
import { createAuditStore } from './store.ts'

const entryOf = ({ id, created, doc }: Importer): AuditEntry => ({
  id,
  created,
  place: `-${id}`,
  madeAt: unixOfGregorian(created) * 1000,
  doc: doc as unknown as AuditDoc,
})

/** What moved of an item on a day, and how many there were at its end. */
type ArrivingDay = Pick<QuantityDay, 'category' | 'item' | 'day' | 'addition' | 'removal'> & {
  quantity: number
}

const dayOf = ({ created, facts }: Importer): QuantityDay => {
  const { quantity, ...day } = facts as unknown as ArrivingDay
  return { ...day, own: quantity, below: 0, manual: undefined, lastAt: unixOfGregorian(created) * 1000 }
}

/** Takes in what another system noted of changed invoices. */
export const createServiceAuditImporter = (store: Store): ImportedRecord => {
  const rows = createAuditStore(store)
  return {
    async put(set, arrival) {
      const before = await rows.find(arrival.accountId, arrival.id)
      const after = entryOf(arrival)
      if (before && JSON.stringify(before) === JSON.stringify(after)) return false
      rows.adopt(set, arrival.accountId, after)
      return true
    },

    async remove(set, { accountId, id }) {
      const before = await rows.find(accountId, id)
      if (before) rows.remove(set, accountId, id)
      return before !== undefined
    },
  }
}

/** A day is named by itself: `20250214/devices/sip_device`, each part encoded as in an address. */
const placeOf = (id: string) => {
  const [day = '', category = '', item = ''] = id.split('/').map(decodeURIComponent)
  return { day: Number(day), category, item }
}

/** Takes in what moved of an account's counts before it came. */
export const createQuantityDayImporter = (store: Store): ImportedRecord => {
  const rows = createAuditStore(store)
  return {
    async put(set, arrival) {
      const after = dayOf(arrival)
      const before = await rows.day(arrival.accountId, after)
      const isSame =
        before && Object.entries(after).every(([key, value]) => before[key as keyof QuantityDay] === value)
      if (isSame) return false
      rows.putDay(set, arrival.accountId, after)
      return true
    },
    async remove(set, { accountId, id }) {
      const before = await rows.day(accountId, placeOf(id))
      if (before) rows.removeDay(set, accountId, before)
      return before !== undefined
    },
  }
}
