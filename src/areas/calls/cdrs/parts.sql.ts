import type { ListQuery } from '../../../lib/question.ts'
import { systemScope } from '../../../storage/change-set.ts'
import { type CsvCell, type CsvQuery, cacheKey, type Value } from '../../../storage/db.ts'
import { type ArchivedMonths, MonthMoved, type MonthRange, readingAgain } from '../../../storage/monthly.ts'
import type { SqlWords } from '../../../storage/sql-words.ts'
import type { Store } from '../../../storage/store.ts'
import type { ArchiveReading } from './archive/reading.ts'
import { type CdrRow, storedColumns } from './columns.ts'
import {
  type ArchivedPart,
  type CdrPlace,
  joinChunks,
  type LegOwner,
  type ListChunk,
  placeAfterWindow,
  placeWithin,
  stretchesBehind,
  type TimeStretch,
  type TimeWindow,
} from './places.rules.ts'
import { csvLineOf } from './rules.ts'
import { careMaskOf, type SheetCell, sheetFor, sqlOf, timeSheet } from './sheet/columns.ts'

/** The kind in change sets that invalidates cached lists; of `system` for months. */
const cdrKind = 'cdrs'

/** The records that pages of an account depend on: its own, and dropped or archived months. */
export const pageSources = (accountId: string) =>
  [
    [accountId, cdrKind],
    [systemScope, cdrKind],
  ] as const

/** The stale key for changed legs without an audit entry. */
export const changedLegs = (accountId: string) => cacheKey(accountId, cdrKind, 'rows')

// CSV lines written by the store: the same lines as `csvLineOf` in rules.ts.

const seldomGuardedBits = sheetFor(true)
  .filter(({ isOftenGuarded }) => !isOftenGuarded)
  .reduce((bits, cell) => bits | careMaskOf(cell), 0)

const plainWhen = `csv_quoted = 0 AND (csv_guarded & ${seldomGuardedBits}) = 0`

