import type { PostedPage } from '../../../../http/transport/pages.ts'
import type { GatewayEventIntake } from './operations.ts'

/**
 * POST /ingest/stripe/{account id of the vendor}. Stripe repeats events that get no 2xx for three days. The signature
 * over the raw bytes authenticates them.
 */
export const stripePage = ({ isAwaited, take }: GatewayEventIntake): PostedPage => ({
  below: '/ingest/stripe/',
  expects: 'POST an event of Stripe',
  authMethod: 'stripe',
  largestBytes: 1_000_000,
  isSecret: (vendorId) => isAwaited('stripe', vendorId),
  take: async (author, bytes, { opener, header }) => {
    const posted = { type: 'stripe', vendorId: opener, bytes, signature: header('stripe-signature') }
    const verdict = await take(author, posted)
    return verdict === 'not genuine'
      ? { status: 400, content: { status: 'rejected', reason: 'the signature does not match' } }
      : { status: 200, content: { status: verdict } }
  },
  fault: 'an event of Stripe could not be processed',
})
