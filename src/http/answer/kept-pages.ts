import type { Metrics } from '../../lib/metrics.ts'
import type { GenerationOf } from '../../storage/generations.ts'
import { createRecentlyUsed } from '../../storage/recently-used.ts'
import type { Route } from '../route.ts'
import { type Coding, type Packed, pack } from '../wire/compression.ts'
import { type Listing, type ListPlan, type MovingWindow, type PageEnd, showsRows } from './listing.ts'

// Pages of lists, and whole lists that are short, as they go onto the wire, kept as long as nothing they follow from has
// changed. What differs from answer to answer, the keys of the envelope behind the data, is no part of them.

/** A page that is at hand, or a whole list. */
export interface CollectedPage {
  /** From the beginning of the envelope to the end of its data. */
  bytes: Uint8Array
  end: PageEnd
  /** Empty of a whole list: most of these are sent while they are made, and have no name. */
  revision: string
}

/** Where a page is kept. */
export interface PagePlace {
  found: CollectedPage | undefined
  /** The same page was asked for before, and may have been another one then. */
  isRepeated: boolean
  /** Keeps what was read after the place was looked for. */
  keep(page: CollectedPage): Promise<void>
  /** It has turned out to be more than is kept: until something of it changes it counts as one that is not repeated. */
  passOver(): void
  /** A page of this place compressed, which is kept beside it as long as it is. */
  packed(page: CollectedPage, coding: Coding): Promise<Packed>
}

interface KeptPage extends CollectedPage {
  packed: Partial<Record<Coding, Packed>>
  /** Where the list's window began, if it moves. */
  from: number
}

const pagesBytes = 24_000_000
// One that takes more would drive out too many others. Five hundred call records of 2.8 kB take less.
export const largestKept = 2_000_000
// Of what was asked for once only that is known: who walks through a list never asks for a page again.
const namesBytes = 4_000_000

/** What a page is asked for by. */
export interface PageQuestion<T> {
  route: Route
  /** The names in the path. */
  variables: Readonly<Record<string, string>>
  listing: Listing<T>
  plan: ListPlan
}

/** Pages whose rows are looked at, and not only shown, are made anew: filters stop when they have taken too long. */
const isPlain = (plan: ListPlan) => plan.filter === undefined && plan.needsWhole !== true && showsRows(plan)

/** Whether a window that has moved on still begins before everything that a page was made of. */
const isStillSo = (
  { from, end: { earliest = from } }: KeptPage,
  { from: now }: Pick<MovingWindow<never>, 'from'>,
) => from <= now && now <= earliest

const sizeOf = ({ bytes, packed }: KeptPage) =>
  Object.values(packed).reduce((sum, { bytes: more }) => sum + more.length, bytes.length)

/** Without the rest of the memory that a coder has written into. */
const trimmed = (packed: Packed): Packed => {
  const bytes = Buffer.allocUnsafeSlow(packed.bytes.length)
  bytes.set(packed.bytes)
  return { ...packed, bytes }
}

export type KeptPages = ReturnType<typeof createKeptPages>

export const createKeptPages = (generationOf: GenerationOf, metrics: Metrics, maxBytes = pagesBytes) => {
  const pages = createRecentlyUsed<KeptPage>(maxBytes)
  const asked = createRecentlyUsed<true>(Math.min(namesBytes, maxBytes))
  const lookups = { hit: 0, miss: 0 }
  metrics.counted(
    {
      name: 'crosspoint_page_cache_lookups_total',
      help: 'Pages of lists that can be kept, by whether they were at hand.',
      labels: ['result'],
    },
    () => Object.entries(lookups).map(([result, value]) => ({ labels: [result], value })),
  )
  metrics.gauge(
    { name: 'crosspoint_page_cache_bytes', help: 'Bytes that kept pages of lists take.', isOfThread: true },
    pages.bytes,
  )

  const note = (name: string) => asked.keep(name, { value: true, bytes: 2 * name.length })

  const wasAsked = (name: string) => {
    if (asked.find(name)) return true
    note(name)
    return false
  }

  return {
    /** Undefined of pages that are not kept. */
    placeOf<T>({ route, variables, listing, plan }: PageQuestion<T>): PagePlace | undefined {
      const { sources, metadata, moving } = listing
      if (!sources || metadata || !isPlain(plan)) return undefined
      const { paginate, pageSize, startKey, descending } = plan
      // Of a whole list nobody tells how early its window may begin.
      if (moving && !paginate) return undefined
      const part = paginate ? [pageSize, startKey] : ['all', startKey]
      const place = [route.path, variables, sources.records, sources.view, ...part, descending]
      const name = JSON.stringify(place)
      // Taken before anything is read: what changes meanwhile is kept where nobody looks any more.
      const generations = sources.records.map(([accountId, kind]) => generationOf(accountId, kind))
      const key = `${generations.join()} ${name}`
      const kept = pages.find(key)?.value
      const found = kept && (!moving || isStillSo(kept, moving)) ? kept : undefined
      lookups[found ? 'hit' : 'miss'] += 1
      const tooLarge = `large ${key}`
      const isRepeated = found !== undefined || (wasAsked(name) && !asked.find(tooLarge))
      const hold = (value: KeptPage) => pages.keep(key, { value, bytes: sizeOf(value) + 2 * key.length })
      const heldOf = ({ bytes }: CollectedPage) => {
        const held = pages.find(key)?.value
        return held?.bytes === bytes ? held : undefined
      }
      return {
        found,
        isRepeated,
        async keep(page) {
          if (!isRepeated) return
          if (page.bytes.length > largestKept) return note(tooLarge)
          if (moving && !(await moving.isAtEnd())) return
          hold({ ...page, from: moving?.from ?? 0, packed: {} })
        },
        passOver: () => note(tooLarge),
        async packed(page, coding) {
          const known = heldOf(page)?.packed[coding]
          if (known) return known
          const packed = trimmed(await pack(coding, page.bytes))
          const held = heldOf(page)
          if (held) hold({ ...held, packed: { ...held.packed, [coding]: packed } })
          return packed
        },
      }
    },
  }
}
