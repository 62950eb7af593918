import type { Clock } from '../lib/clock.ts'
import type { Calls } from '../outgoing/calls.ts'
import type { Outgoing } from '../outgoing/client.ts'
import type { Settings } from '../settings/settings.ts'

// The interface to systems that move real money. Money is in units, 10,000 to the dollar.

/** A payment method. Both are the gateway's ids. */
export interface PaymentMeans {
  token: string
  customer: string
}

interface Movement {
  accountId: string
  /** The account that owns the bookkeeper. */
  vendorId: string
  amount: number
  /** ISO 4217, upper case. */
  currency: string
  /** The same for every attempt at this movement, and never used for another one. */
  idempotencyKey: string
  description: string
  /** Unix seconds of the first attempt. */
  since: number
}

interface ChargeOrder extends Movement {
  kind: 'charge'
  /** Shown to the payer. */
  reference: string
  means?: PaymentMeans
}

interface RefundOrder extends Movement {
  kind: 'refund'
  /** The gateway's id of the charge. */
  chargeId: string
}

export type GatewayOrder = ChargeOrder | RefundOrder

interface Succeeded {
  status: 'succeeded'
  /** The gateway's id. */
  id: string
}

/** No money has moved, and none will with this key. */
export interface Declined {
  status: 'declined'
  code: string
  message: string
  /** Whether another attempt with another key may succeed. */
  retryable: boolean
}

interface Pending {
  status: 'pending'
  id: string
}

/** The result is unknown: ask again with the same key. */
interface Unknown {
  status: 'unknown'
  reason: string
}

export type PaymentOutcome = Succeeded | Declined | Pending | Unknown

/** The gateway does not know the movement. */
export interface Absent {
  status: 'absent'
}

interface Capabilities {
  /** Charges and refunds. */
  charges: boolean
  /** Needs a stored payment method. */
  tokens: boolean
  /** Gets changed invoices. */
  syncs: boolean
  /**
   * How a month is paid: from the `balance`, by a `charge` of the gateway besides that, or `outside`, by the
   * bookkeeper itself.
   */
  monthly: 'balance' | 'charge' | 'outside'
}

interface InvoiceSync {
  accountId: string
  vendorId: string
  syncId: string
  /** Category -> item -> line. */
  items: object
}

export type SyncOutcome =
  | { status: 'synced' }
  | { status: 'delinquent'; message: string }
  | { status: 'failed'; reason: string; message: string }

/** A payment method that a gateway stores, as far as it may be shown. */
export interface StoredMeans {
  token: string
  /** Gregorian seconds; absent if it does not expire. */
  expiration?: number
  metadata: Record<string, string>
}

/** Payment methods. Their secrets go from the browser to the gateway and never come here. */
export interface Vault {
  /** The gateway's customer for an account, the same one for each call. */
  customerFor(account: { id: string; name: string }, vendorId: string): Promise<string>
  /** The data that a browser needs to send a new payment method to the gateway. */
  begin(customer: string, vendorId: string): Promise<Record<string, string>>
  /** Stores a payment method that the gateway got from a browser. Throws a failure if the gateway refuses it. */
  keep(means: PaymentMeans, vendorId: string): Promise<StoredMeans>
  forget(means: PaymentMeans, vendorId: string): Promise<void>
}

/** An event of a gateway. Money in units. */
export type GatewayEvent =
  /** A charge has ended. */
  | { kind: 'movement'; chargeId: string }
  /** A charge was refunded. */
  | { kind: 'refunds'; chargeId: string }
  /** The payer disputes a charge. `status` is the gateway's. */
  | {
      kind: 'dispute'
      chargeId: string
      disputeId: string
      amount: number
      currency: string
      status: string
      reason: string
    }
  /** A payment method has changed, or expires soon. */
  | { kind: 'means'; customer: string; means: StoredMeans }

export interface OutsideRefund {
  id: string
  /** Units. */
  amount: number
  currency: string
  isDone: boolean
  /** Unix seconds. */
  createdUnix: number
  /** Our key, if we requested it. */
  key?: string
}

export interface GatewayEvents {
  /** Whether the secret for the vendor's events is set. */
  isAwaited(vendorId: string): Promise<boolean>
  /** The event in a posted body; undefined if it is not genuine. Without `event` it is to be ignored. */
  read(
    vendorId: string,
    bytes: Buffer,
    signature: string,
  ): Promise<{ id: string; event?: GatewayEvent } | undefined>
  /** Our idempotency key of a charge; undefined if it is not ours. */
  keyOf(chargeId: string, vendorId: string): Promise<string | undefined>
  refundsOf(chargeId: string, vendorId: string): Promise<OutsideRefund[]>
  /** The account of a customer. */
  accountOf(customer: string, vendorId: string): Promise<string | undefined>
}

export interface GatewayDeps {
  outgoing: Outgoing
  calls: Calls
  settings: Settings
  clock: Clock
}

export interface Gateway {
  capabilities: Capabilities
  /** Whether it is set up for this vendor. */
  isReady(vendorId: string): Promise<boolean>
  /** The longest time of a call. */
  patienceMs(vendorId: string): Promise<number>
  /** Amounts are multiples of these units. */
  smallestUnits(currency: string): number
  charge(order: ChargeOrder): Promise<PaymentOutcome>
  refund(order: RefundOrder): Promise<PaymentOutcome>
  /** The outcome of a movement. Moves nothing. */
  lookup(order: GatewayOrder): Promise<PaymentOutcome | Absent>
  syncInvoice(sync: InvoiceSync): Promise<SyncOutcome>
  vault?: Vault
  events?: GatewayEvents
}

export const declined = (code: string, message: string, retryable = false): Declined => ({
  status: 'declined',
  code,
  message,
  retryable,
})

export const unknownOutcome = (reason: string): Unknown => ({ status: 'unknown', reason })
