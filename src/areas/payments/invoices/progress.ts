import type { Json } from '../../../lib/json.ts'
import { dollarsOfUnits } from '../../../lib/money.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Ledgers } from '../../ledgers/operations.ts'
import type { Transaction, TransactionStatus } from '../transactions/rules.ts'
import { type Invoice, mayBecome } from './rules.ts'
import type { InvoiceStore } from './store.ts'

/** The errand that sees to it that an invoice is paid. */
export const dunningKind = 'dunning'

export const errandId = ({ accountId, id }: Pick<Invoice, 'accountId' | 'id'>) => `${accountId}/${id}`

interface Tools {
  rows: InvoiceStore
  ledgers: Pick<Ledgers, 'balance'>
}

/** A draft is never stored: what is read from the store was issued. */
export const isIssued = <I extends Invoice>(
  invoice: I,
): invoice is I & { status: Exclude<Invoice['status'], 'draft'> } => invoice.status !== 'draft'

export type InvoiceProgress = ReturnType<typeof createInvoiceProgress>

/** How invoices come to be paid. */
export const createInvoiceProgress = ({ rows, ledgers }: Tools) => {
  const settle = (set: ChangeSet, invoice: Invoice, by: Json): boolean => {
    if (!isIssued(invoice) || !mayBecome(invoice.status, 'pay')) return false
    rows.move(set, invoice, { status: 'paid' })
    rows.tell(set, invoice, 'paid', by)
    return true
  }

  return {
    /** Has invoices of an account looked at, because there is money for them, or there is none. */
    hurry(set: ChangeSet, accountId: string) {
      set.statements.push(rows.hurry(accountId, dunningKind))
    },

    settle,

    /** Units that the account lacks to cover all that it owes, this invoice included. */
    missingFor: async ({ accountId }: Invoice) => Math.max(0, -(await ledgers.balance(accountId))),

    /** What the end of a transaction means for the invoice that it was to pay. */
    async ended(set: ChangeSet, transaction: Transaction, status: TransactionStatus) {
      const { accountId, id, type, amount, doc } = transaction
      if (doc.invoice_id === undefined || type !== 'sale') return
      const invoice = await rows.get(accountId, doc.invoice_id)
      if (status === 'completed') settle(set, invoice, { transaction_id: id, amount: dollarsOfUnits(amount) })
      else rows.tell(set, invoice, 'payment_declined', { transaction_id: id })
      set.statements.push(rows.hurry(accountId, dunningKind))
    },
  }
}
