import type { CdrRow } from '../columns.ts'
import type { Place } from '../reading/rules.ts'

/** How records are put into files. */
export interface FileSizes {
  /** Records that are read at once: some 30 ms of work. */
  recordsPerGroup: number
  /** A file with so many records, or bytes, gets no further group: it is put together in memory. */
  mostRecords: number
  mostBytes: number
}

export const usualSizes: FileSizes = { recordsPerGroup: 2000, mostRecords: 200_000, mostBytes: 32_000_000 }

/** The records of an account in one file of a month. */
export interface ArchivedPart {
  path: string
  month: number
  /** Of the whole file. */
  bytes: number
  /** Gregorian seconds of the account's first and last record there. */
  first: number
  last: number
}

const surrogate = /[\ud800-\udfff]/

/** The order of texts by their bytes, as both stores have it. */
const compareTexts = (a: string, b: string) => {
  if (a === b) return 0
  if (surrogate.test(a) || surrogate.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return a < b ? -1 : 1
}

/** The order of a list, from its beginning on. */
export const placeOrder = (descending: boolean) => {
  const sign = descending ? -1 : 1
  return (a: Place, b: Place) => sign * (a.time - b.time || compareTexts(a.mark, b.mark))
}

/** A part of a list, from one of the places where it lies. */
export interface ListChunk {
  /** In the order of the list. */
  items: CdrRow[]
  /** Behind what there may be more; undefined when there is no more. */
  next: Place | undefined
}

interface Joining {
  limit: number
  descending: boolean
  placeOf(leg: CdrRow): Place
  /** Of two that have the same place the one that is shown. */
  choose?(a: CdrRow, b: CdrRow): CdrRow
}

const earliest = (places: readonly Place[], order: (a: Place, b: Place) => number) =>
  places.toSorted(order)[0]

/** What a list has next, of what each of several places has of it: no further than all of them have been read. */
export const joinChunks = (
  pieces: readonly ListChunk[],
  { limit, descending, placeOf, choose = (a) => a }: Joining,
): ListChunk => {
  const order = placeOrder(descending)
  const horizon = earliest(
    pieces.flatMap(({ next }) => next ?? []),
    order,
  )
  const all = pieces
    .flatMap(({ items }) => items)
    .filter((leg) => !horizon || order(placeOf(leg), horizon) <= 0)
    .sort((a, b) => order(placeOf(a), placeOf(b)))
  const items: CdrRow[] = []
  for (const leg of all) {
    const before = items.at(-1)
    if (before && order(placeOf(before), placeOf(leg)) === 0) items[items.length - 1] = choose(before, leg)
    else items.push(leg)
  }
  const cut = items.slice(0, limit)
  const final = cut.at(-1)
  return { items: cut, next: final && cut.length === limit ? placeOf(final) : horizon }
}
