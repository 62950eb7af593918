import { hash } from 'node:crypto'
import type { AccountRecord } from '../../../../auth/identity.ts'
import type { JobKind } from '../../../../jobs/queue.ts'
import { badIdentifier, failure, forbidden, hasProblems, invalid } from '../../../../lib/failure.ts'
import { gregorianNow, gregorianOfUnix } from '../../../../lib/gregorian.ts'
import { newId, randomHex } from '../../../../lib/ids.ts'
import { present } from '../../../../lib/json.ts'
import { describeError } from '../../../../lib/log.ts'
import { dollarsOfUnits, unitsOfDollars } from '../../../../lib/money.ts'
import { monthOf } from '../../../../lib/time-key.ts'
import { invalidBookkeeper, noPaymentToken } from '../../../../payment/failures.ts'
import {
  type Absent,
  declined,
  type Gateway,
  type OutsideRefund,
  type PaymentOutcome,
  unknownOutcome,
} from '../../../../payment/gateway.ts'
import { type Author, ChangeSet } from '../../../../storage/change-set.ts'
import type { Bookkeeper } from '../../services/pricing/plan.ts'
import { servicesSettings } from '../../services/settings.ts'
import type { PaymentDeps } from '../deps.ts'
import { typeTexts } from '../mail-texts.ts'
import { transactionFailedNotice, transactionNotice } from '../notices.ts'
import {
  coinProblems,
  gatewayOrder,
  isOpen,
  maySend,
  neverArrived,
  resultOf,
  statusAfter,
  type Transaction,
  type TransactionDoc,
  type TransactionStatus,
  type TransactionType,
  type Trigger,
  wasGivenUp,
} from './rules.ts'
import type { TransactionRequest } from './schema.ts'
import { createTransactionStore, type TransactionStore } from './store.ts'

interface TransactionDeps extends PaymentDeps {
  /** Called with the change set that books how a transaction ended. */
  ended(set: ChangeSet, transaction: Transaction, status: TransactionStatus): Promise<void>
}

