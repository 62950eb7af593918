import type { ListQuery } from '../../../lib/question.ts'
import { type ArchivedMonths, readingAgain } from '../../../storage/monthly.ts'
import { isStorable } from '../../../storage/records.ts'
import type { SqlWords } from '../../../storage/sql-words.ts'
import type { Store } from '../../../storage/store.ts'
import { placeholders } from '../../../storage/table.ts'
import type { ArchiveReading } from './archive/reading.ts'
import { type CdrRow, cdrColumns, monthOfId } from './columns.ts'
import {
  type AddParam,
  createParams,
  createPartLists,
  inPartSql,
  legOrder,
  orderBy,
  ownedBy,
  rangeSql,
  type Scope,
  selectedColumns,
} from './parts.sql.ts'
import {
  type CdrPlace,
  lastSecond,
  type MonthBounds,
  monthAt,
  monthsOfLegs,
  stretchesOf,
  type TimeStretch,
} from './places.rules.ts'

// Filters on columns as SQL. They mean the same as on the document (http/response/filters.ts):
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

const fieldsByPath = (words: SqlWords) => {
  const fields = new Map<string, Field>([
    ['id', always('id')],
    ['call_id', always('substr(id, 8)')],
    ['interaction_id', always(words.joined(['interaction_time', "'-'", 'interaction_key']))],
    ['custom_channel_vars.account_id', always('account_id')],
    ['created', { column: undefined, text: words.asText('created'), number: 'created', isText: false }],
    ['modified', { column: undefined, text: words.asText('created'), number: 'created', isText: false }],
  ])
  for (const { path, sql, type } of cdrColumns) {
    if (type === 'json') continue
    const isText = type === 'text'
    const text = `COALESCE(${isText ? sql : words.asText(sql)}, '')`
    fields.set(path, { column: sql, text, isText, ...(isText ? {} : { number: sql }) })
  }
  return fields
}

const neverSql = '1 = 0'
const alwaysSql = '1 = 1'

const oneOfSql = ({ column, text, isText }: Field, texts: Iterable<string>, mark: AddParam) => {
  const wanted = [...texts].filter(isStorable)
  if (wanted.length === 0) return neverSql
  // Without the empty text a missing value does not match: the bare column can use an index.
  const compared = isText && column && !wanted.includes('') ? column : text
  return `${compared} IN (${wanted.map(mark).join(', ')})`
}

const isPresent = ({ column }: Field) => (column ? `${column} IS NOT NULL` : alwaysSql)
const isAbsent = ({ column }: Field) => (column ? `${column} IS NULL` : neverSql)

// NOT of a comparison with NULL would be neither true nor false.
const not = (condition: string) => `NOT COALESCE(${condition}, ${neverSql})`

const notEmpty = (field: Field) => (field.isText ? `${field.text} <> ''` : isPresent(field))

const inTime = ({ number }: Field, sign: '>=' | '<=', bound: number, mark: AddParam) =>
  number && !Number.isNaN(bound)
    ? `${number} ${sign} ${mark(Math.min(bound, Number.MAX_SAFE_INTEGER))}`
    : neverSql

