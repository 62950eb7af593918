import type { Store } from '../../../../storage/store.ts'
import type { ImportedRecord, Importer } from '../../../adoption.ts'
import { createAllotmentStore, type Use } from './store.ts'

const useOf = ({ accountId, facts }: Importer): Use => {
  const { allotment, minute, seconds } = facts as unknown as Omit<Use, 'accountId'>
  return { accountId, allotment, minute, seconds }
}

/** A use is named by its minute and its allotment, each encoded as in an address. */
const placeOf = (id: string) => {
  const [minute = '', allotment = ''] = id.split('/').map(decodeURIComponent)
  return { minute: Number(minute), allotment }
}

/** Takes in what calls have used elsewhere of what they have included. It is forgotten like what is used here. */
export const createAllotmentUseImporter = (store: Store): ImportedRecord => {
  const uses = createAllotmentStore(store)
  return {
    async put(set, arrival) {
      const use = useOf(arrival)
      const { accountId, allotment, minute, seconds } = use
      if ((await uses.used(accountId, allotment, { from: minute, to: minute + 1 })) === seconds) return false
      uses.put(set, use).record({ accountId, kind: 'allotments', id: accountId, action: 'edited' })
      return true
    },
    async remove(set, { accountId, id }) {
      const { minute, allotment } = placeOf(id)
      const isThere = (await uses.used(accountId, allotment, { from: minute, to: minute + 1 })) > 0
      if (isThere)
        uses
          .remove(set, { accountId, allotment, minute })
          .record({ accountId, kind: 'allotments', id: accountId, action: 'edited' })
      return isThere
    },
  }
}
