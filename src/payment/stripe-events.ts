import type Stripe from 'stripe'
import type { GatewayEvent, GatewayEvents, OutsideRefund, StoredMeans } from './gateway.ts'
import { endOfMonth, keptOf, keyMetadata, stripeLibrary, unitsOfStripe } from './stripe-library.ts'

// Events may be old: the current state is read again.

interface Deps {
  secretOf(vendorId: string): Promise<string | undefined>
  clientFor(vendorId: string): Promise<Stripe>
  /** Unix milliseconds. */
  now(): number
}

const toleranceSeconds = 300

const stripeIdOf = (value: string | { id: string } | null | undefined) =>
  typeof value === 'string' ? value : (value?.id ?? undefined)

const aboutCharge = (charge: string | undefined, kind: 'movement' | 'refunds'): GatewayEvent | undefined =>
  charge === undefined ? undefined : { kind, chargeId: charge }

const disputeOf = (dispute: Stripe.Dispute): GatewayEvent | undefined => {
  const chargeId = stripeIdOf(dispute.payment_intent)
  // An inquiry takes no money; a later dispute has its own event.
  if (chargeId === undefined || dispute.status.startsWith('warning_')) return undefined
  const currency = dispute.currency.toUpperCase()
  return {
    kind: 'dispute',
    chargeId,
    disputeId: dispute.id,
    amount: unitsOfStripe(dispute.amount, currency),
    currency,
    status: dispute.status,
    reason: dispute.reason,
  }
}

const meansOf = (customer: string | undefined, means: StoredMeans): GatewayEvent | undefined =>
  customer === undefined ? undefined : { kind: 'means', customer, means }

const sourceOf = (source: Stripe.CustomerSource): GatewayEvent | undefined =>
  source.object === 'card'
    ? meansOf(stripeIdOf(source.customer), {
        token: source.id,
        expiration: endOfMonth(source.exp_year, source.exp_month),
        metadata: { type: 'card', brand: source.brand.toLowerCase(), last_four: source.last4 },
      })
    : undefined

const eventOf = (event: Stripe.Event): GatewayEvent | undefined => {
  switch (event.type) {
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled':
      return aboutCharge(event.data.object.id, 'movement')
    case 'charge.refunded':
      return aboutCharge(stripeIdOf(event.data.object.payment_intent), 'refunds')
    case 'refund.created':
    case 'refund.updated':
      return aboutCharge(stripeIdOf(event.data.object.payment_intent), 'refunds')
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
      return disputeOf(event.data.object)
    case 'payment_method.automatically_updated':
    case 'payment_method.updated':
      return meansOf(stripeIdOf(event.data.object.customer), keptOf(event.data.object))
    case 'customer.source.expiring':
      return sourceOf(event.data.object)
    default:
      return undefined
  }
}

export const createStripeEvents = ({ secretOf, clientFor, now }: Deps): GatewayEvents => ({
  isAwaited: async (vendorId) => (await secretOf(vendorId)) !== undefined,

  async read(vendorId, bytes, signature) {
    const secret = await secretOf(vendorId)
    if (secret === undefined) return undefined
    const { webhooks, errors } = stripeLibrary()
    try {
      const event = webhooks.constructEvent(bytes, signature, secret, toleranceSeconds, undefined, now())
      const told = eventOf(event)
      return told ? { id: event.id, event: told } : { id: event.id }
    } catch (error) {
      if (error instanceof errors.StripeSignatureVerificationError || error instanceof SyntaxError)
        return undefined
      throw error
    }
  },

  async keyOf(chargeId, vendorId) {
    const { paymentIntents } = await clientFor(vendorId)
    return (await paymentIntents.retrieve(chargeId)).metadata[keyMetadata]
  },

  async refundsOf(chargeId, vendorId) {
    const { refunds } = await clientFor(vendorId)
    const found: OutsideRefund[] = []
    for await (const one of refunds.list({ payment_intent: chargeId, limit: 100 })) {
      const currency = one.currency.toUpperCase()
      const key = one.metadata?.[keyMetadata]
      found.push({
        id: one.id,
        amount: unitsOfStripe(one.amount, currency),
        currency,
        isDone: one.status === 'succeeded',
        createdUnix: one.created,
        ...(key === undefined ? {} : { key }),
      })
    }
    return found
  },

  async accountOf(customer, vendorId) {
    const { customers } = await clientFor(vendorId)
    const found = await customers.retrieve(customer)
    return found.deleted ? undefined : found.metadata.account_id
  },
})
