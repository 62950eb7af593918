import type { Question } from '../../lib/question.ts'
import { type ArchivedMonths, MonthMoved, type MonthRange, readingAgain } from '../../storage/monthly.ts'
import { isStorable } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { workAhead } from './ahead.ts'
import type { ArchiveReading } from './archive/reading.ts'
import { type ArchivedPart, joinPieces, type ListPiece } from './archive/rules.ts'
import { type CdrRow, monthOfId, storedColumns } from './columns.ts'
import { createConditions } from './filters/store.ts'
import type { RowsOfView } from './listing/kept-rows.ts'
import {
  endOf,
  lastSecond,
  type MonthBounds,
  monthAt,
  monthsOfLegs,
  type Place,
  placeWithin,
  type Stretch,
  stretchesBehind,
  stretchesOf,
  type TimeWindow,
} from './reading/rules.ts'
import {
  createParams,
  type Holder,
  heldBy,
  legOrder,
  orderBy,
  type Params,
  rangeOf,
} from './reading/store.ts'
import { type BegunRow, csvLineOf, finishedRow, rowTextOf } from './rules.ts'
import type { RowView } from './sheet/columns.ts'
import { begunRowsOf, sheetOf } from './sheet/store.ts'

/** Whose legs, of which time, and which of them. */
export interface Scope extends Holder, TimeWindow {
  /** Filters that the store applies. */
  questions: readonly Question[]
}

export type LegBatch = ListPiece

/** A row of a list without the leg it was made of. */
export interface ShownRow {
  place: Place
  row: string | Uint8Array
}

/** How rows are shown, and those of them that are kept, where they are asked for again. */
export interface Showing {
  view: RowView
  kept: RowsOfView | undefined
}

export interface Reading {
  after: Place | undefined
  limit: number
  descending: boolean
  /** Beside the event loop. */
  long: boolean
}

/** How lines of CSV are written. */
export interface LineView {
  utcOffset: number
  forReseller: boolean
}

// A filter that keeps little is tried on this many records at a time: some dozen milliseconds of the store's time.
export const usualTrial = 20_000
// With filters, so many records are tried for lines that are made at once.
const triedForLines = 5000
// Where more legs than these have not been shown before, all are read along the index.
const mostSingly = 20
/** So many texts are in the making while one is being sent. */
export const textsAhead = 2

const legPlaceColumns = [
  'id',
  'created',
  'duration_seconds',
  'channel_created_time',
  'loopback_leg',
] as const satisfies readonly (keyof CdrRow)[]

type BegunLeg = BegunRow & Pick<CdrRow, 'id' | 'created'>

/** A row that was just made. */
interface MadeRow extends ShownRow {
  row: string
}

/** What tells where a leg stands among those of its interaction. */
export type LegPlace = Pick<CdrRow, (typeof legPlaceColumns)[number]>

export const selectedColumns = storedColumns.join(', ')

interface Part {
  scope: Scope
  stretch: Stretch
  archived: ArchivedMonths
  after: Place | undefined
  descending: boolean
}

/** To this place, which belongs to it, or to the end. */
type Bounded<P> = P & { until: Place | undefined }

/** What a scope is about at the moment. */
interface Sight {
  /** In the order of reading. */
  stretches: Stretch[]
  /** What lies in files. */
  parts: readonly ArchivedPart[]
  /** The months that had files then. */
  archived: ArchivedMonths
}

/** How parts of a window become what is wanted of them: by the store itself, or of records at hand. */
interface Summing<T> {
  bySql(part: { range: MonthRange } & Bounded<Part>): Promise<T>
  ofLegs(legs: readonly CdrRow[]): T
}

// Of what lies in files so many records are worked on at once.
export const legsAtOnce = 2000

const monthsOf = ({ stretch: { months }, archived }: Part): MonthRange => ({
  first: Math.min(...months),
  last: Math.max(...months),
  archived,
})

const placeOf = (leg: CdrRow): Place => ({ time: leg.created, mark: leg.id })

/** Legs of the store and of files, where they may just have gone from one to the other. */
const eachOnce = <T extends LegPlace>(stored: readonly T[], archived: readonly T[]) => [
  ...new Map([...stored, ...archived].map((leg) => [leg.id, leg])).values(),
]

const lineView = ({ utcOffset, forReseller }: LineView): RowView => ({
  utcOffset,
  forReseller,
  omitsEmpty: false,
})

