// Functions that SQLite calls by these names, in the threads that write CSV.
import { type Timed, timeSheet } from './columns.ts'

const timesOf = timeSheet.map(({ of, hasComma }, at) => ({
  of,
  before: at === 0 ? '' : ',',
  quote: hasComma ? '"' : '',
}))

/** The cells of `timeSheet`. The date functions of SQLite take twice as long. */
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
