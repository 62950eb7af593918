import { createHash } from 'node:crypto'
import { failure } from '../../lib/failure.ts'
import type { Exchange } from '../exchange.ts'
import type { ListAnswer, RowsAnswer } from './answers.ts'
import { sendCsv, sendCsvPage } from './csv-lists.ts'
import { type EnvelopeParts, envelopeTail } from './envelope.ts'
import {
  bracketsOf,
  isLongPage,
  jsonMember,
  type Listing,
  type ListPlan,
  narrow,
  type PageEnd,
  pageRows,
  walk,
} from './listing.ts'
import { type CacheSlot, type ListBody, largestCached } from './response-cache.ts'
import {
  type Batches,
  dataMember,
  gather,
  joinedBytes,
  jsonHeaders,
  jsonPieces,
  lengthOf,
  longTurns,
  pagePace,
  resumed,
  rowStreamBytes,
} from './row-bytes.ts'
import {
  claimRoom,
  common,
  inTurn,
  isUnchanged,
  sendEmpty,
  sendJson,
  sendKeptRows,
  sendPieces,
  sendStreamed,
  wantsPretty,
  withRoom,
} from './sending.ts'
import { inSlices } from './slices.ts'

// Lists as responses: pages, whole lists, and rows that are the whole answer. A list of up to `largestCached` bytes is
// collected, cached if it can be, and sent with its length. A longer one is streamed.

// Not a secret, only a name for the content: SHA-1 is the digest that processors have instructions for.
const createRevision = () => createHash('sha1')

/** The envelope behind the data of a page. */
const pageTail = <T>(exchange: Exchange, listing: Listing<T>, end: PageEnd, revision: string) =>
  envelopeTail({
    ...common(exchange, 'success'),
    extra: {
      page_size: end.size,
      start_key: exchange.listPlan?.startKey,
      next_start_key: end.nextStartKey,
    },
    revision,
    metadata: listing.metadata?.(),
  })

const wholeTail = <T>(exchange: Exchange, listing: Listing<T>) =>
  envelopeTail({ ...common(exchange, 'success'), metadata: listing.metadata?.() })

const sendBody = <T>(
  exchange: Exchange,
  listing: Listing<T>,
  body: ListBody,
  slot: CacheSlot | undefined,
) => {
  const { bytes, end, revision } = body
  const etag = revision && `W/"${revision}"`
  if (etag && isUnchanged(exchange, etag)) return sendEmpty(exchange, 304, { etag })
  const tail = revision ? pageTail(exchange, listing, end, revision) : wholeTail(exchange, listing)
  const headers = { ...(etag ? { etag } : {}), ...jsonHeaders() }
  if (wantsPretty(exchange)) return sendJson(exchange, 200, Buffer.from(bytes).toString() + tail, headers)
  if (!slot) return sendPieces(exchange, [bytes, Buffer.from(tail)], headers)
  const kept = { bytes, packed: slot.packed.bind(slot, body) }
  return sendKeptRows(exchange, kept, Buffer.from(tail), headers)
}

const sendCollected = async <T>(
  exchange: Exchange,
  listing: Listing<T>,
  body: ListBody,
  slot: CacheSlot | undefined,
) => {
  await slot?.store(body)
  return sendBody(exchange, listing, body, slot)
}

/** Streams a page that is too long to be collected. Its revision follows the rows. */
const streamPage = <T>(
  exchange: Exchange,
  listing: Listing<T>,
  batches: AsyncGenerator<string[], PageEnd>,
) => {
  let end: PageEnd = { size: 0, nextStartKey: undefined }
  async function* all() {
    end = yield* batches
  }
  const digest = createRevision()
  const tail = () => {
    const revision = digest.update(end.nextStartKey ?? '').digest('hex')
    return pageTail(exchange, listing, end, revision)
  }
  const seen = (before: string, rows: readonly string[]) => void digest.update(joinedBytes(before, rows, ''))
  const pieces = jsonPieces(exchange, bracketsOf(listing), all(), { tail, seen })
  return sendStreamed(exchange, jsonHeaders(), pieces)
}

