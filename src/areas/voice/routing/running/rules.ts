// How long running calls may last for what their account has.
import { chargeOf } from '../../../calls/cdrs/intake/rules.ts'
import type { Cdr } from '../../../calls/cdrs/schema.ts'

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
