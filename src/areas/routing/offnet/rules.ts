// Whether a call that leaves over a carrier is paid for, and by what.
import { unitsOfDollars } from '../../../lib/money.ts'
import type { EffectiveLimits } from '../../limits/schema.ts'
import type { Funds } from '../facts.ts'

/** How a call is paid for: `account_billing` of its record. `calls`: most at once that are paid for so. */
export interface Billing {
  billing: string
  calls?: number
}

/** What a number costs nothing extra to call with a trunk. */
export interface FlatRate {
  classifiers: readonly string[]
}

const unlimited = -1

/** Trunks that a call out may take: those for both directions, those for calls out, and the spare ones. */
const trunksFor = ({ twoway_trunks, outbound_trunks, burst_trunks }: EffectiveLimits) => {
  const trunks = [twoway_trunks, outbound_trunks, burst_trunks]
  return trunks.includes(unlimited) ? unlimited : trunks.reduce((sum, count) => sum + count, 0)
}

/** The smaller one of two bounds of which each may be none. */
export const boundOf = (...bounds: readonly (number | undefined)[]) => {
  const real = bounds.filter((bound) => bound !== undefined && bound !== unlimited)
  return real.length === 0 ? undefined : Math.min(...(real as number[]))
}

const atMost = (calls: number | undefined) => (calls === undefined ? {} : { calls })

/**
 * A trunk pays for calls to the flat-rate kinds of numbers, then what is included does, then the balance: of that, what is
 * to be kept in reserve has to be there when the call begins.
 */
export const billingOf = (
  classification: string | undefined,
  limits: EffectiveLimits,
  funds: Funds,
  { classifiers }: FlatRate,
): Billing | 'no_credit' | 'limit_reached' => {
  const { resource_consuming_calls: most } = limits
  if (limits.enabled && most === 0) return 'limit_reached'
  const carried = limits.enabled ? boundOf(most) : undefined
  const isFlat = classification !== undefined && classifiers.includes(classification)
  const trunks = isFlat ? trunksFor(limits) : 0
  if (trunks !== 0) return { billing: 'flat_rate', ...atMost(boundOf(carried, trunks)) }
  if (funds.allotment !== undefined) return { billing: `allotment_${funds.allotment}`, ...atMost(carried) }
  const { allow_prepay: isPrepaid, allow_postpay: isPostpaid, reserve_amount: reserve } = limits
  const room = funds.balance + (isPostpaid ? funds.overdraft : 0)
  const isPaid = (isPrepaid || isPostpaid) && room >= unitsOfDollars(reserve) && room > 0
  return isPaid || !limits.enabled ? { billing: 'per_minute', ...atMost(carried) } : 'no_credit'
}
