import { monthAfter, monthBefore } from '../../../../lib/gregorian.ts'
import type { CdrRow } from '../columns.ts'
import { costsOf, payersOf } from '../intake/rules.ts'
import { monthAt, windowOf } from '../reading/rules.ts'
import { documentOf } from '../rules.ts'
import type { Cdr } from '../schema.ts'
import type { Span } from '../stats/rules.ts'

/** A month of UTC by the times of records, and the months in whose tables these may lie: see columns.ts. */
export interface Period extends Span {
  month: number
  tables: readonly number[]
}

export const periodAt = (gregorian: number): Period => {
  const month = monthAt(gregorian)
  const { from, to } = windowOf(month)
  return { from, end: to + 1, month, tables: [monthBefore(month), month, monthAfter(month)] }
}

/** Sums of a day, by its first second. */
export type DaySums = ReadonlyMap<number, string>

/** How many days have other sums here than there. */
export const daysApart = (here: DaySums, there: DaySums) =>
  [...new Set([...here.keys(), ...there.keys()])].filter((day) => here.get(day) !== there.get(day)).length

/**
 * What a stored leg should cost. One that was rated here was priced by the exact rate, of which the record shows only
 * whole units: its price stays. All others are priced by what they say themselves.
 */
export const dueCosts = (leg: CdrRow): Pick<CdrRow, 'cost' | 'reseller_cost'> => {
  const record: Cdr = { ...documentOf(leg), call_id: leg.id }
  if (!('rate_id' in (record.custom_channel_vars ?? {}))) return costsOf(record)
  const payers = payersOf(record)
  return { cost: payers.account ? leg.cost : 0, reseller_cost: payers.reseller ? leg.reseller_cost : 0 }
}
