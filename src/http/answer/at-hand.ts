import type { Exchange } from '../exchange.ts'
import type { Coding } from '../wire/compression.ts'
import { type CollectedPage, largestKept, type PagePlace } from './kept-pages.ts'
import type { Listing, ListPlan } from './listing.ts'
import { rowStreamBytes } from './paces.ts'
import { jsonHeaders } from './row-bytes.ts'
import { type Headers, sendKeptRows, sendPieces } from './sending.ts'

// Lists that may be at hand: where they are kept, what room they take while they are made, and how they are sent.

export const placeOf = <T>({ frame, route, variables }: Exchange, listing: Listing<T>, plan: ListPlan) =>
  route && frame.keptPages.placeOf({ route, variables, listing, plan })

/** The room of a list in the making. What may be kept is there twice for a moment: as rows, and put together. */
export const roomFor = (place: PagePlace | undefined) =>
  place?.isRepeated ? 2 * largestKept : rowStreamBytes

/** Rows, and what stands behind them: those of a page that may be kept are compressed once. */
export const sendRowBytes = (
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
