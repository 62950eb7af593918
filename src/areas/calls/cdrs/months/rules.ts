import { monthAfter, monthBefore } from '../../../../lib/gregorian.ts'

/** The current and the next month, unless they have tables. None before the first call. */
export const unprepared = (months: readonly number[], current: number) =>
  months.length === 0 ? [] : [current, monthAfter(current)].filter((month) => !months.includes(month))

/** Months before the `kept` whole months that precede the current one. */
export const outdated = (months: readonly number[], current: number, kept: number) => {
  const first = monthBefore(current, kept)
  return months.filter((month) => month < first)
}

/** Parses a month such as `202601`. */
export const monthIn = (text: string | undefined) =>
  text !== undefined && /^\d{4}(?:0[1-9]|1[0-2])$/.test(text) ? Number(text) : undefined
