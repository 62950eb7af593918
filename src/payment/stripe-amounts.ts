import { unitsPerDollar } from '../lib/money.ts'

// Currencies whose smallest coin is a whole one: https://docs.stripe.com/currencies#zero-decimal
const withoutCents = new Set('BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF UGX VND VUV XAF XOF XPF'.split(' '))
// Their amounts are told in thousandths, of which Stripe takes whole tens only.
const withThousandths = new Set('BHD JOD KWD OMR TND'.split(' '))

/** Units of the smallest amount that can be charged. */
export const smallestUnits = (currency: string) =>
  withoutCents.has(currency) ? unitsPerDollar : unitsPerDollar / 100

/** An amount as Stripe is told it. */
export const stripeAmount = (units: number, currency: string) =>
  withThousandths.has(currency) ? units / (unitsPerDollar / 1000) : units / smallestUnits(currency)

/** The same the other way round. */
export const unitsOfStripe = (amount: number, currency: string) =>
  withThousandths.has(currency) ? amount * (unitsPerDollar / 1000) : amount * smallestUnits(currency)
