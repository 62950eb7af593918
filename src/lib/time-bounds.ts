import { invalid, valueShown } from './failure.ts'

/** Gregorian seconds, both inclusive. */
export interface TimeWindow {
  from: number
  to: number
}

// Kazoo rounds decimals: browsers send T.999 for the end of a day.
const numeric = /^\d{1,15}(?:\.\d+)?(?:e\+?\d{1,2})?$/i
// Keys of times have 15 digits.
const latest = 999_999_999_999_999

/** Rounds fractions, ignores spaces, and treats empty text as no bound; other texts are a 400. All lists use it. */
export const timeBound = (name: string, given: unknown): number | undefined => {
  if (given === undefined || given === null || given === '') return undefined
  const text = typeof given === 'object' ? 'an object' : String(given).trim()
  const seconds = numeric.test(text) ? Math.round(Number(text)) : Number.NaN
  if (seconds <= latest) return seconds
  const message = 'Must be a time in Gregorian seconds, such as 63935000000'
  throw invalid({ [name]: { type: { message, target: 'integer', ...valueShown(given) } } })
}

/** `cause`: the bound to change. */
export const badRange = (name: string, message: string, cause: number) =>
  invalid({ [name]: { date_range: { message, cause } } })

/** A reversed window is a 400. */
export const timeBoundsIn = (
  query: URLSearchParams,
  about: 'created' | 'modified' = 'created',
): Partial<TimeWindow> => {
  const [first, last] = [`${about}_from`, `${about}_to`]
  const [from, to] = [timeBound(first, query.get(first)), timeBound(last, query.get(last))]
  if (from !== undefined && to !== undefined && from > to)
    throw badRange(first, `${first} ${from} is later than ${last} ${to}`, from)
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}
