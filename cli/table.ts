import truncatedWidth from 'fast-string-truncated-width'
import { printable, type Terminal } from './terminal.ts'

export interface Column<Row> {
  title: string
  of(row: Row): string
  /** Numbers are right-aligned. */
  align?: 'right'
  /** Ids are of use only whole. */
  isWhole?: true
}

const gap = '  '
const narrowest = 6
/** The widths are those of the first rows: a list may have no end. */
const rowsMeasured = 200

const unlimited = Number.POSITIVE_INFINITY
const widthOf = (text: string) => truncatedWidth(text, { limit: unlimited }).width

const fromTheRight = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u

// Without isolation, a bidirectional terminal would reorder the columns next to an Arabic name.
export const isolated = (text: string, { columns }: Pick<Terminal, 'columns'>) =>
  columns !== undefined && fromTheRight.test(text) ? `\u2068${text}\u2069` : text

interface Place {
  width: number
  /** Wider texts are cut, on a terminal only; IDs never. */
  limit: number
  align: 'right' | undefined
}

const cellIn = (text: string, { width, limit, align }: Place, terminal: Terminal) => {
  const cut = truncatedWidth(text, { limit, ellipsis: '…', ellipsisWidth: 1 })
  const shown = cut.truncated ? `${text.slice(0, cut.index)}${cut.ellipsed ? '…' : ''}` : text
  const room = ' '.repeat(Math.max(0, width - widthOf(shown)))
  const kept = isolated(shown, terminal)
  return align === 'right' ? `${room}${kept}` : `${kept}${room}`
}

/** The widest columns give way first, down to what still says something. */
export const fitted = (wanted: readonly { width: number; isWhole: boolean }[], columns: number) => {
  const widths = wanted.map(({ width }) => width)
  const canGive = (width: number, index: number) => width > narrowest && wanted[index]?.isWhole === false
  let over = widths.reduce((sum, width) => sum + width, gap.length * (widths.length - 1)) - columns
  for (; over > 0; over -= 1) {
    const widest = Math.max(...widths.filter(canGive))
    const giving = widths.findIndex((width, index) => width === widest && canGive(width, index))
    if (giving === -1) break
    widths[giving] = widest - 1
  }
  return widths
}

/** Writes rows as they come, below their titles. */
export const createTable = <Row>(terminal: Terminal, columns: readonly Column<Row>[]) => {
  let waiting: string[][] = []
  let places: Place[] | undefined

  const lineOf = (cells: readonly string[], at: readonly Place[]) =>
    at
      .map((place, index) => cellIn(cells[index] ?? '', place, terminal))
      .join(gap)
      .trimEnd()

  const placesFor = (rows: readonly string[][]) => {
    const wanted = columns.map(({ title, isWhole = false }, index) => ({
      width: Math.max(widthOf(title), ...rows.map((cells) => widthOf(cells[index] ?? ''))),
      isWhole,
    }))
    const room = terminal.columns ?? unlimited
    const widths = fitted(wanted, room)
    return columns.map(({ align, isWhole }, index): Place => {
      const width = widths[index] ?? 0
      return { width, limit: isWhole || room === unlimited ? unlimited : width, align }
    })
  }

  const flush = async () => {
    if (places === undefined) {
      places = placesFor(waiting)
      const titles = lineOf(
        columns.map(({ title }) => title),
        places,
      )
      await terminal.print(`${terminal.paint('bold', titles)}\n`)
    }
    const at = places
    const lines = waiting.map((cells) => `${lineOf(cells, at)}\n`)
    waiting = []
    if (lines.length > 0) await terminal.print(lines.join(''))
  }

  return {
    async add(row: Row) {
      waiting.push(columns.map(({ of }) => printable(of(row))))
      if (waiting.length >= rowsMeasured) await flush()
    },
    end: flush,
  }
}

/** One record: a line for each of its fields. */
export const printFields = async (terminal: Terminal, fields: readonly (readonly [string, string])[]) => {
  // Keys of records are tenants' own, too.
  const shown = fields.map(([name, value]) => [printable(name), value] as const)
  const width = Math.max(...shown.map(([name]) => name.length))
  for (const [name, value] of shown)
    await terminal.print(
      `${terminal.paint('bold', name.padEnd(width))}${gap}${isolated(printable(value), terminal)}\n`,
    )
}
