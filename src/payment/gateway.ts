// What Crosspoint asks of whoever moves real money. Money is in units, 10,000 to the dollar.

/** A payment method that a gateway keeps. Both are the gateway's own ids. */
export interface PaymentMeans {
  token: string
  customer: string
}

interface Movement {
  accountId: string
  /** Whose bookkeeper it is. */
  vendorId: string
  /** Units. */
  amount: number
  /** ISO 4217, upper case. */
  currency: string
  /** The same for every attempt at this movement, and never used for another one. */
  idempotencyKey: string
  description: string
  /** Unix seconds at which the movement was wanted first. */
  since: number
}

/** Money that is to be taken. */
export interface ChargeOrder extends Movement {
  kind: 'charge'
  /** What the payer finds it by. */
  reference: string
  means?: PaymentMeans
}

/** Money that is to be given back. */
export interface RefundOrder extends Movement {
  kind: 'refund'
  /** The gateway's id of the charge that it is given back of. */
  chargeId: string
}

export type Order = ChargeOrder | RefundOrder

interface Succeeded {
  status: 'succeeded'
  /** The gateway's own id of the movement. */
  id: string
}

/** No money has moved, and none will under this key. */
export interface Declined {
  status: 'declined'
  code: string
  message: string
  /** Whether it may go better another time, under another key. */
  retryable: boolean
}

/** The gateway works on it. */
interface Pending {
  status: 'pending'
  id: string
}

/** Nobody here knows whether money has moved: to be asked again under the same key. */
interface Unknown {
  status: 'unknown'
  reason: string
}

/** How a movement ended, as far as the gateway said. */
export type Outcome = Succeeded | Declined | Pending | Unknown

/** The gateway never heard of the movement. */
export interface Absent {
  status: 'absent'
}

interface Capabilities {
  /** Takes money and gives it back. */
  charges: boolean
  /** Keeps payment methods, without which it takes nothing. */
  tokens: boolean
  /** Has to be told what is on an invoice. */
  syncs: boolean
  /**
   * Who asks for the monthly bill: `balance`, it is taken from what the account has here; `charge`, the same, and the
   * gateway charges for it; `outside`, the bookkeeper does by itself.
   */
  monthly: 'balance' | 'charge' | 'outside'
}

/** An invoice that a bookkeeper is told. */
export interface InvoiceSync {
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

/** What a gateway keeps of a payment method, as far as it may be shown. */
export interface StoredMeans {
  token: string
  /** Gregorian seconds after which it is no good; undefined when it lasts. */
  expiration?: number
  metadata: Record<string, string>
}

/** Payment methods: their secrets go from the payer's browser to the gateway and never come here. */
export interface Vault {
  /** The gateway's customer for an account; the same one however often it is asked. */
  customerFor(account: { id: string; name: string }, vendorId: string): Promise<string>
  /** What a browser needs to hand a new payment method to the gateway. */
  begin(customer: string, vendorId: string): Promise<Record<string, string>>
  /** Keeps a payment method that the gateway got from a browser. Refusals are failures. */
  keep(means: PaymentMeans, vendorId: string): Promise<StoredMeans>
  forget(means: PaymentMeans, vendorId: string): Promise<void>
}

/** Something that a gateway tells by itself. Money in units. */
export type GatewayEvent =
  /** A charge has ended, one way or the other. */
  | { kind: 'movement'; chargeId: string }
  /** Something was given back of a charge. */
  | { kind: 'refunds'; chargeId: string }
  /** The payer wants a charge back. `status` is the gateway's word. */
  | {
      kind: 'dispute'
      chargeId: string
      disputeId: string
      amount: number
      currency: string
      status: string
      reason: string
    }
  /** A payment method has changed, or is about to expire. */
  | { kind: 'means'; customer: string; means: StoredMeans }

/** A refund as the gateway has it. */
export interface OutsideRefund {
  id: string
  /** Units. */
  amount: number
  currency: string
  isDone: boolean
  /** Unix seconds. */
  createdUnix: number
  /** Our key, when we have asked for it. */
  key?: string
}

/** What a gateway tells by itself, and what can be asked of it about that. */
export interface GatewayEvents {
  /** Whether events for this vendor are taken: somebody has set the secret. */
  isAwaited(vendorId: string): Promise<boolean>
  /** The event in a body that was posted; undefined when it is not genuine. `event` is absent when nothing follows. */
  read(
    vendorId: string,
    bytes: Buffer,
    signature: string,
  ): Promise<{ id: string; event?: GatewayEvent } | undefined>
  /** Our idempotency key of a charge; undefined when it was not ours. */
  keyOf(chargeId: string, vendorId: string): Promise<string | undefined>
  refundsOf(chargeId: string, vendorId: string): Promise<OutsideRefund[]>
  /** Which account the gateway holds a customer for. */
  accountOf(customer: string, vendorId: string): Promise<string | undefined>
}

export interface Gateway {
  capabilities: Capabilities
  /** Whether it is set up for this vendor: nothing is begun where it is not. */
  isReady(vendorId: string): Promise<boolean>
  /** Milliseconds after which a call has ended, one way or the other. */
  patienceMs(vendorId: string): Promise<number>
  /** Units of the smallest amount that it can move: others are no multiple of it. */
  smallestUnits(currency: string): number
  charge(order: ChargeOrder): Promise<Outcome>
  refund(order: RefundOrder): Promise<Outcome>
  /** What became of a movement. It moves nothing. */
  lookup(order: Order): Promise<Outcome | Absent>
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

export const unknown = (reason: string): Unknown => ({ status: 'unknown', reason })
