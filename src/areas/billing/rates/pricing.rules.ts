import { dollarsText, type MicroUnits, microUnitsOfUnits, parseDecimal } from '../../../lib/money.ts'

// What a call costs. Prices are in units (10,000 to the dollar); a price per minute may have decimals of a unit.

/** How the time of a call is counted and priced. */
interface CallTerms {
  /** Units per minute, up to six decimals. */
  rateUnitsPerMinute: number | string
  /** Seconds; absent or 0 means 60. */
  increment?: number | undefined
  /** Seconds; absent means 60, and for the base cost 0 does, too. */
  minimum?: number | undefined
  /** Units per call. */
  surcharge?: number | string | undefined
}

export interface PricedCall extends CallTerms {
  /** Seconds that are paid for; whole ones, a begun second does not count. */
  seconds: number
  /** Calls of up to this many seconds cost nothing. */
  noChargeTime?: number | undefined
  /** Per cent that are taken off. */
  discountPercentage?: number | string | undefined
}

export interface CallCost {
  /** Whole units, truncated as each step says. */
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

/** The cost of a call in whole units and the seconds that it pays. */
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
    // No discount makes a call pay its caller.
    cost: Math.max(0, Number(cost - discountOn(cost, call.discountPercentage))),
    // Beyond the minimum the whole call is rounded up, not the part that exceeds it.
    chargedSeconds: Number(seconds > minimum ? roundedUp(seconds, increment) : minimum),
  }
}

/** What has to be at hand before a call begins: the whole minutes of the minimum, and the surcharge. */
export const baseCost = (terms: CallTerms): MicroUnits => {
  const minimum = orMinute(wholeSeconds(terms.minimum))
  return (
    microUnitsOfUnits(terms.rateUnitsPerMinute) * (minimum / secondsPerMinute) +
    microUnitsOfUnits(terms.surcharge ?? 0)
  )
}

/** The same as a number of dollars. */
export const baseCostDollars = (terms: CallTerms): number => Number(dollarsText(baseCost(terms)))
