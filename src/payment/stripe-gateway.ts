import type Stripe from 'stripe'
import type { Clock } from '../lib/clock.ts'
import { failure } from '../lib/failure.ts'
import { gregorianOfUnix } from '../lib/gregorian.ts'
import type { Calls } from '../outgoing/calls.ts'
import type { Settings } from '../settings/settings.ts'
import { processorError, processorUnreachable } from './failures.ts'
import {
  type Absent,
  type ChargeOrder,
  declined,
  type Gateway,
  type GatewayOrder,
  type PaymentOutcome,
  type RefundOrder,
  type StoredMeans,
  unknownOutcome,
  type Vault,
} from './gateway.ts'
import { stripeSettings } from './settings.ts'
import { createStripeEvents } from './stripe-events.ts'
import {
  outcomeOfError,
  outcomeOfIntent,
  outcomeOfRefund,
  smallestUnits,
  stripeAmount,
  stripeLibrary,
  watchedStripeHttp,
} from './stripe-library.ts'

// The library repeats failed calls with the same idempotency key.

const retries = 2
// Clocks differ: a movement may have an earlier time than ours.
const slackSeconds = 3600
// The metadata key that finds a movement whose response was lost.
const keyMetadata = 'crosspoint_key'

interface StripeAccess {
  api_key?: string
  publishable_key?: string
  api_url?: string
  webhook_secret?: string
  timeout_ms?: number
}

const clientOf = ({ api_key: key = '', api_url: url, timeout_ms: timeout }: StripeAccess, calls: Calls) => {
  const { protocol, hostname, port } = new URL(url ?? 'https://api.stripe.com')
  const Client = stripeLibrary()
  return new Client(key, {
    protocol: protocol === 'http:' ? 'http' : 'https',
    host: hostname,
    ...(port === '' ? {} : { port }),
    ...(timeout === undefined ? {} : { timeout }),
    maxNetworkRetries: retries,
    telemetry: false,
    httpClient: watchedStripeHttp(calls),
  })
}

const endOfMonth = (year: number, month: number) => gregorianOfUnix(Date.UTC(year, month, 1) / 1000) - 1

const keptOf = ({ id, type, card }: Stripe.PaymentMethod): StoredMeans =>
  card
    ? {
        token: id,
        expiration: endOfMonth(card.exp_year, card.exp_month),
        metadata: { type, brand: card.brand, last_four: card.last4 },
      }
    : { token: id, metadata: { type } }

const isGone = (error: unknown) =>
  error instanceof stripeLibrary().errors.StripeInvalidRequestError && error.statusCode !== 409

/** The failure of a call about payment methods. */
const processorFailure = (error: unknown) => {
  const outcome = outcomeOfError(error)
  return outcome.status === 'declined'
    ? failure(processorError, { code: outcome.code, message: outcome.message })
    : failure(processorUnreachable, {}, error)
}

const orFail = async <T>(call: Promise<T>): Promise<T> => {
  try {
    return await call
  } catch (error) {
    throw processorFailure(error)
  }
}

/** The first movement with this key. */
const marked = async <T extends { metadata: Stripe.Metadata | null }>(
  list: AsyncIterable<T>,
  key: string,
): Promise<T | undefined> => {
  for await (const one of list) if (one.metadata?.[keyMetadata] === key) return one
  return undefined
}

interface Deps {
  settings: Settings
  clock: Clock
  calls: Calls
}

