import type { Metrics } from '../../lib/metrics.ts'
import { createSizedCache, type GenerationOf } from '../../storage/cache.ts'
import type { Route } from '../route.ts'
import { type Coding, type Packed, pack } from '../transport/compression.ts'
import { type Listing, type ListPlan, type MovingWindow, type PageEnd, showsRows } from './listing.ts'

// Pages and short whole lists, cached as JSON until one of their records changes (docs/decisions/0034).

/** The JSON of a list from the start of the envelope to the end of `data`. */
export interface ListBody {
  bytes: Uint8Array
  end: PageEnd
  /** Empty for a whole list, which has no ETag. */
  revision: string
}

interface CachedBody extends ListBody {
  packed: Partial<Record<Coding, Packed>>
  /** Start of the list's window when the body was made; 0 for a fixed window. */
  from: number
}

export interface CacheSlot {
  found: ListBody | undefined
  /** Stores a body that was read after the slot was looked up. */
  store(body: ListBody): Promise<void>
  /** The compressed body, cached. */
  packed(body: ListBody, coding: Coding): Promise<Packed>
}

const cacheBytes = 24_000_000
// A name contains the client's start key, which may be as long as a body.
const namesBytes = 4_000_000
/** A larger body is streamed and not cached. 500 call records of 2.8 kB are smaller. */
export const maxCachedBytes = 2_000_000

interface ListRequest<T> {
  route: Route
  variables: Readonly<Record<string, string>>
  listing: Listing<T>
  plan: ListPlan
}

/** Filtered lists are not cached: they end early when filtering takes too long. */
const isPlain = (plan: ListPlan) => plan.filter === undefined && plan.needsWhole !== true && showsRows(plan)

/** Whether a moved window still starts before every record of a body. */
const isCurrent = (
  { from, end: { earliest = from } }: CachedBody,
  { from: now }: Pick<MovingWindow<never>, 'from'>,
) => from <= now && now <= earliest

const sizeOf = ({ bytes, packed }: CachedBody) =>
  Object.values(packed).reduce((sum, { bytes: more }) => sum + more.length, bytes.length)

const trimmed = (packed: Packed): Packed => {
  const bytes = Buffer.allocUnsafeSlow(packed.bytes.length)
  bytes.set(packed.bytes)
  return { ...packed, bytes }
}

export type ResponseCache = ReturnType<typeof createResponseCache>

export const createResponseCache = (generationOf: GenerationOf, metrics: Metrics, maxBytes = cacheBytes) => {
  const bodies = createSizedCache<CachedBody>(maxBytes)
  const requested = createSizedCache<true>(namesBytes)
  const lookups = { hit: 0, miss: 0 }
  metrics.counted(
    {
      name: 'crosspoint_page_cache_lookups_total',
      help: 'Requests for lists that can be cached, by cache result.',
      labels: ['result'],
    },
    () => Object.entries(lookups).map(([result, value]) => ({ labels: [result], value })),
  )
  metrics.gauge(
    { name: 'crosspoint_page_cache_bytes', help: 'Bytes of cached lists.', isOfThread: true },
    () => bodies.calculatedSize,
  )

  return {
    /**
     * The slot of a list; undefined if it cannot be cached or is requested for the first time (a walk through a list would fill the cache).
     */
    slotOf<T>({ route, variables, listing, plan }: ListRequest<T>): CacheSlot | undefined {
      const { sources, metadata, moving } = listing
      if (!sources || metadata || !isPlain(plan)) return undefined
      const { pageSize, startKey, descending } = plan
      // The earliest record of a whole list is not known.
      if (moving && !plan.paginate) return undefined
      const name = [route.path, variables, sources.records, sources.view, pageSize, startKey, descending]
      // Read before the records: a body that was read during a change gets a key that is not looked up again.
      const generations = sources.records.map(([accountId, kind]) => generationOf(accountId, kind))
      const text = JSON.stringify(name)
      const key = `${generations.join()} ${text}`
      const cached = bodies.get(key)?.value
      const found = cached && (!moving || isCurrent(cached, moving)) ? cached : undefined
      lookups[found ? 'hit' : 'miss'] += 1
      const isRepeated = requested.has(text)
      requested.set(text, { value: true, bytes: 2 * text.length })
      if (!isRepeated) return undefined
      const set = (value: CachedBody) => bodies.set(key, { value, bytes: sizeOf(value) + 2 * key.length })
      const cachedOf = ({ bytes }: ListBody) => {
        const value = bodies.get(key)?.value
        return value?.bytes === bytes ? value : undefined
      }
      return {
        found,
        async store(body) {
          if (body.bytes.length > maxCachedBytes) return
          if (moving && !(await moving.isAtEnd())) return
          set({ ...body, from: moving?.from ?? 0, packed: {} })
        },
        async packed(body, coding) {
          const known = cachedOf(body)?.packed[coding]
          if (known) return known
          const packed = trimmed(await pack(coding, body.bytes))
          const cached = cachedOf(body)
          if (cached) set({ ...cached, packed: { ...cached.packed, [coding]: packed } })
          return packed
        },
      }
    },
  }
}
