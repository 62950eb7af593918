import type Stripe from 'stripe'
import { failure } from '../lib/failure.ts'
import type { Calls } from '../outgoing/calls.ts'
import { processorError, processorUnreachable } from './failures.ts'
import {
  type Absent,
  declined,
  type Gateway,
  type GatewayDeps,
  type GatewayOrder,
  type PaymentOutcome,
  unknownOutcome,
  type Vault,
} from './gateway.ts'
import { stripeSettings } from './settings.ts'
import { createStripeEvents } from './stripe-events.ts'
import {
  keptOf,
  keyMetadata,
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

type Access = ReturnType<typeof createAccess>

/** Access to Stripe for each vendor. */
const createAccess = ({ settings, calls }: Pick<GatewayDeps, 'settings' | 'calls'>) => {
  const clients = new Map<string, Stripe>()

  const accessFor = async (vendorId: string): Promise<StripeAccess> => {
    const { vendors, timeout_ms, ...common } = await settings.of(stripeSettings)
    return { timeout_ms, ...(vendors[vendorId] ?? common) }
  }

  return {
    accessFor,

    async clientFor(vendorId: string): Promise<Stripe> {
      const access = await accessFor(vendorId)
      const key = JSON.stringify(access)
      const known = clients.get(key)
      if (known) return known
      const client = clientOf(access, calls)
      // Keys change rarely.
      if (clients.size > 100) clients.clear()
      clients.set(key, client)
      return client
    },
  }
}

const asked = async (call: Promise<PaymentOutcome>): Promise<PaymentOutcome> => {
  try {
    return await call
  } catch (error) {
    return outcomeOfError(error)
  }
}

const createMoving = ({ clientFor }: Access): Pick<Gateway, 'charge' | 'refund' | 'lookup'> => {
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

  return {
    async charge(order) {
      const { means, amount, currency, description, idempotencyKey } = order
      if (!means) return declined('no_payment_token', 'no payment method available')
      const { paymentIntents } = await clientFor(order.vendorId)
      const metadata = {
        [keyMetadata]: idempotencyKey,
        account_id: order.accountId,
        reference: order.reference,
      }
      const intent = paymentIntents.create(
        {
          amount: stripeAmount(amount, currency),
          currency: currency.toLowerCase(),
          customer: means.customer,
          payment_method: means.token,
          confirm: true,
          off_session: true,
          description,
          metadata,
        },
        { idempotencyKey },
      )
      return asked(intent.then(outcomeOfIntent))
    },

    async refund({ amount, currency, idempotencyKey, chargeId, vendorId, accountId }) {
      const { refunds } = await clientFor(vendorId)
      const metadata = { [keyMetadata]: idempotencyKey, account_id: accountId }
      const made = refunds.create(
        { payment_intent: chargeId, amount: stripeAmount(amount, currency), metadata },
        { idempotencyKey },
      )
      return asked(made.then(outcomeOfRefund))
    },

    async lookup(order) {
      try {
        return await found(order)
      } catch (error) {
        // A refused list gives no information about the payment.
        return unknownOutcome(
          error instanceof stripeLibrary().errors.StripeError ? error.type : 'unreachable',
        )
      }
    },
  }
}

const createVault = ({ accessFor, clientFor }: Access): Vault => ({
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
})

export const createStripeGateway = (deps: Pick<GatewayDeps, 'settings' | 'calls' | 'clock'>): Gateway => {
  const access = createAccess(deps)
  const { accessFor, clientFor } = access
  return {
    capabilities: { charges: true, tokens: true, syncs: false, monthly: 'charge' },
    isReady: async (vendorId) => (await accessFor(vendorId)).api_key !== undefined,
    // Each try may take the whole time, and the library waits up to two seconds between them.
    patienceMs: async (vendorId) =>
      (retries + 1) * ((await accessFor(vendorId)).timeout_ms ?? 0) + retries * 2000,
    smallestUnits,
    ...createMoving(access),
    syncInvoice: async () => ({ status: 'synced' }),
    vault: createVault(access),
    events: createStripeEvents({
      secretOf: async (vendorId) => (await accessFor(vendorId)).webhook_secret,
      clientFor,
      now: deps.clock.now,
    }),
  }
}
