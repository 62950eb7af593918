import { gregorianNow } from '../../lib/gregorian.ts'
import { badRange, type TimeWindow, timeBoundsIn } from '../../lib/time-bounds.ts'
import { timeKey } from '../../lib/time-key.ts'
import { crossbarSettings } from '../../settings/documents.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Collection } from '../../storage/collection.ts'
import type { ListRow } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { collectionListing, type Listing, type PageRequest } from './listing.ts'

const tooWide = (seconds: number, isEndSent: boolean) =>
  isEndSent
    ? `created_from and created_to are more than ${seconds} seconds apart`
    : `created_from is more than ${seconds} seconds ago: also send created_to, at most ${seconds} seconds later`

/** The window of a list. Without `created_from` it is `usualSeconds` wide, or as wide as allowed. */
export const timeWindow = (
  query: URLSearchParams,
  now: number,
  maximumSeconds: number,
  usualSeconds = maximumSeconds,
): TimeWindow => {
  const sent = timeBoundsIn(query)
  const { to = now } = sent
  const { from = Math.max(0, to - usualSeconds) } = sent
  if (from > to) throw badRange('created_from', `created_from ${from} is later than now, ${to}`, from)
  if (to - from > maximumSeconds)
    throw badRange('created_from', tooWide(maximumSeconds, sent.to !== undefined), to)
  return { from, to }
}

/** The same without a maximum, for lists whose pages cost the same for any window. */
export const openTimeWindow = (query: URLSearchParams, now: number, usualSeconds: number): TimeWindow =>
  timeWindow(query, now, Number.POSITIVE_INFINITY, usualSeconds)

export const openWindowQuery = {
  created_from: 'Gregorian seconds, any time ago; default: the usual range before created_to',
  created_to: 'Gregorian seconds; now unless given',
}

/** The same with the usual range of the settings. */
export const usualTimeWindow = async (
  { settings, store }: { settings: Settings; store: Pick<Store, 'clock'> },
  query: URLSearchParams,
): Promise<TimeWindow> => {
  const { maximum_range: range } = await settings.of(crossbarSettings)
  return openTimeWindow(query, gregorianNow(store.clock), range)
}

/** Which bounds move with the clock because they were not sent. */
export const movingBounds = (query: URLSearchParams) => {
  const { from, to } = timeBoundsIn(query)
  return { end: to === undefined, start: to === undefined && from === undefined }
}

/** The part of a collection within a window. Its sort keys are `timeKey`s. */
export const timeListing = <Doc extends object, Hidden extends object>(
  collection: Pick<Collection<Doc, Hidden>, 'page' | 'rows' | 'fitting'>,
  { accountId, ownerId }: { accountId: string; ownerId?: string },
  { from, to }: TimeWindow,
): Listing<ListRow> => {
  const all = collectionListing(collection, accountId, ownerId)
  const within = (request: PageRequest): PageRequest => {
    // '' sorts before every id: the first page starts at the edge of the window.
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

/** A start key of the client must not lead out of the window. */
const later = ({ after, descending }: { after?: RowKey; descending: boolean }, edge: RowKey): RowKey => {
  if (!after) return edge
  return isBefore(after, edge) === descending ? after : edge
}
