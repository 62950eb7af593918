import type { StaleListener } from './db.ts'

interface RecordCache<T> {
  /** The cached value, else what `load` finds. A value made stale while it was being loaded is handed out but not kept. */
  get(key: string, load: () => Promise<Sized<T>>): Promise<T>
  forget: StaleListener
  /** How often something was asked for, and found at once. */
  lookups(): { hits: number; misses: number }
}

interface Sized<T> {
  value: T
  bytes: number
}

interface Loading<T> {
  promise: Promise<T>
  stale: boolean
}

// What an entry costs beside its texts: key, map slot and object headers.
const entryOverheadBytes = 400

/** Recently used values, bounded by their estimated bytes. Absence (`undefined`) is remembered as well. */
export const createRecordCache = <T>(maxBytes: number): RecordCache<T> => {
  // Two generations instead of an order of use: a hit among the recent ones, which is the usual case, writes nothing.
  let recent = new Map<string, Sized<T>>()
  let recentBytes = 0
  let older = new Map<string, Sized<T>>()
  const loading = new Map<string, Loading<T>>()
  let hits = 0
  let misses = 0

  const drop = (key: string) => {
    older.delete(key)
    const entry = recent.get(key)
    if (entry) recentBytes -= entry.bytes + entryOverheadBytes
    recent.delete(key)
  }

  const keep = (key: string, entry: Sized<T>) => {
    drop(key)
    const bytes = entry.bytes + entryOverheadBytes
    if (recentBytes + bytes > maxBytes / 2) {
      older = recent
      recent = new Map()
      recentBytes = 0
    }
    if (bytes > maxBytes / 2) return
    recent.set(key, entry)
    recentBytes += bytes
  }

  const find = (key: string) => {
    const entry = recent.get(key)
    if (entry) return entry
    const past = older.get(key)
    if (past) keep(key, past)
    return past
  }

  const load = (key: string, loader: () => Promise<Sized<T>>) => {
    const state: Loading<T> = { stale: false, promise: Promise.resolve(undefined as never) }
    state.promise = loader().then(
      (entry) => {
        if (!state.stale) {
          loading.delete(key)
          keep(key, entry)
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
    drop(key)
    const state = loading.get(key)
    if (state) state.stale = true
    loading.delete(key)
  }

  return {
    get(key, loader) {
      const entry = find(key)
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
      recent.clear()
      older.clear()
      recentBytes = 0
    },
    lookups: () => ({ hits, misses }),
  }
}
