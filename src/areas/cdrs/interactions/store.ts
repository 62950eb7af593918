import { gregorianUnixOffset } from '../../../lib/gregorian.ts'
import { type ArchivedMonths, readingAgain } from '../../../storage/monthly.ts'
import type { Store } from '../../../storage/store.ts'
import { workAhead } from '../ahead.ts'
import type { ArchiveReading } from '../archive/reading.ts'
import { type ArchivedPart, joinPieces, type ListPiece } from '../archive/rules.ts'
import type { CdrRow } from '../columns.ts'
import { endOf, monthAt, monthsOfInteractions, type Place, placeWithin, windowOf } from '../reading/rules.ts'
import {
  createParams,
  heldBy,
  interactionOrder,
  orderBy,
  type Params,
  type Reading,
  rangeOf,
  type Scope,
  selectedColumns,
} from '../reading/store.ts'
import { byChannelTime } from '../rules.ts'
import { sheetOf } from '../sheet/store.ts'
import {
  csvTextOf,
  goingOn,
  type LegBatch,
  type LineView,
  legsAtOnce,
  textsAhead,
  usualTrial,
} from '../store.ts'

// The order of an interaction's legs, as `byChannelTime` in rules.ts has it.
const channelTime = `COALESCE(channel_created_time,
  (created - COALESCE(duration_seconds, 0) - ${gregorianUnixOffset}) * 1000000)`
const firstChannel = `ORDER BY ${channelTime},
  CASE loopback_leg WHEN 'A' THEN 0 WHEN 'B' THEN 1 ELSE 2 END, id LIMIT 1`

const placeOf = (leg: CdrRow): Place => ({ time: leg.interaction_time, mark: leg.interaction_key })

/** A part of a month's interactions. */
interface Part {
  month: number
  archived: ArchivedMonths
  scope: Scope
  after: Place | undefined
  until?: Place | undefined
  descending: boolean
}

