import { daySeconds, gregorianOfMonth, monthAfter, unixOfGregorian } from '../../../../lib/gregorian.ts'
import type { Allotment, AllotmentCycle } from '../../../../lib/limit-shapes.ts'
import { monthNumber } from '../../../../lib/time-key.ts'

export type AllotmentTable = Readonly<Record<string, Allotment>>

export interface IncludedCall {
  accountId: string
  /** The allotment that the switch named; empty: the one for the number. */
  key: string
  direction: string | undefined
  number: string | undefined
  /** Gregorian seconds. */
  at: number
  seconds: number
}

const minute = 60

const fixedLengths = { minutely: minute, hourly: 3600, daily: daySeconds, weekly: 7 * daySeconds }

// 1970 began on a Thursday.
const daysSinceMonday = 3

/** Gregorian seconds; `to` is the start of the next one. */
export interface UseWindow {
  from: number
  to: number
}

/** The cycle that contains a moment. UTC; weeks begin on Monday. */
export const cycleAt = (cycle: AllotmentCycle, gregorian: number): UseWindow => {
  const unixSeconds = unixOfGregorian(gregorian)
  if (cycle === 'monthly') {
    const month = monthNumber(unixSeconds * 1000)
    return { from: gregorianOfMonth(month), to: gregorianOfMonth(monthAfter(month)) }
  }
  const length = fixedLengths[cycle]
  const passed = (unixSeconds + (cycle === 'weekly' ? daysSinceMonday * daySeconds : 0)) % length
  return { from: gregorian - passed, to: gregorian - passed + length }
}

/** Cycles begin on whole minutes, so use is stored by the minute. */
export const minuteOf = (gregorian: number) => gregorian - (gregorian % minute)

/** The seconds that a call takes from an allotment. */
export const consumptionOf = (allotment: Allotment, seconds: number) => {
  const { increment = 1, minimum = 0, no_consume_time: free = 0 } = allotment
  if (seconds <= free || seconds <= 0) return 0
  return Math.max(minimum, Math.ceil(seconds / increment) * increment)
}

/** The allotment for calls to numbers of a class. One for the direction precedes one for both. */
export const allotmentFor = (
  table: AllotmentTable,
  direction: string | undefined,
  classifier: string | undefined,
) => {
  if (classifier === undefined) return undefined
  const keys = direction === undefined ? [classifier] : [`${direction}_${classifier}`, classifier]
  return keys.find((key) => Object.hasOwn(table, key))
}

export const countedFor = (key: string, { group_consume: group = [] }: Allotment) => [
  ...new Set([key, ...group]),
]
