import type { AccountRecord } from '../../../auth/identity.ts'
import type { Round } from '../../../jobs/rounds.ts'
import { Failure, failure, hasProblems, invalid } from '../../../lib/failure.ts'
import { gregorianNow } from '../../../lib/gregorian.ts'
import { randomHex } from '../../../lib/ids.ts'
import { describeError, type Log } from '../../../lib/log.ts'
import { dollarsOfUnits } from '../../../lib/money.ts'
import { monthOf } from '../../../lib/time-key.ts'
import type { Mail } from '../../../mail/mail.ts'
import { type Absent, declined, type Gateway, type Outcome, unknown } from '../../../payment/gateway.ts'
import type { Settings } from '../../../settings/settings.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { retrying, type Store } from '../../../storage/store.ts'
import type { ServiceAudit } from '../audit/operations.ts'
import type { Bookkeepers } from '../bookkeepers.ts'
import type { Books } from '../books.ts'
import type { Ledgers } from '../ledgers/operations.ts'
import type { Bookkeeper } from '../pricing/plan.ts'
import {
  coinProblems,
  isOpen,
  maySend,
  orderOf,
  pauseAfter,
  resultOf,
  statusAfter,
  type Transaction,
  type TransactionDoc,
  type TransactionType,
  type Trigger,
} from './rules.ts'
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

/** What somebody asks for by hand. */
export type ManualOrder = Pick<Wanted, 'amount' | 'metadata' | 'order_id'> & {
  description?: string
  /** Of a refund: the sale. */
  saleId?: string
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
  const { store, settings, books, bookkeepers, ledgers, audit, mail, log } = tools
  const rows = createTransactionStore(store)
  const { clock } = store

  const gatewayOf = async (bookkeeper: Bookkeeper): Promise<Gateway> => {
    const gateway = bookkeepers.gateway(bookkeeper)
    if (!gateway?.capabilities.charges || !(await gateway.isReady(bookkeeper.vendor_id)))
      throw failure('invalid_bookkeeper', {})
    return gateway
  }

  const docOf = async (author: Author, account: AccountRecord, wanted: Wanted): Promise<TransactionDoc> => {
    const { description, trigger, module, bookkeeper, metadata, order_id, sale, type } = wanted
    const means = type === 'sale' ? await bookkeepers.means(account.id, bookkeeper) : undefined
    return {
      account: { id: account.id, name: account.doc.name },
      description,
      executor: { trigger, module },
      bookkeeper,
      currency: (await settings.of('services')).currency,
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
      await mail.notify(set, { notice: 'transaction', account, to: [], values: common })
    else
      await mail.notify(set, {
        notice: 'transaction_failed',
        account,
        to: [],
        values: { ...common, 'transaction.reason': message },
      })
  }

  /** What the end of a movement means for the standing: a bill that is not paid, or paid after all. */
  const noteStanding = async (set: ChangeSet, { accountId, type, doc }: Transaction, outcome: Outcome) => {
    if (type !== 'sale') return
    if (outcome.status === 'succeeded') await bookkeepers.note(set, accountId, 'payment_declined', true)
    else if (doc.executor.trigger === 'recurring')
      await bookkeepers.note(set, accountId, 'payment_declined', false)
  }

  /** The change set that books how a movement ended, or notes that nobody knows. */
  const settlement = async (author: Author, transaction: Transaction, outcome: Outcome) => {
    const set = new ChangeSet(author)
    const status = statusAfter(outcome)
    const doc: TransactionDoc = { ...transaction.doc, result: resultOf(outcome) }
    if (status === 'completed') doc.ledger_id = post(set, transaction)
    rows.settle(set, transaction, { status, dueAt: clock.now() + pauseAfter(transaction.attempts), doc })
    if (status !== 'completed' && status !== 'failed') return set
    if (status === 'failed' && doc.sale)
      rows.unreserve(set, transaction.accountId, doc.sale.id, transaction.amount)
    await noteStanding(set, transaction, outcome)
    await tell(set, transaction, doc)
    return set
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

  const clearAll = async (transactions: readonly Transaction[], signal: AbortSignal) => {
    const waiting = [...transactions]
    const work = async () => {
      for (let next = waiting.shift(); next && !signal.aborted; next = waiting.shift()) await clear(next)
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
    const currency = (await settings.of('services')).currency
    const problems = coinProblems(wanted.amount, smallestUnits(currency))
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

  const saleToRefund = async (
    account: AccountRecord,
    { type }: Bookkeeper,
    { amount, saleId }: ManualOrder,
  ): Promise<Transaction> => {
    const named = saleId === undefined ? undefined : await rows.get(account.id, saleId)
    const sale = named ?? (await rows.refundable(account.id, type, amount))
    const left = sale?.type === 'sale' && sale.status === 'completed' ? sale.amount - sale.refunded : 0
    if (sale && left >= amount) return sale
    const target = dollarsOfUnits(left)
    const message = 'No sale has so much left to be refunded'
    throw invalid({ amount: { maximum: { message, target, value: dollarsOfUnits(amount) } } })
  }

  /** What only the vendor of a bookkeeper may ask of it, and the operator. */
  const bookkeeperFor = async (account: AccountRecord, mayAct: (vendorId: string) => boolean) => {
    const bookkeeper = await bookkeepers.of(account)
    if (!mayAct(bookkeeper.vendor_id)) throw failure('forbidden', {})
    return bookkeeper
  }

  return {
    open,
    round,
    carryOut,

    /** Takes money by hand of the bookkeeper's vendor. */
    async sale(
      author: Author,
      account: AccountRecord,
      order: ManualOrder,
      mayAct: (vendorId: string) => boolean,
    ) {
      const bookkeeper = await bookkeeperFor(account, mayAct)
      const { description = 'Manual sale', saleId: _, ...rest } = order
      const frame = { type: 'sale', trigger: 'manual', module: 'transactions' } as const
      return carryOut(author, account, { ...rest, ...frame, description, bookkeeper })
    },

    /** Gives money of a sale back. */
    async refund(
      author: Author,
      account: AccountRecord,
      order: ManualOrder,
      mayAct: (vendorId: string) => boolean,
    ) {
      const current = await bookkeeperFor(account, mayAct)
      await gatewayOf(current)
      const sale = await saleToRefund(account, current, order)
      const { bookkeeper } = sale.doc
      if (!mayAct(bookkeeper.vendor_id)) throw failure('forbidden', {})
      const { description = 'Manual refund', saleId: _, ...rest } = order
      const frame = { type: 'refund', trigger: 'manual', module: 'transactions' } as const
      return carryOut(author, account, { ...rest, ...frame, description, bookkeeper, sale })
    },

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
  }
}
