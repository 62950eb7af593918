import { daySeconds, gregorianOfUnix, gregorianUnixOffset } from '../../../../lib/gregorian.ts'
import type { Allotment, AllotmentCycle } from '../../../../lib/limit-shapes.ts'

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
const daysOfWeek = 7

const fixedLengths = { minutely: minute, hourly: 3600, daily: daySeconds } as const

const utcMonth = (unixSeconds: number, ahead: number) => {
  const date = new Date(unixSeconds * 1000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead, 1) / 1000
}

const startOfWeek = (unixSeconds: number) => {
  const midnight = unixSeconds - (unixSeconds % daySeconds)
  const daysSinceMonday = (new Date(midnight * 1000).getUTCDay() + daysOfWeek - 1) % daysOfWeek
  return midnight - daysSinceMonday * daySeconds
}

/** Gregorian seconds; `to` is the start of the next one. */
export interface Stretch {
  from: number
  to: number
}

const unixCycle = (cycle: AllotmentCycle, unixSeconds: number): Stretch => {
  if (cycle === 'monthly') return { from: utcMonth(unixSeconds, 0), to: utcMonth(unixSeconds, 1) }
  if (cycle === 'weekly') {
    const from = startOfWeek(unixSeconds)
    return { from, to: from + daysOfWeek * daySeconds }
  }
  const length = fixedLengths[cycle]
  const from = unixSeconds - (unixSeconds % length)
  return { from, to: from + length }
}

/** The cycle that contains a moment. UTC; weeks begin on Monday. */
export const cycleAt = (cycle: AllotmentCycle, gregorian: number): Stretch => {
  const { from, to } = unixCycle(cycle, gregorian - gregorianUnixOffset)
  return { from: gregorianOfUnix(from), to: gregorianOfUnix(to) }
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
