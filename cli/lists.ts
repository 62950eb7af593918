// Rows are written as they arrive: a list may be larger than the memory.
import { type Column, createTable } from './table.ts'
import type { Terminal } from './terminal.ts'

// Control characters within JSON texts are escaped.
const disturbing = /[\u007f-\u009f\u061c\u2028-\u202e\u2066-\u2069]/g

export const jsonText = (value: unknown, indent?: number) =>
  JSON.stringify(value, undefined, indent).replace(
    disturbing,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

export const printJson = (terminal: Terminal, value: unknown) => terminal.print(`${jsonText(value, 2)}\n`)

/** One JSON document. */
export const printJsonRows = async <Row>(terminal: Terminal, rows: AsyncIterable<Row>) => {
  let before = '['
  for await (const row of rows) {
    await terminal.print(`${before}\n${jsonText(row)}`)
    before = ','
  }
  await terminal.print(before === '[' ? '[]\n' : '\n]\n')
}

interface Listing<Row> {
  rows: AsyncIterable<Row>
  columns: readonly Column<Row>[]
  json: boolean
  /** The message for an empty list. */
  none: string
}

export const printRows = async <Row>(terminal: Terminal, { rows, columns, json, none }: Listing<Row>) => {
  if (json) return printJsonRows(terminal, rows)
  const table = createTable(terminal, columns)
  let count = 0
  for await (const row of rows) {
    await table.add(row)
    count += 1
  }
  if (count > 0) await table.end()
  else terminal.printError(none)
}

export async function* firstOf<Row>(rows: AsyncIterable<Row>, limit: number | undefined) {
  let left = limit ?? Number.POSITIVE_INFINITY
  if (left === 0) return
  for await (const row of rows) {
    yield row
    left -= 1
    if (left === 0) return
  }
}
