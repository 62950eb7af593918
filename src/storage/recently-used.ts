/** A value, and what it takes of the room. */
export interface Sized<T> {
  value: T
  bytes: number
}

// What an entry costs beside its texts: key, map slot and object headers.
export const entryOverheadBytes = 400

/** Recently used values, bounded by their estimated bytes: of these, between half and all is used. */
export const createRecentlyUsed = <T>(maxBytes: number) => {
  // Two generations instead of an order of use: a hit among the recent ones, which is the usual case, writes nothing.
  let recent = new Map<string, Sized<T>>()
  let recentBytes = 0
  let older = new Map<string, Sized<T>>()
  let olderBytes = 0

  const drop = (key: string) => {
    const past = older.get(key)
    if (past) olderBytes -= past.bytes + entryOverheadBytes
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
      olderBytes = recentBytes
      recent = new Map()
      recentBytes = 0
    }
    if (bytes > maxBytes / 2) return
    recent.set(key, entry)
    recentBytes += bytes
  }

  return {
    find(key: string): Sized<T> | undefined {
      const entry = recent.get(key)
      if (entry) return entry
      const past = older.get(key)
      if (past) keep(key, past)
      return past
    },
    keep,
    drop,
    clear() {
      recent.clear()
      older.clear()
      recentBytes = 0
      olderBytes = 0
    },
    bytes: () => recentBytes + olderBytes,
  }
}
