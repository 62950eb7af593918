import { LRUCache } from 'lru-cache'
import { evictOldest } from '../lib/forget-oldest.ts'
import type { Database, StaleListener } from './db.ts'

// A cached value has a key with the generation of the records that it is made of. Read the generation before the records.

const placeOf = (key: string) => key.slice(0, key.indexOf('/', key.indexOf('/') + 1))

// Values of an evicted generation are not found again.
const maxPlaces = 50_000

/** Changes with each commit of this process or another that touches these records. */
export type GenerationOf = (accountId: string, kind: string) => number

export const createGenerations = (db: Pick<Database, 'onStale'>): GenerationOf => {
  const numbers = new Map<string, number>()
  let latest = 0

  db.onStale((keys) => {
    if (keys === 'everything' || keys.includes('*')) return numbers.clear()
    if (numbers.size > 0) for (const key of keys) numbers.delete(placeOf(key))
  })

  return (accountId, kind) => {
    const place = `${accountId}/${kind}`
    const known = numbers.get(place)
    if (known !== undefined) return known
    if (numbers.size >= maxPlaces) numbers.clear()
    latest += 1
    numbers.set(place, latest)
    return latest
  }
}

const cacheBytes = 20_000_000

/** All records of a kind in an account, cached until one of them changes. */
export const createRecordLists = <Stored extends { docText: string; rowText: string }>(
  db: Pick<Database, 'onStale'>,
) => {
  const cache = createRecordCache<readonly Stored[]>(cacheBytes)
  let isUsed = false

  db.onStale((keys) => {
    if (isUsed) cache.forget(keys === 'everything' ? keys : keys.map(placeOf))
  })

  return (accountId: string, kind: string, read: () => Promise<readonly Stored[]>) => {
    isUsed = true
    return cache.get(`${accountId}/${kind}`, async () => {
      const value = await read()
      const bytes = value.reduce(
        (sum, { docText, rowText }) => sum + 2 * (docText.length + rowText.length),
        0,
      )
      return { value, bytes }
    })
  }
}

const maxKinds = 20_000

interface Count {
  counted: number
  /** Counting ended here: there may be more. */
  atMost: number
  changedSince: number
}

type CountUpTo = (atMost: number) => Promise<number>

/**
 * Checks limits without counting each time: every change counts as a new record until the limit is reached; then records are
 * counted again. Parallel requests may exceed the limit by one each.
 */
export const createRecordCounts = (db: Pick<Database, 'onStale'>) => {
  const counts = new Map<string, Count>()

  db.onStale((keys) => {
    if (keys === 'everything') return counts.clear()
    if (counts.size === 0) return
    for (const key of keys) {
      const count = counts.get(placeOf(key))
      if (count) count.changedSince += 1
    }
  })

  const countAnew = async (place: string, atMost: number, countUpTo: CountUpTo) => {
    const count: Count = { counted: 0, atMost, changedSince: 0 }
    counts.delete(place)
    counts.set(place, count)
    evictOldest(counts, maxKinds)
    try {
      count.counted = await countUpTo(atMost)
    } catch (error) {
      counts.delete(place)
      throw error
    }
    return count
  }

  const isOver = ({ counted, changedSince }: Count, adding: number, limit: number) =>
    counted + changedSince + adding > limit

  return {
    /** Whether the account may have this number of further records. */
    async allows(
      { accountId, kind }: { accountId: string; kind: string },
      adding: number,
      limit: number,
      countUpTo: CountUpTo,
    ): Promise<boolean> {
      const place = `${accountId}/${kind}`
      const known = counts.get(place)
      const isComplete = known !== undefined && (known.counted < known.atMost || known.atMost >= limit)
      if (known && isComplete && !isOver(known, adding, limit)) return true
      if (known && isComplete && known.changedSince === 0) return false
      return !isOver(await countAnew(place, limit, countUpTo), adding, limit)
    },
  }
}

interface Sized<T> {
  value: T
  bytes: number
}

// Key, map slot and object headers.
const entryOverheadBytes = 400

/** Least recently used values are evicted. A value larger than the bound is not stored. */
export const createSizedCache = <T>(maxBytes: number) =>
  new LRUCache<string, Sized<T>>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => bytes + entryOverheadBytes,
  })

interface Loading<T> {
  promise: Promise<T>
  stale: boolean
}

/** A bounded cache. `undefined` is cached as well. */
export const createRecordCache = <T>(maxBytes: number) => {
  const kept = createSizedCache<T>(maxBytes)
  const loading = new Map<string, Loading<T>>()
  let hits = 0
  let misses = 0

  const load = (key: string, loader: () => Promise<Sized<T>>) => {
    const state: Loading<T> = { stale: false, promise: Promise.resolve(undefined as never) }
    state.promise = loader().then(
      (entry) => {
        if (!state.stale) {
          loading.delete(key)
          kept.set(key, entry)
        }
        return entry.value
      },
      (error) => {
        if (!state.stale) loading.delete(key)
        throw error
      },
    )
    loading.set(key, state)
    return state.promise
  }

  const expire = (key: string) => {
    kept.delete(key)
    const state = loading.get(key)
    if (state) state.stale = true
    loading.delete(key)
  }

  return {
    /** The cached value, or what `loader` returns. If it becomes stale during the load, it is returned but not cached. */
    get(key: string, loader: () => Promise<Sized<T>>): Promise<T> {
      const entry = kept.get(key)
      if (entry) {
        hits += 1
        return Promise.resolve(entry.value)
      }
      misses += 1
      return loading.get(key)?.promise ?? load(key, loader)
    },
    forget(keys: Parameters<StaleListener>[0]) {
      if (keys !== 'everything') return keys.forEach(expire)
      for (const state of loading.values()) state.stale = true
      loading.clear()
      kept.clear()
    },
    lookups: () => ({ hits, misses }),
  }
}
