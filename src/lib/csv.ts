import { isObject } from './json.ts'
import { plainDecimal } from './money.ts'

// CSV (RFC 4180). An apostrophe keeps spreadsheets from running a text as a formula; a text that looks escaped gets another one.

// Spreadsheets in East Asian locales also read full-width operators.
const formulaStart = /^'*[=+\-@\t\r\n＝＋－＠]/

// Numbers, such as E.164, are not formulas.
const plainNumber = /^[+-]?\d+(\.\d+)?$/

export const needsApostrophe = (text: string) => formulaStart.test(text) && !plainNumber.test(text)

/** Empty text is quoted to differ from an absent value. */
export const needsQuotes = (text: string) => text === '' || /[",\r\n]/.test(text)

const neutralised = (text: string) => (needsApostrophe(text) ? `'${text}` : text)

/** The reverse of the escaping. */
export const restored = (cell: string) =>
  cell.startsWith("'") && formulaStart.test(cell) ? cell.slice(1) : cell

const quoted = (text: string) => (needsQuotes(text) ? `"${text.replaceAll('"', '""')}"` : text)

// Absent is nothing, empty text is "", lists are JSON.
const cellOf = (value: unknown) => {
  if (value === undefined || value === null) return ''
  if (typeof value === 'object') return quoted(JSON.stringify(value))
  if (typeof value === 'string') return quoted(neutralised(value))
  return typeof value === 'number' ? plainDecimal(value) : String(value)
}

/** Header lines are escaped too: names of custom fields come from users. */
export const csvLine = (values: readonly unknown[]): string => {
  const line = values.map(cellOf).join(',')
  // Most readers skip an empty line.
  return line === '' ? '""\r\n' : `${line}\r\n`
}

/** For programs: nothing is escaped. */
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

/** Keys of nested objects are joined with `_`; of equal names the first is used. */
export const flattenRow = (record: Record<string, unknown>): Map<string, unknown> => {
  const row = new Map<string, unknown>()
  addFlattened(row, '', record)
  return row
}

/** In order of first appearance. */
export const columnsOf = (rows: Iterable<ReadonlyMap<string, unknown>>): string[] => {
  const columns = new Set<string>()
  for (const row of rows) for (const column of row.keys()) columns.add(column)
  return [...columns]
}