/** Interactions: each is shown by the leg whose channel was first. */
export const createInteractionStore = (store: Store, archive?: ArchiveReading, triedAtOnce = usualTrial) => {
  const { cdrs, words } = store

  /** The interactions of a part, found along their index. */
  const foundIn = ({ scope, after, until, descending }: Part, { mark }: Pick<Params, 'mark'>) => {
    const ends = { after: placeWithin(scope, after), until, descending }
    const rows = `${heldBy(scope, mark)} AND ${rangeOf(scope, interactionOrder, ends, mark)}`
    return (from: string) =>
      `SELECT DISTINCT interaction_time AS found_time, interaction_key AS found_key FROM ${from}
        WHERE ${rows} ${orderBy(interactionOrder, descending)}`
  }

  /** The leg that stands for each of them: a statement from FROM on. */
  const statementOf = (part: Part, limit: number | undefined, { mark }: Pick<Params, 'mark'>) => {
    const found = foundIn(part, { mark })
    const held = heldBy(part.scope, mark)
    const account = mark(part.scope.accountId)
    const bound = limit === undefined ? '' : `LIMIT ${mark(limit)}`
    // Materialized, or the planner of PostgreSQL would look for the leg among all of the account's.
    const firsts = (from: string) => `(WITH firsts AS MATERIALIZED (
        SELECT found_time, found_key, (
          SELECT id FROM ${from} WHERE ${held}
            AND interaction_time = found_time AND interaction_key = found_key ${firstChannel}) AS first_id
        FROM (${found(from)} ${bound}) AS found) SELECT * FROM firsts) AS firsts`
    const scope = `account_id = ${account}`
    const legs = (from: string) =>
      words.withRows({ given: firsts(from), from, scope, key: 'id', is: 'first_id' })
    return (from: string) => `FROM ${legs(from)}
      ${orderBy({ time: 'found_time', mark: 'found_key' }, part.descending)}`
  }

  /**
   * The months of a scope, and what lies in files of each. An interaction lies in the month of its time: month after
   * month is in order.
   */
  const monthsOf = async (scope: Scope, { after, descending }: Pick<Reading, 'after' | 'descending'>) => {
    const range = monthsOfInteractions(scope)
    // Before the files: see `sightOf` in ../store.ts.
    const archived = await cdrs.archivedMonths()
    const parts = (await archive?.partsOf(scope.accountId, range)) ?? []
    const begin = after && monthAt(after.time)
    const isOpen = (month: number) => begin === undefined || (descending ? month <= begin : month >= begin)
    const stored = await cdrs.read({ ...range, archived }, async (_from, months) => months)
    const months = [...new Set([...stored, ...parts.map(({ month }) => month)])].filter(isOpen)
    return months
      .sort((a, b) => (descending ? b - a : a - b))
      .map((month) => ({ month, archived, parts: parts.filter((part) => part.month === month) }))
  }

  const inMonth = <T>({ month, archived }: Part, query: (from: string) => Promise<T>) =>
    cdrs.read({ first: month, last: month, archived }, query)

  const readPart = (part: Part, limit: number, long: boolean) => {
    const { params, mark } = createParams()
    const statement = statementOf(part, limit, { mark })
    const read = long ? store.scan : store.all
    return inMonth(part, (from) => read<CdrRow>(`SELECT ${selectedColumns} ${statement(from)}`, params))
  }

  const linesSql = (part: Part, view: LineView) => {
    const { params, mark } = createParams()
    const sheet = sheetOf(words, view.forReseller, mark(view.utcOffset))
    const statement = statementOf(part, undefined, { mark })
    return inMonth(part, (from) =>
      store.csvLines({
        ...sheet,
        orderedBy: ['found_time', 'found_key'],
        tail: statement(from),
        params,
        byBlock: false,
      }),
    )
  }

  /** The place of the interaction that so many others precede; undefined: the month ends before it. */
  const placeAfter = async (part: Part, interactions: number): Promise<Place | undefined> => {
    const { params, mark } = createParams()
    const found = foundIn(part, { mark })
    const [row] = await inMonth(part, (from) =>
      store.scanForLines<FoundRow>(`${found(from)} LIMIT 1 OFFSET ${interactions - 1}`, params),
    )
    return row && { time: row.found_time, mark: row.found_key }
  }

  async function* cut(part: Part): AsyncGenerator<Part> {
    let { after } = part
    do {
      const until = await placeAfter({ ...part, after }, store.linesAtOnce)
      yield { ...part, after, until }
      after = until
    } while (after)
  }

  const storedPiece = async (part: Part, limit: number, long: boolean): Promise<ListPiece> => {
    const items = await readPart(part, limit, long)
    const final = items.at(-1)
    return { items, next: final && items.length === limit ? placeOf(final) : undefined }
  }

  /** Of an interaction some legs may lie in files and others, that came late, in the store. */
  const pieceOf = async (
    part: Part,
    parts: readonly ArchivedPart[],
    limit: number,
    long: boolean,
  ): Promise<ListPiece> => {
    const stored = storedPiece(part, limit, long)
    if (!archive || parts.length === 0) return stored
    const { scope, after, descending } = part
    const most = scope.ownerId === undefined ? Number.POSITIVE_INFINITY : triedAtOnce
    const asked = { holder: scope, window: scope, after, descending, limit, most }
    const archived = archive.interactions(parts, asked)
    const choose = (a: CdrRow, b: CdrRow) => (byChannelTime(a, b) <= 0 ? a : b)
    return joinPieces(await Promise.all([stored, archived]), { limit, descending, placeOf, choose })
  }

  const readBatch = async (scope: Scope, { after, limit, descending, long }: Reading): Promise<LegBatch> => {
    const items: CdrRow[] = []
    for (const { month, archived, parts } of await monthsOf(scope, { after, descending })) {
      const part = { month, archived, scope, after, descending }
      const piece = await pieceOf(part, parts, limit - items.length, long)
      items.push(...piece.items)
      if (piece.next) return { items, next: piece.next }
    }
    return { items, next: undefined }
  }

  /** Interactions at hand, to the end of a month of which some lie in files. */
  async function* piecesFrom(part: Part, parts: readonly ArchivedPart[]) {
    let { after } = part
    do {
      const { items, next } = await pieceOf({ ...part, after }, parts, legsAtOnce, true)
      yield { items, next }
      after = next
    } while (after)
  }

  /** The lines month by month, with the place to which one is. */
  async function* linesFrom(
    scope: Scope,
    { after, descending }: Pick<Reading, 'after' | 'descending'>,
    view: LineView,
  ): AsyncGenerator<{ result: Uint8Array; place: Place }> {
    for (const { month, archived, parts } of await monthsOf(scope, { after, descending })) {
      const part = { month, archived, scope, after, descending }
      const end = endOf(windowOf(month), descending)
      if (parts.length > 0) {
        for await (const { items, next } of piecesFrom(part, parts))
          yield { result: csvTextOf(items, view), place: next ?? end }
        continue
      }
      yield* workAhead(cut(part), textsAhead, async (piece) => ({
        result: await linesSql(piece, view),
        place: piece.until ?? end,
      }))
    }
  }

  return {
    batch: (scope: Scope, reading: Reading): Promise<LegBatch> =>
      readingAgain(() => readBatch(scope, reading)),

    /** The lines of CSV, many at a time, in the order of the list. */
    async *lines(scope: Scope, { after, descending }: Pick<Reading, 'after' | 'descending'>, view: LineView) {
      const texts = goingOn(after, (place) => linesFrom(scope, { after: place, descending }, view))
      for await (const text of texts) if (text.length > 0) yield text
    },
  }
}

interface FoundRow {
  found_time: number
  found_key: string
}
