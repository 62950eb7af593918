import { monthAfter, monthBefore } from '../../../../lib/gregorian.ts'

/**
 * The months that calls are to come in from now on, and that have no place yet: this one and the next. None where no
 * call has ever come.
 */
export const unprepared = (months: readonly number[], current: number) =>
  months.length === 0 ? [] : [current, monthAfter(current)].filter((month) => !months.includes(month))

/** The months that are beyond retention: `kept` whole months stay beside the current one. */
export const outdated = (months: readonly number[], current: number, kept: number) => {
  const first = monthBefore(current, kept)
  return months.filter((month) => month < first)
}

/** The month that a text such as `202601` names, if it does. */
export const monthIn = (text: string | undefined) =>
  text !== undefined && /^\d{4}(?:0[1-9]|1[0-2])$/.test(text) ? Number(text) : undefined
