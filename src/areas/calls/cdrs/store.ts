import type { ListQuery } from '../../../lib/question.ts'
import { type ArchivedMonths, readingAgain } from '../../../storage/monthly.ts'
import { isStorable } from '../../../storage/records.ts'
import type { SqlWords } from '../../../storage/sql-words.ts'
import type { Store } from '../../../storage/store.ts'
import type { ArchiveReading } from './archive/reading.ts'
import { type CdrRow, columns, monthOfId } from './columns.ts'
import {
  createParams,
  createPartLists,
  heldBy,
  type LineView,
  legOrder,
  type Mark,
  monthsOf,
  orderBy,
  type Params,
  type Part,
  rangeOf,
  type Scope,
  selectedColumns,
  sheetOf,
} from './parts.sql.ts'
import {
  joinChunks,
  type ListChunk,
  lastSecond,
  type MonthBounds,
  monthAt,
  monthsOfLegs,
  type Place,
  type Stretch,
  stretchesOf,
} from './places.rules.ts'

// Filters on columns as SQL. They mean the same as on the document (http/answer/filters.ts):
// test/storage/cdr-reading.test.ts compares them.

/** `column` is undefined for fields that always exist. */
interface Field {
  column: string | undefined
  /** Compared text; empty if the value is missing. */
  text: string
  /** For filters on times. */
  number?: string
  isText: boolean
}

const always = (text: string): Field => ({ column: undefined, text, isText: true })

const fieldsOf = (words: SqlWords) => {
  const fields = new Map<string, Field>([
    ['id', always('id')],
    ['call_id', always('substr(id, 8)')],
    ['interaction_id', always(words.joined(['interaction_time', "'-'", 'interaction_key']))],
    ['custom_channel_vars.account_id', always('account_id')],
    ['created', { column: undefined, text: words.asText('created'), number: 'created', isText: false }],
    ['modified', { column: undefined, text: words.asText('created'), number: 'created', isText: false }],
  ])
  for (const { path, sql, type } of columns) {
    if (type === 'json') continue
    const isText = type === 'text'
    const text = `COALESCE(${isText ? sql : words.asText(sql)}, '')`
    fields.set(path, { column: sql, text, isText, ...(isText ? {} : { number: sql }) })
  }
  return fields
}

const nothing = '1 = 0'
const everything = '1 = 1'

const oneOf = ({ column, text, isText }: Field, texts: Iterable<string>, mark: Mark) => {
  const wanted = [...texts].filter(isStorable)
  if (wanted.length === 0) return nothing
  // Without the empty text a missing value does not match: the bare column can use an index.
  const compared = isText && column && !wanted.includes('') ? column : text
  return `${compared} IN (${wanted.map(mark).join(', ')})`
}

const isPresent = ({ column }: Field) => (column ? `${column} IS NOT NULL` : everything)
const isAbsent = ({ column }: Field) => (column ? `${column} IS NULL` : nothing)

// NOT of a comparison with NULL would be neither true nor false.
const not = (condition: string) => `NOT COALESCE(${condition}, ${nothing})`

const notEmpty = (field: Field) => (field.isText ? `${field.text} <> ''` : isPresent(field))

const inTime = ({ number }: Field, sign: '>=' | '<=', bound: number, mark: Mark) =>
  number && !Number.isNaN(bound)
    ? `${number} ${sign} ${mark(Math.min(bound, Number.MAX_SAFE_INTEGER))}`
    : nothing

const conditionOf = (field: Field | undefined, test: ListQuery['test'], mark: Mark): string => {
  if (!field) throw new Error('a question about no column')
  switch (test.is) {
    case 'oneOf':
      return oneOf(field, test.texts, mark)
    // A column contains no list.
    case 'notOneOf':
    case 'noneOf':
      return not(oneOf(field, test.texts, mark))
    // Only a missing value counts as an empty list.
    case 'arrayOfAll':
      return test.texts.length === 0 ? isAbsent(field) : nothing
    case 'arrayOfAny':
      return nothing
    case 'arrayOfNone':
      return isAbsent(field)
    case 'present':
      return isPresent(field)
    case 'absent':
      return isAbsent(field)
    case 'filled':
      return notEmpty(field)
    case 'unfilled':
      return not(notEmpty(field))
    case 'notBefore':
      return inTime(field, '>=', test.bound, mark)
    case 'notAfter':
      return inTime(field, '<=', test.bound, mark)
    case 'impossible':
      return nothing
  }
}

export const createConditions = (words: SqlWords) => {
  const fields = fieldsOf(words)
  return {
    isCondition: ({ key }: ListQuery) => fields.has(key),
    conditionOf: ({ key, test }: ListQuery, mark: Mark) => conditionOf(fields.get(key), test, mark),
  }
}

// Records that a filter is tried on in one read: some dozen milliseconds.
export const usualTrial = 20_000

const legPlaceColumns = [
  'id',
  'created',
  'duration_seconds',
  'channel_created_time',
  'loopback_leg',
] as const satisfies readonly (keyof CdrRow)[]

type LegPlace = Pick<CdrRow, (typeof legPlaceColumns)[number]>

