import { LRUCache } from 'lru-cache'
import { evictOldest } from '../lib/forget-oldest.ts'
import type { Database, StaleListener } from './db.ts'

// What is made of an account's records of one kind, and kept, goes by a number that is another one after each commit that
// names one of them stale. Whoever keeps something takes the number before reading, and keeps it under that.

/** `account/kind` of a record's cache key. */
const placeOf = (key: string) => key.slice(0, key.indexOf('/', key.indexOf('/') + 1))

// A number and its key. Whatever was kept under a number that is forgotten is not found again.
const maxPlaces = 50_000

/** The number of the moment for an account's records of a kind. It moves with commits of this process and of others. */
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

/**
 * Everything that an account has of one kind, kept at hand until a record of that kind changes there, in this process or
 * another.
 */
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

/** How many there were when they were counted, and how many records have changed since: so many may have come. */
interface Count {
  counted: number
  /** Counting ended here: there may be more. */
  atMost: number
  changedSince: number
}

/** Up to how many to count, and how many there are of them. */
type CountUpTo = (atMost: number) => Promise<number>

/**
 * Says whether an account may have more records of a kind without counting them each time: every change of one, in this
 * process or another, is taken for a birth until that would be too many. Only then they are counted again. So nobody
 * has one too few; requests of the same moment may have one too many each.
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
    /** Whether an account stays within `limit` with so many records more. */
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

/** A value and its estimated size. */
interface Sized<T> {
  value: T
  bytes: number
}

// What an entry takes besides its value: key, map slot and object headers.
const entryOverheadBytes = 400

/** The most recently used values, bounded by their estimated bytes. A value larger than the bound is not kept. */
export const createSizedCache = <T>(maxBytes: number) =>
  new LRUCache<string, Sized<T>>({
    maxSize: maxBytes,
    sizeCalculation: ({ bytes }) => bytes + entryOverheadBytes,
  })

interface RecordCache<T> {
  /** The cached value, else what `load` finds. A value made stale while it was being loaded is handed out but not kept. */
  get(key: string, load: () => Promise<Sized<T>>): Promise<T>
  forget: StaleListener
  /** How often something was asked for, and found at once. */
  lookups(): { hits: number; misses: number }
}

interface Loading<T> {
  promise: Promise<T>
  stale: boolean
}

/** Recently used values, bounded by their estimated bytes. Absence (`undefined`) is remembered as well. */
export const createRecordCache = <T>(maxBytes: number): RecordCache<T> => {
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
    get(key, loader) {
      const entry = kept.get(key)
      if (entry) {
        hits += 1
        return Promise.resolve(entry.value)
      }
      misses += 1
      return loading.get(key)?.promise ?? load(key, loader)
    },
    forget(keys) {
      if (keys !== 'everything') return keys.forEach(expire)
      for (const state of loading.values()) state.stale = true
      loading.clear()
      kept.clear()
    },
    lookups: () => ({ hits, misses }),
  }
}