const createSettlement = (deps: TransactionDeps, rows: TransactionStore) => {
  const { store, books, bookkeepers, ledgers, mail, ended } = deps
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
      'transaction.type': typeTexts[transaction.type],
      'transaction.amount': `${dollarsOfUnits(transaction.amount)} ${doc.currency}`,
      'transaction.description': doc.description,
    }
    const { reason = 'declined', message = reason, status } = doc.result ?? {}
    if (status === 'succeeded')
      await mail.notify(set, { notice: transactionNotice, account, to: [], values: common })
    // The notices of invoices report failed automatic payments.
    else if (doc.invoice_id === undefined || doc.executor.trigger === 'manual')
      await mail.notify(set, {
        notice: transactionFailedNotice,
        account,
        to: [],
        values: { ...common, 'transaction.reason': message },
      })
  }

  /** A refused recurring payment without an invoice; dunning handles those with one. */
  const noteRefusal = async (set: ChangeSet, { accountId, type, doc }: Transaction) => {
    if (type === 'sale' && doc.executor.trigger === 'recurring' && doc.invoice_id === undefined)
      await bookkeepers.note(set, accountId, 'payment_declined', false)
  }

  /** The change set that books the outcome of a transaction. */
  const settle = async (author: Author, transaction: Transaction, outcome: PaymentOutcome) => {
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

export interface PaymentOrder {
  type: TransactionType
  /** Units. */
  amount: number
  description: string
  trigger: Trigger
  module: string
  bookkeeper: Bookkeeper
  metadata?: Record<string, unknown>
  order_id?: string
  invoiceId?: string
  sale?: Transaction
}

const transactionsAuthor: Author = { requestId: 'transactions' }

const transactionId = /^\d{6}-[0-9a-f]+$/

const kindName = 'transactions'
// Beyond the gateway's own time limit, before another process takes over.
const graceMs = 1000

/** Stores transactions before they are sent to the gateway. */
const drafting = (deps: TransactionDeps, rows: TransactionStore) => {
  const { store, settings, bookkeepers, ledgers, audit } = deps
  const { clock } = store

  /** Refunds use the currency of the sale. */
  const currencyOf = async ({ sale }: Pick<PaymentOrder, 'sale'>) =>
    sale?.doc.currency ?? (await settings.of(servicesSettings)).currency

  const draft = async (
    author: Author,
    { id: accountId, doc }: AccountRecord,
    order: PaymentOrder,
    id: string,
  ) => {
    const { type, amount, description, trigger, module, bookkeeper, metadata, order_id, sale } = order
    const now = clock.now()
    const means = type === 'sale' ? await bookkeepers.means(accountId, bookkeeper) : undefined
    const transaction: Transaction = {
      ...{ accountId, id, created: gregorianOfUnix(now / 1000), place: newId(now), madeAt: now },
      ...{ type, status: 'pending', amount, refunded: 0 },
      doc: {
        account: { id: accountId, name: doc.name },
        description,
        executor: { trigger, module },
        bookkeeper,
        currency: await currencyOf(order),
        audit: await audit.who(author),
        ...present({ metadata, order_id, invoice_id: order.invoiceId, means }),
        ...(sale ? { sale: { id: sale.id, charge_id: sale.doc.result?.id ?? '' } } : {}),
      },
    }
    return transaction
  }

  return {
    currencyOf,
    draft,

    /** The gateway of a bookkeeper that can move money. */
    async gatewayOf(bookkeeper: Bookkeeper): Promise<Gateway> {
      const gateway = bookkeepers.gateway(bookkeeper)
      if (!gateway?.capabilities.charges || !(await gateway.isReady(bookkeeper.vendor_id)))
        throw failure(invalidBookkeeper, {})
      return gateway
    },

    /** Adds a transaction to a change set. A job carries it out at once, or at `dueAt` if the caller does not. */
    async open(set: ChangeSet, account: AccountRecord, order: PaymentOrder, dueAt?: number) {
      const transaction = await draft(set.author, account, order, `${monthOf(clock.now())}-${randomHex(16)}`)
      if (order.sale) rows.reserve(set, order.sale, order.amount)
      rows.insert(set, transaction)
      if (order.type === 'sale') ledgers.requireRoomForSale(set, account.id)
      const { accountId, id } = transaction
      set.job({ kind: kindName, id, accountId, payload: {}, ...(dueAt === undefined ? {} : { dueAt }) })
      return transaction
    },
  }
}

/** Calls gateways. A call that fails leaves the outcome unknown. */
const gatewayCalls = ({ store, books, bookkeepers, log }: TransactionDeps) => {
  const safely = async <T extends PaymentOutcome | Absent>(
    call: () => Promise<T>,
  ): Promise<T | PaymentOutcome> => {
    try {
      return await call()
    } catch (error) {
      log.write('error', 'a payment gateway failed', { error: describeError(error) })
      return unknownOutcome('gateway failed')
    }
  }

  const mayCharge = async ({ accountId, doc }: Transaction) => {
    const account = await books.account(accountId)
    return account !== undefined && (await bookkeepers.mayCharge(account, doc.bookkeeper))
  }

  const send = async (gateway: Gateway, transaction: Transaction): Promise<PaymentOutcome> => {
    const order = gatewayOrder(transaction)
    if (order.kind === 'refund') return safely(() => gateway.refund(order))
    if (gateway.capabilities.tokens && !order.means)
      return declined('no_payment_token', 'no payment method available')
    if (!(await mayCharge(transaction)))
      return declined('invalid_bookkeeper', 'the seller of the account may not use this billing provider')
    return safely(() => gateway.charge(order))
  }

  const lookUp = (gateway: Gateway, transaction: Transaction) =>
    safely(() => gateway.lookup(gatewayOrder(transaction)))

  return {
    send,
    lookUp,

    async findOut(gateway: Gateway, transaction: Transaction): Promise<PaymentOutcome> {
      const found = await lookUp(gateway, transaction)
      if (found.status !== 'absent') return found
      return maySend(transaction, store.clock.now())
        ? send(gateway, transaction)
        : declined(neverArrived, 'the billing provider does not know it')
    },
  }
}

const jobStates = { completed: 'done', failed: 'failed', pending: 'waiting', unknown: 'waiting' } as const

type Settlement = ReturnType<typeof createSettlement>

/** Carries out transactions, at once or as a job. */
const carrying = (
  deps: TransactionDeps,
  rows: TransactionStore,
  { settlement, drafts }: { settlement: Settlement; drafts: ReturnType<typeof drafting> },
) => {
  const { store, bookkeepers, queue } = deps
  const { send, findOut, lookUp } = gatewayCalls(deps)

  /** Transactions that requests of this process carry out: no gateway was called for them before. */
  const begun = new Map<string, Author>()

  const job: JobKind<object, PaymentOutcome> = {
    kind: kindName,
    everySeconds: 1,
    maxConcurrent: 5,

    async ask({ accountId, id }) {
      const transaction = await rows.get(accountId, id)
      const gateway = bookkeepers.gateway(transaction.doc.bookkeeper)
      if (!gateway) return unknownOutcome('there is no such bookkeeper')
      return begun.has(id) ? send(gateway, transaction) : findOut(gateway, transaction)
    },

    async conclude({ accountId, id }, outcome) {
      const transaction = await rows.get(accountId, id)
      if (!isOpen(transaction)) return { state: 'done' }
      const { status, reason = '', message = '' } = resultOf(outcome)
      const set = await settlement.settle(begun.get(id) ?? transactionsAuthor, transaction, outcome)
      return {
        state: jobStates[statusAfter(outcome)],
        outcome: `${status} ${reason} ${message}`,
        sets: [set],
      }
    },
  }

  return {
    job,

    /** `alongside` adds to the change set that stores the transaction. */
    async carryOut(
      author: Author,
      account: AccountRecord,
      order: PaymentOrder,
      alongside?: (set: ChangeSet, transaction: Transaction) => void,
    ): Promise<Transaction> {
      const { type, amount, bookkeeper } = order
      const gateway = await drafts.gatewayOf(bookkeeper)
      // Refunds use the billing provider of the sale, also if the seller has changed.
      if (type === 'sale' && !(await bookkeepers.mayCharge(account, bookkeeper)))
        throw failure(invalidBookkeeper, {})
      const problems = coinProblems(amount, gateway.smallestUnits(await drafts.currencyOf(order)))
      if (hasProblems(problems)) throw invalid(problems)
      const needsMeans = gateway.capabilities.tokens && type === 'sale'
      if (needsMeans && !(await bookkeepers.means(account.id, bookkeeper))) throw failure(noPaymentToken, {})
      const set = new ChangeSet(author)
      const timeoutMs = (await gateway.patienceMs(bookkeeper.vendor_id)) + graceMs
      const transaction = await drafts.open(set, account, order, store.clock.now() + timeoutMs)
      alongside?.(set, transaction)
      await store.commit(set)
      // From here on a repeat with the idempotency key must not run the request again.
      const { idempotency: _, ...plainAuthor } = author
      begun.set(transaction.id, plainAuthor)
      try {
        await queue.now(kindName, transaction.id)
      } finally {
        begun.delete(transaction.id)
      }
      return rows.get(account.id, transaction.id)
    },

    /** Books a sale that was given up and has succeeded after all. Such a refund is imported by its event. */
    async lookAgain(transaction: Transaction) {
      const gateway = bookkeepers.gateway(transaction.doc.bookkeeper)
      if (!gateway || transaction.type !== 'sale') return
      const found = await lookUp(gateway, transaction)
      if (found.status === 'succeeded')
        await store.commit(await settlement.settle(transactionsAuthor, transaction, found))
    },
  }
}

export type Transactions = ReturnType<typeof createTransactions>

/**
 * Payments and refunds at billing providers. A transaction is stored before a gateway is called, and its outcome is one commit.
 * After a crash or a lost response the gateway is asked again with the same key.
 */
export const createTransactions = (deps: TransactionDeps) => {
  const rows = createTransactionStore(deps.store)
  const settlement = createSettlement(deps, rows)
  const drafts = drafting(deps, rows)
  const { job, carryOut, lookAgain } = carrying(deps, rows, { settlement, drafts })

  return {
    job,
    carryOut,
    open: drafts.open,
    gatewayOf: drafts.gatewayOf,
    find: rows.find,
    page: rows.page,
    refundable: rows.refundable,

    /** Adds a refund that was made at the gateway itself. Its id follows from the gateway's, so it is added once. */
    async adopt(set: ChangeSet, account: AccountRecord, sale: Transaction, refund: OutsideRefund) {
      const id = `${monthOf(refund.createdUnix * 1000)}-${hash('md5', `refund/${refund.id}`, 'hex')}`
      const left = sale.amount - sale.refunded
      if ((await rows.find(sale.accountId, id)) || left < refund.amount) return undefined
      const order: PaymentOrder = {
        ...{ type: 'refund', trigger: 'outside', module: 'gateway' },
        amount: refund.amount,
        description: 'Refund by the payment processor',
        bookkeeper: sale.doc.bookkeeper,
        sale,
      }
      const drafted = await drafts.draft(set.author, account, order, id)
      const transaction = { ...drafted, status: 'completed' as const }
      rows.reserve(set, sale, refund.amount)
      const ledger_id = settlement.book(set, transaction)
      const doc = { ...transaction.doc, ledger_id, result: { status: 'succeeded', id: refund.id } as const }
      rows.insert(set, { ...transaction, doc })
      await settlement.tell(set, transaction, doc)
      return id
    },

    async get(accountId: string, id: string): Promise<Transaction> {
      if (!transactionId.test(id)) throw failure(badIdentifier, { cause: id })
      return rows.get(accountId, id)
    },

    /** The transaction, after asking the gateway for its outcome if that is open. */
    async cleared(accountId: string, id: string): Promise<Transaction> {
      const transaction = await rows.get(accountId, id)
      if (isOpen(transaction)) await deps.queue.now(kindName, id)
      else if (wasGivenUp(transaction)) await lookAgain(transaction)
      return rows.get(accountId, id)
    },
  }
}

/** Whether the caller may move money by a vendor's bookkeeper. */
type MayAct = (vendorId: string) => boolean

const assertMayAct = (mayAct: MayAct, vendorId: string) => {
  if (!mayAct(vendorId))
    throw failure(forbidden, { cause: 'only the vendor of the billing provider may move money' })
}

const assertLeft = (sale: Transaction | undefined, amount: number): Transaction => {
  const left = sale?.type === 'sale' && sale.status === 'completed' ? sale.amount - sale.refunded : 0
  if (sale && left >= amount) return sale
  const message = 'No sale has this amount left to refund'
  throw invalid({
    amount: { maximum: { message, target: dollarsOfUnits(left), value: dollarsOfUnits(amount) } },
  })
}

const manualOrder = (
  type: 'sale' | 'refund',
  { amount, description, metadata, order_id }: TransactionRequest,
) => ({
  ...({ type, trigger: 'manual', module: 'transactions' } as const),
  ...present({ metadata, order_id }),
  amount: unitsOfDollars(amount as number),
  description: description ?? `Manual ${type}`,
})

/** Sales and refunds that the vendor of a bookkeeper makes manually. */
export const createManualTransactions = (transactions: Transactions, { bookkeepers }: PaymentDeps) => {
  const ownBookkeeper = async (account: AccountRecord, mayAct: MayAct) => {
    const bookkeeper = await bookkeepers.of(account)
    assertMayAct(mayAct, bookkeeper.vendor_id)
    return bookkeeper
  }

  /** The newest sale at the account's bookkeeper of which enough is left. */
  const newestSale = async (account: AccountRecord, amount: number, mayAct: MayAct) => {
    const bookkeeper = await ownBookkeeper(account, mayAct)
    await transactions.gatewayOf(bookkeeper)
    return transactions.refundable(account.id, bookkeeper.type, amount)
  }

  return {
    async sale(author: Author, account: AccountRecord, request: TransactionRequest, mayAct: MayAct) {
      const bookkeeper = await ownBookkeeper(account, mayAct)
      return transactions.carryOut(author, account, { ...manualOrder('sale', request), bookkeeper })
    },

    /** Refunds a sale by the bookkeeper that took the money. */
    async refund(author: Author, account: AccountRecord, request: TransactionRequest, mayAct: MayAct) {
      const order = manualOrder('refund', request)
      const { transaction_id: saleId } = request
      const found =
        saleId === undefined
          ? await newestSale(account, order.amount, mayAct)
          : await transactions.get(account.id, saleId)
      const sale = assertLeft(found, order.amount)
      const { bookkeeper } = sale.doc
      assertMayAct(mayAct, bookkeeper.vendor_id)
      return transactions.carryOut(author, account, { ...order, bookkeeper, sale })
    },
  }
}
