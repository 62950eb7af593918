import { createRequire } from 'node:module'
import type Stripe from 'stripe'
import { codeOf } from '../lib/error-facts.ts'
import { gregorianOfUnix } from '../lib/gregorian.ts'
import { unitsPerDollar } from '../lib/money.ts'
import { type Calls, httpOutcome, serverIn, traceHeaders } from '../outgoing/calls.ts'
import { type Declined, declined, type PaymentOutcome, type StoredMeans, unknownOutcome } from './gateway.ts'

const load = createRequire(import.meta.url)

let loaded: typeof Stripe | undefined

/** Stripe's library (35 MB) is loaded with the first call. */
export const stripeLibrary = (): typeof Stripe => {
  loaded ??= load('stripe') as typeof Stripe
  return loaded
}

type Client = ReturnType<typeof Stripe.createNodeHttpClient>

/** Records each call of Stripe's library. Paths are omitted: they contain customers and payments. */
export const watchedStripeHttp = (calls: Calls): Client => {
  const plain = stripeLibrary().createNodeHttpClient()
  return {
    getClientName: () => plain.getClientName(),
    makeRequest: (host, port, path, method, headers, data, protocol, timeout) =>
      calls.watch(
        {
          purpose: 'stripe',
          name: `${method} stripe`,
          kind: 'client',
          facts: { 'http.request.method': method, ...serverIn(`${protocol}://${host}:${port}`) },
          outcomeOf: (answer) => httpOutcome(answer.getStatusCode()),
          faultOf: (error) => (codeOf(error) === 'ETIMEDOUT' ? 'timeout' : 'unreachable'),
        },
        () =>
          plain.makeRequest(
            host,
            port,
            path,
            method,
            { ...headers, ...traceHeaders() },
            data,
            protocol,
            timeout,
          ),
      ),
  }
}

// Another attempt with the same card may succeed.
const retryableDeclines = new Set([
  'approve_with_id',
  'insufficient_funds',
  'issuer_not_available',
  'processing_error',
  'reenter_transaction',
  'try_again_later',
])

const declineOf = (error: { code?: string; decline_code?: string; message?: string }): Declined => {
  const code = error.decline_code ?? error.code ?? 'card_declined'
  return declined(code, error.message ?? code, retryableDeclines.has(code))
}

/**
 * The outcome of a failed call. Only a refusal before anything could move is a decline; a used key, an overload or a
 * lost connection leaves it unknown.
 */
export const outcomeOfError = (error: unknown): PaymentOutcome => {
  const { StripeCardError, StripeError, StripeInvalidRequestError } = stripeLibrary().errors
  if (error instanceof StripeCardError) return declineOf(error)
  if (error instanceof StripeInvalidRequestError && error.statusCode !== 409) return declineOf(error)
  return unknownOutcome(error instanceof StripeError ? error.type : 'unreachable')
}

export const outcomeOfIntent = ({
  id,
  status,
  last_payment_error: failed,
}: Stripe.PaymentIntent): PaymentOutcome => {
  if (status === 'succeeded') return { status: 'succeeded', id }
  if (status === 'processing') return { status: 'pending', id }
  return failed
    ? declineOf(failed)
    : declined('authentication_required', 'the card requires a confirmation by its owner')
}

export const outcomeOfRefund = ({ id, status, failure_reason: reason }: Stripe.Refund): PaymentOutcome => {
  if (status === 'succeeded') return { status: 'succeeded', id }
  if (status === 'pending') return { status: 'pending', id }
  return declined(reason ?? status ?? 'failed', 'the refund was not carried out')
}

// Zero-decimal currencies: https://docs.stripe.com/currencies#zero-decimal
const withoutCents = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF UGX VND VUV XAF XOF XPF'.split(' '))
// Amounts are in thousandths, of which Stripe takes whole tens only.
const withThousandths = new Set('BHD JOD KWD OMR TND'.split(' '))

/** Units of the smallest amount that can be charged. */
export const smallestUnits = (currency: string) =>
  withoutCents.has(currency) ? unitsPerDollar : unitsPerDollar / 100

export const stripeAmount = (units: number, currency: string) =>
  withThousandths.has(currency) ? units / (unitsPerDollar / 1000) : units / smallestUnits(currency)

export const unitsOfStripe = (amount: number, currency: string) =>
  withThousandths.has(currency) ? amount * (unitsPerDollar / 1000) : amount * smallestUnits(currency)

// The metadata key that finds a movement whose response was lost.
export const keyMetadata = 'crosspoint_key'

export const endOfMonth = (year: number, month: number) =>
  gregorianOfUnix(Date.UTC(year, month, 1) / 1000) - 1

export const keptOf = ({ id, type, card }: Stripe.PaymentMethod): StoredMeans =>
  card
    ? {
        token: id,
        expiration: endOfMonth(card.exp_year, card.exp_month),
        metadata: { type, brand: card.brand, last_four: card.last4 },
      }
    : { token: id, metadata: { type } }
