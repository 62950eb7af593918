import type { Clock } from '../../lib/clock.ts'
import { dayMs } from '../../lib/gregorian.ts'

/** A clock that goes through the past as it is told, never backwards and never beyond the end. */
export interface Past extends Clock {
  readonly end: number
  /** The moment so many days before the end. */
  daysAgo(days: number): number
  goTo(unixMilliseconds: number): void
  pass(milliseconds: number): void
}

export const createPast = (end: number, days: number): Past => {
  let now = end - days * dayMs
  const goTo = (moment: number) => {
    now = Math.min(end, Math.max(now, moment))
  }
  return {
    end,
    now: () => now,
    daysAgo: (count) => end - count * dayMs,
    goTo,
    pass: (milliseconds) => goTo(now + milliseconds),
  }
}
