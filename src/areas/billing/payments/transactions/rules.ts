import type { Problems } from '../../../../lib/failure.ts'
import { gregorianMilliseconds, unixOfGregorian } from '../../../../lib/gregorian.ts'
import { decimalsOf, dollarsOfUnits, maxDollars } from '../../../../lib/money.ts'
import type { Order, Outcome, PaymentMeans } from '../../../../payment/gateway.ts'
import type { Bookkeeper } from '../../services/pricing/plan.ts'

/** `unknown` is as open as `pending`: the gateway was asked, and nobody knows what it did. */
export type TransactionStatus = 'pending' | 'unknown' | 'completed' | 'failed'

export type TransactionType = 'sale' | 'refund'

/** Who lets money move: somebody, the balance, the month, or somebody at the gateway itself. */
export type Trigger = 'manual' | 'automatic' | 'recurring' | 'outside'

/** What the gateway said last. */
export interface TransactionResult {
  status: Outcome['status']
  reason?: string
  message?: string
  retryable?: boolean
  /** The gateway's id. */
  id?: string
}

/** What is kept of a transaction beside its columns. */
export interface TransactionDoc {
  account: { id: string; name: string }
  description: string
  /** Another system may have had triggers of its own. */
  executor: { trigger: string; module: string }
  bookkeeper: Bookkeeper
  currency: string
  metadata?: Record<string, unknown>
  order_id?: string
  /** What it is to pay. */
  invoice_id?: string
  audit?: object
  /** What is charged; its ids are the gateway's. */
  means?: PaymentMeans & { last_four?: string }
  /** Of a refund: the sale, and the gateway's id of it. */
  sale?: { id: string; charge_id: string }
  result?: TransactionResult
  /** The entry that booked it. */
  ledger_id?: string
}

export interface Transaction {
  accountId: string
  /** `YYYYMM-<hex>`. */
  id: string
  /** Gregorian seconds. */
  created: number
  /** Orders what was made in one second. */
  place: string
  /** Unix milliseconds. */
  madeAt: number
  type: TransactionType
  status: TransactionStatus
  /** Units, never negative. */
  amount: number
  /** Units of a sale that were given back, or are about to be. */
  refunded: number
  doc: TransactionDoc
}

export const isOpen = ({ status }: Pick<Transaction, 'status'>) =>
  status === 'pending' || status === 'unknown'

export const neverArrived = 'never_arrived'

/** Whether it was given up because the gateway had not heard of it: it may have arrived since. */
export const wasGivenUp = ({ status, doc }: Pick<Transaction, 'status' | 'doc'>) =>
  status === 'failed' && doc.result?.reason === neverArrived

/** Nobody outside has a use for the difference: an open transaction is pending. */
const shownStatus = ({ status }: Transaction) => (status === 'unknown' ? 'pending' : status)

const signedDollars = ({ type, amount }: Transaction) => dollarsOfUnits(type === 'refund' ? -amount : amount)

/** The record as clients read it. */
export const transactionJson = (transaction: Transaction) => {
  const { id, created, madeAt, type, refunded, doc } = transaction
  const { means, sale, result, bookkeeper, ...rest } = doc
  return {
    id,
    ...rest,
    type,
    amount: signedDollars(transaction),
    status: shownStatus(transaction),
    bookkeeper: { ...bookkeeper, results: result ? [result] : [] },
    ...(means?.last_four === undefined ? {} : { card: { last_four: means.last_four } }),
    ...(sale ? { refund_of: sale.id } : {}),
    ...(refunded > 0 ? { refunded: dollarsOfUnits(refunded) } : {}),
    created,
    created_ms: gregorianMilliseconds(madeAt),
  }
}

/** The row of a list. */
export const transactionRow = (transaction: Transaction) => {
  const { id, created, madeAt, doc } = transaction
  const { currency, description, executor, metadata, result, ledger_id } = doc
  return {
    id,
    amount: signedDollars(transaction),
    currency,
    status: shownStatus(transaction),
    executor,
    description,
    ...(metadata ? { metadata } : {}),
    ...(ledger_id === undefined ? {} : { ledger_id }),
    bookkeeper: {
      type: doc.bookkeeper.type,
      status: result?.status ?? 'pending',
      ...(result?.reason === undefined ? {} : { reason: result.reason }),
      ...(result?.message === undefined ? {} : { message: result.message }),
    },
    created,
    created_ms: gregorianMilliseconds(madeAt),
  }
}

/** What the gateway is asked; the transaction's id is its idempotency key for ever. */
export const orderOf = ({ accountId, id, created, amount, doc }: Transaction): Order => {
  const common = {
    accountId,
    vendorId: doc.bookkeeper.vendor_id,
    amount,
    currency: doc.currency,
    idempotencyKey: `${accountId}/${id}`,
    description: doc.description,
    since: unixOfGregorian(created),
  }
  if (doc.sale) return { kind: 'refund', ...common, chargeId: doc.sale.charge_id }
  return { kind: 'charge', ...common, reference: id, ...(doc.means ? { means: doc.means } : {}) }
}

export const resultOf = (outcome: Outcome): TransactionResult => {
  switch (outcome.status) {
    case 'declined':
      return {
        status: 'declined',
        reason: outcome.code,
        message: outcome.message,
        retryable: outcome.retryable,
      }
    case 'unknown':
      return { status: 'unknown', reason: outcome.reason }
    default:
      return { status: outcome.status, id: outcome.id }
  }
}

const statuses = {
  succeeded: 'completed',
  declined: 'failed',
  pending: 'pending',
  unknown: 'unknown',
} as const

export const statusAfter = ({ status }: Outcome): TransactionStatus => statuses[status]

// Gateways forget their keys after a day. What none of them has heard of by then is not sent again.
const longestResendMs = 24 * 3_600_000

/** Whether a movement that the gateway never heard of may still be sent. */
export const maySend = ({ created }: Transaction, nowUnixMs: number) =>
  nowUnixMs - unixOfGregorian(created) * 1000 < longestResendMs

/** What is wrong with an amount in dollars that is no positive number of at most `decimals` decimals. */
export const amountProblems = (
  amount: unknown,
  words: { required: string; minimum: string },
  decimals = 4,
): Problems => {
  if (typeof amount !== 'number') return { amount: { required: { message: words.required } } }
  if (amount <= 0) {
    return { amount: { minimum: { message: words.minimum, target: 0, value: amount } } }
  }
  if (amount > maxDollars) {
    const message = `Value must be at most ${maxDollars}`
    return { amount: { maximum: { message, target: maxDollars, value: amount } } }
  }
  if ((decimalsOf(amount) ?? 0) > decimals) {
    const message = `Money has at most ${decimals} decimals`
    return { amount: { decimals: { message, target: decimals, value: amount } } }
  }
  return {}
}

/** An amount that the bookkeeper cannot move, because it is finer than its smallest coin. */
export const coinProblems = (amountUnits: number, smallestUnits: number): Problems => {
  if (amountUnits % smallestUnits === 0) return {}
  const target = dollarsOfUnits(smallestUnits)
  const message = `The bookkeeper moves whole multiples of ${target}`
  return { amount: { multipleOf: { message, target, value: dollarsOfUnits(amountUnits) } } }
}

/** The smallest amount that a gateway can move and that is not less. */
export const raisedToCoin = (amountUnits: number, smallestUnits: number) =>
  Math.ceil(amountUnits / smallestUnits) * smallestUnits
