// Rows as a table or as JSON, written as they come: a list may be longer than the memory.
import { type Column, createTable } from './table.ts'
import type { Terminal } from './terminal.ts'

// Inside a text of JSON what a terminal would obey can be told otherwise.
const disturbing = /[\u007f-\u009f\u061c\u2028-\u202e\u2066-\u2069]/g

export const jsonText = (value: unknown, indent?: number) =>
  JSON.stringify(value, undefined, indent).replace(
    disturbing,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

export const printJson = (terminal: Terminal, value: unknown) => terminal.say(`${jsonText(value, 2)}\n`)

/** One document, whose rows are written as they come. */
export const printJsonRows = async <Row>(terminal: Terminal, rows: AsyncIterable<Row>) => {
  let before = '['
  for await (const row of rows) {
    await terminal.say(`${before}\n${jsonText(row)}`)
    before = ','
  }
  await terminal.say(before === '[' ? '[]\n' : '\n]\n')
}

interface Listing<Row> {
  rows: AsyncIterable<Row>
  columns: readonly Column<Row>[]
  json: boolean
  /** What is said when there is none. */
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
  else terminal.tell(none)
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
