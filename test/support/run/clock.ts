import type { Clock } from '../../../src/lib/clock.ts'

export interface Span {
  hours?: number
  minutes?: number
  seconds?: number
  milliseconds?: number
}

export interface TestClock extends Clock {
  advance(span: Span): void
}

/** A clock that moves only when a test moves it. */
export const createTestClock = (start = Date.UTC(2026, 0, 5, 12)): TestClock => {
  let now = start
  return {
    now: () => now,
    advance({ hours = 0, minutes = 0, seconds = 0, milliseconds = 0 }) {
      now += ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds
    },
  }
}
