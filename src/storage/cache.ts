import { LRUCache } from 'lru-cache'
import type { StaleListener } from './db.ts'

/** A value and its estimated size. */
export interface Sized<T> {
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
