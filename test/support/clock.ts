import type { Clock } from '../../src/lib/clock.ts'

/** Stands still until it is told otherwise. */
export class TestClock implements Clock {
  #now: number

  constructor(start = Date.UTC(2026, 0, 5, 12)) {
    this.#now = start
  }

  now() {
    return this.#now
  }

  advance({ hours = 0, minutes = 0, seconds = 0, milliseconds = 0 }) {
    this.#now += ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds
  }
}