const conditionOf = (field: Field | undefined, test: ListQuery['test'], mark: AddParam): string => {
  if (!field) throw new Error('a query without a column')
  switch (test.is) {
    case 'oneOf':
      return oneOfSql(field, test.texts, mark)
    // A column contains no list.
    case 'notOneOf':
    case 'noneOf':
      return not(oneOfSql(field, test.texts, mark))
    // Only a missing value counts as an empty list.
    case 'arrayOfAll':
      return test.texts.length === 0 ? isAbsent(field) : neverSql
    case 'arrayOfAny':
      return neverSql
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
      return neverSql
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

const createLegLists = (store: Store, archive: ArchiveReading | undefined, triedAtOnce: number) => {
  const { cdrs, words } = store
  const fields = fieldsByPath(words)

  /** The oldest and newest leg of each month: a few microseconds for each. */
  const boundsOf = (scope: Scope, archived: ArchivedMonths): Promise<MonthBounds[]> =>
    cdrs.read({ ...monthsOfLegs(scope), archived }, async (_from, months) => {
      if (months.length === 0) return []
      const { params, mark } = createParams()
      const condition = `${ownedBy(scope, mark)} AND ${rangeSql(scope, legOrder, { descending: true }, mark)}`
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
    const overlaps = ({ from, to }: Pick<TimeStretch, 'from' | 'to'>) =>
      files.filter(({ first, last }) => first <= to && last >= from)
    const inFiles = overlaps(scope).map(({ month, first, last }) => ({
      month,
      first: Math.max(first, scope.from),
      last: Math.min(last, scope.to),
    }))
    const stretches = stretchesOf([...(await boundsOf(scope, archived)), ...inFiles])
    return { stretches, archived, filesOf: overlaps }
  }

  return createPartLists(
    store,
    {
      placeOf: (leg) => ({ time: leg.created, mark: leg.id }),
      sight,
      placesOf(part, mark) {
        const end = `WHERE ${inPartSql(part, legOrder, mark)} ${orderBy(legOrder, part.descending)}`
        return (from) => `SELECT created AS found_time, id AS found_key FROM ${from} ${end}`
      },
      rowsOf(part, limit, mark) {
        const filters = part.scope.questions.map(
          ({ key, test }) => ` AND (${conditionOf(fields.get(key), test, mark)})`,
        )
        const where = inPartSql(part, legOrder, mark) + filters.join('')
        const bound = limit === undefined ? '' : ` LIMIT ${mark(limit)}`
        return (from) => `FROM ${from} WHERE ${where} ${orderBy(legOrder, part.descending)}${bound}`
      },
      lineOrder: { orderedBy: ['created', 'id'], byBlock: true },
      archived: archive?.legs,
    },
    triedAtOnce,
  )
}

/** Legs in the store and in files. */
export const createCdrStore = (store: Store, archive?: ArchiveReading, triedAtOnce = usualTrial) => {
  const { cdrs, words } = store
  const fields = fieldsByPath(words)

  const inMonth = <T>(month: number, query: (from: string) => Promise<T>) =>
    cdrs.read({ first: month, last: month }, query)

  /** The stored and the archived rows of an interaction. */
  const inInteraction = async <T extends LegPlace>(
    accountId: string,
    { time, mark }: CdrPlace,
    { columns, ids }: { columns: string; ids?: readonly string[] },
  ): Promise<(T | CdrRow)[]> => {
    const isAsked = ids ? ` AND id IN (${placeholders(ids.length, 4)})` : ''
    const stored = await inMonth(monthAt(time), (from) =>
      store.scan<T>(
        `SELECT ${columns} FROM ${from}
          WHERE account_id = $1 AND interaction_time = $2 AND interaction_key = $3${isAsked}`,
        [accountId, time, mark, ...(ids ?? [])],
      ),
    )
    if (stored.length === ids?.length) return stored
    const archived = (await archive?.legsOf(accountId, { time, mark })) ?? []
    const wanted = ids ? archived.filter(({ id }) => ids.includes(id)) : archived
    // A leg may be in both while it is archived.
    return [...new Map([...stored, ...wanted].map((leg) => [leg.id, leg])).values()]
  }

  /** Whether the account has legs after a window: clocks of switches may be ahead. */
  const hasLater = async ({ accountId, to }: Pick<Scope, 'accountId' | 'to'>) => {
    const range = monthsOfLegs({ from: to, to: lastSecond })
    const files = (await archive?.partsOf(accountId, range)) ?? []
    if (files.some(({ last }) => last > to)) return true
    const rows = await cdrs.read(range, async (from, months) =>
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
    ...createLegLists(store, archive, triedAtOnce),

    isCondition: ({ key }: ListQuery) => fields.has(key),

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
    legPlaces: async (accountId: string, place: CdrPlace): Promise<LegPlace[]> =>
      isStorable(place.mark)
        ? readingAgain(() => inInteraction(accountId, place, { columns: legPlaceColumns.join(', ') }))
        : [],

    /** Some legs of an interaction, unordered. */
    legs: (accountId: string, place: CdrPlace, ids: readonly string[]): Promise<CdrRow[]> =>
      readingAgain(() => inInteraction<CdrRow>(accountId, place, { columns: selectedColumns, ids })),

    hasLater: (scope: Pick<Scope, 'accountId' | 'to'>) => readingAgain(() => hasLater(scope)),
  }
}

export type CdrStore = ReturnType<typeof createCdrStore>
