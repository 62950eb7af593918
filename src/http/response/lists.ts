import { createHash } from 'node:crypto'
import { failure, rangeNotSatisfiable } from '../../lib/failure.ts'
import type { RequestContext } from '../exchange.ts'
import { type Coding, pack } from '../transport/compression.ts'
import { sendCsv, sendCsvPage } from './csv-lists.ts'
import {
  bracketsOf,
  isLong,
  jsonMember,
  type Listing,
  type ListPlan,
  narrow,
  type PageEnd,
} from './listing.ts'
import { type CacheSlot, type ListBody, maxCachedBytes } from './response-cache.ts'
import { type EnvelopeParts, envelopeTail, type ListResponse, type RowsResponse } from './responses.ts'
import {
  type Batches,
  dataMember,
  gather,
  joinedBytes,
  jsonHeaders,
  jsonPieces,
  lengthOf,
  resumed,
  rowStreamBytes,
  rowsInTurn,
} from './row-bytes.ts'
import {
  claimRoom,
  common,
  inTurn,
  isUnchanged,
  sendEmpty,
  sendJson,
  sendListBytes,
  sendStreamed,
  wantsPretty,
  withRoom,
} from './sending.ts'
import { inSlices } from './slices.ts'

// A list of up to `maxCachedBytes` is collected, cached if possible, and sent with its length. A longer one is streamed.

// Not a secret; processors have instructions for SHA-1.
const createRevision = () => createHash('sha1')

const revisionOf = (bytes: Buffer, { nextStartKey = '' }: PageEnd) =>
  createRevision().update(bytes.subarray(dataMember.length)).update(nextStartKey).digest('hex')

const tailOf = <T>(exchange: RequestContext, listing: Listing<T>, end: PageEnd, revision: string) => {
  const parts = { ...common(exchange, 'success'), metadata: listing.metadata?.() }
  if (!revision) return envelopeTail(parts)
  const extra = {
    page_size: end.size,
    start_key: exchange.listPlan?.startKey,
    next_start_key: end.nextStartKey,
  }
  return envelopeTail({ ...parts, extra, revision })
}

const sendBody = <T>(
  exchange: RequestContext,
  listing: Listing<T>,
  body: ListBody,
  slot: CacheSlot | undefined,
) => {
  const { bytes, end, revision } = body
  const etag = revision && `W/"${revision}"`
  if (etag && isUnchanged(exchange, etag)) return sendEmpty(exchange, 304, { etag })
  const tail = tailOf(exchange, listing, end, revision)
  const headers = { ...(etag ? { etag } : {}), ...jsonHeaders() }
  if (wantsPretty(exchange) || exchange.claim)
    return sendJson(exchange, 200, Buffer.from(bytes).toString() + tail, headers)
  const packed = (coding: Coding) => (slot ? slot.packed(body, coding) : pack(coding, bytes))
  return sendListBytes(exchange, { bytes, packed }, Buffer.from(tail), headers)
}

const streamList = <T>(
  exchange: RequestContext,
  listing: Listing<T>,
  { paginate }: ListPlan,
  batches: AsyncGenerator<string[], PageEnd>,
) => {
  let end: PageEnd = { size: 0, nextStartKey: undefined }
  async function* all() {
    end = yield* batches
  }
  const digest = createRevision()
  const seen = (before: string, rows: readonly string[]) => void digest.update(joinedBytes(before, rows, ''))
  const tail = () => {
    const revision = paginate ? digest.update(end.nextStartKey ?? '').digest('hex') : ''
    return tailOf(exchange, listing, end, revision)
  }
  const around = paginate ? { tail, seen } : { tail }
  return sendStreamed(exchange, jsonHeaders(), jsonPieces(exchange, bracketsOf(listing), all(), around))
}

/** Checks a whole list against the operator's limit. The list is read twice. */
const assertWithin = async (batches: Batches, limit: number) => {
  let length = 0
  for await (const rows of batches) {
    length += lengthOf(rows)
    if (length > limit) throw failure(rangeNotSatisfiable, {})
  }
}

const isInOne = (exchange: RequestContext) =>
  exchange.value('is_chunked') === 'false' || wantsPretty(exchange)

const makeList = async <T>(
  exchange: RequestContext,
  listing: Listing<T>,
  plan: ListPlan,
  slot: CacheSlot | undefined,
) => {
  const rows = () => rowsInTurn(exchange, listing, plan, jsonMember(listing, plan))
  const limit = exchange.crossbar.request_memory_limit
  if (!plan.paginate && limit !== undefined && isInOne(exchange)) await assertWithin(rows(), limit)
  const batches = rows()
  // A page has its revision in a header, so it is collected even if it is not cached.
  if (!plan.paginate && !slot) return streamList(exchange, listing, plan, batches)
  const gathered = await gather(batches, maxCachedBytes)
  if ('end' in gathered) {
    const { begun, end } = gathered
    const [open, close] = bracketsOf(listing)
    const bytes = joinedBytes(dataMember + open, begun.flat(), close)
    const body = { bytes, end, revision: plan.paginate ? revisionOf(bytes, end) : '' }
    await slot?.store(body)
    return sendBody(exchange, listing, body, slot)
  }
  const endRoom = isLong(plan) ? undefined : claimRoom(exchange, 2 * gathered.bytes)
  try {
    return await streamList(exchange, listing, plan, resumed(gathered.begun, batches))
  } finally {
    endRoom?.()
  }
}

const sendJsonList = <T>(exchange: RequestContext, listing: Listing<T>, plan: ListPlan) => {
  const { frame, route, variables } = exchange
  const { paginate } = plan
  // Pretty-printed lists, and lists that may be refused for their size, are not cached.
  const isFresh = paginate ? wantsPretty(exchange) : isInOne(exchange)
  const slot = isFresh || !route ? undefined : frame.responseCache.slotOf({ route, variables, listing, plan })
  const found = slot?.found
  const send = async () => {
    if (found) return sendBody(exchange, listing, found, slot)
    return makeList(exchange, listing, plan, slot)
  }
  if (!isLong(plan)) return send()
  return withRoom(exchange, found?.bytes.length ?? rowStreamBytes, send)
}

export const sendList = <T>(exchange: RequestContext, answer: ListResponse<T>) => {
  if (!exchange.listPlan) throw new Error(`the list parameters of ${exchange.path} were not read`)
  const [listing, plan] = narrow(answer.listing, exchange.listPlan)
  if (exchange.accepts !== 'text/csv') return sendJsonList(exchange, listing, plan)
  return (plan.paginate ? sendCsvPage : sendCsv)(exchange, listing, plan)
}

async function* rowsOf(exchange: RequestContext, batches: AsyncIterable<readonly unknown[]>) {
  const iterator = batches[Symbol.asyncIterator]()
  for (;;) {
    const { done, value } = await inTurn(exchange, 'long', () => iterator.next())
    if (done) return
    yield await inSlices(value as readonly unknown[], (row) => JSON.stringify(row))
  }
}

export const sendRows = (
  exchange: RequestContext,
  { batches }: RowsResponse,
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
