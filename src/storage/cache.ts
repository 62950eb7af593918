import type { StaleListener } from './db.ts'

export interface RecordCache<T> {
  /** The cached value, else what `load` finds. A value made stale while it was being loaded is handed out but not kept. */
  get(key: string, load: () => Promise<Sized<T>>): Promise<T>
  forget: StaleListener
}

export interface Sized<T> {
  value: T
  bytes: number
}

interface Loading<T> {
  promise: Promise<T>
  stale: boolean
}

// What an entry costs beside its texts: key, map slot and object headers.
const entryOverheadBytes = 400

/** Least-recently-used values, bounded by their estimated bytes. Absence (`undefined`) is remembered as well. */
export const createRecordCache = <T>(maxBytes: number): RecordCache<T> => {
  const entries = new Map<string, Sized<T>>()
  const loading = new Map<string, Loading<T>>()
  let bytes = 0

  const drop = (key: string) => {
    const entry = entries.get(key)
    if (!entry) return
    entries.delete(key)
    bytes -= entry.bytes + entryOverheadBytes
  }

  const keep = (key: string, entry: Sized<T>) => {
    drop(key)
    entries.set(key, entry)
    bytes += entry.bytes + entryOverheadBytes
    for (const oldest of entries.keys()) {
      if (bytes <= maxBytes) break
      drop(oldest)
    }
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
      const entry = entries.get(key)
      if (entry) {
        entries.delete(key)
        entries.set(key, entry)
        return Promise.resolve(entry.value)
      }
      return loading.get(key)?.promise ?? load(key, loader)
    },
    forget(keys) {
      if (keys !== 'everything') return keys.forEach(expire)
      for (const state of loading.values()) state.stale = true
      loading.clear()
      entries.clear()
      bytes = 0
    },
  }
}
