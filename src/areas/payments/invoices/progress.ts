import { gregorianNow } from '../../../lib/gregorian.ts'
import type { Json } from '../../../lib/json.ts'
import { dollarsOfUnits } from '../../../lib/money.ts'
import type { ChangeSet } from '../../../storage/change-set.ts'
import type { Store } from '../../../storage/store.ts'
import type { Ledgers } from '../../ledgers/operations.ts'
import type { Bookkeepers } from '../../services/bookkeepers.ts'
import type { Transaction, TransactionStatus } from '../transactions/rules.ts'
import { type Invoice, isOverdue, mayBecome, toPay } from './rules.ts'
import type { InvoiceStore } from './store.ts'

/** The errand that sees to it that an invoice is paid. */
export const dunningKind = 'dunning'

export const errandId = ({ accountId, id }: Pick<Invoice, 'accountId' | 'id'>) => `${accountId}/${id}`

interface Tools {
  store: Pick<Store, 'clock'>
  rows: InvoiceStore
  ledgers: Pick<Ledgers, 'balance'>
  bookkeepers: Pick<Bookkeepers, 'note'>
}

// After every month that there is.
const never = 999_912

const sumOf = (amounts: readonly number[]) => amounts.reduce((sum, amount) => sum + amount, 0)

/** A draft is never stored: what is read from the store was issued. */
export const isIssued = <I extends Invoice>(
  invoice: I,
): invoice is I & { status: Exclude<Invoice['status'], 'draft'> } => invoice.status !== 'draft'

export type InvoiceProgress = ReturnType<typeof createInvoiceProgress>

/** How invoices come to be paid. */
export const createInvoiceProgress = ({ store, rows, ledgers, bookkeepers }: Tools) => {
  /** Units that the account owes, but not for this invoice or an older one. */
  const owedLater = async ({ accountId, id, month }: Invoice): Promise<number> => {
    const unpaid = await rows.unpaid(accountId)
    const newer = unpaid.slice(unpaid.findIndex((one) => one.id === id) + 1)
    const booked = [
      ...(await rows.entriesBefore(accountId, never)),
      ...(await rows.usageBefore(accountId, never)),
    ]
    return (
      sumOf(newer.map(toPay)) +
      Math.max(0, -sumOf(booked.map(({ amount }) => amount))) +
      Math.max(0, -(await rows.uninvoicedSince(accountId, month)))
    )
  }

  /** Units that the account lacks to pay this invoice: money pays the oldest one first. */
  const missingFor = async (invoice: Invoice): Promise<number> => {
    const debt = -(await ledgers.balance(invoice.accountId))
    return debt <= 0 ? 0 : Math.max(0, debt - (await owedLater(invoice)))
  }

  const isLate = async (invoice: Invoice) =>
    isOverdue(invoice, gregorianNow(store.clock)) && (await missingFor(invoice)) > 0

  /** Ends the delinquency of an account unless an invoice is overdue. `settled`: one that this change set ends. */
  const restore = async (set: ChangeSet, accountId: string, settled?: string) => {
    for (const invoice of await rows.unpaid(accountId))
      if (invoice.id !== settled && (await isLate(invoice))) return
    await bookkeepers.note(set, accountId, 'payment_declined', true)
  }

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
    missingFor,
    restore,

    /** What the end of a transaction means for the invoice that it was to pay. */
    async ended(set: ChangeSet, transaction: Transaction, status: TransactionStatus) {
      const { accountId, id, type, amount, doc } = transaction
      if (type !== 'sale') return
      if (status === 'completed') await restore(set, accountId, doc.invoice_id)
      if (doc.invoice_id === undefined) return
      const invoice = await rows.get(accountId, doc.invoice_id)
      if (status === 'completed') settle(set, invoice, { transaction_id: id, amount: dollarsOfUnits(amount) })
      else rows.tell(set, invoice, 'payment_declined', { transaction_id: id })
      set.statements.push(rows.hurry(accountId, dunningKind))
    },
  }
}
