import { createHash } from 'node:crypto'
import type { Exchange } from '../exchange.ts'
import { type ListAnswer, RawJson, type RowsAnswer } from './answers.ts'
import { placeOf, roomFor, sendRowBytes } from './at-hand.ts'
import { sendCsv, sendCsvPage } from './csv-lists.ts'
import { type EnvelopeParts, envelopeOf, envelopeTail } from './envelope.ts'
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
} from './listing.ts'
import { bytesOf, pagePace, rowStreamBytes } from './paces.ts'
import { dataMember, gather, joinedBytes, jsonHeaders, jsonPieces, resumed, textOf } from './row-bytes.ts'
import {
  claimRoom,
  common,
  inTurn,
  isUnchanged,
  sendEmpty,
  sendJson,
  sendStreamed,
  wantsPretty,
  withRoom,
} from './sending.ts'
import { inSlices } from './slices.ts'
import { sendWhole } from './whole-lists.ts'

// Lists on the wire: as pages, whole, or as rows that are the whole answer.

// A page of more is streamed as well, unless it may be kept.
const mostPageBytes = 1_000_000

/** Rows that are at hand take no turn: it costs more than they do. */
const repeatedPace = (exchange: Exchange, plan: ListPlan) => {
  const pace = pagePace(exchange, plan)
  const atOnce: InTurn = (work) => work()
  return { ...pace, isRepeated: true, inTurn: isLongPage(plan) ? pace.inTurn : atOnce }
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
export const sendRows = (
  exchange: Exchange,
  { batches }: RowsAnswer,
  metadata: () => EnvelopeParts['metadata'],
) =>
  withRoom(exchange, rowStreamBytes, () => {
    const tail = () => envelopeTail({ ...common(exchange, 'success'), metadata: metadata() })
    return sendStreamed(
      exchange,
      jsonHeaders(),
      jsonPieces(exchange, ['[', ']'], rowsOf(exchange, batches), { tail }),
    )
  })
