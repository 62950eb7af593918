import type { AccountRecord } from '../../../auth/identity.ts'
import type { Round } from '../../../jobs/rounds.ts'
import { Failure, failure, hasProblems, invalid } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { randomHex } from '../../../lib/ids.ts'
import { describeError, type Log } from '../../../lib/log.ts'
import { monthOf } from '../../../lib/time-key.ts'
import type { Mail } from '../../../mail/mail.ts'
import { type Absent, declined, type Gateway, type Outcome, unknown } from '../../../payment/gateway.ts'
import type { Settings } from '../../../settings/settings.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { retrying, type Store } from '../../../storage/store.ts'
import type { Ledgers } from '../../ledgers/operations.ts'
import type { ServiceAudit } from '../../services/audit/operations.ts'
import type { Bookkeepers } from '../../services/bookkeepers.ts'
import type { Books } from '../../services/books.ts'
import type { Bookkeeper } from '../../services/pricing/plan.ts'
import {
  coinProblems,
  isOpen,
  maySend,
  orderOf,
  pauseAfter,
  type Transaction,
  type TransactionDoc,
  type TransactionType,
  type Trigger,
} from './rules.ts'
import { createSettlement } from './settlement.ts'
import { createTransactionStore, type TransactionPage } from './store.ts'

/** Money that is to move. */
export interface Wanted {
  type: TransactionType
  /** Units. */
  amount: number
  description: string
  trigger: Trigger
  module: string
  bookkeeper: Bookkeeper
  metadata?: Record<string, unknown>
  order_id?: string
  sale?: Transaction
}

interface Tools {
  store: Store
  settings: Settings
  books: Books
  bookkeepers: Bookkeepers
  ledgers: Ledgers
  audit: ServiceAudit
  mail: Mail
  log: Log
}

const roundAuthor: Author = { requestId: 'transactions' }

const transactionId = /^\d{6}-[0-9a-f]+$/

const perLook = 50
const atOnce = 5
// Beyond what a gateway may take, before another process has a look.
const graceMs = 1000

export type Transactions = ReturnType<typeof createTransactions>

/**
 * Money that moves at bookkeepers. What is wanted is on disk before a gateway is asked, and how it ended is booked in
 * one piece: so whatever dies, or gets lost, in between is found out by asking again under the same key.
 */
