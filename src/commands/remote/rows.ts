// What a command shows of the server's records.
import { gregorianUnixOffset } from '../../lib/gregorian.ts'
import type { Column } from './table.ts'

export type Row = Readonly<Record<string, unknown>>

export const isRow = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const textIn = (row: unknown, ...path: readonly string[]): string => {
  const found = path.reduce<unknown>((value, name) => (isRow(value) ? value[name] : undefined), row)
  if (Array.isArray(found)) return found.filter((one) => typeof one === 'string').join(' ')
  return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean'
    ? `${found}`
    : ''
}

/** Gregorian seconds in the time zone of this machine. Swedes write a date as ISO 8601 does. */
export const timeText = (gregorianSeconds: number) =>
  new Date((gregorianSeconds - gregorianUnixOffset) * 1000).toLocaleString('sv-SE')

const timeIn = (row: Row, ...path: readonly string[]) => {
  const seconds = Number.parseInt(textIn(row, ...path), 10)
  return Number.isNaN(seconds) ? '' : timeText(seconds)
}

type Shown = Omit<Column<Row>, 'title' | 'of'>

export const column = (title: string, path = title.toLowerCase(), more: Shown = {}): Column<Row> => ({
  title,
  of: (row) => textIn(row, ...path.split('.')),
  ...more,
})

export const timeColumn = (title: string, path: string): Column<Row> => ({
  title,
  of: (row) => timeIn(row, path),
  isWhole: true,
})

export const idColumn = column('ID', 'id', { isWhole: true })
