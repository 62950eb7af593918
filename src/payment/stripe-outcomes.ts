import type Stripe from 'stripe'
import { type Declined, declined, type Outcome, unknown } from './gateway.ts'
import { stripeLibrary } from './stripe-library.ts'

// Declines after which another try with the same card may work.
const retryableDeclines = new Set([
  'approve_with_id',
  'insufficient_funds',
  'issuer_not_available',
  'processing_error',
  'reenter_transaction',
  'try_again_later',
])

const refusalOf = (error: { code?: string; decline_code?: string; message?: string }): Declined => {
  const code = error.decline_code ?? error.code ?? 'card_declined'
  return declined(code, error.message ?? code, retryableDeclines.has(code))
}

/**
 * What a failed call says of the movement that it asked for. Only what was refused before anything could move is a
 * decline; a key that is in use, an overload or a lost connection says nothing.
 */
export const outcomeOfError = (error: unknown): Outcome => {
  const { StripeCardError, StripeError, StripeInvalidRequestError } = stripeLibrary().errors
  if (error instanceof StripeCardError) return refusalOf(error)
  if (error instanceof StripeInvalidRequestError && error.statusCode !== 409) return refusalOf(error)
  return unknown(error instanceof StripeError ? error.type : 'unreachable')
}

export const outcomeOfIntent = ({
  id,
  status,
  last_payment_error: failed,
}: Stripe.PaymentIntent): Outcome => {
  if (status === 'succeeded') return { status: 'succeeded', id }
  if (status === 'processing') return { status: 'pending', id }
  return failed
    ? refusalOf(failed)
    : declined('authentication_required', 'the card asks its owner to confirm')
}

export const outcomeOfRefund = ({ id, status, failure_reason: reason }: Stripe.Refund): Outcome => {
  if (status === 'succeeded') return { status: 'succeeded', id }
  if (status === 'pending') return { status: 'pending', id }
  return declined(reason ?? status ?? 'failed', 'the refund was not carried out')
}