/** A leg may be in both while it is archived. */
const eachOnce = <T extends LegPlace>(stored: readonly T[], archived: readonly T[]) => [
  ...new Map([...stored, ...archived].map((leg) => [leg.id, leg])).values(),
]

const placeOf = (leg: CdrRow): Place => ({ time: leg.created, mark: leg.id })

/** Legs in the store and in files. */
export const createCdrStore = (store: Store, archive?: ArchiveReading, triedAtOnce = usualTrial) => {
  const { cdrs, words } = store
  const conditions = createConditions(words)

  const inMonth = <T>(month: number, query: (from: string) => Promise<T>) =>
    cdrs.read({ first: month, last: month }, query)

  const inPart = <T>(part: Part, query: (from: string) => Promise<T>) => cdrs.read(monthsOf(part), query)

  /** The oldest and newest leg of each month: a few microseconds for each. */
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

  const sight = async (scope: Scope) => {
    // Before the files: months archived after this are missing in the store, and reading restarts.
    const archived = await cdrs.archivedMonths()
    const files = (await archive?.partsOf(scope.accountId, monthsOfLegs(scope))) ?? []
    const overlaps = ({ from, to }: Pick<Stretch, 'from' | 'to'>) =>
      files.filter(({ first, last }) => first <= to && last >= from)
    const inFiles = overlaps(scope).map(({ month, first, last }) => ({
      month,
      first: Math.max(first, scope.from),
      last: Math.min(last, scope.to),
    }))
    const stretches = stretchesOf([...(await boundsOf(scope, archived)), ...inFiles])
    return { stretches, archived, filesOf: overlaps }
  }

  const placeAfter = async (
    { until: _, ...part }: Part,
    records: number,
    scan: Store['scan'],
  ): Promise<Place | undefined> => {
    const { scope, stretch, after, descending } = part
    const { params, mark } = createParams()
    const rows = `${heldBy(scope, mark)} AND ${rangeOf(stretch, legOrder, { after, descending }, mark)}`
    const order = orderBy(legOrder, descending)
    // The offset is constant and counted in the index only.
    const [row] = await inPart(part, (from) =>
      scan<Pick<CdrRow, 'created' | 'id'>>(
        `SELECT created, id FROM ${from} WHERE ${rows} ${order} LIMIT 1 OFFSET ${records - 1}`,
        params,
      ),
    )
    return row && { time: row.created, mark: row.id }
  }

  /** SQL from FROM on. */
  const statementOf = (part: Part, { mark }: Pick<Params, 'mark'>) => {
    const { scope, stretch, after, until, descending } = part
    const rows = `${heldBy(scope, mark)} AND ${rangeOf(stretch, legOrder, { after, until, descending }, mark)}`
    const filters = scope.questions
      .map((question) => ` AND (${conditions.conditionOf(question, mark)})`)
      .join('')
    return (from: string) => `FROM ${from} WHERE ${rows}${filters} ${orderBy(legOrder, descending)}`
  }

  /** With filters, the matches of one trial: maybe none before the end. */
  const storedPiece = async (part: Part, limit: number, long: boolean): Promise<ListChunk> => {
    const isFiltered = part.scope.questions.length > 0
    const until = isFiltered ? await placeAfter(part, triedAtOnce, store.scan) : undefined
    const { params, mark } = createParams()
    const statement = statementOf({ ...part, until }, { mark })
    const size = mark(limit)
    const read = long || isFiltered ? store.scan : store.all
    const items = await inPart(part, (from) =>
      read<CdrRow>(`SELECT ${selectedColumns} ${statement(from)} LIMIT ${size}`, params),
    )
    const final = items.at(-1)
    return { items, next: final && items.length === limit ? placeOf(final) : until }
  }

  const pieceOf = async (part: Part, limit: number, long: boolean): Promise<ListChunk> => {
    const { scope, stretch, files, after, descending } = part
    if (!archive || files.length === 0) return storedPiece(part, limit, long)
    const { questions, ownerId } = scope
    const isSelected = questions.length > 0 || ownerId !== undefined
    const most = isSelected ? triedAtOnce : Number.POSITIVE_INFINITY
    const asked = { holder: scope, window: stretch, after, descending, questions, limit, most }
    const pieces = [storedPiece(part, limit, long), archive.legs(files, asked)]
    return joinChunks(await Promise.all(pieces), { limit, descending, placeOf })
  }

  const linesSql = (part: Part, view: LineView) => {
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

  const hasLaterInFiles = async ({ accountId, to }: Pick<Scope, 'accountId' | 'to'>) => {
    const parts = (await archive?.partsOf(accountId, monthsOfLegs({ from: to, to: lastSecond }))) ?? []
    return parts.some(({ last }) => last > to)
  }

  /** Whether the account has legs after a window: clocks of switches may be ahead. */
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

  return {
    ...createPartLists(store, { sight, pieceOf, placeAfter, linesSql }, triedAtOnce),

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

    /** The legs of an interaction with their order columns, unordered. */
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

    /** Some legs of an interaction, unordered. */
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

    hasLater: (scope: Pick<Scope, 'accountId' | 'to'>) => readingAgain(() => hasLater(scope)),
  }
}

export type CdrStore = ReturnType<typeof createCdrStore>
