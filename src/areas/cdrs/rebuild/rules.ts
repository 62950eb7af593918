import { gregorianUnixOffset } from '../../../lib/gregorian.ts'
import { monthOf } from '../../../lib/time-key.ts'
import type { CdrRow } from '../columns.ts'
import { costsOf, payersOf } from '../intake/rules.ts'
import { documentOf } from '../rules.ts'
import type { Cdr } from '../schema.ts'
import type { Span } from '../stats/rules.ts'

const dateOf = (gregorian: number) => new Date((gregorian - gregorianUnixOffset) * 1000)

const startOfMonth = (year: number, month: number) => Date.UTC(year, month, 1) / 1000 + gregorianUnixOffset

const numberOf = (gregorian: number) => Number(monthOf((gregorian - gregorianUnixOffset) * 1000))

/** A month of UTC by the times of records, and the months in whose tables these may lie: see columns.ts. */
export interface Period extends Span {
  month: number
  tables: readonly number[]
}

export const periodAt = (gregorian: number): Period => {
  const date = dateOf(gregorian)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  const startIn = (months: number) => startOfMonth(year, month + months)
  const [from, end] = [startIn(0), startIn(1)]
  return { from, end, month: numberOf(from), tables: [startIn(-1), from, end].map(numberOf) }
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
