import { type ArchivedMonths, MonthMoved, type MonthRange, readingAgain } from '../../../storage/monthly.ts'
import type { Store } from '../../../storage/store.ts'
import type { ArchivedPart, ListChunk } from './archive/rules.ts'
import type { CdrRow } from './columns.ts'
import { endOf, type Place, placeWithin, type Stretch, stretchesBehind } from './reading/rules.ts'
import type { Reading, Scope } from './reading/store.ts'
import { csvLineOf } from './rules.ts'

// Lists of call records are read part by part: legs by stretches of time, interactions by months.

/** A part of a list that is read together. */
export interface Part {
  scope: Scope
  stretch: Stretch
  /** The months that had files when the part was found. */
  archived: ArchivedMonths
  /** Files that may hold records of the part. */
  files: readonly ArchivedPart[]
  /** Exclusive. */
  after: Place | undefined
  /** Inclusive; undefined: to the end of the part. */
  until?: Place | undefined
  descending: boolean
}

export const monthsOf = ({ stretch: { months }, archived }: Part): MonthRange => ({
  first: Math.min(...months),
  last: Math.max(...months),
  archived,
})

/** How lines of CSV are written. */
export interface LineView {
  utcOffset: number
  forReseller: boolean
}

/** How parts become results: by SQL, or from records in memory where some lie in files. */
interface Summing<T> {
  bySql(part: Part): Promise<T>
  ofLegs(legs: readonly CdrRow[]): T
}

/** How one kind of list is read. */
interface PartSource {
  /** The stretches of a scope, oldest first, and the files of each. */
  sight(scope: Scope): Promise<{
    stretches: readonly Stretch[]
    archived: ArchivedMonths
    filesOf(stretch: Stretch): readonly ArchivedPart[]
  }>
  pieceOf(part: Part, limit: number, long: boolean): Promise<ListChunk>
  /** The place of the record that so many others precede; undefined: the part ends before it. */
  placeAfter(part: Part, records: number, scan: Store['scan']): Promise<Place | undefined>
  linesSql(part: Part, view: LineView): Promise<Uint8Array>
}

interface Walk {
  scope: Scope
  after: Place | undefined
  descending: boolean
  /** Records of a part that SQL works on at once. */
  records: number
  scan: Store['scan']
}

// With filters, lines are made of this many tried records at once.
const triedForLines = 5000
// Results that are in the making while one is being sent.
const resultsAhead = 2
// Records of files that are worked on at once.
const legsAtOnce = 2000

/** The results for the items, in their order. Up to `resultsAhead` of them are in the making while one is used. */
async function* workAhead<Item, Result>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const begun: Promise<Result>[] = []
  for await (const item of items) {
    const result = work(item)
    // The caller may stop before it takes this result.
    result.catch(() => undefined)
    begun.push(result)
    const [oldest] = begun
    if (oldest && begun.length > resultsAhead) {
      begun.shift()
      yield await oldest
    }
  }
  for (const result of begun) yield await result
}

/** Continues from the last place when a month was moved to the archive during reading. */
async function* resuming<T>(
  start: Place | undefined,
  from: (after: Place | undefined) => AsyncGenerator<{ result: T; place: Place }>,
): AsyncGenerator<T> {
  let after = start
  for (;;) {
    try {
      for await (const { result, place } of from(after)) {
        after = place
        yield result
      }
      return
    } catch (error) {
      if (!(error instanceof MonthMoved)) throw error
    }
  }
}

/** Lines of records in memory: the same lines as the store makes. */
const csvTextOf = (legs: readonly CdrRow[], view: LineView): Uint8Array =>
  Buffer.from(legs.map((leg) => csvLineOf(leg, { ...view, omitsEmpty: false })).join(''))

/** The batches, CSV lines and sums of one kind of list. */
export const createPartLists = (
  store: Store,
  { sight, pieceOf, placeAfter, linesSql }: PartSource,
  triedAtOnce: number,
) => {
  const partsOf = async (scope: Scope, after: Place | undefined, descending: boolean): Promise<Part[]> => {
    const { stretches, archived, filesOf } = await sight(scope)
    return stretchesBehind(stretches, after, descending).map((stretch) => {
      const files = filesOf(stretch)
      return { scope, stretch, archived, files, after: placeWithin(stretch, after), descending }
    })
  }

  const readBatch = async (scope: Scope, { after, limit, descending, long }: Reading): Promise<ListChunk> => {
    const parts = await partsOf(scope, after, descending)
    const items: CdrRow[] = []
    for (const [at, part] of parts.entries()) {
      const piece = await pieceOf(part, limit - items.length, long)
      items.push(...piece.items)
      if (piece.next) return { items, next: piece.next }
      const isMore = at < parts.length - 1
      if (scope.questions.length > 0 && isMore) return { items, next: endOf(part.stretch, descending) }
    }
    return { items, next: undefined }
  }

  /** A part cut into parts of so many records each, the last one shorter. */
  async function* cut(part: Part, { records, scan }: Pick<Walk, 'records' | 'scan'>): AsyncGenerator<Part> {
    let { after } = part
    do {
      const until = await placeAfter({ ...part, after }, records, scan)
      yield { ...part, after, until }
      after = until
    } while (after)
  }

  /** The results of a list part by part, each with the place that it reaches. */
  async function* made<T>({ scope, after, descending, ...size }: Walk, { bySql, ofLegs }: Summing<T>) {
    for (const part of await partsOf(scope, after, descending)) {
      const end = endOf(part.stretch, descending)
      if (part.files.length === 0) {
        yield* workAhead(cut(part, size), async (piece) => ({
          result: await bySql(piece),
          place: piece.until ?? end,
        }))
        continue
      }
      let from = part.after
      do {
        const { items, next } = await pieceOf({ ...part, after: from }, legsAtOnce, true)
        yield { result: ofLegs(items), place: next ?? end }
        from = next
      } while (from)
    }
  }

  return {
    batch: (scope: Scope, reading: Reading): Promise<ListChunk> =>
      readingAgain(() => readBatch(scope, reading)),

    /** The lines of CSV, many at a time, in the order of the list. */
    async *lines(scope: Scope, { after, descending }: Pick<Reading, 'after' | 'descending'>, view: LineView) {
      const records = scope.questions.length > 0 ? triedForLines : store.linesAtOnce
      const size = { records, scan: store.scanForLines }
      const summing: Summing<Uint8Array> = {
        bySql: (part) => linesSql(part, view),
        ofLegs: (legs) => csvTextOf(legs, view),
      }
      const texts = resuming(after, (place) => made({ scope, after: place, descending, ...size }, summing))
      for await (const text of texts) if (text.length > 0) yield text
    },

    /** The parts of a window, each summed up in one read, newest first. */
    sums: <T>(scope: Scope, summing: Summing<T>): AsyncGenerator<T> =>
      resuming(undefined, (after) =>
        made({ scope, after, descending: true, records: triedAtOnce, scan: store.scan }, summing),
      ),
  }
}
