import type { Problems } from '../../../../lib/failure.ts'
import { gregorianMilliseconds, unixOfGregorian } from '../../../../lib/gregorian.ts'
import { present } from '../../../../lib/json.ts'
import { decimalProblems, dollarsOfUnits, maxDollars } from '../../../../lib/money.ts'
import type { GatewayOrder, PaymentMeans, PaymentOutcome } from '../../../../payment/gateway.ts'
import type { Bookkeeper } from '../../services/pricing/plan.ts'

/** `unknown` is open like `pending`: the gateway was called, and its outcome is not known. */
export type TransactionStatus = 'pending' | 'unknown' | 'completed' | 'failed'

export type TransactionType = 'sale' | 'refund'

/** What started it: a user, the balance, the month, or the gateway. */
export type Trigger = 'manual' | 'automatic' | 'recurring' | 'outside'

/** The last answer of the gateway. */
export interface TransactionResult {
  status: PaymentOutcome['status']
  reason?: string
  message?: string
  retryable?: boolean
  /** The gateway's id. */
  id?: string
}

export interface TransactionDoc {
  account: { id: string; name: string }
  description: string
  /** Imported transactions may have other triggers. */
  executor: { trigger: string; module: string }
  bookkeeper: Bookkeeper
  currency: string
  metadata?: Record<string, unknown>
  order_id?: string
  invoice_id?: string
  audit?: object
  /** The charged payment method; its ids are the gateway's. */
  means?: PaymentMeans & { last_four?: string }
  /** The refunded sale and its ID at the gateway. */
  sale?: { id: string; charge_id: string }
  result?: TransactionResult
  ledger_id?: string
}

export interface Transaction {
  accountId: string
  /** `YYYYMM-<hex>`. */
  id: string
  /** Gregorian seconds. */
  created: number
  /** Orders transactions of one second. */
  place: string
  /** Unix milliseconds. */
  madeAt: number
  type: TransactionType
  status: TransactionStatus
  /** Units, never negative. */
  amount: number
  /** Units of a sale that are refunded or reserved for a refund. */
  refunded: number
  doc: TransactionDoc
}

export const isOpen = ({ status }: Pick<Transaction, 'status'>) =>
  status === 'pending' || status === 'unknown'

export const neverArrived = 'never_arrived'

/** Whether it failed because the gateway did not know it: it may have arrived since. */
export const wasGivenUp = ({ status, doc }: Pick<Transaction, 'status' | 'doc'>) =>
  status === 'failed' && doc.result?.reason === neverArrived

const shownStatus = ({ status }: Transaction) => (status === 'unknown' ? 'pending' : status)

const signedDollars = ({ type, amount }: Transaction) => dollarsOfUnits(type === 'refund' ? -amount : amount)

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
    bookkeeper: present({
      type: doc.bookkeeper.type,
      status: result?.status ?? 'pending',
      reason: result?.reason,
      message: result?.message,
    }),
    created,
    created_ms: gregorianMilliseconds(madeAt),
  }
}

/** The request to the gateway. The transaction's id is its idempotency key for ever. */
export const gatewayOrder = ({ accountId, id, created, amount, doc }: Transaction): GatewayOrder => {
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

export const resultOf = (outcome: PaymentOutcome): TransactionResult => {
  if (outcome.status !== 'declined') return outcome
  const { status, code: reason, message, retryable } = outcome
  return { status, reason, message, retryable }
}

const statuses = {
  succeeded: 'completed',
  declined: 'failed',
  pending: 'pending',
  unknown: 'unknown',
} as const

export const statusAfter = ({ status }: PaymentOutcome): TransactionStatus => statuses[status]

// Gateways forget their keys after a day. Later a transaction that none of them knows is not sent again.
const longestResendMs = 24 * 3_600_000

export const maySend = ({ created }: Transaction, nowUnixMs: number) =>
  nowUnixMs - unixOfGregorian(created) * 1000 < longestResendMs

/** The problems of an amount in dollars. */
export const amountProblems = (amount: unknown, words: { required: string; minimum: string }): Problems => {
  if (typeof amount !== 'number') return { amount: { required: { message: words.required } } }
  if (amount <= 0) {
    return { amount: { minimum: { message: words.minimum, target: 0, value: amount } } }
  }
  if (amount > maxDollars) {
    const message = `Value must be at most ${maxDollars}`
    return { amount: { maximum: { message, target: maxDollars, value: amount } } }
  }
  return decimalProblems('amount', amount)
}

/** Amounts must be a multiple of the bookkeeper's smallest coin. */
export const coinProblems = (amountUnits: number, smallestUnits: number): Problems => {
  if (amountUnits % smallestUnits === 0) return {}
  const target = dollarsOfUnits(smallestUnits)
  const message = `Amounts must be whole multiples of ${target}`
  return { amount: { multipleOf: { message, target, value: dollarsOfUnits(amountUnits) } } }
}

export const raisedToCoin = (amountUnits: number, smallestUnits: number) =>
  Math.ceil(amountUnits / smallestUnits) * smallestUnits
