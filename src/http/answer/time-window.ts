import { invalid } from '../../lib/failure.ts'
import { timeKey } from '../../lib/time-key.ts'
import type { Collection } from '../../storage/collection.ts'
import type { ListRow } from '../../storage/records.ts'
import { collectionListing, type Listing, type PageRequest } from './listing.ts'

/** Gregorian seconds, both inclusive. */
export interface TimeWindow {
  from: number
  to: number
}

const wholeNumber = /^\d{1,15}$/

const boundOf = (query: URLSearchParams, name: string): number | undefined => {
  const given = query.get(name)
  if (given === null || given === '') return undefined
  if (wholeNumber.test(given)) return Number(given)
  throw invalid({
    [name]: { type: { message: 'Value is not of the right type', target: 'integer', value: given } },
  })
}

const readableBoundOf = (query: URLSearchParams, name: string): number | undefined => {
  const given = query.get(name) ?? ''
  return wholeNumber.test(given) && Number(given) > 0 ? Number(given) : undefined
}

const badRange = (message: string, cause: number) =>
  invalid({ created_from: { date_range: { message, cause } } })

const tooWide = (seconds: number, isEndSent: boolean) =>
  isEndSent
    ? `created_from and created_to are more than ${seconds} seconds apart`
    : `created_from is more than ${seconds} seconds ago: send a created_to, too, at most so much later`

/** The bounds that a list is asked for which needs none. */
export const timeWindowAsked = (query: URLSearchParams): Partial<TimeWindow> => {
  const [from, to] = [boundOf(query, 'created_from'), boundOf(query, 'created_to')]
  if (from !== undefined && to !== undefined && from > to)
    throw badRange(`created_from ${from} is later than created_to ${to}`, from)
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) }
}

type BoundReader = typeof boundOf

/** Without `created_from` the window is `usualSeconds` wide, or as wide as it may be. */
type WindowReader = (
  query: URLSearchParams,
  now: number,
  maximumSeconds: number,
  usualSeconds?: number,
) => TimeWindow

const windowBy: (read: BoundReader) => WindowReader =
  (read) => (query, now, maximumSeconds, usualSeconds) => {
    const to = read(query, 'created_to') ?? now
    const from = read(query, 'created_from') ?? Math.max(0, to - (usualSeconds ?? maximumSeconds))
    const isEndSent = read(query, 'created_to') !== undefined
    if (from > to) {
      throw badRange(`created_from ${from} is later than ${isEndSent ? 'created_to' : 'now,'} ${to}`, from)
    }
    if (to - from > maximumSeconds) throw badRange(tooWide(maximumSeconds, isEndSent), to)
    return { from, to }
  }

/** The window that a time list is asked for: the newest `maximumSeconds` unless told. */
export const timeWindow: WindowReader = windowBy(boundOf)

/** The same without a longest one: for lists whose pages cost the same however long the window is. */
export const openTimeWindow = (query: URLSearchParams, now: number, usualSeconds: number): TimeWindow =>
  timeWindow(query, now, Number.POSITIVE_INFINITY, usualSeconds)

/** The same, where a bound that is no positive whole number counts as absent. */
export const lenientTimeWindow: WindowReader = windowBy(readableBoundOf)

/** Which bounds of such a window move with the clock, because none was sent that counts. */
export const movingBounds = (query: URLSearchParams) => {
  const end = readableBoundOf(query, 'created_to') === undefined
  return { end, start: end && readableBoundOf(query, 'created_from') === undefined }
}

/** The part of a collection within a window. The collection's sort keys are `timeKey`s. */
export const timeListing = <Doc extends object, Hidden extends object>(
  collection: Pick<Collection<Doc, Hidden>, 'page' | 'rows' | 'fitting'>,
  { accountId, ownerId }: { accountId: string; ownerId?: string },
  { from, to }: TimeWindow,
): Listing<ListRow> => {
  const all = collectionListing(collection, accountId, ownerId)
  const within = (request: PageRequest): PageRequest => {
    // '' sorts before every id: the first page begins just beyond the window's edge.
    const edge = [timeKey(request.descending ? to + 1 : from), ''] as const
    return { ...request, after: later(request, edge) }
  }
  const { fitting } = all
  return {
    ...all,
    ...(fitting ? { fitting: (request, bytes) => fitting(within(request), bytes) } : {}),
    async page(request) {
      const items = await all.page(within(request))
      return items.filter(({ sortKey }) => sortKey >= timeKey(from) && sortKey <= timeKey(to))
    },
  }
}

type RowKey = readonly [string, string]

const isBefore = ([key, id]: RowKey, [otherKey, otherId]: RowKey) =>
  key < otherKey || (key === otherKey && id < otherId)

/** A start key of a client's own making must not lead out of the window. */
const later = ({ after, descending }: { after?: RowKey; descending: boolean }, edge: RowKey): RowKey => {
  if (!after) return edge
  return isBefore(after, edge) === descending ? after : edge
}
