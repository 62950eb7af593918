import type { Value } from './db.ts'

/**
 * A cell of CSV lines that the store writes by itself, or several in a row with their commas and quotes. All members are
 * SQL; NULL is an empty cell.
 */
export interface CsvCell {
  value: string
  /** When it has to stand in quotes. */
  quotedWhen?: string
  /** When an apostrophe has to stand in front of it. */
  guardedWhen?: string
  /** The apostrophe is usual: it does not make a line a special one. */
  oftenGuarded?: boolean
  /** It has quotes whatever it holds. */
  alwaysQuoted?: boolean
}

/** Lines of CSV: rows of a statement, in an order. */
export interface CsvQuery {
  cells: readonly CsvCell[]
  /** A module whose functions the cells call by their names, where the store does not write dates: see `SqlWords.dates`. */
  functions?: string | undefined
  /** True of rows in which no cell needs quotes, nor an apostrophe but those that are usual. */
  plainWhen: string
  /** Columns that the order is by. */
  orderedBy: readonly string[]
  /** What follows the selected columns, from FROM to ORDER BY. */
  tail: string
  params: readonly Value[]
  /** The rows are found by a range of an index alone, and not too many to be read block by block and then sorted. */
  byBlock: boolean
}

/** A cell with its apostrophe. */
export const guarded = ({ value, guardedWhen }: CsvCell) =>
  guardedWhen ? `CASE WHEN ${guardedWhen} THEN '''' || (${value}) ELSE ${value} END` : value

const inQuotes = (text: string) => `'"' || replace(${text}, '"', '""') || '"'`

const careful = (cell: CsvCell) => {
  const text = guarded(cell)
  if (cell.alwaysQuoted) return inQuotes(text)
  return cell.quotedWhen ? `CASE WHEN ${cell.quotedWhen} THEN ${inQuotes(text)} ELSE ${text} END` : text
}

const plain = (cell: CsvCell) => {
  const text = cell.oftenGuarded ? guarded(cell) : cell.value
  return cell.alwaysQuoted ? `'"' || ${text} || '"'` : text
}

const lineOf = (texts: readonly string[]) =>
  `concat(${texts.flatMap((text, index) => (index === 0 ? [text] : ["','", text])).join(', ')}, '\r\n')`

/** For SQLite: the lines as one text. The order goes along, so that it can be an index's. */
export const sqliteLines = ({ cells, plainWhen, orderedBy, tail }: CsvQuery) =>
  `SELECT string_agg(line, '') AS text FROM (
    SELECT CASE WHEN ${plainWhen} THEN ${lineOf(cells.map(plain))} ELSE ${lineOf(cells.map(careful))} END AS line,
    ${orderedBy.join(', ')} ${tail}) AS lines`
