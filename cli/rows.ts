import { unixOfGregorian } from '../src/lib/gregorian.ts'
import { memberOf } from '../src/lib/member.ts'
import type { Column } from './table.ts'

export type Row = Readonly<Record<string, unknown>>

export const textIn = (row: unknown, ...path: readonly string[]): string => {
  const found = memberOf(row, ...path)
  if (Array.isArray(found)) return found.filter((one) => typeof one === 'string').join(' ')
  return ['string', 'number', 'boolean'].includes(typeof found) ? `${found}` : ''
}

/** Local time. Swedish dates look like ISO 8601. */
export const timeText = (gregorianSeconds: number) =>
  new Date(unixOfGregorian(gregorianSeconds) * 1000).toLocaleString('sv-SE')

export const column = (
  title: string,
  path = title.toLowerCase(),
  more: Partial<Column<Row>> = {},
): Column<Row> => ({
  title,
  of: (row) => textIn(row, ...path.split('.')),
  ...more,
})

export const timeColumn = (title: string, path: string): Column<Row> => ({
  title,
  of: (row) => {
    const seconds = Number.parseInt(textIn(row, path), 10)
    return Number.isNaN(seconds) ? '' : timeText(seconds)
  },
  isWhole: true,
})

export const idColumn = column('ID', 'id', { isWhole: true })
