import type { CsvCell, CsvQuery } from '../../../../storage/csv-lines.ts'
import type { SqlWords } from '../../../../storage/sql-words.ts'
import { careMaskOf, type SheetCell, sheetFor, sqlOf, timeSheet } from './columns.ts'

// The lines of a CSV file as the store writes them: the same lines as `csvLineOf` in rules.ts.

const seldomGuardedBits = sheetFor(true)
  .filter(({ isOftenGuarded }) => !isOftenGuarded)
  .reduce((bits, cell) => bits | careMaskOf(cell), 0)

const plainWhen = `csv_quoted = 0 AND (csv_guarded & ${seldomGuardedBits}) = 0`

const cellOf = (cell: SheetCell, value: string): CsvCell => {
  if (cell.hasComma) return { value, alwaysQuoted: true }
  const bit = careMaskOf(cell)
  if (bit === 0) return { value }
  return {
    value,
    quotedWhen: `(csv_quoted & ${bit}) <> 0`,
    guardedWhen: `(csv_guarded & ${bit}) <> 0`,
    oftenGuarded: cell.isOftenGuarded === true,
  }
}

const functions = new URL('./sql-functions.ts', import.meta.url).href

/** How the store writes the lines of legs. `utcOffset` is the placeholder of the seconds added for `datetime`. */
export const sheetOf = (
  words: SqlWords,
  forReseller: boolean,
  utcOffset: string,
): Pick<CsvQuery, 'cells' | 'functions' | 'plainWhen'> => {
  const cellsOf = (cells: readonly SheetCell[]) =>
    cells.map((cell) => cellOf(cell, sqlOf(cell, words, utcOffset)))
  const sheet = sheetFor(forReseller)
  if (words.dates) return { cells: cellsOf(sheet), functions: undefined, plainWhen }
  const firstTime = sheet.findIndex(({ name }) => name === timeSheet[0].name)
  const [before, behind] = [sheet.slice(0, firstTime), sheet.slice(firstTime + timeSheet.length)]
  const times = { value: `timeCells(created, duration_seconds, channel_created_time, ${utcOffset})` }
  return { cells: [...cellsOf(before), times, ...cellsOf(behind)], functions, plainWhen }
}
