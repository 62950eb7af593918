import type { RequestContext } from '../exchange.ts'
import { createPrettyPrinter } from './json-text.ts'
import { isLong, type Listing, type ListPlan, listRows, type Render } from './listing.ts'
import { type Headers, inTurn, type Pieces, wantsPretty } from './sending.ts'
import { inSlices } from './slices.ts'

/** Memory of a stream of rows: the batch that is read and the chunk that is sent. */
export const rowStreamBytes = 2_000_000

export const rowsInTurn = <T>(
  exchange: RequestContext,
  listing: Listing<T>,
  plan: ListPlan,
  render: Render<T>,
) =>
  listRows(listing, plan, render, {
    now: exchange.frame.clock.now,
    inTurn: (work) => inTurn(exchange, isLong(plan) ? 'long' : 'short', work),
  })

export const lengthOf = (rows: readonly string[]) => rows.reduce((sum, { length }) => sum + length, 0)

const comma = 0x2c
export const dataMember = '{"data":'

/** Without one long text in between, which is expensive for V8 to collect. */
export const joinedBytes = (open: string, rows: readonly string[], close: string) => {
  let length = Buffer.byteLength(open) + Buffer.byteLength(close) + Math.max(0, rows.length - 1)
  for (const row of rows) length += Buffer.byteLength(row)
  // Not from the pool: a cached list would keep a whole block of it.
  const bytes = Buffer.allocUnsafeSlow(length)
  let at = bytes.write(open)
  for (const [index, row] of rows.entries()) {
    if (index > 0) bytes[at++] = comma
    at += bytes.write(row, at)
  }
  bytes.write(close, at)
  return bytes
}

export type Batches = AsyncIterable<readonly string[]>

const shapedRows = async (
  print: ((text: string) => string) | undefined,
  before: string,
  rows: readonly string[],
) => {
  if (!print) return joinedBytes(before, rows, '')
  let mark = before
  const printed = await inSlices(rows, (row) => {
    const text = print(mark) + print(row)
    mark = ','
    return text
  })
  return Buffer.from(printed.join(''))
}

/** A list as JSON: `data` first. `seen` gets the rows with the brackets around them. */
export async function* jsonPieces(
  exchange: RequestContext,
  [open, close]: readonly [string, string],
  batches: Batches,
  { tail, seen }: { tail(): string; seen?(text: string, rows: readonly string[]): void },
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

const byteLengthOf = (rows: readonly string[]) => rows.reduce((sum, row) => sum + Buffer.byteLength(row), 0)

/** Reads batches until their rows have this many bytes; `end` is only set if there are no more. */
export const gather = async <End>(batches: AsyncGenerator<string[], End>, most: number) => {
  const begun: string[][] = []
  let bytes = 0
  while (bytes < most) {
    const { done, value } = await batches.next()
    if (done) return { begun, bytes, end: value }
    begun.push(value)
    bytes += byteLengthOf(value)
  }
  return { begun, bytes }
}

/** The gathered batches, each released when it is taken, and the rest. */
export async function* resumed<End>(begun: string[][], rest: AsyncGenerator<string[], End>) {
  for (let batch = begun.shift(); batch; batch = begun.shift()) yield batch
  return yield* rest
}
