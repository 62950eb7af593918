import { gregorianOf, offsetAt } from '../../lib/times.ts'

export const daySeconds = 86_400
// Calls are not reported one by one: there may be thousands per second.
export const callsEvery = 15_000
/** Today and those before it. */
export const shownDays = 30

/** The last days as an account counts them: by the offset that its zone has now. */
export const lastDays = (now: Date, timezone: string | undefined) => {
  const seconds = gregorianOf(now)
  const utcOffset = offsetAt(seconds, timezone)
  const today = Math.floor((seconds + utcOffset) / daySeconds) * daySeconds - utcOffset
  return { today, from: today - (shownDays - 1) * daySeconds, utcOffset }
}

/** Calls of a day, or of several. */
export interface CallCount {
  calls: number
  answered: number
}

export interface CallDay extends CallCount {
  /** Gregorian seconds. */
  start: number
}

const nothing: CallCount = { calls: 0, answered: 0 }

/** A row for each day: the API leaves out those without calls. */
export const everyDay = (found: readonly CallDay[], from: number): readonly CallDay[] => {
  const byStart = new Map(found.map((day) => [day.start, day]))
  return Array.from({ length: shownDays }, (_, index) => {
    const start = from + index * daySeconds
    return { ...(byStart.get(start) ?? nothing), start }
  })
}

export const sumOf = (days: readonly CallCount[]): CallCount =>
  days.reduce(
    (sum, { calls, answered }) => ({ calls: sum.calls + calls, answered: sum.answered + answered }),
    nothing,
  )
