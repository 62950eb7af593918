/** Text that orders by time as the number does. */
export const timeKey = (gregorianSeconds: number) => String(gregorianSeconds).padStart(15, '0')

/** A place in a list that is ordered by time. */
interface TimedPlace {
  time: number
  mark: string
}

/** The place that a cursor names; undefined for one of a client's own making, which means the first page. */
export const timedPlace = (cursor: readonly [string, string] | undefined): TimedPlace | undefined =>
  cursor && /^\d{15}$/.test(cursor[0]) ? { time: Number(cursor[0]), mark: cursor[1] } : undefined

/** What ids of time lists begin with: the year and month, `202611`. */
export const monthOf = (unixMilliseconds: number) =>
  new Date(unixMilliseconds).toISOString().slice(0, 7).replace('-', '')

/** The same as a number. */
export const monthNumber = (unixMilliseconds: number) => Number(monthOf(unixMilliseconds))

/** The UTC day as a number: 20261121. */
export const dayNumber = (unixMilliseconds: number) =>
  Number(new Date(unixMilliseconds).toISOString().slice(0, 10).replaceAll('-', ''))
