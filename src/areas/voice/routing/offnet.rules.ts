// How calls over carriers are paid for, and how long they may last.
import { present } from '../../../lib/json.ts'
import { unitsOfDollars } from '../../../lib/money.ts'
import type { EffectiveLimits } from '../../billing/limits/schema.ts'
import { chargeOf } from '../../calls/cdrs/intake/rules.ts'
import type { Cdr } from '../../calls/cdrs/schema.ts'

type Direction = 'inbound' | 'outbound'

export const trunks = ['inbound_trunks', 'outbound_trunks', 'twoway_trunks', 'burst_trunks'] as const

type Trunk = (typeof trunks)[number]

/** Means of payment of an account for a call. Money in units. */
export interface Funds {
  balance: number
  /** How far the balance may go below zero. */
  overdraft: number
  isPrepaid?: boolean
  /** Running calls over carriers: their trunks, and their costs if they end now. */
  reserved?: readonly { trunk?: Trunk | undefined; cost: number }[]
  /** The name of an allotment that is not used up. */
  allotment?: string
}

/** In the order in which trunks are used. */
const trunksOf = {
  inbound: ['inbound_trunks', 'twoway_trunks', 'burst_trunks'],
  outbound: ['outbound_trunks', 'twoway_trunks', 'burst_trunks'],
} as const satisfies Record<Direction, readonly Trunk[]>

/**
 * `billing`: `account_billing` of the record. `calls`: maximum number of calls that are paid for in this way.
 */
export interface Billing {
  billing: string
  trunk?: Trunk
  calls?: number
}

/** Classes of numbers that trunks pay for. */
export interface FlatRate {
  classifiers: readonly string[]
}

export interface OffnetCall {
  direction: Direction
  classification: string | undefined
}

const unlimited = -1

/** The smallest of some bounds, each of which may be absent or unlimited. */
export const boundOf = (...bounds: readonly (number | undefined)[]) => {
  const real = bounds.flatMap((bound) => (bound === undefined || bound === unlimited ? [] : [bound]))
  return real.length === 0 ? undefined : Math.min(...real)
}

const sumOf = (counts: readonly number[]) =>
  counts.includes(unlimited) ? unlimited : counts.reduce((sum, count) => sum + count, 0)

/** Units that running calls may cost. */
export const creditOf = (
  { allow_postpay: isPostpaid }: EffectiveLimits,
  { balance, overdraft }: Pick<Funds, 'balance' | 'overdraft'>,
) => balance + (isPostpaid ? overdraft : 0)

const isSoft = (limits: EffectiveLimits, direction: Direction) =>
  direction === 'inbound' ? limits.soft_limit_inbound : limits.soft_limit_outbound

/**
 * Whether calls that are paid by the minute need credit. An account that is not prepaid and has no trunks for
 * incoming calls receives calls without credit.
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
  const running = reserved.reduce((sum, { cost }) => sum + cost, 0)
  const left = creditOf(limits, funds) - running - unitsOfDollars(limits.reserve_amount)
  return (limits.allow_prepay || limits.allow_postpay) && left > 0
}

/**
 * In order: a free trunk for flat-rate classes, an allotment, the balance without the reserve and the cost of
 * running calls. Beyond that, calls of a soft limit are paid by the minute.
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
  // For switches that count calls themselves.
  const bounded = (calls: number | undefined) => (mayExceed ? {} : present({ calls }))
  if (trunk) {
    const all = sumOf(bought.map((name) => limits[name]))
    return { billing: 'flat_rate', trunk, ...bounded(boundOf(most, all)) }
  }
  if (funds.allotment !== undefined) return { billing: `allotment_${funds.allotment}`, ...bounded(most) }
  if (!needsCredit(direction, limits, funds) || hasCredit(limits, funds))
    return { billing: 'per_minute', ...bounded(most) }
  return bought.length > 0 ? 'limit_reached' : 'no_credit'
}

export type CallPrice = Cdr['custom_channel_vars']

type PaidCall = ReturnType<typeof paidCallOf>

/** No call is longer. */
export const maxRunningSeconds = 43_200

/** `answeredAt`, `now`: Unix milliseconds. */
export const paidCallOf = (
  { price, answeredAt }: { price?: CallPrice | undefined; answeredAt?: number | undefined },
  now: number,
) => ({
  /** Seconds since the answer; at least 1, so that a ringing call reserves its minimum cost. */
  elapsed: answeredAt === undefined ? 1 : Math.max(1, Math.floor((now - answeredAt) / 1000)),
  /** Units. More seconds never cost less. */
  costOf: (seconds: number) =>
    price ? chargeOf({ billing_seconds: seconds, custom_channel_vars: price }).cost : 0,
})

/** The last second for which `holds` is true. It is true for `first`, and no longer true after it was false. */
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
 * Seconds that each call may still last. If one of them cannot begin an increment that `credit` covers, all end
 * with their current increments. `credit`: units, before these calls are paid for.
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
