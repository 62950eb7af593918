import type { Question } from '../../lib/question.ts'
import { isStorable } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { workAhead } from './ahead.ts'
import { type CdrRow, monthOfId, storedColumns } from './columns.ts'
import { createConditions } from './filters/store.ts'
import {
  endOf,
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
import { sheetOf } from './sheet/store.ts'

/** Whose legs, of which time, and which of them. */
export interface Scope extends Holder, TimeWindow {
  /** Filters that the store applies. */
  questions: readonly Question[]
}

export interface LegBatch {
  items: CdrRow[]
  /** Behind what it goes on; undefined at the end. */
  next: Place | undefined
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
const usualTrial = 20_000
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

export const selectedColumns = storedColumns.join(', ')

interface Part {
  scope: Scope
  stretch: Stretch
  after: Place | undefined
  descending: boolean
}

/** To this place, which belongs to it, or to the end. */
type Bounded<P> = P & { until: Place | undefined }

const placeOf = (leg: CdrRow): Place => ({ time: leg.created, mark: leg.id })

/** Call detail records, leg by leg. */
export const createCdrStore = (store: Store, triedAtOnce = usualTrial) => {
  const { cdrs, words } = store
  const conditions = createConditions(words)

  const inMonths = <T>(months: readonly number[], query: (from: string) => Promise<T>) =>
    cdrs.read({ first: Math.min(...months), last: Math.max(...months) }, query)

  /** The two ends of each month's part of an index: a few microseconds a month. */
  const boundsOf = (scope: Scope): Promise<MonthBounds[]> => {
    const { first, last } = monthsOfLegs(scope)
    return cdrs.read({ first, last }, async () => {
      const months = (await cdrs.months()).filter((month) => month >= first && month <= last)
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
  }

  const stretchesFrom = async (scope: Scope, after: Place | undefined, descending: boolean) =>
    stretchesBehind(stretchesOf(await boundsOf(scope)), after, descending)

  /** The place of the record that so many others precede; undefined: the stretch ends before it. */
  const placeAfter = async (
    { scope, stretch, after, descending }: Part,
    records: number,
  ): Promise<Place | undefined> => {
    const { params, mark } = createParams()
    const rows = `${heldBy(scope, mark)} AND ${rangeOf(stretch, legOrder, { after, descending }, mark)}`
    const order = orderBy(legOrder, descending)
    // An offset that does not grow from page to page, counted along the index alone.
    const [row] = await inMonths(stretch.months, (from) =>
      store.scan<Pick<CdrRow, 'created' | 'id'>>(
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
    return inMonths(part.stretch.months, (from) =>
      read<CdrRow>(`SELECT ${selectedColumns} ${statement(from)} LIMIT ${size}`, params),
    )
  }

  const linesSql = (part: Bounded<Part>, view: LineView) => {
    const { params, mark } = createParams()
    const sheet = sheetOf(words, view.forReseller, mark(view.utcOffset))
    const statement = statementOf(part, { mark })
    return inMonths(part.stretch.months, (from) =>
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
  async function* cut(part: Part, records: number): AsyncGenerator<Bounded<Part>> {
    let { after } = part
    do {
      const until = await placeAfter({ ...part, after }, records)
      yield { ...part, after, until }
      after = until
    } while (after)
  }

  /** With filters a batch is what one trial keeps: maybe nothing, and still not the end. */
  const filteredBatch = async (scope: Scope, reading: Reading): Promise<LegBatch> => {
    const { after, limit, descending } = reading
    const [stretch, further] = await stretchesFrom(scope, after, descending)
    if (!stretch) return { items: [], next: undefined }
    const part: Part = { scope, stretch, after: placeWithin(stretch, after), descending }
    const until = await placeAfter(part, triedAtOnce)
    const items = await readPart({ ...part, until }, limit, true)
    const final = items.at(-1)
    if (final && items.length === limit) return { items, next: placeOf(final) }
    return { items, next: until ?? (further && endOf(stretch, descending)) }
  }

  const plainBatch = async (scope: Scope, reading: Reading): Promise<LegBatch> => {
    const { after, limit, descending, long } = reading
    const items: CdrRow[] = []
    for (const stretch of await stretchesFrom(scope, after, descending)) {
      const part: Part = { scope, stretch, after: placeWithin(stretch, after), descending }
      items.push(...(await readPart({ ...part, until: undefined }, limit - items.length, long)))
      const final = items.at(-1)
      if (final && items.length === limit) return { items, next: placeOf(final) }
    }
    return { items, next: undefined }
  }

  return {
    /** Whether the store can apply a filter by itself. */
    isCondition: conditions.isCondition,

    async find(accountId: string, id: string): Promise<CdrRow | undefined> {
      if (!isStorable(id)) return undefined
      const [leg] = await inMonths([monthOfId(id)], (from) =>
        store.all<CdrRow>(`SELECT ${selectedColumns} FROM ${from} WHERE account_id = $1 AND id = $2`, [
          accountId,
          id,
        ]),
      )
      return leg
    },

    /** What the legs of an interaction are ordered by, in no order. */
    async legPlaces(accountId: string, { time, mark }: Place): Promise<LegPlace[]> {
      if (!isStorable(mark)) return []
      return inMonths([monthAt(time)], (from) =>
        store.scan<LegPlace>(
          `SELECT ${legPlaceColumns.join(', ')} FROM ${from}
            WHERE account_id = $1 AND interaction_time = $2 AND interaction_key = $3`,
          [accountId, time, mark],
        ),
      )
    },

    /** Some legs of an interaction, in no order. */
    legs: (accountId: string, { time, mark }: Place, ids: readonly string[]): Promise<CdrRow[]> =>
      inMonths([monthAt(time)], (from) =>
        store.scan<CdrRow>(
          `SELECT ${selectedColumns} FROM ${from}
            WHERE account_id = $1 AND interaction_time = $2 AND interaction_key = $3
              AND id IN (${ids.map((_, index) => `$${index + 4}`).join(', ')})`,
          [accountId, time, mark, ...ids],
        ),
      ),

    batch: (scope: Scope, reading: Reading) =>
      scope.questions.length > 0 ? filteredBatch(scope, reading) : plainBatch(scope, reading),

    /** The lines of CSV, many at a time, in the order of the list. */
    async *lines(scope: Scope, { after, descending }: Pick<Reading, 'after' | 'descending'>, view: LineView) {
      const records = scope.questions.length > 0 ? triedForLines : store.linesAtOnce
      for (const stretch of await stretchesFrom(scope, after, descending)) {
        const part: Part = { scope, stretch, after: placeWithin(stretch, after), descending }
        const texts = workAhead(cut(part, records), textsAhead, (piece) => linesSql(piece, view))
        for await (const text of texts) if (text.length > 0) yield text
      }
    },

    /** The parts of a window that can each be summed up in one read. */
    async *parts(scope: Scope) {
      for (const stretch of await stretchesFrom(scope, undefined, true)) {
        const part: Part = { scope, stretch, after: undefined, descending: true }
        for await (const { after, until } of cut(part, triedAtOnce))
          yield { months: stretch.months, window: stretch, after, until }
      }
    },
  }
}

export type CdrStore = ReturnType<typeof createCdrStore>
