import type { ListQuery } from '../../../lib/question.ts'
import { systemScope } from '../../../storage/change-set.ts'
import { type CsvCell, type CsvQuery, cacheKey, type Value } from '../../../storage/db.ts'
import { type ArchivedMonths, MonthMoved, type MonthRange, readingAgain } from '../../../storage/monthly.ts'
import type { SqlWords } from '../../../storage/sql-words.ts'
import type { Store } from '../../../storage/store.ts'
import { type CdrRow, storedColumns } from './columns.ts'
import {
  type ArchivedPart,
  endOf,
  type ListChunk,
  type Place,
  placeWithin,
  type Stretch,
  stretchesBehind,
  type TimeWindow,
} from './places.rules.ts'
import { csvLineOf } from './rules.ts'
import { careMaskOf, type SheetCell, sheetFor, sqlOf, timeSheet } from './sheet/columns.ts'

// What ends cached lists of call records.

/** Named by every change set that changes call records; of `system` by those that change months. */
const cdrKind = 'cdrs'

/** The records that pages of an account follow from: its own, and months that are dropped or moved. */
export const pageSources = (accountId: string) =>
  [
    [accountId, cdrKind],
    [systemScope, cdrKind],
  ] as const

/** The stale key of a change of stored legs of an account, where no record is noted. */
export const changedLegs = (accountId: string) => cacheKey(accountId, cdrKind, 'rows')

// The lines of a CSV file as the store writes them: the same lines as `csvLineOf` in rules.ts.

const seldomGuardedBits = sheetFor(true)
  .filter(({ isOftenGuarded }) => !isOftenGuarded)
  .reduce((bits, cell) => bits | careMaskOf(cell), 0)

const plainWhen = `csv_quoted = 0 AND (csv_guarded & ${seldomGuardedBits}) = 0`

const cellOf = (cell: SheetCell, value: string): CsvCell => {
  if (cell.hasComma) return { value, alwaysQuoted: true }
  const bit = careMaskOf(cell)
  if (bit === 0) return { value }
  return {
    value,
    quotedWhen: `(csv_quoted & ${bit}) <> 0`,
    guardedWhen: `(csv_guarded & ${bit}) <> 0`,
    oftenGuarded: cell.isOftenGuarded === true,
  }
}

const functions = new URL('./sheet/sql-functions.ts', import.meta.url).href

/** How the store writes the lines of legs. `utcOffset` is the placeholder of the seconds added for `datetime`. */
export const sheetOf = (
  words: SqlWords,
  forReseller: boolean,
  utcOffset: string,
): Pick<CsvQuery, 'cells' | 'functions' | 'plainWhen'> => {
  const cellsOf = (cells: readonly SheetCell[]) =>
    cells.map((cell) => cellOf(cell, sqlOf(cell, words, utcOffset)))
  const sheet = sheetFor(forReseller)
  if (words.dates) return { cells: cellsOf(sheet), functions: undefined, plainWhen }
  const firstTime = sheet.findIndex(({ name }) => name === timeSheet[0].name)
  const [before, behind] = [sheet.slice(0, firstTime), sheet.slice(firstTime + timeSheet.length)]
  const times = { value: `timeCells(created, duration_seconds, channel_created_time, ${utcOffset})` }
  return { cells: [...cellsOf(before), times, ...cellsOf(behind)], functions, plainWhen }
}

export const selectedColumns = storedColumns.join(', ')

/** Hands a value to a statement and gives back its placeholder. */
export type Mark = (value: Value) => string

/** The values of a statement in the making. */
export interface Params {
  params: Value[]
  mark: Mark
}

export const createParams = (): Params => {
  const params: Value[] = []
  return { params, mark: (value) => `$${params.push(value)}` }
}

/** The columns that a list is ordered by. */
interface Order {
  time: string
  mark: string
}

export const legOrder: Order = { time: 'created', mark: 'id' }
export const interactionOrder: Order = { time: 'interaction_time', mark: 'interaction_key' }

export const orderBy = ({ time, mark }: Order, descending: boolean) => {
  const direction = descending ? 'DESC' : 'ASC'
  return `ORDER BY ${time} ${direction}, ${mark} ${direction}`
}

/** Whose legs. */
export interface Holder {
  accountId: string
  ownerId?: string
}

/** Whose legs, of which time, and which of them. */
export interface Scope extends Holder, TimeWindow {
  /** Filters that the store applies. */
  questions: readonly ListQuery[]
}

export interface Reading {
  after: Place | undefined
  limit: number
  descending: boolean
  /** Beside the event loop. */
  long: boolean
}

export const heldBy = ({ accountId, ownerId }: Holder, mark: Mark) =>
  `account_id = ${mark(accountId)}${ownerId === undefined ? '' : ` AND owner_id = ${mark(ownerId)}`}`

interface Ends {
  /** Exclusive. */
  after?: Place | undefined
  /** Inclusive. */
  until?: Place | undefined
  descending: boolean
}

/**
 * The rows of a window from one place to another. A place stands for the bound of time on its side, so that one range
 * of the index is read, however deep a page lies.
 */
export const rangeOf = (
  { from, to }: TimeWindow,
  { time, mark: tie }: Order,
  { after, until, descending }: Ends,
  mark: Mark,
) => {
  const compared = (place: Place, sign: string) =>
    `(${time}, ${tie}) ${sign} (${mark(place.time)}, ${mark(place.mark)})`
  const [low, high] = descending ? [until, after] : [after, until]
  const lower = low ? compared(low, descending ? '>=' : '>') : `${time} >= ${mark(from)}`
  const upper = high ? compared(high, descending ? '<' : '<=') : `${time} <= ${mark(to)}`
  return `${lower} AND ${upper}`
}

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