const csvCellOf = (cell: SheetCell, value: string): CsvCell => {
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

/** `utcOffset`: placeholder of the seconds that are added to `datetime`. */
const sheetOf = (
  words: SqlWords,
  forReseller: boolean,
  utcOffset: string,
): Pick<CsvQuery, 'cells' | 'functions' | 'plainWhen'> => {
  const cellsOf = (cells: readonly SheetCell[]) =>
    cells.map((cell) => csvCellOf(cell, sqlOf(cell, words, utcOffset)))
  const sheet = sheetFor(forReseller)
  if (words.dates) return { cells: cellsOf(sheet), functions: undefined, plainWhen }
  const firstTime = sheet.findIndex(({ name }) => name === timeSheet[0].name)
  const [before, behind] = [sheet.slice(0, firstTime), sheet.slice(firstTime + timeSheet.length)]
  const times = { value: `timeCells(created, duration_seconds, channel_created_time, ${utcOffset})` }
  return { cells: [...cellsOf(before), times, ...cellsOf(behind)], functions, plainWhen }
}

export const selectedColumns = storedColumns.join(', ')

/** Adds a value to a statement and returns its placeholder. */
export type AddParam = (value: Value) => string

interface Params {
  params: Value[]
  mark: AddParam
}

export const createParams = (): Params => {
  const params: Value[] = []
  return { params, mark: (value) => `$${params.push(value)}` }
}

interface ListOrder {
  time: string
  mark: string
}

export const legOrder: ListOrder = { time: 'created', mark: 'id' }
export const interactionOrder: ListOrder = { time: 'interaction_time', mark: 'interaction_key' }

export const orderBy = ({ time, mark }: ListOrder, descending: boolean) => {
  const direction = descending ? 'DESC' : 'ASC'
  return `ORDER BY ${time} ${direction}, ${mark} ${direction}`
}

export interface Scope extends LegOwner, TimeWindow {
  /** Filters in SQL. */
  questions: readonly ListQuery[]
}

export interface ChunkRequest {
  after: CdrPlace | undefined
  limit: number
  descending: boolean
  /** Reads in a thread for long reads. */
  long: boolean
}

export const ownedBy = ({ accountId, ownerId }: LegOwner, mark: AddParam) =>
  `account_id = ${mark(accountId)}${ownerId === undefined ? '' : ` AND owner_id = ${mark(ownerId)}`}`

interface Ends {
  /** Exclusive. */
  after?: CdrPlace | undefined
  /** Inclusive. */
  until?: CdrPlace | undefined
  descending: boolean
}

/**
 * The rows between two places. A place replaces the time bound on its side, so that one index range is read at any
 * depth.
 */
export const rangeSql = (
  { from, to }: TimeWindow,
  { time, mark: tie }: ListOrder,
  { after, until, descending }: Ends,
  mark: AddParam,
) => {
  const compared = (place: CdrPlace, sign: string) =>
    `(${time}, ${tie}) ${sign} (${mark(place.time)}, ${mark(place.mark)})`
  const [low, high] = descending ? [until, after] : [after, until]
  const lower = low ? compared(low, descending ? '>=' : '>') : `${time} >= ${mark(from)}`
  const upper = high ? compared(high, descending ? '<' : '<=') : `${time} <= ${mark(to)}`
  return `${lower} AND ${upper}`
}

// Lists are read in parts: legs by stretches of time, interactions by month.

export interface ListPart {
  scope: Scope
  stretch: TimeStretch
  /** Months that had files when the part was determined. */
  archived: ArchivedMonths
  /** Files that may have records of the part. */
  files: readonly ArchivedPart[]
  /** Exclusive. */
  after: CdrPlace | undefined
  /** Inclusive; undefined: the end of the part. */
  until?: CdrPlace | undefined
  descending: boolean
}

/** The condition of the rows of a part. */
export const inPartSql = (part: ListPart, order: ListOrder, mark: AddParam) =>
  `${ownedBy(part.scope, mark)} AND ${rangeSql(part.stretch, order, part, mark)}`

export const monthsOf = ({ stretch: { months }, archived }: ListPart): MonthRange => ({
  first: Math.min(...months),
  last: Math.max(...months),
  archived,
})

export interface LineView {
  utcOffset: number
  forReseller: boolean
}

/** How parts become results: by SQL, or from records in memory if some are in files. */
interface Summing<T> {
  bySql(part: ListPart): Promise<T>
  ofLegs(legs: readonly CdrRow[]): T
}

/** How one kind of list is read. */
interface PartSource {
  placeOf(leg: CdrRow): CdrPlace
  /** The stretches of a scope, oldest first. */
  sight(scope: Scope): Promise<{
    stretches: readonly TimeStretch[]
    archived: ArchivedMonths
    filesOf(stretch: TimeStretch): readonly ArchivedPart[]
  }>
  /** SQL of the places of a part in order, as `found_time` and `found_key`. */
  placesOf(part: ListPart, mark: AddParam): (from: string) => string
  /** SQL of the rows of a part, from FROM on. */
  rowsOf(part: ListPart, limit: number | undefined, mark: AddParam): (from: string) => string
  /** How CSV lines are ordered, and whether the store may read them in blocks. */
  lineOrder: Pick<CsvQuery, 'orderedBy' | 'byBlock'>
  archived: ArchiveReading['legs' | 'interactions'] | undefined
  /** Selects one of two legs at the same place. */
  choose?: ((a: CdrRow, b: CdrRow) => CdrRow) | undefined
}

interface Walk {
  scope: Scope
  after: CdrPlace | undefined
  descending: boolean
  /** Records that one SQL statement processes. */
  records: number
  scan: Store['scan']
}

// With filters, this many records are tried for one result.
const triedForLines = 5000
// Results that are prepared while one is sent.
const resultsAhead = 2
const legsAtOnce = 2000

/** The results of the items in order, prepared up to `resultsAhead` in advance. */
async function* prefetch<Item, Result>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const begun: Promise<Result>[] = []
  for await (const item of items) {
    const result = work(item)
    // The caller may stop before it awaits this result.
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

/** Continues at the last place when a month was archived during reading. */
async function* resuming<T>(
  start: CdrPlace | undefined,
  from: (after: CdrPlace | undefined) => AsyncGenerator<{ result: T; place: CdrPlace }>,
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

/** The same lines as the store writes. */
const csvTextOf = (legs: readonly CdrRow[], view: LineView): Uint8Array =>
  Buffer.from(legs.map((leg) => csvLineOf(leg, { ...view, omitsEmpty: false })).join(''))

/** Reads pieces of parts, from the store and from files. */
const createPieces = (
  store: Store,
  { placeOf, placesOf, rowsOf, archived: readFiles, choose }: PartSource,
  triedAtOnce: number,
) => {
  const inPart = <T>(part: ListPart, query: (from: string) => Promise<T>) =>
    store.cdrs.read(monthsOf(part), query)

  /** The place of the record after this many; undefined if the part ends before it. */
  const placeAfter = async (
    part: ListPart,
    records: number,
    scan: Store['scan'],
  ): Promise<CdrPlace | undefined> => {
    const { params, mark } = createParams()
    const places = placesOf({ ...part, until: undefined }, mark)
    // The offset is constant and counted in the index only.
    const [row] = await inPart(part, (from) =>
      scan<{ found_time: number; found_key: string }>(
        `${places(from)} LIMIT 1 OFFSET ${records - 1}`,
        params,
      ),
    )
    return row && { time: row.found_time, mark: row.found_key }
  }

  /** With filters, the matches of one trial: maybe none before the end. */
  const storedPiece = async (part: ListPart, limit: number, long: boolean): Promise<ListChunk> => {
    const isFiltered = part.scope.questions.length > 0
    const until = isFiltered ? await placeAfter(part, triedAtOnce, store.scan) : undefined
    const { params, mark } = createParams()
    const rows = rowsOf({ ...part, until }, limit, mark)
    const read = long || isFiltered ? store.scan : store.all
    const items = await inPart(part, (from) =>
      read<CdrRow>(`SELECT ${selectedColumns} ${rows(from)}`, params),
    )
    const final = items.at(-1)
    return { items, next: final && items.length === limit ? placeOf(final) : until }
  }

  const pieceOf = async (part: ListPart, limit: number, long: boolean): Promise<ListChunk> => {
    const { scope, stretch, files, after, descending } = part
    if (!readFiles || files.length === 0) return storedPiece(part, limit, long)
    const { questions, ownerId } = scope
    const isSelected = questions.length > 0 || ownerId !== undefined
    const most = isSelected ? triedAtOnce : Number.POSITIVE_INFINITY
    const asked = { holder: scope, window: stretch, after, descending, questions, limit, most }
    const pieces = [storedPiece(part, limit, long), readFiles(files, asked)]
    return joinChunks(await Promise.all(pieces), { limit, descending, placeOf, choose })
  }

  return { inPart, placeAfter, pieceOf }
}

export const createPartLists = (store: Store, source: PartSource, triedAtOnce: number) => {
  const { sight, rowsOf, lineOrder } = source
  const { inPart, placeAfter, pieceOf } = createPieces(store, source, triedAtOnce)

  const linesSql = (part: ListPart, view: LineView) => {
    const { params, mark } = createParams()
    const sheet = sheetOf(store.words, view.forReseller, mark(view.utcOffset))
    const rows = rowsOf(part, undefined, mark)
    return inPart(part, (from) => store.csvLines({ ...sheet, ...lineOrder, tail: rows(from), params }))
  }

  const partsOf = async (
    scope: Scope,
    after: CdrPlace | undefined,
    descending: boolean,
  ): Promise<ListPart[]> => {
    const { stretches, archived, filesOf } = await sight(scope)
    return stretchesBehind(stretches, after, descending).map((stretch) => {
      const files = filesOf(stretch)
      return { scope, stretch, archived, files, after: placeWithin(stretch, after), descending }
    })
  }

  const readBatch = async (
    scope: Scope,
    { after, limit, descending, long }: ChunkRequest,
  ): Promise<ListChunk> => {
    const parts = await partsOf(scope, after, descending)
    const items: CdrRow[] = []
    for (const [at, part] of parts.entries()) {
      const piece = await pieceOf(part, limit - items.length, long)
      items.push(...piece.items)
      if (piece.next) return { items, next: piece.next }
      const isMore = at < parts.length - 1
      if (scope.questions.length > 0 && isMore)
        return { items, next: placeAfterWindow(part.stretch, descending) }
    }
    return { items, next: undefined }
  }

  /** Cuts a part into parts of `records` records. */
  async function* cut(
    part: ListPart,
    { records, scan }: Pick<Walk, 'records' | 'scan'>,
  ): AsyncGenerator<ListPart> {
    let { after } = part
    do {
      const until = await placeAfter({ ...part, after }, records, scan)
      yield { ...part, after, until }
      after = until
    } while (after)
  }

  /** The results of a list, each with its end place. */
  async function* made<T>({ scope, after, descending, ...size }: Walk, { bySql, ofLegs }: Summing<T>) {
    for (const part of await partsOf(scope, after, descending)) {
      const end = placeAfterWindow(part.stretch, descending)
      if (part.files.length === 0) {
        yield* prefetch(cut(part, size), async (piece) => ({
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
    batch: (scope: Scope, reading: ChunkRequest): Promise<ListChunk> =>
      readingAgain(() => readBatch(scope, reading)),

    async *lines(
      scope: Scope,
      { after, descending }: Pick<ChunkRequest, 'after' | 'descending'>,
      view: LineView,
    ) {
      const records = scope.questions.length > 0 ? triedForLines : store.linesAtOnce
      const size = { records, scan: store.scanForLines }
      const summing: Summing<Uint8Array> = {
        bySql: (part) => linesSql(part, view),
        ofLegs: (legs) => csvTextOf(legs, view),
      }
      const texts = resuming(after, (place) => made({ scope, after: place, descending, ...size }, summing))
      for await (const text of texts) if (text.length > 0) yield text
    },

    /** One result for each part of a window, newest first. */
    sums: <T>(scope: Scope, summing: Summing<T>): AsyncGenerator<T> =>
      resuming(undefined, (after) =>
        made({ scope, after, descending: true, records: triedAtOnce, scan: store.scan }, summing),
      ),
  }
}
