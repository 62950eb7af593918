// The rows of a stored input, from any row on.

import { restored } from '../../../../lib/csv.ts'
import { createCsvParser } from '../../../../lib/csv-parse.ts'
import type { Cells, InputAction } from '../actions.ts'
import type { TaskRecord, TaskStore } from '../store.ts'

export interface InputRow {
  /** 1 is the first row behind the header. */
  number: number
  key: string
  cells: Cells
  /** As they stood in the row, defused or not: CSV that is made of them is read like this one. */
  values: readonly (string | undefined)[]
}

/** Inputs are exports as often as not: what was defused there is restored. */
const cellsOf = (header: readonly string[], values: readonly (string | undefined)[]) => {
  const cells: Record<string, string | undefined> = {}
  for (let at = 0; at < header.length; at += 1) {
    const value = values[at]
    cells[header[at] as string] = value && restored(value)
  }
  return cells
}

/** The rows from number `first` on. */
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

  const rowOf = (values: readonly (string | undefined)[], rowNumber: number): InputRow => {
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

/** Rows in batches, in each of which no key comes twice. `most` is asked before each batch. */
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
