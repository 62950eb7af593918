import { createHash } from 'node:crypto'
import { failure } from '../../lib/failure.ts'
import type { Exchange } from '../exchange.ts'
import type { Coding } from '../wire/compression.ts'
import { type ListAnswer, RawJson, type RowsAnswer } from './answers.ts'
import { sendCsv, sendCsvPage } from './csv-lists.ts'
import { envelopeOf, envelopeTail } from './envelope.ts'
import { type CollectedPage, largestKept, type PagePlace } from './kept-pages.ts'
import {
  bracketsOf,
  type InTurn,
  isLongPage,
  jsonMember,
  type Listing,
  type ListPlan,
  narrow,
  type PageEnd,
  pageRows,
  type RowText,
  walk,
} from './listing.ts'
import { bytesOf, longTurns, pagePace, rowStreamBytes } from './paces.ts'
import { createPrettyPrinter } from './pretty.ts'
import {
  claimRoom,
  common,
  type Headers,
  inTurn,
  isUnchanged,
  type Pieces,
  sendEmpty,
  sendJson,
  sendKeptRows,
  sendPieces,
  sendStreamed,
  wantsPretty,
  withRoom,
} from './sending.ts'
import { inSlices } from './slices.ts'

// Lists on the wire: as pages, and as a whole in pieces.

// A page of more is streamed as well, unless it may be kept.
const mostPageBytes = 1_000_000

/** The room of a list in the making. What may be kept is there twice for a moment: as rows, and put together. */
const roomFor = (place: PagePlace | undefined) => (place?.isRepeated ? 2 * largestKept : rowStreamBytes)

/** Rows that are at hand take no turn: it costs more than they do. */
const repeatedPace = (exchange: Exchange, plan: ListPlan) => {
  const pace = pagePace(exchange, plan)
  const atOnce: InTurn = (work) => work()
  return { ...pace, isRepeated: true, inTurn: isLongPage(plan) ? pace.inTurn : atOnce }
}

const comma = 0x2c
const dataMember = '{"data":'

