// Whether a call that leaves over a carrier, or comes from one, is paid for, and by what.
import { unitsOfDollars } from '../../../lib/money.ts'
import type { EffectiveLimits } from '../../billing/limits/schema.ts'
import { chargeOf } from '../../calls/cdrs/intake/rules.ts'
import type { Cdr } from '../../calls/cdrs/schema.ts'
import type { Funds, Reserved, Trunk } from './facts.ts'

type Direction = 'inbound' | 'outbound'

export const trunks = [
  'inbound_trunks',
  'outbound_trunks',
  'twoway_trunks',
  'burst_trunks',
] as const satisfies readonly Trunk[]

/** The trunks that carry calls of each direction, in the order in which they are taken. */
const trunksOf = {
  inbound: ['inbound_trunks', 'twoway_trunks', 'burst_trunks'],
  outbound: ['outbound_trunks', 'twoway_trunks', 'burst_trunks'],
} as const satisfies Record<Direction, readonly Trunk[]>

/** How a call is paid for: `account_billing` of its record. `calls`: most at once that are paid for so. */
export interface Billing {
  billing: string
  trunk?: Trunk
  calls?: number
}

/** What a number costs nothing extra to call with a trunk. */
export interface FlatRate {
  classifiers: readonly string[]
}

/** A call over a carrier. */
export interface OffnetCall {
  direction: Direction
  classification: string | undefined
}

const unlimited = -1

/** The smaller one of two bounds of which each may be none. */
export const boundOf = (...bounds: readonly (number | undefined)[]) => {
  const real = bounds.filter((bound) => bound !== undefined && bound !== unlimited)
  return real.length === 0 ? undefined : Math.min(...(real as number[]))
}

const atMost = (calls: number | undefined) => (calls === undefined ? {} : { calls })

const sumOf = (counts: readonly number[]) =>
  counts.includes(unlimited) ? unlimited : counts.reduce((sum, count) => sum + count, 0)

const costOf = (reserved: readonly Reserved[]) => reserved.reduce((sum, { cost }) => sum + cost, 0)

/** Units that running calls may cost. */
export const creditOf = (
  { allow_postpay: isPostpaid }: EffectiveLimits,
  { balance, overdraft }: Pick<Funds, 'balance' | 'overdraft'>,
) => balance + (isPostpaid ? overdraft : 0)

const isSoft = (limits: EffectiveLimits, direction: Direction) =>
  direction === 'inbound' ? limits.soft_limit_inbound : limits.soft_limit_outbound

/**
 * Whether calls that are paid by the minute need credit. An account that is not prepaid and has no trunks for calls from carriers
 * receives them without.
 */
export const needsCredit = (
  direction: Direction,
  limits: EffectiveLimits,
  { isPrepaid = false }: Pick<Funds, 'isPrepaid'>,
) =>
  limits.enabled &&
  !isSoft(limits, direction) &&
  (direction === 'outbound' || isPrepaid || trunksOf.inbound.some((name) => limits[name] !== 0))

const hasCredit = (limits: EffectiveLimits, { reserved = [], ...funds }: Funds) => {
  const left = creditOf(limits, funds) - costOf(reserved) - unitsOfDollars(limits.reserve_amount)
  return (limits.allow_prepay || limits.allow_postpay) && left > 0
}

/**
 * A free trunk pays for calls of the flat-rate kinds of numbers, then what is included does, then the balance: what running
 * calls have used of it and the reserve are left out. Beyond all that, calls of a soft limit are paid by the minute.
 */
export const billingOf = (
  { direction, classification }: OffnetCall,
  limits: EffectiveLimits,
  funds: Funds,
  { classifiers }: FlatRate,
): Billing | 'no_credit' | 'limit_reached' => {
  const { reserved = [] } = funds
  const most = limits.enabled ? boundOf(limits.resource_consuming_calls) : undefined
  const mayExceed = isSoft(limits, direction)
  if (most !== undefined && reserved.length >= most && !mayExceed) return 'limit_reached'
  const isFlat = classification !== undefined && classifiers.includes(classification)
  const bought = isFlat ? trunksOf[direction].filter((name) => limits[name] !== 0) : []
  const usedOf = (name: Trunk) => reserved.filter(({ trunk }) => trunk === name).length
  const trunk = bought.find((name) => limits[name] === unlimited || usedOf(name) < limits[name])
  // For switches that count by themselves.
  const bounded = (calls: number | undefined) => (mayExceed ? {} : atMost(calls))
  if (trunk) {
    const all = sumOf(bought.map((name) => limits[name]))
    return { billing: 'flat_rate', trunk, ...bounded(boundOf(most, all)) }
  }
  if (funds.allotment !== undefined) return { billing: `allotment_${funds.allotment}`, ...bounded(most) }
  if (!needsCredit(direction, limits, funds) || hasCredit(limits, funds))
    return { billing: 'per_minute', ...bounded(most) }
  return bought.length > 0 ? 'limit_reached' : 'no_credit'
}

/** What a rated record says of its price. */
export type CallPrice = Cdr['custom_channel_vars']

/** A call that is paid by the minute. */
interface PaidCall {
  /** Seconds since it was answered, at least 1: what a call that rings will cost at least is reserved. */
  elapsed: number
  /** Units that so many seconds cost; more seconds never cost less. */
  costOf(seconds: number): number
}

/** Seconds that no call exceeds. */
export const maxRunningSeconds = 43_200

/** A call as its record will be charged. `answeredAt`, `now`: Unix milliseconds. */
export const paidCallOf = (
  { price, answeredAt }: { price?: CallPrice | undefined; answeredAt?: number | undefined },
  now: number,
): PaidCall => ({
  elapsed: answeredAt === undefined ? 1 : Math.max(1, Math.floor((now - answeredAt) / 1000)),
  costOf: (seconds) => (price ? chargeOf({ billing_seconds: seconds, custom_channel_vars: price }).cost : 0),
})

/** The last one of the seconds from `first` to `longestSeconds` of which `holds` is true, as it is of `first`. */
const lastOf = (first: number, holds: (second: number) => boolean) => {
  let [known, above] = [first, maxRunningSeconds + 1]
  while (above - known > 1) {
    const middle = Math.floor((known + above) / 2)
    if (holds(middle)) known = middle
    else above = middle
  }
  return known
}

/**
 * Seconds that each of these calls may go on. When one of them cannot begin another increment that `credit` covers, all
 * end with the increments that have begun.
 * @param credit Units, before any of these calls is paid for.
 */
export const secondsLeft = (calls: readonly PaidCall[], credit: number): number[] => {
  const isCovered = (seconds: number) =>
    calls.reduce((sum, { elapsed, costOf }) => sum + costOf(elapsed + seconds), 0) <= credit
  if (isCovered(maxRunningSeconds)) return calls.map(() => maxRunningSeconds)
  const together = isCovered(0) ? lastOf(0, isCovered) : 0
  return calls.map(({ elapsed, costOf }) => {
    const cost = costOf(elapsed + together)
    return lastOf(together, (seconds) => costOf(elapsed + seconds) === cost)
  })
}
