/** Sorts like the number. */
export const timeKey = (gregorianSeconds: number) => String(gregorianSeconds).padStart(15, '0')

interface TimedPlace {
  time: number
  mark: string
}

/** Undefined for an invalid cursor: the first page. */
export const timedPlace = (cursor: readonly [string, string] | undefined): TimedPlace | undefined =>
  cursor && /^\d{15}$/.test(cursor[0]) ? { time: Number(cursor[0]), mark: cursor[1] } : undefined

// The end of the year 9999. Later years have more digits, and clients may send bounds that no Date can have.
const lastMs = Date.UTC(10_000, 0, 1) - 1

const isoText = (unixMilliseconds: number) => new Date(Math.min(unixMilliseconds, lastMs)).toISOString()

/** Ids of time lists begin with it: `202611`. */
export const monthOf = (unixMilliseconds: number) => isoText(unixMilliseconds).slice(0, 7).replace('-', '')

/** The same as a number. */
export const monthNumber = (unixMilliseconds: number) => Number(monthOf(unixMilliseconds))

/** The UTC day as a number: 20261121. */
export const dayNumber = (unixMilliseconds: number) =>
  Number(isoText(unixMilliseconds).slice(0, 10).replaceAll('-', ''))
