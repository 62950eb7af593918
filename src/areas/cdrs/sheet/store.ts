import type { CsvCell, CsvQuery } from '../../../storage/csv-lines.ts'
import type { SqlWords } from '../../../storage/sql-words.ts'
import { careMaskOf, columnsFor, type SheetColumn, sheetFor, sqlOf } from './columns.ts'

// The lines of a CSV file as the store writes them, the same ones as `csvLineOf` in rules.ts.

// Addresses like +4930123@example.com are the rule.
const oftenGuarded: ReadonlySet<SheetColumn> = new Set<SheetColumn>(['to', 'from', 'request'])
const seldomGuardedBits = columnsFor(true)
  .filter((name) => !oftenGuarded.has(name))
  .reduce((bits, name) => bits | careMaskOf(name), 0)

const plainWhen = `csv_quoted = 0 AND (csv_guarded & ${seldomGuardedBits}) = 0`

const cellOf = (name: SheetColumn, value: string): CsvCell => {
  // It holds a comma.
  if (name === 'rfc_1036') return { value, alwaysQuoted: true }
  const bit = careMaskOf(name)
  if (bit === 0) return { value }
  return {
    value,
    quotedWhen: `(csv_quoted & ${bit}) <> 0`,
    guardedWhen: `(csv_guarded & ${bit}) <> 0`,
    oftenGuarded: oftenGuarded.has(name),
  }
}

/** How the store writes the lines of legs. `utcOffset` is the placeholder of the seconds added for `datetime`. */
export const sheetOf = (
  words: SqlWords,
  forReseller: boolean,
  utcOffset: string,
): Pick<CsvQuery, 'cells' | 'plainWhen'> => ({
  cells: sheetFor(forReseller).map((cell) => cellOf(cell.name, sqlOf(cell, words, utcOffset))),
  plainWhen,
})
