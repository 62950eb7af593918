import type { CsvCell, CsvQuery } from '../../../storage/csv-lines.ts'
import type { SqlWords } from '../../../storage/sql-words.ts'
import {
  careMaskOf,
  columnsFor,
  hasComma,
  type SheetCell,
  type SheetColumn,
  sheetFor,
  sqlOf,
  timeSheet,
} from './columns.ts'

// The lines of a CSV file as the store writes them: the same lines as `csvLineOf` in rules.ts.

// Addresses like +4930123@example.com are the rule.
const oftenGuarded: ReadonlySet<SheetColumn> = new Set<SheetColumn>(['to', 'from', 'request'])
const seldomGuardedBits = columnsFor(true)
  .filter((name) => !oftenGuarded.has(name))
  .reduce((bits, name) => bits | careMaskOf(name), 0)

const plainWhen = `csv_quoted = 0 AND (csv_guarded & ${seldomGuardedBits}) = 0`

const cellOf = (name: SheetColumn, value: string): CsvCell => {
  if (hasComma(name)) return { value, alwaysQuoted: true }
  const bit = careMaskOf(name)
  if (bit === 0) return { value }
  return {
    value,
    quotedWhen: `(csv_quoted & ${bit}) <> 0`,
    guardedWhen: `(csv_guarded & ${bit}) <> 0`,
    oftenGuarded: oftenGuarded.has(name),
  }
}

const functions = new URL('./sql-functions.ts', import.meta.url).href

/** The sheet before and behind its times. */
const besideTimes = (forReseller: boolean) => {
  const sheet = sheetFor(forReseller)
  const firstTime = sheet.findIndex(({ name }) => name === timeSheet[0].name)
  return { before: sheet.slice(0, firstTime), behind: sheet.slice(firstTime + timeSheet.length) }
}

/** How the store writes the lines of legs. `utcOffset` is the placeholder of the seconds added for `datetime`. */
export const sheetOf = (
  words: SqlWords,
  forReseller: boolean,
  utcOffset: string,
): Pick<CsvQuery, 'cells' | 'functions' | 'plainWhen'> => {
  const cellsOf = (sheet: readonly SheetCell[]) =>
    sheet.map((cell) => cellOf(cell.name, sqlOf(cell, words, utcOffset)))
  if (words.dates) return { cells: cellsOf(sheetFor(forReseller)), functions: undefined, plainWhen }
  const { before, behind } = besideTimes(forReseller)
  const times = { value: `timeCells(created, duration_seconds, channel_created_time, ${utcOffset})` }
  return { cells: [...cellsOf(before), times, ...cellsOf(behind)], functions, plainWhen }
}
