import { openSharedRows, type SharedMemory, type SharedRows } from '../../lib/shared-rows.ts'

/** How many there are under keys: of this thread, or of all that share them. */
export interface Counts {
  of(key: string): number
  add(key: string, by: 1 | -1): void
}

const countsInMemory = (): Counts => {
  const counts = new Map<string, number>()
  return {
    of: (key) => counts.get(key) ?? 0,
    add(key, by) {
      const count = (counts.get(key) ?? 0) + by
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}

/** How many numbers a count has in shared rows. */
export const countColumns = 1

/** The rows of counts: those of nobody may make room. */
export const openCountRows = (memory: SharedMemory) =>
  openSharedRows(memory, countColumns, (read) => read(0) === 0)

/** Where there is no row left for a key, it is not counted. */
const countsInRows = (rows: SharedRows): Counts => ({
  of: (key) => rows.at(key, (row) => row.read(0)) ?? 0,
  add: (key, by) => rows.at(key, (row) => row.write(0, Math.max(0, row.read(0) + by))),
})

export const createCounts = (rows: SharedRows | undefined): Counts =>
  rows ? countsInRows(rows) : countsInMemory()

interface Most {
  ofAll: number
  ofOne: number
}

type Leave = () => void

/**
 * Places of which there are so many in all, and so many for one of whatever is counted. `kind` tells them from other
 * places that are counted in the same rows.
 */
export const createSharedCounts = (kind: string, counts: Counts) => {
  const everybody = `${kind} all`

  const add = (keys: readonly string[], by: 1 | -1) => {
    for (const key of keys) counts.add(key, by)
  }

  return {
    /** A place, to be left again; or of what there are too many. Whoever is `undefined` counts among all alone. */
    take(one: string | undefined, most: Most): Leave | keyof Most {
      const keys = one === undefined ? [everybody] : [everybody, `${kind} of ${one}`]
      // Before the look, so that no two of two threads take the last place.
      add(keys, 1)
      const excess =
        counts.of(everybody) > most.ofAll
          ? 'ofAll'
          : keys[1] !== undefined && counts.of(keys[1]) > most.ofOne
            ? 'ofOne'
            : undefined
      if (excess) {
        add(keys, -1)
        return excess
      }
      let isTaken = true
      return () => {
        if (isTaken) add(keys, -1)
        isTaken = false
      }
    },
  }
}
