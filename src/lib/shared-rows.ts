import { randomHex } from './ids.ts'

// Rows of numbers by key, in memory of fixed size that the threads of a process share. A new row replaces the one that was unused longest.

/** For all threads. */
export interface SharedMemory {
  bytes: SharedArrayBuffer
  /** Random, so that clients cannot choose keys of one set. */
  seeds: readonly [number, number]
}

/** Only valid inside `at`. A new row has zeros. */
interface SharedRow {
  isNew: boolean
  read(column: number): number
  write(column: number, value: number): void
}

export type SharedRows = ReturnType<typeof openSharedRows>

/** Whether a row may be replaced. */
type MayGive = (read: (column: number) => number) => boolean

// The hash of a key decides its set. Each set has a lock.
const rowsOfSet = 16
// Two halves of the key, and the time of the last use.
const head = 3

const widthOf = (columns: number) => head + columns

/** Rows, a clock that counts uses, and a lock. */
const bytesOfSet = (columns: number) =>
  (rowsOfSet * widthOf(columns) + 1) * Float64Array.BYTES_PER_ELEMENT + Int32Array.BYTES_PER_ELEMENT

export const createSharedMemory = (rows: number, columns: number): SharedMemory => ({
  bytes: new SharedArrayBuffer(Math.ceil(rows / rowsOfSet) * bytesOfSet(columns)),
  seeds: [Number.parseInt(randomHex(4), 16), Number.parseInt(randomHex(4), 16)],
})

/** The mixing of murmur3. */
const hashOf = (key: string, seed: number) => {
  let hash = seed
  for (let at = 0; at < key.length; at += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(at), 0xcc9e2d51)
    hash = Math.imul((hash << 13) | (hash >>> 19), 0x1b873593)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

// A lock is held for a microsecond, unless the system suspends its thread.
const looksBeforeRest = 1000
const restMilliseconds = 1
const maxLooks = 3000 * looksBeforeRest

export const openSharedRows = (
  { bytes, seeds }: SharedMemory,
  columns: number,
  mayGive: MayGive = () => true,
) => {
  const width = widthOf(columns)
  const sets = Math.floor(bytes.byteLength / bytesOfSet(columns))
  const numbers = new Float64Array(bytes, 0, sets * rowsOfSet * width)
  const clocks = new Float64Array(bytes, numbers.byteLength, sets)
  const locks = new Int32Array(bytes, numbers.byteLength + clocks.byteLength, sets)

  const lock = (set: number) => {
    for (let looks = 1; Atomics.compareExchange(locks, set, 0, 1) !== 0; looks += 1) {
      if (looks % looksBeforeRest === 0) Atomics.wait(locks, set, 1, restMilliseconds)
      if (looks > maxLooks) throw new Error('the thread with the lock of shared rows has ended')
    }
  }

  const unlock = (set: number) => {
    Atomics.store(locks, set, 0)
    Atomics.notify(locks, set, 1)
  }

  const advanced = (set: number) => {
    const now = (clocks[set] as number) + 1
    clocks[set] = now
    return now
  }

  const numberAt = (at: number) => numbers[at] as number

  /** The row of the key, or the one to replace; -1 if there is none. */
  const placeIn = (set: number, first: number, second: number) => {
    const begin = set * rowsOfSet * width
    let oldest = -1
    for (let at = begin; at < begin + rowsOfSet * width; at += width) {
      const isUsed = numberAt(at + 2) > 0
      if (isUsed && numberAt(at) === first && numberAt(at + 1) === second) return { at, isNew: false }
      if (isUsed && !mayGive((column) => numberAt(at + head + column))) continue
      if (oldest < 0 || numberAt(at + 2) < numberAt(oldest + 2)) oldest = at
    }
    return { at: oldest, isNew: true }
  }

  return {
    /** Calls `use` while no other thread has access to the row. Undefined if there is no row, because none may be replaced. */
    at<T>(key: string, use: (row: SharedRow) => T): T | undefined {
      const [first, second] = [hashOf(key, seeds[0]), hashOf(key, seeds[1])]
      const set = first % sets
      lock(set)
      try {
        const { at, isNew } = placeIn(set, first, second)
        if (at < 0) return undefined
        if (isNew) numbers.fill(0, at, at + width)
        numbers[at] = first
        numbers[at + 1] = second
        numbers[at + 2] = advanced(set)
        return use({
          isNew,
          read: (column) => numberAt(at + head + column),
          write: (column, value) => {
            numbers[at + head + column] = value
          },
        })
      } finally {
        unlock(set)
      }
    },
  }
}