const makePage = async <T>(
  exchange: Exchange,
  listing: Listing<T>,
  plan: ListPlan,
  slot: CacheSlot | undefined,
) => {
  const batches = pageRows(listing, plan, jsonMember(listing, plan), pagePace(exchange, plan))
  const gathered = await gather(batches, largestCached)
  if ('end' in gathered) {
    const { begun, end } = gathered
    const [open, close] = bracketsOf(listing)
    const bytes = joinedBytes(dataMember + open, begun.flat(), close)
    const digest = createRevision().update(bytes.subarray(dataMember.length))
    const revision = digest.update(end.nextStartKey ?? '').digest('hex')
    return sendCollected(exchange, listing, { bytes, end, revision }, slot)
  }
  const endRoom = isLongPage(plan) ? undefined : claimRoom(exchange, 2 * gathered.bytes)
  try {
    return await streamPage(exchange, listing, resumed(gathered.begun, batches))
  } finally {
    endRoom?.()
  }
}

/** Checks the size of a whole list against the operator's limit. The list is read twice. */
const assertWithin = async (batches: Batches, limit: number) => {
  let length = 0
  for await (const rows of batches) {
    length += lengthOf(rows)
    if (length > limit) throw failure('range_not_satisfiable', {})
  }
}

const isInOne = (exchange: Exchange) => exchange.value('is_chunked') === 'false' || wantsPretty(exchange)

const makeWhole = async <T>(
  exchange: Exchange,
  listing: Listing<T>,
  plan: ListPlan,
  slot: CacheSlot | undefined,
) => {
  const walked = () => walk(listing, plan, jsonMember(listing, plan), longTurns(exchange))
  const limit = exchange.crossbar.request_memory_limit
  if (limit !== undefined && isInOne(exchange)) await assertWithin(walked(), limit)
  const brackets = bracketsOf(listing)
  const batches = walked()
  const gathered = slot && (await gather(batches, largestCached))
  if (gathered && 'end' in gathered) {
    const rows = gathered.begun.flat()
    const bytes = joinedBytes(dataMember + brackets[0], rows, brackets[1])
    const end = { size: rows.length, nextStartKey: undefined }
    return sendCollected(exchange, listing, { bytes, end, revision: '' }, slot)
  }
  const all = gathered ? resumed(gathered.begun, batches) : batches
  const tail = () => wholeTail(exchange, listing)
  return sendStreamed(exchange, jsonHeaders(), jsonPieces(exchange, brackets, all, { tail }))
}

const sendJsonList = <T>(exchange: Exchange, listing: Listing<T>, plan: ListPlan) => {
  const { frame, route, variables } = exchange
  const { paginate } = plan
  // A printed list would be printed in one go, and a list in one piece may be refused for its size.
  const isFresh = paginate ? wantsPretty(exchange) : isInOne(exchange)
  const slot = isFresh || !route ? undefined : frame.responseCache.slotOf({ route, variables, listing, plan })
  const found = slot?.found
  const send = async () => {
    if (found) return sendBody(exchange, listing, found, slot)
    return (paginate ? makePage : makeWhole)(exchange, listing, plan, slot)
  }
  if (paginate && !isLongPage(plan)) return send()
  // A collected list takes its room twice for a moment: as rows, and joined.
  const room = found?.bytes.length ?? (paginate || slot ? 2 * largestCached : rowStreamBytes)
  return withRoom(exchange, room, send)
}

export const sendList = <T>(exchange: Exchange, answer: ListAnswer<T>) => {
  if (!exchange.listPlan) throw new Error(`the list parameters of ${exchange.path} were not read`)
  const [listing, plan] = narrow(answer.listing, exchange.listPlan)
  if (exchange.accepts !== 'text/csv') return sendJsonList(exchange, listing, plan)
  return (plan.paginate ? sendCsvPage : sendCsv)(exchange, listing, plan)
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
