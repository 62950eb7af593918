import { gregorianNow } from '../../../../lib/gregorian.ts'
import { dollarsOfUnits } from '../../../../lib/money.ts'
import type { Mail } from '../../../../mail/mail.ts'
import type { Outcome } from '../../../../payment/gateway.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import type { Store } from '../../../../storage/store.ts'
import type { Ledgers } from '../../ledgers/operations.ts'
import type { Bookkeepers } from '../../services/bookkeepers.ts'
import type { PricingData } from '../../services/books.ts'
import { transactionFailedNotice, transactionNotice } from '../notices.ts'
import {
  resultOf,
  statusAfter,
  type Transaction,
  type TransactionDoc,
  type TransactionStatus,
} from './rules.ts'
import type { TransactionStore } from './store.ts'

interface Deps {
  store: Store
  rows: TransactionStore
  books: PricingData
  bookkeepers: Bookkeepers
  ledgers: Ledgers
  mail: Mail
  ended(set: ChangeSet, transaction: Transaction, status: TransactionStatus): Promise<void>
}

/** What follows from how a movement ended, in one change set: the ledger, the standing, the mail. */
export const createSettlement = ({ store, rows, books, bookkeepers, ledgers, mail, ended }: Deps) => {
  const { clock } = store

  const post = (set: ChangeSet, transaction: Transaction): string => {
    const { accountId, id, type, amount, doc } = transaction
    const payer = { id: accountId, doc: { name: doc.account.name } }
    return ledgers.post(set, payer, {
      source: { service: 'payments', id },
      usage: { type, quantity: 1, unit: 'payment' },
      amount: type === 'sale' ? amount : -amount,
      identity: ['transaction', accountId, id],
      details: {
        description: doc.description,
        period: { start: gregorianNow(clock) },
        executor: doc.executor,
        metadata: { transaction_id: id },
        ...(doc.audit ? { audit: doc.audit } : {}),
      },
    })
  }

  const tell = async (set: ChangeSet, transaction: Transaction, doc: TransactionDoc) => {
    const account = await books.account(transaction.accountId)
    if (!account) return
    const common = {
      'transaction.id': transaction.id,
      'transaction.type': transaction.type,
      'transaction.amount': `${dollarsOfUnits(transaction.amount)} ${doc.currency}`,
      'transaction.description': doc.description,
    }
    const { reason = 'declined', message = reason, status } = doc.result ?? {}
    if (status === 'succeeded')
      await mail.notify(set, { notice: transactionNotice, account, to: [], values: common })
    // Who has an invoice is told what follows from that, by the notices about it.
    else if (doc.invoice_id === undefined || doc.executor.trigger === 'manual')
      await mail.notify(set, {
        notice: transactionFailedNotice,
        account,
        to: [],
        values: { ...common, 'transaction.reason': message },
      })
  }

  /** A bill that is not paid. Of an invoice's payment more is tried first. */
  const noteRefusal = async (set: ChangeSet, { accountId, type, doc }: Transaction) => {
    if (type === 'sale' && doc.executor.trigger === 'recurring' && doc.invoice_id === undefined)
      await bookkeepers.note(set, accountId, 'payment_declined', false)
  }

  /** The change set that books how a movement ended, or notes that nobody knows. */
  const settle = async (author: Author, transaction: Transaction, outcome: Outcome) => {
    const set = new ChangeSet(author)
    rows.takeTurn(set, transaction)
    const status = statusAfter(outcome)
    const doc: TransactionDoc = { ...transaction.doc, result: resultOf(outcome) }
    if (status === 'completed') doc.ledger_id = post(set, transaction)
    rows.settle(set, transaction, { status, doc })
    if (status !== 'completed' && status !== 'failed') return set
    if (status === 'failed' && doc.sale)
      rows.unreserve(set, transaction.accountId, doc.sale.id, transaction.amount)
    if (status === 'failed') await noteRefusal(set, transaction)
    await ended(set, { ...transaction, doc }, status)
    await tell(set, transaction, doc)
    return set
  }

  return { settle, book: post, tell }
}
