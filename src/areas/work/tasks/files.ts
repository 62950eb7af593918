import type { BatchPart } from '../../../batches/store.ts'
import { csvLine, plainCsvLine, restored } from '../../../lib/csv.ts'
import { createCsvParser } from '../../../lib/csv-parse.ts'
import type { Cells, InputAction } from './actions.ts'
import type { TaskRecord, TaskStore } from './store.ts'

interface Shown {
  columns: readonly string[]
  /** Indexes of the shown columns; undefined: all. */
  kept: readonly number[] | undefined
}

/** `held`: `1` for each column that has a value. If none has, all are shown. Hidden columns never are. */
export const shownColumns = (
  columns: readonly string[],
  held: string,
  hidden: readonly string[] = [],
): Shown => {
  const holds = held.includes('1')
  const isShown = (column: string, index: number) =>
    !hidden.includes(column) && (!holds || held[index] === '1')
  const kept = columns.flatMap((column, index) => (isShown(column, index) ? [index] : []))
  return { columns, kept: kept.length === columns.length ? undefined : kept }
}

export async function* outputText(
  { columns, kept }: Shown,
  parts: AsyncIterable<BatchPart>,
): AsyncGenerator<string | Uint8Array> {
  yield csvLine(kept ? kept.map((index) => columns[index]) : columns)
  for await (const { content } of parts) yield kept ? narrowed(content, kept) : content
}

/** Parts contain whole rows. Defused cells stay so. */
const narrowed = (content: Buffer, kept: readonly number[]) => {
  const parser = createCsvParser()
  return [...parser.push(content), ...parser.end()]
    .map(({ cells }) => plainCsvLine(kept.map((index) => cells[index])))
    .join('')
}

export async function* contents(parts: AsyncIterable<BatchPart>): AsyncGenerator<Uint8Array> {
  for await (const { content } of parts) yield content
}

export interface InputRow {
  /** 1 is the first row after the header. */
  number: number
  key: string
  cells: Cells
  /** The cells unchanged, defused or not. */
  values: readonly (string | undefined)[]
}

/** Inputs are often exports: defused cells are restored. */
const cellsOf = (header: readonly string[], values: readonly (string | undefined)[]) => {
  const cells: Record<string, string | undefined> = {}
  for (let at = 0; at < header.length; at += 1) {
    const value = values[at]
    cells[header[at] as string] = value && restored(value)
  }
  return cells
}

export async function* inputRows(
  store: TaskStore,
  task: TaskRecord,
  { key: keyOf }: Pick<InputAction, 'key'>,
  first: number,
): AsyncGenerator<InputRow> {
  const header = task.hidden.header ?? []
  const { parts } = store.runs
  const parser = createCsvParser()
  let number: number | undefined

  const rowOf = (values: InputRow['values'], rowNumber: number): InputRow => {
    const cells = cellsOf(header, values)
    return { number: rowNumber, key: keyOf(cells), cells, values }
  }

  for await (const part of parts.read(task, 'in.csv', await parts.numberOfRow(task, first))) {
    number ??= part.firstRow
    for (const { cells } of parser.push(part.content)) {
      if (number >= first) yield rowOf(cells, number)
      number += 1
    }
  }
  for (const { cells } of parser.end()) yield rowOf(cells, number ?? first)
}

/** Batches without repeated keys. `most` is called before each batch. */
export async function* batchesOf(
  rows: AsyncIterable<InputRow>,
  most: () => Promise<number>,
): AsyncGenerator<InputRow[]> {
  let batch: InputRow[] = []
  let keys = new Set<string>()
  let limit = await most()
  for await (const row of rows) {
    if (batch.length >= limit || keys.has(row.key)) {
      yield batch
      batch = []
      keys = new Set()
      limit = await most()
    }
    batch.push(row)
    keys.add(row.key)
  }
  if (batch.length > 0) yield batch
}
