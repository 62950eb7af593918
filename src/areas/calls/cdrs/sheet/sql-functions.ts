// What SQLite calls, by these names, in the threads that write lines of CSV.
import { type Timed, timeSheet } from './columns.ts'

const timesOf = timeSheet.map(({ of, hasComma }, at) => ({
  of,
  before: at === 0 ? '' : ',',
  quote: hasComma ? '"' : '',
}))

/**
 * The cells of `timeSheet`, one after the other, of a leg's own columns. `utcOffset`: seconds added for `datetime`. SQLite's
 * own functions take twice as long: each cell works out its date anew.
 */
export const timeCells = (
  created: number,
  duration_seconds: number | null,
  channel_created_time: number | null,
  utcOffset: number,
): string => {
  const leg: Timed = { created, duration_seconds, channel_created_time }
  const view = { utcOffset, forReseller: false, omitsEmpty: false }
  let cells = ''
  for (const { of, before, quote } of timesOf) {
    const text = of(leg, view)
    cells += text === null ? before : `${before}${quote}${text}${quote}`
  }
  return cells
}
