// The output of a task as it is read: its header, and without the columns that never held a value.

import type { Part } from '../../../batches/store.ts'
import { csvLine, plainCsvLine } from '../../../lib/csv.ts'
import { createCsvParser } from '../../../lib/csv-parse.ts'

interface Shown {
  columns: readonly string[]
  /** Which of them are shown; undefined: all. */
  kept: readonly number[] | undefined
}

/** For each column `1` or `0`: whether it ever held a value. When none did, all are shown. Hidden ones never are. */
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

/** Pieces of the output as a client gets it. */
export async function* outputText(
  { columns, kept }: Shown,
  parts: AsyncIterable<Part>,
): AsyncGenerator<string | Uint8Array> {
  yield csvLine(kept ? kept.map((index) => columns[index]) : columns)
  for await (const { content } of parts) yield kept ? narrowed(content, kept) : content
}

/** Parts hold whole rows. What was defused when it was written stays so. */
const narrowed = (content: Buffer, kept: readonly number[]) => {
  const parser = createCsvParser()
  return [...parser.push(content), ...parser.end()]
    .map(({ cells }) => plainCsvLine(kept.map((index) => cells[index])))
    .join('')
}

/** The input, byte for byte. */
export async function* inputBytes(parts: AsyncIterable<Part>): AsyncGenerator<Uint8Array> {
  for await (const { content } of parts) yield content
}
