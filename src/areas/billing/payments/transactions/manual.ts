import type { AccountRecord } from '../../../../auth/identity.ts'
import { failure, forbidden, invalid } from '../../../../lib/failure.ts'
import { dollarsOfUnits } from '../../../../lib/money.ts'
import type { Author } from '../../../../storage/change-set.ts'
import type { Bookkeepers } from '../../services/bookkeepers.ts'
import type { Transactions, Wanted } from './operations.ts'
import type { Transaction } from './rules.ts'

/** What somebody asks for by hand. Money in units. */
export type ManualOrder = Pick<Wanted, 'amount' | 'metadata' | 'order_id'> & {
  description?: string
  /** Of a refund: the sale. */
  saleId?: string
}

/** Whether whoever asks may let a vendor's bookkeeper move money. */
type MayAct = (vendorId: string) => boolean

interface Deps {
  transactions: Transactions
  bookkeepers: Bookkeepers
}

export type ManualTransactions = ReturnType<typeof createManualTransactions>

/** Money that the vendor of a bookkeeper takes or gives back by hand. */
export const createManualTransactions = ({ transactions, bookkeepers }: Deps) => {
  const assertMayAct = (mayAct: MayAct, vendorId: string) => {
    if (mayAct(vendorId)) return
    throw failure(forbidden, { cause: 'money is moved by the vendor of the bookkeeper' })
  }

  const assertLeft = (sale: Transaction | undefined, amount: number): Transaction => {
    const left = sale?.type === 'sale' && sale.status === 'completed' ? sale.amount - sale.refunded : 0
    if (sale && left >= amount) return sale
    const message = 'No sale has so much left to be refunded'
    throw invalid({
      amount: { maximum: { message, target: dollarsOfUnits(left), value: dollarsOfUnits(amount) } },
    })
  }

  /** The newest sale at the account's bookkeeper of which enough is left. */
  const newestSale = async (account: AccountRecord, amount: number, mayAct: MayAct) => {
    const bookkeeper = await bookkeepers.of(account)
    assertMayAct(mayAct, bookkeeper.vendor_id)
    await transactions.gatewayOf(bookkeeper)
    return transactions.refundable(account.id, bookkeeper.type, amount)
  }

  return {
    /** Takes money. */
    async sale(author: Author, account: AccountRecord, order: ManualOrder, mayAct: MayAct) {
      const bookkeeper = await bookkeepers.of(account)
      assertMayAct(mayAct, bookkeeper.vendor_id)
      const { description = 'Manual sale', saleId: _, ...rest } = order
      const frame = { type: 'sale', trigger: 'manual', module: 'transactions' } as const
      return transactions.carryOut(author, account, { ...rest, ...frame, description, bookkeeper })
    },

    /** Gives money of a sale back, by the bookkeeper that took it. */
    async refund(author: Author, account: AccountRecord, order: ManualOrder, mayAct: MayAct) {
      const { description = 'Manual refund', saleId, ...rest } = order
      const found =
        saleId === undefined
          ? await newestSale(account, order.amount, mayAct)
          : await transactions.get(account.id, saleId)
      const sale = assertLeft(found, order.amount)
      const { bookkeeper } = sale.doc
      assertMayAct(mayAct, bookkeeper.vendor_id)
      const frame = { type: 'refund', trigger: 'manual', module: 'transactions' } as const
      return transactions.carryOut(author, account, { ...rest, ...frame, description, bookkeeper, sale })
    },
  }
}
