import type { CsvCell, CsvQuery } from './db.ts'

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

/** The order is selected, so that SQLite can use an index for it. */
export const sqliteLines = ({ cells, plainWhen, orderedBy, tail }: CsvQuery) =>
  `SELECT string_agg(line, '') AS text FROM (
    SELECT CASE WHEN ${plainWhen} THEN ${lineOf(cells.map(plain))} ELSE ${lineOf(cells.map(careful))} END AS line,
    ${orderedBy.join(', ')} ${tail}) AS lines`

/**
 * Frees a buffer that no one else uses. Megabytes of an export are garbage as soon as they are sent, and little else would make
 * the collector look for them.
 */
export const giveBack = ({ buffer }: ArrayBufferView) => {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}
