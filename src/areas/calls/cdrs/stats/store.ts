import { invalid } from '../../../../lib/failure.ts'
import { daySeconds } from '../../../../lib/gregorian.ts'
import type { Statement, Value } from '../../../../storage/db.ts'
import type { SqlWords } from '../../../../storage/sql-words.ts'
import type { Store } from '../../../../storage/store.ts'
import type { CdrRow } from '../columns.ts'
import { type AddParam, createParams, inPartSql, legOrder, monthsOf } from '../parts.sql.ts'
import type { CdrStore } from '../store.ts'
import {
  addSums,
  bucketsOf,
  byStartAndGroup,
  type Cell,
  type Chart,
  type CountedLeg,
  type Dimension,
  type Grouping,
  maxCells,
  type ReadSpan,
  readSpansOf,
  type Span,
  type StatsBucket,
  statOf,
  sumNames,
  talliesOf,
  tallyKeys,
} from './rules.ts'

/** A lock until the end of the transaction. */
export const tallyTurn = (words: SqlWords) => words.takeTurn('cdr tallies')

/** Adds new legs to the statistics, in the transaction that stores them. */
export const tallyStatements = (words: SqlWords, legs: readonly CountedLeg[]): Statement[] => {
  const turn = tallyTurn(words)
  const rows = talliesOf(legs)
  const additions = words.accumulating({ table: 'cdr_tallies', keys: tallyKeys, sums: sumNames, rows })
  return turn ? [turn, ...additions] : [...additions]
}

/** The sums of the statistics, computed from legs. */
export const legSums = `count(*) AS calls, count(CASE WHEN billing_seconds > 0 THEN 1 END) AS answered,
  CAST(sum(COALESCE(duration_seconds, 0)) AS BIGINT) AS duration_seconds,
  CAST(sum(COALESCE(billing_seconds, 0)) AS BIGINT) AS billing_seconds, CAST(sum(cost) AS BIGINT) AS cost`

/** Sums of totals. */
export const totalSums = sumNames.map((name) => `CAST(sum(${name}) AS BIGINT) AS ${name}`).join(', ')

const bucketSql = (time: string, bucket: ReadSpan['bucket'], utcOffset: number, mark: AddParam) => {
  if ('start' in bucket) return mark(bucket.start)
  // SQLite binds values as floating point numbers, whose quotients are not integers.
  const [length, offset] = [Math.trunc(bucket.seconds), Math.trunc(utcOffset)]
  return `(((${time} + (${offset})) / ${length}) * ${length} - (${offset}))`
}

interface TotalsQuery {
  accountId: string
  dimension: Dimension
  /** Undefined: all groups. */
  group: string | undefined
  bucket: ReadSpan['bucket']
  utcOffset: number
}

// Finds the groups of a dimension along the key, without reading the rows between.
const groupNames = (where: string) => `WITH RECURSIVE found(name) AS (
    SELECT min(group_value) FROM cdr_tallies WHERE ${where}
    UNION ALL
    SELECT (SELECT min(group_value) FROM cdr_tallies WHERE ${where} AND group_value > found.name)
    FROM found WHERE found.name IS NOT NULL)`

const wholeDaysOf = (accountIds: readonly string[], { from, end }: Span) => {
  const { params, mark } = createParams()
  const where = `account_id IN (${accountIds.map(mark).join(', ')}) AND dimension = 'all'
    AND seconds = ${daySeconds} AND group_value = '' AND start >= ${mark(from)} AND start < ${mark(end)}`
  return { where, params }
}

