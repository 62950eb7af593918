import type { CsvCell, CsvQuery } from '../../../storage/csv-lines.ts'
import type { SqlWords } from '../../../storage/sql-words.ts'
import { isPricedForResellerSql, tellsCost, tellsPrice } from '../costs.ts'
import { inRows, variableFields } from '../rules.ts'
import {
  careMaskOf,
  columnsFor,
  hasComma,
  type RowView,
  type SheetCell,
  type SheetColumn,
  sheetFor,
  sqlOf,
  timeSheet,
} from './columns.ts'

// The lines of a CSV file, and the rows of a list, as the store writes them: the same ones as `csvLineOf` and `rowTextOf`
// in rules.ts.

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

type Json = NonNullable<SqlWords['json']>

// Numbers that rows show as texts.
const numerals: ReadonlySet<SheetColumn> = new Set<SheetColumn>(['timestamp', 'cost', 'reseller_cost'])

const jsonOf = (cell: SheetCell, words: SqlWords, json: Json) => {
  const { name } = cell
  // Only times, which are not among them, depend on the offset.
  const sql = sqlOf(cell, words, '0')
  if (name === 'media_recordings') return json.parsed(`coalesce(${sql}, '[]')`)
  if (numerals.has(name)) return `coalesce(${words.asText(sql)}, '')`
  return `coalesce(${sql}, '')`
}

const memberOf = ({ name, sql, type }: (typeof inRows)[number], json: Json, isHidden: boolean) => {
  const value = type === 'json' ? json.parsed(sql) : sql
  return json.member(name, isHidden ? `CASE WHEN NOT ${isPricedForResellerSql} THEN ${value} END` : value)
}

/**
 * What the store selects of legs for a `BegunRow` of rules.ts; undefined where it does not write such JSON, or rows leave
 * out what is empty. Such a row costs two thirds of one that is made of all the columns.
 */
export const begunRowsOf = (words: SqlWords, view: RowView): string | undefined => {
  const { json } = words
  if (!json || view.omitsEmpty) return undefined
  const { forReseller } = view
  const { before, behind } = besideTimes(forReseller)
  const objectOf = (cells: readonly SheetCell[]) =>
    json.object(cells.map((cell) => ({ name: cell.name, value: jsonOf(cell, words, json) })))
  const variables = variableFields
    .filter(({ name }) => forReseller || !tellsCost(name))
    .map((field) => memberOf(field, json, !forReseller && tellsPrice(field.name)))
  const texts = {
    duration_seconds: 'duration_seconds',
    channel_created_time: 'channel_created_time',
    shown: objectOf(before),
    later: objectOf(behind),
    fields: words.joined(inRows.map((field) => memberOf(field, json, false))),
    variables: words.joined(variables),
    rest: 'rest',
    hides_price: isPricedForResellerSql,
  }
  return Object.entries(texts)
    .map(([name, sql]) => `${sql} AS ${name}`)
    .join(', ')
}
