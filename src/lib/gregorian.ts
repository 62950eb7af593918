import type { Clock } from './clock.ts'

/** Seconds between 0000-01-01 (proleptic Gregorian calendar) and 1970-01-01. */
export const gregorianUnixOffset = 62_167_219_200

export const gregorianOfUnix = (unixSeconds: number) => Math.floor(unixSeconds) + gregorianUnixOffset
export const unixOfGregorian = (gregorianSeconds: number) => gregorianSeconds - gregorianUnixOffset
/** Gregorian milliseconds: a second of the same calendar has a thousand of them. */
export const gregorianMilliseconds = (unixMilliseconds: number) =>
  unixMilliseconds + gregorianUnixOffset * 1000

export const gregorianNow = (clock: Clock) => gregorianOfUnix(clock.now() / 1000)