export const createTransactions = (tools: Tools) => {
  const { store, settings, bookkeepers, audit, log } = tools
  const rows = createTransactionStore(store)
  const settlement = createSettlement({ ...tools, rows })
  const { clock } = store

  /** The gateway of a bookkeeper that can move money. */
  const gatewayOf = async (bookkeeper: Bookkeeper): Promise<Gateway> => {
    const gateway = bookkeepers.gateway(bookkeeper)
    if (!gateway?.capabilities.charges || !(await gateway.isReady(bookkeeper.vendor_id)))
      throw failure('invalid_bookkeeper', {})
    return gateway
  }

  /** Money goes back in the currency in which it came. */
  const currencyOf = async ({ sale }: Pick<Wanted, 'sale'>) =>
    sale?.doc.currency ?? (await settings.of('services')).currency

  const docOf = async (author: Author, account: AccountRecord, wanted: Wanted): Promise<TransactionDoc> => {
    const { description, trigger, module, bookkeeper, metadata, order_id, sale, type } = wanted
    const means = type === 'sale' ? await bookkeepers.means(account.id, bookkeeper) : undefined
    return {
      account: { id: account.id, name: account.doc.name },
      description,
      executor: { trigger, module },
      bookkeeper,
      currency: await currencyOf(wanted),
      audit: await audit.who(author),
      ...(metadata ? { metadata } : {}),
      ...(order_id === undefined ? {} : { order_id }),
      ...(means ? { means } : {}),
      ...(sale ? { sale: { id: sale.id, charge_id: sale.doc.result?.id ?? '' } } : {}),
    }
  }

  /** Adds a transaction to the change set of what wants it. From `dueAt` on the round looks after it. */
  const open = async (set: ChangeSet, account: AccountRecord, wanted: Wanted, dueAt: number) => {
    const transaction: Transaction = {
      accountId: account.id,
      id: `${monthOf(clock.now())}-${randomHex(16)}`,
      created: gregorianNow(clock),
      type: wanted.type,
      status: 'pending',
      amount: wanted.amount,
      refunded: 0,
      attempts: 0,
      doc: await docOf(set.author, account, wanted),
    }
    if (wanted.sale) rows.reserve(set, wanted.sale, wanted.amount)
    rows.insert(set, transaction, dueAt)
    return transaction
  }

  /** Of several who know the outcome one books it; the others find it booked. */
  const settle = (author: Author, { accountId, id }: Transaction, outcome: Outcome): Promise<Transaction> =>
    retrying(async () => {
      const current = await rows.get(accountId, id)
      if (!isOpen(current)) return current
      await store.commit(await settlement(author, current, outcome))
      return rows.get(accountId, id)
    })

  const ask = async <T extends Outcome | Absent>(call: () => Promise<T>): Promise<T | Outcome> => {
    try {
      return await call()
    } catch (error) {
      log.write('error', 'a payment gateway failed', { error: describeError(error) })
      return unknown('gateway failed')
    }
  }

  const send = (gateway: Gateway, transaction: Transaction): Promise<Outcome> => {
    const order = orderOf(transaction)
    if (order.kind === 'refund') return ask(() => gateway.refund(order))
    if (gateway.capabilities.tokens && !order.means)
      return Promise.resolve(declined('no_payment_token', 'no payment method available'))
    return ask(() => gateway.charge(order))
  }

  const findOut = async (gateway: Gateway, transaction: Transaction): Promise<Outcome> => {
    const found = await ask(() => gateway.lookup(orderOf(transaction)))
    if (found.status !== 'absent') return found
    return maySend(transaction, clock.now())
      ? send(gateway, transaction)
      : declined('never_arrived', 'the bookkeeper never heard of it')
  }

  /** Finds out how an open transaction ended, and books it. */
  const clear = async (transaction: Transaction) => {
    const gateway = bookkeepers.gateway(transaction.doc.bookkeeper)
    const outcome = gateway ? await findOut(gateway, transaction) : unknown('there is no such bookkeeper')
    return settle(roundAuthor, transaction, outcome)
  }

  /** What is wrong with one transaction must not keep the others open. */
  const clearSafely = async (transaction: Transaction) => {
    try {
      await clear(transaction)
    } catch (error) {
      const { accountId: account_id, id } = transaction
      log.write('error', 'a transaction stays open', { account_id, id, error: describeError(error) })
      await rows.postpone(transaction, clock.now() + pauseAfter(transaction.attempts))
    }
  }

  const clearAll = async (transactions: readonly Transaction[], signal: AbortSignal) => {
    const waiting = [...transactions]
    const work = async () => {
      for (let next = waiting.shift(); next && !signal.aborted; next = waiting.shift())
        await clearSafely(next)
    }
    await Promise.all(Array.from({ length: atOnce }, work))
  }

  const round: Round = {
    name: 'transactions',
    everySeconds: 1,
    due: async () => (await rows.due(clock.now(), 1)).length > 0,
    async run(signal) {
      while (!signal.aborted) {
        const due = await rows.due(clock.now(), perLook)
        await clearAll(due, signal)
        if (due.length < perLook) return
      }
    },
  }

  const carryOut = async (author: Author, account: AccountRecord, wanted: Wanted): Promise<Transaction> => {
    const gateway = await gatewayOf(wanted.bookkeeper)
    const { capabilities, smallestUnits } = gateway
    const problems = coinProblems(wanted.amount, smallestUnits(await currencyOf(wanted)))
    if (hasProblems(problems)) throw invalid(problems)
    const needsMeans = capabilities.tokens && wanted.type === 'sale'
    if (needsMeans && !(await bookkeepers.means(account.id, wanted.bookkeeper)))
      throw failure('no_payment_token', {})
    const set = new ChangeSet(author)
    const patience = (await gateway.patienceMs(wanted.bookkeeper.vendor_id)) + graceMs
    const transaction = await open(set, account, wanted, clock.now() + patience)
    await store.commit(set)
    return perform(author, gateway, transaction)
  }

  /** From here on nothing may fail as a lost race: the request would be carried out once more. */
  const perform = async (author: Author, gateway: Gateway, transaction: Transaction) => {
    const { idempotency: _, ...plainAuthor } = author
    const outcome = await send(gateway, transaction)
    try {
      return await settle(plainAuthor, transaction, outcome)
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'datastore_conflict') throw error
      return rows.get(transaction.accountId, transaction.id)
    }
  }

  return {
    open,
    round,
    carryOut,

    async get(accountId: string, id: string): Promise<Transaction> {
      if (!transactionId.test(id)) throw failure('bad_identifier', { cause: id })
      return rows.get(accountId, id)
    },

    /** The same after a look at how it ended: for whoever asks again because an answer was lost. */
    async cleared(accountId: string, id: string): Promise<Transaction> {
      const transaction = await rows.get(accountId, id)
      return isOpen(transaction) ? clear(transaction) : transaction
    },

    page: (page: TransactionPage) => rows.page(page),
    refundable: rows.refundable,
    gatewayOf,
  }
}
