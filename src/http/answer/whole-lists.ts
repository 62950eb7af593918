import { failure } from '../../lib/failure.ts'
import type { Exchange } from '../exchange.ts'
import { placeOf, roomFor, sendRowBytes } from './at-hand.ts'
import { envelopeTail } from './envelope.ts'
import { type CollectedPage, largestKept, type PagePlace } from './kept-pages.ts'
import { bracketsOf, jsonMember, type Listing, type ListPlan, type RowText, walk } from './listing.ts'
import { bytesOf, longTurns } from './paces.ts'
import {
  type Batches,
  dataMember,
  gather,
  joinedBytes,
  jsonHeaders,
  jsonPieces,
  resumed,
} from './row-bytes.ts'
import { common, sendStreamed, wantsPretty, withRoom } from './sending.ts'

// Whole lists as JSON (`paginate=false`): streamed, or from what is at hand.

/** The whole list would be larger than the operator allows. Made twice, so that it is never kept. */
const assertWithin = async (batches: Batches, limit: number) => {
  let bytes = 0
  for await (const rows of batches) {
    bytes += bytesOf(rows)
    if (bytes > limit) throw failure('range_not_satisfiable', {})
  }
}

const isInOne = (exchange: Exchange) => exchange.value('is_chunked') === 'false' || wantsPretty(exchange)

const wholeTail = <T>(exchange: Exchange, listing: Listing<T>) =>
  envelopeTail({ ...common(exchange, 'success'), metadata: listing.metadata?.() })

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

export const sendWhole = <T>(exchange: Exchange, listing: Listing<T>, plan: ListPlan) => {
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
