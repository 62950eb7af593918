import type { Clock } from './clock.ts'

/** Seconds between 0000-01-01 (proleptic Gregorian calendar) and 1970-01-01. */
export const gregorianUnixOffset = 62_167_219_200

export const daySeconds = 86_400
export const dayMs = 86_400_000

export const gregorianOfUnix = (unixSeconds: number) => Math.floor(unixSeconds) + gregorianUnixOffset
export const unixOfGregorian = (gregorianSeconds: number) => gregorianSeconds - gregorianUnixOffset
/** Milliseconds of the same calendar. */
export const gregorianMilliseconds = (unixMilliseconds: number) =>
  unixMilliseconds + gregorianUnixOffset * 1000

export const gregorianNow = (clock: Clock) => gregorianOfUnix(clock.now() / 1000)

/** `month` is YYYYMM: 202601 less 1 is 202512. */
export const monthBefore = (month: number, count = 1) => {
  const months = Math.floor(month / 100) * 12 + (month % 100) - 1 - count
  return Math.floor(months / 12) * 100 + (months % 12) + 1
}

export const monthAfter = (month: number) => monthBefore(month, -1)

/** The Gregorian second with which a month (202601) begins, in UTC. */
export const gregorianOfMonth = (month: number) =>
  gregorianOfUnix(Date.UTC(Math.floor(month / 100), (month % 100) - 1, 1) / 1000)
