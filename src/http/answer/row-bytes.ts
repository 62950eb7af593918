import type { Exchange } from '../exchange.ts'
import type { RowText } from './listing.ts'
import { createPrettyPrinter } from './pretty.ts'
import { type Headers, type Pieces, wantsPretty } from './sending.ts'
import { inSlices } from './slices.ts'

// Rows as the bytes of a list: put together, in pieces, and as many of them as are wanted at once.

const comma = 0x2c
export const dataMember = '{"data":'

/** The bytes of a list, without a text of that length in between: V8 keeps those apart, and collects them at a price. */
export const joinedBytes = (open: string, rows: readonly RowText[], close: string) => {
  let length = Buffer.byteLength(open) + Buffer.byteLength(close) + Math.max(0, rows.length - 1)
  for (const row of rows) length += typeof row === 'string' ? Buffer.byteLength(row) : row.length
  // Not out of the pool, of which whatever is kept would hold a piece.
  const bytes = Buffer.allocUnsafeSlow(length)
  let at = bytes.write(open)
  for (const [index, row] of rows.entries()) {
    if (index > 0) bytes[at++] = comma
    if (typeof row === 'string') at += bytes.write(row, at)
    else {
      bytes.set(row, at)
      at += row.length
    }
  }
  bytes.write(close, at)
  return bytes
}

export type Batches = AsyncIterable<readonly RowText[]>

export const textOf = (row: RowText) => (typeof row === 'string' ? row : Buffer.from(row).toString())

/** The bytes of rows, as the client wants them to look: with what stands before them. */
const shapedRows = async (
  print: ((text: string) => string) | undefined,
  before: string,
  rows: readonly RowText[],
) => {
  if (!print) return joinedBytes(before, rows, '')
  let mark = before
  const printed = await inSlices(rows, (row) => {
    const text = print(mark) + print(textOf(row))
    mark = ','
    return text
  })
  return Buffer.from(printed.join(''))
}

/** A list as JSON: `data` first, the other envelope keys after it. `seen` is shown the rows, with what is around them. */
export async function* jsonPieces(
  exchange: Exchange,
  [open, close]: readonly [string, string],
  batches: Batches,
  { tail, seen }: { tail(): string; seen?(text: string, rows: readonly RowText[]): void },
): Pieces {
  const print = wantsPretty(exchange) ? createPrettyPrinter() : undefined
  let before = dataMember + open
  let bracket = open
  for await (const rows of batches) {
    if (rows.length === 0) continue
    seen?.(bracket, rows)
    yield await shapedRows(print, before, rows)
    before = ','
    bracket = ','
  }
  const isEmpty = bracket === open
  seen?.(isEmpty ? open + close : close, [])
  const end = (isEmpty ? before : '') + close + tail()
  yield print ? `${print(end)}\n` : end
}

export const jsonHeaders = (): Headers => ({ 'content-type': 'application/json' })

const byteLengthOf = (rows: readonly RowText[]) =>
  rows.reduce((sum, row) => sum + (typeof row === 'string' ? Buffer.byteLength(row) : row.length), 0)

/** Batches one by one, until there are no more or their rows come to this many bytes: then there is no `end`. */
export const gather = async <End>(batches: AsyncGenerator<RowText[], End>, most: number) => {
  const begun: RowText[][] = []
  let bytes = 0
  while (bytes < most) {
    const { done, value } = await batches.next()
    if (done) return { begun, bytes, end: value }
    begun.push(value)
    bytes += byteLengthOf(value)
  }
  return { begun, bytes }
}

/** What was gathered, which is let go of on the way, and the rest. */
export async function* resumed<End>(begun: RowText[][], rest: AsyncGenerator<RowText[], End>) {
  for (let batch = begun.shift(); batch; batch = begun.shift()) yield batch
  return yield* rest
}
