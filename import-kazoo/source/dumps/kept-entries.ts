// Small databases that were read last, as they stand in their dump: whoever imports one asks for it several times.
import type { Item } from '../items.ts'

/** A document of a dump and where it stands. */
export interface Entry {
  part: number
  item: Item
  /** Rises from entry to entry. */
  place: number
}

/** All documents of a database, in their order, and of each the one that counts. */
export interface Entries {
  all: readonly Entry[]
  latest: ReadonlyMap<string, Entry>
}

// As many as are imported at the same time, twice.
const mostKept = 8

export const createKeptEntries = () => {
  const kept = new Map<string, Promise<Entries>>()
  return async (database: string, read: () => Promise<Entries>): Promise<Entries> => {
    const known = kept.get(database)
    if (known) return known
    const reading = read()
    kept.set(database, reading)
    reading.catch(() => kept.delete(database))
    for (const oldest of kept.keys()) {
      if (kept.size <= mostKept) break
      kept.delete(oldest)
    }
    return reading
  }
}

export type KeptEntries = ReturnType<typeof createKeptEntries>