export const createStripeGateway = ({ settings, clock, calls }: Deps): Gateway => {
  const clients = new Map<string, Stripe>()

  const accessFor = async (vendorId: string): Promise<StripeAccess> => {
    const { vendors, timeout_ms, ...common } = await settings.of(stripeSettings)
    return { timeout_ms, ...(vendors[vendorId] ?? common) }
  }

  const clientFor = async (vendorId: string): Promise<Stripe> => {
    const access = await accessFor(vendorId)
    const key = JSON.stringify(access)
    const known = clients.get(key)
    if (known) return known
    const client = clientOf(access, calls)
    // Keys change rarely.
    if (clients.size > 100) clients.clear()
    clients.set(key, client)
    return client
  }

  const asked = async (call: Promise<PaymentOutcome>): Promise<PaymentOutcome> => {
    try {
      return await call
    } catch (error) {
      return outcomeOfError(error)
    }
  }

  const charge = async (order: ChargeOrder): Promise<PaymentOutcome> => {
    const { means, amount, currency, description, idempotencyKey } = order
    if (!means) return declined('no_payment_token', 'no payment method available')
    const { paymentIntents } = await clientFor(order.vendorId)
    const intent = paymentIntents.create(
      {
        amount: stripeAmount(amount, currency),
        currency: currency.toLowerCase(),
        customer: means.customer,
        payment_method: means.token,
        confirm: true,
        off_session: true,
        description,
        metadata: { [keyMetadata]: idempotencyKey, account_id: order.accountId, reference: order.reference },
      },
      { idempotencyKey },
    )
    return asked(intent.then(outcomeOfIntent))
  }

  const refund = async (order: RefundOrder): Promise<PaymentOutcome> => {
    const { amount, currency, idempotencyKey, chargeId } = order
    const { refunds } = await clientFor(order.vendorId)
    const made = refunds.create(
      {
        payment_intent: chargeId,
        amount: stripeAmount(amount, currency),
        metadata: { [keyMetadata]: idempotencyKey, account_id: order.accountId },
      },
      { idempotencyKey },
    )
    return asked(made.then(outcomeOfRefund))
  }

  const found = async (order: GatewayOrder): Promise<PaymentOutcome | Absent> => {
    const client = await clientFor(order.vendorId)
    const created = { gte: order.since - slackSeconds }
    if (order.kind === 'refund') {
      const list = client.refunds.list({ payment_intent: order.chargeId, limit: 100 })
      const one = await marked(list, order.idempotencyKey)
      return one ? outcomeOfRefund(one) : { status: 'absent' }
    }
    if (!order.means) return { status: 'absent' }
    const list = client.paymentIntents.list({ customer: order.means.customer, created, limit: 100 })
    const one = await marked(list, order.idempotencyKey)
    return one ? outcomeOfIntent(one) : { status: 'absent' }
  }

  const lookup = async (order: GatewayOrder): Promise<PaymentOutcome | Absent> => {
    try {
      return await found(order)
    } catch (error) {
      // A refused list says nothing about the movement.
      return unknownOutcome(error instanceof stripeLibrary().errors.StripeError ? error.type : 'unreachable')
    }
  }

  const vault: Vault = {
    async customerFor({ id, name }, vendorId) {
      const { customers } = await clientFor(vendorId)
      const idempotencyKey = `customer/${vendorId}/${id}`
      const customer = await orFail(
        customers.create({ name, metadata: { account_id: id } }, { idempotencyKey }),
      )
      return customer.id
    },
    async begin(customer, vendorId) {
      const { setupIntents } = await clientFor(vendorId)
      const { publishable_key: key } = await accessFor(vendorId)
      const intent = await orFail(setupIntents.create({ customer, usage: 'off_session' }))
      return { client_secret: intent.client_secret ?? '', ...(key ? { publishable_key: key } : {}) }
    },
    async keep({ token, customer }, vendorId) {
      const { paymentMethods } = await clientFor(vendorId)
      return keptOf(await orFail(paymentMethods.attach(token, { customer })))
    },
    async forget({ token }, vendorId) {
      const { paymentMethods } = await clientFor(vendorId)
      try {
        await paymentMethods.detach(token)
      } catch (error) {
        if (!isGone(error)) throw processorFailure(error)
      }
    },
  }

  return {
    capabilities: { charges: true, tokens: true, syncs: false, monthly: 'charge' },
    isReady: async (vendorId) => (await accessFor(vendorId)).api_key !== undefined,
    // Each try may take the whole time, and the library waits up to two seconds between them.
    patienceMs: async (vendorId) =>
      (retries + 1) * ((await accessFor(vendorId)).timeout_ms ?? 0) + retries * 2000,
    smallestUnits,
    charge,
    refund,
    lookup,
    syncInvoice: async () => ({ status: 'synced' }),
    vault,
    events: createStripeEvents({
      secretOf: async (vendorId) => (await accessFor(vendorId)).webhook_secret,
      clientFor,
      keptOf,
      endOfMonth,
      mark: keyMetadata,
      now: clock.now,
    }),
  }
}
