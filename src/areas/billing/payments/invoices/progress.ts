import { gregorianNow } from '../../../../lib/gregorian.ts'
import type { Json } from '../../../../lib/json.ts'
import { dollarsOfUnits } from '../../../../lib/money.ts'
import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import type { Ledgers } from '../../ledgers/operations.ts'
import type { Bookkeepers } from '../../services/bookkeepers.ts'
import type { Transaction, TransactionStatus } from '../transactions/rules.ts'
import { type Invoice, isOverdue, mayBecome, toPay } from './rules.ts'
import type { InvoiceStore } from './store.ts'

/** The errand that sees to it that an invoice is paid. */
export const dunningKind = 'dunning'

export const errandId = ({ accountId, id }: Pick<Invoice, 'accountId' | 'id'>) => `${accountId}/${id}`

interface Deps {
  store: Pick<Store, 'clock'>
  rows: InvoiceStore
  ledgers: Pick<Ledgers, 'balance'>
  bookkeepers: Pick<Bookkeepers, 'note'>
}

// After every month that there is.
const never = 999_912

const sumOf = (parts: readonly { amount: number }[]) => parts.reduce((sum, { amount }) => sum + amount, 0)

/** A draft is never stored: what is read from the store was issued. */
export const isIssued = <I extends Invoice>(
  invoice: I,
): invoice is I & { status: Exclude<Invoice['status'], 'draft'> } => invoice.status !== 'draft'

export type InvoiceProgress = ReturnType<typeof createInvoiceProgress>

/** How invoices come to be paid. */
export const createInvoiceProgress = ({ store, rows, ledgers, bookkeepers }: Deps) => {
  /** Units that an account lacks to pay each of its unpaid invoices: money pays the oldest one first. */
  const shortfalls = async (accountId: string): Promise<{ invoice: Invoice; missing: number }[]> => {
    const debt = -(await ledgers.balance(accountId))
    if (debt <= 0) return []
    const booked = [
      ...(await rows.entriesBefore(accountId, never)),
      ...(await rows.usageBefore(accountId, never)),
    ]
    const uninvoiced = await rows.uninvoiced(accountId)
    let left = debt - Math.max(0, -sumOf(booked))
    const newestFirst = (await rows.unpaid(accountId)).reverse()
    return newestFirst.map((invoice) => {
      const owedLater = -sumOf(uninvoiced.filter(({ month }) => month >= invoice.month))
      const missing = Math.max(0, left - Math.max(0, owedLater))
      left -= toPay(invoice)
      return { invoice, missing }
    })
  }

  const missingFor = async ({ accountId, id }: Invoice): Promise<number> =>
    (await shortfalls(accountId)).find(({ invoice }) => invoice.id === id)?.missing ?? 0

  /** Ends the delinquency of an account unless an invoice is overdue. `settled`: one that this change set ends. */
  const restore = async (set: ChangeSet, accountId: string, settled?: string) => {
    const now = gregorianNow(store.clock)
    const isLate = ({ invoice, missing }: { invoice: Invoice; missing: number }) =>
      invoice.id !== settled && missing > 0 && isOverdue(invoice, now)
    if ((await shortfalls(accountId)).some(isLate)) return
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