/** The bytes of a list, without a text of that length in between: V8 keeps those apart, and collects them at a price. */
const joinedBytes = (open: string, rows: readonly RowText[], close: string) => {
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

type Batches = AsyncIterable<readonly RowText[]>

const textOf = (row: RowText) => (typeof row === 'string' ? row : Buffer.from(row).toString())

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

const jsonHeaders = (): Headers => ({ 'content-type': 'application/json' })

/** The whole list would be larger than the operator allows. Made twice, so that it is never kept. */
const assertWithin = async (batches: Batches, limit: number) => {
  let bytes = 0
  for await (const rows of batches) {
    bytes += bytesOf(rows)
    if (bytes > limit) throw failure('range_not_satisfiable', {})
  }
}

const isInOne = (exchange: Exchange) => exchange.value('is_chunked') === 'false' || wantsPretty(exchange)

const placeOf = <T>({ frame, route, variables }: Exchange, listing: Listing<T>, plan: ListPlan) =>
  route && frame.keptPages.placeOf({ route, variables, listing, plan })

const byteLengthOf = (rows: readonly RowText[]) =>
  rows.reduce((sum, row) => sum + (typeof row === 'string' ? Buffer.byteLength(row) : row.length), 0)

/** Batches one by one, until there are no more or their rows come to this many bytes: then there is no `end`. */
const gather = async <End>(batches: AsyncGenerator<RowText[], End>, most: number) => {
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
async function* resumed<End>(begun: RowText[][], rest: AsyncGenerator<RowText[], End>) {
  for (let batch = begun.shift(); batch; batch = begun.shift()) yield batch
  return yield* rest
}

const wholeTail = <T>(exchange: Exchange, listing: Listing<T>) =>
  envelopeTail({ ...common(exchange, 'success'), metadata: listing.metadata?.() })

/** Rows, and what stands behind them: those of a page that may be kept are compressed once. */
const sendRowBytes = (
  exchange: Exchange,
  page: CollectedPage,
  place: PagePlace | undefined,
  { tail, headers }: { tail: string; headers: Headers },
) => {
  const all = { ...headers, ...jsonHeaders() }
  if (!place?.isRepeated) return sendPieces(exchange, [page.bytes, Buffer.from(tail)], all)
  const kept = { bytes: page.bytes, packed: (coding: Coding) => place.packed(page, coding) }
  return sendKeptRows(exchange, kept, Buffer.from(tail), all)
}

const sendWholePage = <T>(
  exchange: Exchange,
  listing: Listing<T>,
  page: CollectedPage,
  place: PagePlace | undefined,
) => sendRowBytes(exchange, page, place, { tail: wholeTail(exchange, listing), headers: {} })

const streamWhole = async <T>(
  exchange: Exchange,
  listing: Listing<T>,
  batches: AsyncGenerator<RowText[]>,
  place: PagePlace | undefined,
) => {
  const brackets = bracketsOf(listing)
  const gathered = place?.isRepeated ? await gather(batches, largestKept) : undefined
  if (place && gathered && 'end' in gathered) {
    const rows = gathered.begun.flat()
    const bytes = joinedBytes(dataMember + brackets[0], rows, brackets[1])
    const page = { bytes, end: { size: rows.length, nextStartKey: undefined }, revision: '' }
    await place.keep(page)
    return sendWholePage(exchange, listing, page, place)
  }
  if (gathered) place?.passOver()
  const all = gathered ? resumed(gathered.begun, batches) : batches
  const tail = () => wholeTail(exchange, listing)
  return sendStreamed(exchange, jsonHeaders(), jsonPieces(exchange, brackets, all, { tail }))
}

const sendWhole = <T>(exchange: Exchange, listing: Listing<T>, plan: ListPlan) => {
  // What is asked for in one may be refused for its size, which is that of its rows.
  const place = isInOne(exchange) ? undefined : placeOf(exchange, listing, plan)
  const { found } = place ?? {}
  if (found)
    return withRoom(exchange, found.bytes.length, async () => sendWholePage(exchange, listing, found, place))
  return withRoom(exchange, roomFor(place), async () => {
    const all = () => walk(listing, plan, jsonMember(listing, plan), longTurns(exchange))
    const limit = exchange.crossbar.request_memory_limit
    if (limit !== undefined && isInOne(exchange)) await assertWithin(all(), limit)
    return streamWhole(exchange, listing, all(), place)
  })
}

// Not a secret, only a name for this content: the digest that processors have instructions for.
const createRevision = () => createHash('sha1')

// A text of so many characters is put together, digested and written at once faster than the bytes of its rows.
const mostTextLength = 65_536

const digestOf = (content: string | Uint8Array, { nextStartKey = '' }: PageEnd) =>
  createRevision().update(content).update(nextStartKey).digest('hex')

/** A page as bytes, and the name of its content. */
const collected = ([open, close]: readonly [string, string], rows: readonly RowText[], end: PageEnd) => {
  const bytes = joinedBytes(dataMember + open, rows, close)
  return { bytes, end, revision: digestOf(bytes.subarray(dataMember.length), end) }
}

const isText = (rows: readonly RowText[]): rows is readonly string[] =>
  rows.every((row) => typeof row === 'string')

/** What stands behind the data of a page. */
const pageParts = <T>(exchange: Exchange, listing: Listing<T>, end: PageEnd, revision: string) => ({
  ...common(exchange, 'success'),
  extra: pagingKeys(exchange, end),
  revision,
  metadata: listing.metadata?.(),
})

const sendBytes = <T>(
  exchange: Exchange,
  listing: Listing<T>,
  page: CollectedPage,
  place: PagePlace | undefined,
) => {
  const { bytes, end, revision } = page
  const etag = `W/"${revision}"`
  if (isUnchanged(exchange, etag)) return sendEmpty(exchange, 304, { etag })
  const tail = envelopeTail(pageParts(exchange, listing, end, revision))
  if (wantsPretty(exchange)) return sendJson(exchange, 200, textOf(bytes) + tail, { etag })
  return sendRowBytes(exchange, page, place, { tail, headers: { etag } })
}

/** A page that is at hand: its name is known before it is sent. */
const sendCollected = async <T>(
  exchange: Exchange,
  listing: Listing<T>,
  rows: readonly RowText[],
  { end, place }: { end: PageEnd; place: PagePlace | undefined },
) => {
  const brackets = bracketsOf(listing)
  const [open, close] = brackets
  if (place?.isRepeated || bytesOf(rows) > mostTextLength || !isText(rows)) {
    const page = collected(brackets, rows, end)
    await place?.keep(page)
    return sendBytes(exchange, listing, page, place)
  }
  const content = open + rows.join() + close
  const revision = digestOf(content, end)
  const etag = `W/"${revision}"`
  if (isUnchanged(exchange, etag)) return sendEmpty(exchange, 304, { etag })
  const parts = pageParts(exchange, listing, end, revision)
  return sendJson(exchange, 200, envelopeOf({ ...parts, data: new RawJson(content) }), { etag })
}

const pagingKeys = ({ listPlan }: Exchange, { size, nextStartKey }: PageEnd) => ({
  page_size: size,
  start_key: listPlan?.startKey,
  next_start_key: nextStartKey,
})

/** A page that is too large to be kept: it is sent while it is made, and its name stands behind it. */
const sendLargePage = async <T>(
  exchange: Exchange,
  listing: Listing<T>,
  batches: AsyncGenerator<RowText[], PageEnd>,
) => {
  let end: PageEnd = { size: 0, nextStartKey: undefined }
  async function* all() {
    end = yield* batches
  }
  const digest = createRevision()
  const tail = () => {
    const revision = digest.update(end.nextStartKey ?? '').digest('hex')
    const metadata = listing.metadata?.()
    return envelopeTail({
      ...common(exchange, 'success'),
      extra: pagingKeys(exchange, end),
      revision,
      metadata,
    })
  }
  const seen = (before: string, rows: readonly RowText[]) => void digest.update(joinedBytes(before, rows, ''))
  return sendStreamed(
    exchange,
    jsonHeaders(),
    jsonPieces(exchange, bracketsOf(listing), all(), { tail, seen }),
  )
}

const makePage = async <T>(
  exchange: Exchange,
  listing: Listing<T>,
  plan: ListPlan,
  place: PagePlace | undefined,
) => {
  const pace = place?.isRepeated ? repeatedPace(exchange, plan) : pagePace(exchange, plan)
  const batches = pageRows(listing, plan, jsonMember(listing, plan), pace)
  const gathered = await gather(batches, place?.isRepeated ? largestKept : mostPageBytes)
  const { begun, bytes } = gathered
  if ('end' in gathered) {
    const { end } = gathered
    return sendCollected(exchange, listing, begun.flat(), { end, place })
  }
  if (place?.isRepeated) place.passOver()
  const endRoom = isLongPage(plan) ? undefined : claimRoom(exchange, 2 * bytes)
  try {
    return await sendLargePage(exchange, listing, resumed(begun, batches))
  } finally {
    endRoom?.()
  }
}

const sendPage = <T>(exchange: Exchange, listing: Listing<T>, plan: ListPlan) => {
  if (exchange.accepts === 'text/csv') return sendCsvPage(exchange, listing, plan)
  // What is printed is made anew: of what is kept all would be printed in one go.
  const place = wantsPretty(exchange) ? undefined : placeOf(exchange, listing, plan)
  if (place?.found) return sendBytes(exchange, listing, place.found, place)
  const make = () => makePage(exchange, listing, plan, place)
  return isLongPage(plan) ? withRoom(exchange, roomFor(place), make) : make()
}

export const sendList = <T>(exchange: Exchange, answer: ListAnswer<T>) => {
  if (!exchange.listPlan) throw new Error(`nobody has read what the list of ${exchange.path} was asked for`)
  const [listing, plan] = narrow(answer.listing, exchange.listPlan)
  if (plan.paginate) return sendPage(exchange, listing, plan)
  return exchange.accepts === 'text/csv'
    ? sendCsv(exchange, listing, plan)
    : sendWhole(exchange, listing, plan)
}

async function* rowsOf(exchange: Exchange, batches: AsyncIterable<readonly unknown[]>) {
  const iterator = batches[Symbol.asyncIterator]()
  for (;;) {
    const { done, value } = await inTurn(exchange, 'long', () => iterator.next())
    if (done) return
    yield await inSlices(value as readonly unknown[], (row) => JSON.stringify(row))
  }
}

/** Rows that make up the whole answer. */
export const sendRows = (exchange: Exchange, { batches, metadata }: RowsAnswer) =>
  withRoom(exchange, rowStreamBytes, () => {
    const tail = () => envelopeTail({ ...common(exchange, 'success'), metadata: metadata?.() })
    return sendStreamed(
      exchange,
      jsonHeaders(),
      jsonPieces(exchange, ['[', ']'], rowsOf(exchange, batches), { tail }),
    )
  })
