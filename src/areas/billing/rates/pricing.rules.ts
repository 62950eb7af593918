import { dollarsText, type MicroUnits, microUnitsOfUnits, parseDecimal } from '../../../lib/money.ts'

// Prices of calls in units (10,000 to the dollar). A price per minute may have decimals of a unit.

interface CallTerms {
  /** Units per minute, up to six decimals. */
  rateUnitsPerMinute: number | string
  /** Seconds; absent or 0 means 60. */
  increment?: number | undefined
  /** Seconds; absent means 60, and so does 0 for the base cost. */
  minimum?: number | undefined
  /** Units per call. */
  surcharge?: number | string | undefined
}

export interface PricedCall extends CallTerms {
  /** Whole seconds. */
  seconds: number
  /** Calls of up to this many seconds cost nothing. */
  noChargeTime?: number | undefined
  /** Discount in per cent. */
  discountPercentage?: number | string | undefined
}

export interface CallCost {
  /** Whole units, truncated at each step. */
  cost: number
  chargedSeconds: number
}

const secondsPerMinute = 60n
const microUnitsPerUnit = 1_000_000n

const wholeSeconds = (value: number | undefined) =>
  value === undefined || !(value > 0) ? 0n : BigInt(Math.trunc(value))

const orMinute = (seconds: bigint) => (seconds === 0n ? secondsPerMinute : seconds)

const roundedUp = (seconds: bigint, increment: bigint) => ((seconds + increment - 1n) / increment) * increment

/** Whole units of a surcharge and of `seconds` at a rate; fractions of a unit are dropped. */
const unitsFor = (surcharge: MicroUnits, rate: MicroUnits, seconds: bigint) =>
  (surcharge * secondsPerMinute + rate * seconds) / (secondsPerMinute * microUnitsPerUnit)

const discountOn = (cost: bigint, percentage: number | string | undefined) => {
  const share = percentage === undefined ? undefined : parseDecimal(percentage)
  return share ? (cost * share.digits) / (100n * 10n ** BigInt(share.decimals)) : 0n
}

export const callCost = (call: PricedCall): CallCost => {
  const seconds = wholeSeconds(call.seconds)
  if (seconds === 0n || seconds <= wholeSeconds(call.noChargeTime)) return { cost: 0, chargedSeconds: 0 }
  const increment = orMinute(wholeSeconds(call.increment))
  const minimum = wholeSeconds(call.minimum ?? 60)
  const rate = microUnitsOfUnits(call.rateUnitsPerMinute)
  const surcharge = microUnitsOfUnits(call.surcharge ?? 0)
  const beyond = seconds > minimum ? roundedUp(seconds - minimum, increment) : 0n
  const cost = unitsFor(surcharge, rate, minimum + beyond)
  return {
    // A discount never makes a cost negative.
    cost: Math.max(0, Number(cost - discountOn(cost, call.discountPercentage))),
    // Beyond the minimum the whole call is rounded up, not the excess.
    chargedSeconds: Number(seconds > minimum ? roundedUp(seconds, increment) : minimum),
  }
}

/** The credit that a call needs to begin: the whole minutes of the minimum, and the surcharge. */
export const baseCost = (terms: CallTerms): MicroUnits => {
  const minimum = orMinute(wholeSeconds(terms.minimum))
  return (
    microUnitsOfUnits(terms.rateUnitsPerMinute) * (minimum / secondsPerMinute) +
    microUnitsOfUnits(terms.surcharge ?? 0)
  )
}

export const baseCostDollars = (terms: CallTerms): number => Number(dollarsText(baseCost(terms)))
