import { isObject } from './json.ts'
import { plainDecimal } from './money.ts'

// CSV as in RFC 4180. Text that a spreadsheet would run as a formula is defused by a leading apostrophe, and text that
// looks as if it had been gets one more: so whoever takes one off has the very text.

// Full-width forms count too: spreadsheets in East Asian locales read them as operators.
const formulaStart = /^'*[=+\-@\t\r\n＝＋－＠]/

// Numbers in texts, E.164 numbers among them, compute nothing and stay readable for programs.
const plainNumber = /^[+-]?\d+(\.\d+)?$/

/** Whether an apostrophe has to stand in front. */
export const needsApostrophe = (text: string) => formulaStart.test(text) && !plainNumber.test(text)

/** Whether a cell has to stand in quotes. The empty text does, to differ from nothing. */
export const needsQuotes = (text: string) => text === '' || /[",\r\n]/.test(text)

const neutralised = (text: string) => (needsApostrophe(text) ? `'${text}` : text)

/** A cell of such a CSV as it was before it was defused. */
export const restored = (cell: string) =>
  cell.startsWith("'") && formulaStart.test(cell) ? cell.slice(1) : cell

const quoted = (text: string) => (needsQuotes(text) ? `"${text.replaceAll('"', '""')}"` : text)

// Absent is nothing between the commas, the empty text is "". Lists are their JSON text: it can be read back.
const cellOf = (value: unknown) => {
  if (value === undefined || value === null) return ''
  if (typeof value === 'object') return quoted(JSON.stringify(value))
  if (typeof value === 'string') return quoted(neutralised(value))
  return typeof value === 'number' ? plainDecimal(value) : String(value)
}

/** One line with its CRLF. Header lines are neutralised too: names of custom fields come from users. */
export const csvLine = (values: readonly unknown[]): string => {
  const line = values.map(cellOf).join(',')
  // An empty line would be no record at all to most readers.
  return line === '' ? '""\r\n' : `${line}\r\n`
}

/** One line for programs: nothing is defused, so that whoever reads it gets the very cells. */
export const plainCsvLine = (cells: readonly (string | undefined)[]): string => {
  const line = cells.map((cell) => (cell === undefined ? '' : quoted(cell))).join(',')
  return line === '' ? '""\r\n' : `${line}\r\n`
}

const addFlattened = (row: Map<string, unknown>, prefix: string, record: Record<string, unknown>) => {
  for (const [key, value] of Object.entries(record)) {
    const column = `${prefix}${key}`
    if (isObject(value)) addFlattened(row, `${column}_`, value)
    else if (!row.has(column)) row.set(column, value)
  }
}

/** Column name -> value; keys of nested objects are joined with `_`. Of two that get one name, the first stays. */
export const flattenRow = (record: Record<string, unknown>): Map<string, unknown> => {
  const row = new Map<string, unknown>()
  addFlattened(row, '', record)
  return row
}

/** The columns of flattened rows, in order of first appearance. */
export const columnsOf = (rows: Iterable<ReadonlyMap<string, unknown>>): string[] => {
  const columns = new Set<string>()
  for (const row of rows) for (const column of row.keys()) columns.add(column)
  return [...columns]
}
