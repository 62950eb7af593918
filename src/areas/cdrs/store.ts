import { MonthMoved, type MonthRange, readingAgain } from '../../storage/monthly.ts'
import { isStorable } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { workAhead } from './ahead.ts'
import type { ArchiveReading } from './archive/reading.ts'
import type { ListPiece } from './archive/rules.ts'
import { type CdrRow, monthOfId } from './columns.ts'
import { type Bounded, createParts, liesInFiles, monthsOf, type Part, type Sight } from './parts/store.ts'
import { createLegPieces } from './pieces/store.ts'
import { endOf, lastSecond, monthAt, monthsOfLegs, type Place, placeWithin } from './reading/rules.ts'
import { createParams, type Reading, type Scope, selectedColumns } from './reading/store.ts'
import { csvLineOf } from './rules.ts'
import type { RowView } from './sheet/columns.ts'
import { sheetOf } from './sheet/store.ts'

export type LegBatch = ListPiece

/** How lines of CSV are written. */
export interface LineView {
  utcOffset: number
  forReseller: boolean
}

// A filter that keeps little is tried on this many records at a time: some dozen milliseconds of the store's time.
export const usualTrial = 20_000
// With filters, so many records are tried for lines that are made at once.
const triedForLines = 5000
/** So many texts are in the making while one is being sent. */
export const textsAhead = 2

const legPlaceColumns = [
  'id',
  'created',
  'duration_seconds',
  'channel_created_time',
  'loopback_leg',
] as const satisfies readonly (keyof CdrRow)[]

/** What tells where a leg stands among those of its interaction. */
export type LegPlace = Pick<CdrRow, (typeof legPlaceColumns)[number]>

/** How parts of a window become what is wanted of them: by the store itself, or of records at hand. */
interface Summing<T> {
  bySql(part: { range: MonthRange } & Bounded<Part>): Promise<T>
  ofLegs(legs: readonly CdrRow[]): T
}

// Of what lies in files so many records are worked on at once.
export const legsAtOnce = 2000

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
  const parts = createParts(store, archive)
  const { inPart, sightOf, statementOf, cut } = parts
  const { pieceOf } = createLegPieces(store, parts, archive, triedAtOnce)

  const inMonth = <T>(month: number, query: (from: string) => Promise<T>) =>
    cdrs.read({ first: month, last: month }, query)

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

  const readBatch = async (scope: Scope, { after, limit, descending, long }: Reading): Promise<ListPiece> => {
    const { stretches, parts, archived } = await sightOf(scope, after, descending)
    const items: CdrRow[] = []
    for (const [at, stretch] of stretches.entries()) {
      const part: Part = { scope, stretch, archived, after: placeWithin(stretch, after), descending }
      const piece = await pieceOf(part, parts, limit - items.length, long)
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
    isCondition: parts.isCondition,

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
      readingAgain(() => readBatch(scope, reading)),

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