export const createStatsStore = (store: Store, legs: CdrStore) => ({
  tallies(
    { accountId, dimension, group, bucket, utcOffset }: TotalsQuery,
    piece: StatsBucket,
  ): Promise<Cell[]> {
    const { params, mark } = createParams()
    const where = `account_id = ${mark(accountId)} AND dimension = ${mark(dimension)}
      AND seconds = ${mark(piece.seconds)}`
    const place = bucketSql('start', bucket, utcOffset, mark)
    const span = `start >= ${mark(piece.from)} AND start < ${mark(piece.end)}`
    const rest = `GROUP BY 1, group_value LIMIT ${mark(maxCells + 1)}`
    const select = `SELECT ${place} AS bucket, group_value, ${totalSums}`
    const sql =
      group === undefined
        ? `${groupNames(where)} ${select} FROM found JOIN cdr_tallies ON ${where} AND group_value = name
            WHERE ${span} ${rest}`
        : `${select} FROM cdr_tallies WHERE ${where} AND group_value = ${mark(group)} AND ${span} ${rest}`
    return readCells(store, sql, params)
  },

  /** Sums of several accounts by UTC day. */
  days(accountIds: readonly string[], span: Span): Promise<Cell[]> {
    const { where, params } = wholeDaysOf(accountIds, span)
    const select = `SELECT start AS bucket, '' AS group_value, ${totalSums}`
    return readCells(store, `${select} FROM cdr_tallies WHERE ${where} GROUP BY start`, params)
  },

  /** The calls of each account. */
  async calls(accountIds: readonly string[], span: Span): Promise<Map<string, number>> {
    const { where, params } = wholeDaysOf(accountIds, span)
    const rows = await store.scan<{ account_id: string; calls: number }>(
      `SELECT account_id, CAST(sum(calls) AS BIGINT) AS calls FROM cdr_tallies WHERE ${where} GROUP BY account_id`,
      params,
    )
    return new Map(rows.map(({ account_id, calls }) => [account_id, calls]))
  },

  /** Sums of a user by another dimension: read from the records, because no totals exist. */
  ofOwner(
    holder: { accountId: string; ownerId: string },
    groupBy: Grouping,
    { from, end, bucket }: ReadSpan,
    utcOffset: number,
  ): AsyncGenerator<Cell[]> {
    return legs.sums(
      { ...holder, from, to: end - 1, questions: [] },
      {
        bySql(part) {
          const { params, mark } = createParams()
          const place = bucketSql('created', bucket, utcOffset, mark)
          const where = inPartSql(part, legOrder, mark)
          const size = mark(maxCells + 1)
          return store.cdrs.read(monthsOf(part), (source) =>
            readCells(
              store,
              `SELECT ${place} AS bucket, COALESCE(${groupBy}, '') AS group_value, ${legSums}
              FROM ${source} WHERE ${where} GROUP BY 1, 2 LIMIT ${size}`,
              params,
            ),
          )
        },
        ofLegs: (found) => found.map((leg) => cellOfLeg(leg, groupBy, bucket, utcOffset)),
      },
    )
  },
})

const cellOfLeg = (leg: CdrRow, groupBy: Grouping, bucket: ReadSpan['bucket'], utcOffset: number): Cell => ({
  start: startOfBucket(leg.created, bucket, utcOffset),
  group_value: leg[groupBy] ?? '',
  calls: 1,
  answered: (leg.billing_seconds ?? 0) > 0 ? 1 : 0,
  duration_seconds: leg.duration_seconds ?? 0,
  billing_seconds: leg.billing_seconds ?? 0,
  cost: leg.cost,
})

const startOfBucket = (time: number, bucket: ReadSpan['bucket'], utcOffset: number) => {
  if ('start' in bucket) return bucket.start
  const { seconds } = bucket
  return Math.trunc((time + utcOffset) / seconds) * seconds - utcOffset
}

type StoredCell = Omit<Cell, 'start'> & { bucket: number }

// PostgreSQL returns a bucket that is a parameter as text.
const readCells = async (store: Store, sql: string, params: readonly Value[]): Promise<Cell[]> => {
  const rows = await store.scan<StoredCell>(sql, params)
  return rows.map(({ bucket, ...cell }) => ({ start: Number(bucket), ...cell }))
}

interface ChartScope {
  accountId: string
  ownerId?: string
}

type CellsByKey = Map<string, Cell>

const refuse = (end: number) =>
  invalid({
    created_from: {
      date_range: {
        message: `the result has more than ${maxCells} rows: use a longer interval or a shorter range`,
        cause: end,
      },
    },
  })

const addCells = (cells: CellsByKey, found: readonly Cell[], end: number) => {
  for (const cell of found) {
    const key = `${cell.start} ${cell.group_value}`
    const known = cells.get(key)
    if (known) addSums(known, cell)
    else cells.set(key, cell)
  }
  if (cells.size > maxCells) throw refuse(end)
}

export type CallStats = ReturnType<typeof createCallStats>

export const createCallStats = ({ store, legs }: { store: Store; legs: CdrStore }) => {
  const stats = createStatsStore(store, legs)

  const fill = async (cells: CellsByKey, scope: ChartScope, chart: Chart, span: ReadSpan) => {
    const { utcOffset, groupBy } = chart
    const { accountId, ownerId } = scope
    const { bucket, end } = span
    if (ownerId !== undefined && groupBy !== undefined && groupBy !== 'owner_id') {
      for await (const found of stats.ofOwner({ accountId, ownerId }, groupBy, span, utcOffset))
        addCells(cells, found, end)
      return
    }
    const dimension = ownerId === undefined ? (groupBy ?? 'all') : 'owner_id'
    const group = ownerId ?? (groupBy ? undefined : '')
    for (const piece of bucketsOf(span, utcOffset)) {
      const question = { accountId, dimension, group, bucket, utcOffset } as const
      addCells(cells, await stats.tallies(question, piece), end)
    }
  }

  return {
    daysOf: stats.days,
    callsOf: stats.calls,

    async chart(scope: ChartScope, chart: Chart) {
      const cells: CellsByKey = new Map()
      for (const span of readSpansOf(chart)) await fill(cells, scope, chart, span)
      return [...cells.values()]
        .sort(byStartAndGroup)
        .map((cell) => statOf(cell, chart.groupBy !== undefined))
    },
  }
}
