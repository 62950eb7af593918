import { unixOfGregorian } from '../../../../lib/gregorian.ts'
import type { Settings } from '../../../../settings/settings.ts'
import type { Store } from '../../../../storage/store.ts'
import type { ImportedRecord, Importer } from '../../../adoption.ts'
import { servicesSettings } from '../../services/settings.ts'
import type { Transaction, TransactionDoc, TransactionResult, TransactionType } from './rules.ts'
import { createTransactionStore } from './store.ts'

/** How money has moved in another system: it has ended, one way or the other. */
interface ArrivingFacts {
  type: TransactionType
  status: 'completed' | 'failed'
  /** Units, never negative. */
  amount: number
  result: TransactionResult
}

const transactionOf = ({ accountId, id, created, doc, facts }: Importer, currency: string): Transaction => {
  const { type, status, amount, result } = facts as unknown as ArrivingFacts
  const said = doc as unknown as Omit<TransactionDoc, 'currency' | 'result'>
  return {
    ...{ accountId, id, created, type, status, amount },
    place: `-${id}`,
    madeAt: unixOfGregorian(created) * 1000,
    refunded: 0,
    doc: { ...said, currency, result },
  }
}

const isSame = (before: Transaction | undefined, { refunded: _, ...after }: Transaction) => {
  if (!before) return false
  const { refunded: __, ...rest } = before
  const inOrder = ({ doc, ...columns }: Omit<Transaction, 'refunded'>) =>
    JSON.stringify([Object.entries(columns).toSorted(), doc])
  return inOrder(rest) === inOrder(after)
}

/** Takes in how money has moved in another system. No bookkeeper is asked about it, ever, and no balance moves. */
export const createTransactionImporter = ({
  store,
  settings,
}: {
  store: Store
  settings: Settings
}): ImportedRecord => {
  const rows = createTransactionStore(store)
  return {
    async put(set, arrival) {
      const { currency } = await settings.of(servicesSettings)
      const after = transactionOf(arrival, currency)
      if (isSame(await rows.find(arrival.accountId, arrival.id), after)) return false
      rows.adopt(set, after)
      return true
    },

    async remove(set, { accountId, id }) {
      const before = await rows.find(accountId, id)
      if (before) rows.remove(set, accountId, id)
      return before !== undefined
    },
  }
}