/** Lines of records at hand: the same ones as the store makes. */
export const csvTextOf = (legs: readonly CdrRow[], view: LineView): Uint8Array =>
  Buffer.from(legs.map((leg) => csvLineOf(leg, lineView(view))).join(''))

/** Goes on from the last place when a month went to the archive meanwhile. */
export async function* goingOn<T>(
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

/** Call detail records, leg by leg: those of the store, and those that lie in files. */
export const createCdrStore = (store: Store, archive?: ArchiveReading, triedAtOnce = usualTrial) => {
  const { cdrs, words } = store
  const conditions = createConditions(words)

  const inMonth = <T>(month: number, query: (from: string) => Promise<T>) =>
    cdrs.read({ first: month, last: month }, query)

  const inPart = <T>(part: Part, query: (from: string) => Promise<T>) => cdrs.read(monthsOf(part), query)

  /** The two ends of each month's part of an index: a few microseconds a month. */
  const boundsOf = (scope: Scope, archived: ArchivedMonths): Promise<MonthBounds[]> =>
    cdrs.read({ ...monthsOfLegs(scope), archived }, async (_from, months) => {
      if (months.length === 0) return []
      const { params, mark } = createParams()
      const condition = `${heldBy(scope, mark)} AND ${rangeOf(scope, legOrder, { descending: true }, mark)}`
      const ends = months.map((month) => {
        const end = (name: string) =>
          `(SELECT ${name}(created) FROM ${cdrs.from([month])} WHERE ${condition})`
        return `SELECT ${month} AS month, ${end('min')} AS first, ${end('max')} AS last`
      })
      const found = await store.all<MonthBounds | { first: null }>(ends.join(' UNION ALL '), params)
      return found.filter((bounds): bounds is MonthBounds => bounds.first !== null)
    })

  const sightOf = async (scope: Scope, after: Place | undefined, descending: boolean): Promise<Sight> => {
    // Before the files: what is archived behind this is missed in the store, and all is read again.
    const archived = await cdrs.archivedMonths()
    const found = (await archive?.partsOf(scope.accountId, monthsOfLegs(scope))) ?? []
    const parts = found.filter(({ first, last }) => first <= scope.to && last >= scope.from)
    const inFiles = parts.map(({ month, first, last }) => ({
      month,
      first: Math.max(first, scope.from),
      last: Math.min(last, scope.to),
    }))
    const stretches = stretchesOf([...(await boundsOf(scope, archived)), ...inFiles])
    return { stretches: stretchesBehind(stretches, after, descending), parts, archived }
  }

  const liesInFiles = ({ from, to }: Stretch, parts: readonly ArchivedPart[]) =>
    parts.some(({ first, last }) => first <= to && last >= from)

  /** The place of the record that so many others precede; undefined: the stretch ends before it. */
  const placeAfter = async (
    part: Part,
    records: number,
    scan: Store['scan'] = store.scan,
  ): Promise<Place | undefined> => {
    const { scope, stretch, after, descending } = part
    const { params, mark } = createParams()
    const rows = `${heldBy(scope, mark)} AND ${rangeOf(stretch, legOrder, { after, descending }, mark)}`
    const order = orderBy(legOrder, descending)
    // An offset that does not grow from page to page, counted along the index alone.
    const [row] = await inPart(part, (from) =>
      scan<Pick<CdrRow, 'created' | 'id'>>(
        `SELECT created, id FROM ${from} WHERE ${rows} ${order} LIMIT 1 OFFSET ${records - 1}`,
        params,
      ),
    )
    return row && { time: row.created, mark: row.id }
  }

  /** The statement that reads a part, from FROM on, for whatever stands behind that. */
  const statementOf = (part: Bounded<Part>, { mark }: Pick<Params, 'mark'>) => {
    const { scope, stretch, after, until, descending } = part
    const rows = `${heldBy(scope, mark)} AND ${rangeOf(stretch, legOrder, { after, until, descending }, mark)}`
    const filters = scope.questions
      .map((question) => ` AND (${conditions.conditionOf(question, mark)})`)
      .join('')
    return (from: string) => `FROM ${from} WHERE ${rows}${filters} ${orderBy(legOrder, descending)}`
  }

  const readPart = (part: Bounded<Part>, limit: number, long: boolean) => {
    const { params, mark } = createParams()
    const statement = statementOf(part, { mark })
    const size = mark(limit)
    const read = long ? store.scan : store.all
    return inPart(part, (from) =>
      read<CdrRow>(`SELECT ${selectedColumns} ${statement(from)} LIMIT ${size}`, params),
    )
  }

  /** Where the legs of a part stand: read along the index alone. */
  const readPlaces = (part: Bounded<Part>, limit: number) => {
    const { params, mark } = createParams()
    const statement = statementOf(part, { mark })
    const size = mark(limit)
    return inPart(part, (from) =>
      store.all<Pick<CdrRow, 'created' | 'id'>>(
        `SELECT created, id ${statement(from)} LIMIT ${size}`,
        params,
      ),
    )
  }

  /** The rows of the legs that a statement reads, from FROM on. */
  const readRows = async (
    part: Part,
    { params }: Pick<Params, 'params'>,
    { view, long }: { view: RowView; long: boolean },
    statement: (from: string) => string,
  ): Promise<MadeRow[]> => {
    const read = long ? store.scan : store.all
    const begun = begunRowsOf(words, view)
    const rows = await inPart(part, (from) =>
      read<CdrRow | BegunLeg>(
        `SELECT ${begun ? `id, created, ${begun}` : selectedColumns} ${statement(from)}`,
        params,
      ),
    )
    return rows.map((row) => ({
      place: { time: row.created, mark: row.id },
      row: 'shown' in row ? finishedRow(row, part.scope.accountId, view) : rowTextOf(row, view),
    }))
  }

  const readSomeRows = (part: Part, ids: readonly string[], view: RowView) => {
    const params = createParams()
    const holder = params.mark(part.scope.accountId)
    const wanted = ids.map(params.mark).join(', ')
    return readRows(
      part,
      params,
      { view, long: false },
      (from) => `FROM ${from} WHERE account_id = ${holder} AND id IN (${wanted})`,
    )
  }

  const readRowsOfPart = async (part: Part, limit: number, how: { view: RowView; long: boolean }) => {
    const params = createParams()
    const statement = statementOf({ ...part, until: undefined }, params)
    const size = params.mark(limit)
    const items = await readRows(part, params, how, (from) => `${statement(from)} LIMIT ${size}`)
    return { items, next: items.length === limit ? items.at(-1)?.place : undefined }
  }

  /** Rows of a part, of which most are kept: those that are not are read one by one. */
  const shownAmong = async (
    part: Part,
    places: readonly Pick<CdrRow, 'created' | 'id'>[],
    view: RowView,
    kept: RowsOfView,
  ) => {
    const found = new Map<string, Uint8Array>()
    for (const { id } of places) {
      const bytes = kept.find(id)
      if (bytes) found.set(id, bytes)
    }
    const missing = places.filter(({ id }) => !found.has(id))
    if (missing.length > mostSingly) return undefined
    const ids = missing.map(({ id }) => id)
    const made = ids.length === 0 ? [] : await readSomeRows(part, ids, view)
    for (const { place, row } of made) found.set(place.mark, kept.keep(place.mark, row))
    // One that was there a moment ago may have gone with its month.
    return places.flatMap(({ created, id }): ShownRow[] => {
      const row = found.get(id)
      return row ? [{ place: { time: created, mark: id }, row }] : []
    })
  }

  /** A part as rows: of the legs that have been shown before only where they stand is read. */
  const keptPiece = async (
    part: Part,
    limit: number,
    view: RowView,
    kept: RowsOfView,
  ): Promise<ListPiece<ShownRow>> => {
    const bounded = { ...part, until: undefined }
    const places = await readPlaces(bounded, limit)
    const shown = await shownAmong(part, places, view, kept)
    if (shown) {
      const final = places.at(-1)
      return {
        items: shown,
        next: final && places.length === limit ? { time: final.created, mark: final.id } : undefined,
      }
    }
    const { items, next } = await readRowsOfPart(part, limit, { view, long: false })
    return { items: items.map(({ place, row }) => ({ place, row: kept.keep(place.mark, row) })), next }
  }

  const shownPiece = (
    part: Part,
    limit: number,
    { view, kept }: Showing,
    long: boolean,
  ): Promise<ListPiece<ShownRow>> =>
    kept ? keptPiece(part, limit, view, kept) : readRowsOfPart(part, limit, { view, long })

  const linesSql = (part: Bounded<Part>, view: LineView) => {
    const { params, mark } = createParams()
    const sheet = sheetOf(words, view.forReseller, mark(view.utcOffset))
    const statement = statementOf(part, { mark })
    return inPart(part, (from) =>
      store.csvLines({
        ...sheet,
        orderedBy: ['created', 'id'],
        tail: statement(from),
        params,
        byBlock: true,
      }),
    )
  }

  /** A part cut into pieces of so many records each, the last one shorter. */
  async function* cut(
    part: Part,
    { records, scan }: { records: number; scan: Store['scan'] },
  ): AsyncGenerator<Bounded<Part>> {
    let { after } = part
    do {
      const until = await placeAfter({ ...part, after }, records, scan)
      yield { ...part, after, until }
      after = until
    } while (after)
  }

  /** With filters a piece is what one trial keeps: maybe nothing, and still not the end. */
  const storedPiece = async (part: Part, limit: number, long: boolean): Promise<ListPiece> => {
    const isFiltered = part.scope.questions.length > 0
    const until = isFiltered ? await placeAfter(part, triedAtOnce) : undefined
    const items = await readPart({ ...part, until }, limit, long || isFiltered)
    const final = items.at(-1)
    return { items, next: final && items.length === limit ? placeOf(final) : until }
  }

  const archivedPiece = (
    { scope, stretch, after, descending }: Part,
    parts: Sight['parts'],
    limit: number,
  ) => {
    const { questions, ownerId } = scope
    const asked = { holder: scope, window: stretch, after, descending, questions, limit }
    const passesOver = questions.length > 0 || ownerId !== undefined
    const most = passesOver ? triedAtOnce : Number.POSITIVE_INFINITY
    return archive?.legs(parts, { ...asked, most }) ?? { items: [], next: undefined }
  }

  const pieceOf = async (part: Part, parts: Sight['parts'], limit: number, long: boolean) => {
    if (!liesInFiles(part.stretch, parts)) return storedPiece(part, limit, long)
    const pieces = await Promise.all([storedPiece(part, limit, long), archivedPiece(part, parts, limit)])
    return joinPieces(pieces, { limit, descending: part.descending, placeOf })
  }

  const readBatch = async <Item>(
    scope: Scope,
    { after, limit, descending }: Reading,
    pieceOf: (part: Part, parts: Sight['parts'], limit: number) => Promise<ListPiece<Item>>,
  ): Promise<ListPiece<Item>> => {
    const { stretches, parts, archived } = await sightOf(scope, after, descending)
    const items: Item[] = []
    for (const [at, stretch] of stretches.entries()) {
      const part: Part = { scope, stretch, archived, after: placeWithin(stretch, after), descending }
      const piece = await pieceOf(part, parts, limit - items.length)
      items.push(...piece.items)
      if (piece.next) return { items, next: piece.next }
      const isMore = at < stretches.length - 1
      if (scope.questions.length > 0 && isMore) return { items, next: endOf(stretch, descending) }
    }
    return { items, next: undefined }
  }

  const hasLaterInFiles = async ({ accountId, to }: Pick<Scope, 'accountId' | 'to'>) => {
    const parts = (await archive?.partsOf(accountId, monthsOfLegs({ from: to, to: lastSecond }))) ?? []
    return parts.some(({ last }) => last > to)
  }

  /** Whether the account has legs that end behind a window: clocks of switches may be ahead. */
  const hasLater = async ({ accountId, to }: Pick<Scope, 'accountId' | 'to'>) => {
    if (await hasLaterInFiles({ accountId, to })) return true
    const rows = await cdrs.read(monthsOfLegs({ from: to, to: lastSecond }), async (from, months) =>
      months.length === 0
        ? []
        : store.all(
            `SELECT created, id FROM ${from} WHERE account_id = $1 AND created > $2 ORDER BY created, id LIMIT 1`,
            [accountId, to],
          ),
    )
    return rows.length > 0
  }

  /** Pieces of records at hand, to the end of a stretch of which some lie in files. */
  async function* piecesFrom(part: Part, parts: Sight['parts']) {
    const { stretch, descending } = part
    let { after } = part
    do {
      const { items, next } = await pieceOf({ ...part, after }, parts, legsAtOnce, true)
      yield { items, place: next ?? endOf(stretch, descending) }
      after = next
    } while (after)
  }

  /** A window part by part, each made into what is wanted of it, with the place to which one is. */
  async function* made<T>(
    { scope, after, descending, records }: Omit<Part, 'stretch' | 'archived'> & { records: number },
    { bySql, ofLegs }: Summing<T>,
    scan: Store['scan'],
  ): AsyncGenerator<{ result: T; place: Place }> {
    const { stretches, parts, archived } = await sightOf(scope, after, descending)
    for (const stretch of stretches) {
      const part: Part = { scope, stretch, archived, after: placeWithin(stretch, after), descending }
      if (liesInFiles(stretch, parts)) {
        for await (const { items, place } of piecesFrom(part, parts)) yield { result: ofLegs(items), place }
        continue
      }
      yield* workAhead(cut(part, { records, scan }), textsAhead, async (piece) => ({
        result: await bySql({ ...piece, range: monthsOf(piece) }),
        place: piece.until ?? endOf(stretch, descending),
      }))
    }
  }

  return {
    /** Whether the store can apply a filter by itself. */
    isCondition: conditions.isCondition,

    async find(accountId: string, id: string): Promise<CdrRow | undefined> {
      if (!isStorable(id)) return undefined
      return readingAgain(async () => {
        const [leg] = await inMonth(monthOfId(id), (from) =>
          store.all<CdrRow>(
            `SELECT ${selectedColumns} FROM ${from} WHERE account_id = $1 AND ${words.oneBy('id', '$2')}`,
            [accountId, id],
          ),
        )
        return leg ?? archive?.find(accountId, id)
      })
    },

    /** What the legs of an interaction are ordered by, in no order. */
    async legPlaces(accountId: string, { time, mark }: Place): Promise<LegPlace[]> {
      if (!isStorable(mark)) return []
      return readingAgain(async () => {
        const stored = await inMonth(monthAt(time), (from) =>
          store.scan<LegPlace>(
            `SELECT ${legPlaceColumns.join(', ')} FROM ${from}
              WHERE account_id = $1 AND interaction_time = $2 AND interaction_key = $3`,
            [accountId, time, mark],
          ),
        )
        return eachOnce(stored, (await archive?.legsOf(accountId, { time, mark })) ?? [])
      })
    },

    /** Some legs of an interaction, in no order. */
    legs: (accountId: string, { time, mark }: Place, ids: readonly string[]): Promise<CdrRow[]> =>
      readingAgain(async () => {
        const stored = await inMonth(monthAt(time), (from) =>
          store.scan<CdrRow>(
            `SELECT ${selectedColumns} FROM ${from}
              WHERE account_id = $1 AND interaction_time = $2 AND interaction_key = $3
                AND id IN (${ids.map((_, index) => `$${index + 4}`).join(', ')})`,
            [accountId, time, mark, ...ids],
          ),
        )
        if (stored.length === ids.length) return stored
        const archived = (await archive?.legsOf(accountId, { time, mark })) ?? []
        return eachOnce(
          stored,
          archived.filter(({ id }) => ids.includes(id)),
        )
      }),

    batch: (scope: Scope, reading: Reading): Promise<LegBatch> =>
      readingAgain(() =>
        readBatch(scope, reading, (part, parts, limit) => pieceOf(part, parts, limit, reading.long)),
      ),

    /** The same as rows, of which some may be kept; of what lies in files the legs. No filters. */
    shown: (scope: Scope, reading: Reading, showing: Showing): Promise<ListPiece<CdrRow | ShownRow>> =>
      readingAgain(() =>
        readBatch<CdrRow | ShownRow>(scope, reading, (part, parts, limit) =>
          liesInFiles(part.stretch, parts)
            ? pieceOf(part, parts, limit, reading.long)
            : shownPiece(part, limit, showing, reading.long),
        ),
      ),

    hasLater: (scope: Pick<Scope, 'accountId' | 'to'>) => readingAgain(() => hasLater(scope)),

    /** The lines of CSV, many at a time, in the order of the list. */
    async *lines(scope: Scope, { after, descending }: Pick<Reading, 'after' | 'descending'>, view: LineView) {
      const records = scope.questions.length > 0 ? triedForLines : store.linesAtOnce
      const texts = goingOn(after, (place) =>
        made(
          { scope, after: place, descending, records },
          {
            bySql: (part) => linesSql(part, view),
            ofLegs: (legs) => csvTextOf(legs, view),
          },
          store.scanForLines,
        ),
      )
      for await (const text of texts) if (text.length > 0) yield text
    },

    /** The parts of a window, each summed up in one read, newest first. */
    sums: <T>(scope: Scope, summing: Summing<T>): AsyncGenerator<T> =>
      goingOn(undefined, (after) =>
        made({ scope, after, descending: true, records: triedAtOnce }, summing, store.scan),
      ),
  }
}

export type CdrStore = ReturnType<typeof createCdrStore>
