import { gregorianOfUnix, gregorianUnixOffset, monthBefore } from '../../../../lib/gregorian.ts'
import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Row, Statement } from '../../../../storage/db.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, type RowOf, shape, text } from '../../../../storage/table.ts'
import { counterBook, type EntryDetails, rolloverService, type Source, type Usage } from '../rules.ts'
import { correctionService, type ImportedMonth, type Reckoned } from './rules.ts'

/** An entry of another system's book. Units; Gregorian seconds. */
export interface ImportedEntry {
  id: string
  created: number
  month: number
  source: Source
  usage: Usage
  amount: number
  forAccountId: string
  details: EntryDetails
}

const columns = `account_id, id, created, month, source_service, source_id, amount, usage_type, usage_quantity,
  usage_unit, for_account_id, available_before, doc, ordinal, made_at`

const entryShape = {
  id: 'text',
  created: 'integer',
  month: 'integer',
  source_service: 'text',
  source_id: 'text',
  amount: 'integer',
  usage_type: 'text',
  usage_quantity: 'integer',
  usage_unit: 'text',
  for_account_id: 'text',
  doc: 'text',
} as const

type EntryRow = Record<keyof typeof entryShape, string | number>

const rowOf = ({ source, usage, forAccountId, details, ...entry }: ImportedEntry): EntryRow => ({
  ...entry,
  source_service: source.service,
  source_id: source.id,
  usage_type: usage.type,
  usage_quantity: usage.quantity,
  usage_unit: usage.unit,
  for_account_id: forAccountId,
  doc: JSON.stringify(details),
})

const earliestOf = (rows: readonly EntryRow[]) => Math.min(...rows.map(({ month }) => Number(month)))

// Where they stand among the others is found out when all are there.
const insertEntries = (given: string) => `INSERT INTO ledger_entries (${columns})
  SELECT CAST($1 AS TEXT), given.id, given.created, given.month, given.source_service, given.source_id, given.amount,
      given.usage_type, given.usage_quantity, given.usage_unit, given.for_account_id, 0, given.doc, 0,
      (given.created - ${gregorianUnixOffset}) * 1000
    FROM ${given}`

const legShape = { entry_id: 'text', book: 'text', amount: 'integer' } as const

const insertLegs = (given: string) => `INSERT INTO ledger_postings (account_id, entry_id, book, amount)
  SELECT CAST($1 AS TEXT), given.entry_id, given.book, given.amount FROM ${given}`

const idShape = { id: 'text' } as const

const deleteEntries = (given: string) =>
  `DELETE FROM ledger_entries WHERE account_id = $1 AND id IN (SELECT id FROM ${given})`
const deleteLegs = (given: string) =>
  `DELETE FROM ledger_postings WHERE account_id = $1 AND book = $2 AND entry_id IN (SELECT id FROM ${given})`

// A balance without a number of entries is one that is still to be reckoned, from its month on: that outlives whoever
// wanted to do it.
const outdateBalance = `INSERT INTO ledger_balances (account_id, units, month, entries) VALUES ($1, 0, $2, -1)
  ON CONFLICT (account_id) DO UPDATE SET entries = -1, month = CASE
    WHEN ledger_balances.entries < 0 AND ledger_balances.month < excluded.month THEN ledger_balances.month
    ELSE excluded.month END`

const isReckoned = `(source_service = '${correctionService}'
    OR source_service = '${rolloverService}' AND doc LIKE '%"reckoned":true%')`
const isMoving = `source_service NOT IN ('${rolloverService}', '${correctionService}')`

// Ids begin with their months, so months are ranges of the key.
const inMonth = 'account_id = $1 AND id >= $2 AND id < $3'
const rangeOf = (month: number) => [`${month}-`, `${month}.`] as const

const sumMonth = `INSERT INTO ledger_months
    (account_id, month, source_service, for_account_id, amount, usage_type, usage_quantity, usage_unit)
  SELECT account_id, month, source_service, for_account_id, CAST(sum(amount) AS BIGINT), min(usage_type),
      CAST(sum(usage_quantity) AS BIGINT), min(usage_unit)
    FROM ledger_entries WHERE ${inMonth}
    GROUP BY account_id, month, source_service, for_account_id`

const places = shape({
  id: text(),
  created: integer(),
  service: text('source_service'),
  amount: integer(),
  ordinal: integer(),
  had: integer('available_before'),
})

/** An entry and where it stands among the others. */
type Placed = RowOf<typeof places>

/** Where an entry is to stand. */
export type NewPlace = Pick<Placed, 'id' | 'ordinal' | 'had'>

const counted = shape({ month: integer(), count: integer() })

const placeShape = { id: 'text', place: 'integer', had: 'integer' } as const

const placeEntries = (
  given: string,
) => `UPDATE ledger_entries SET ordinal = given.place, available_before = given.had
  FROM ${given} WHERE ledger_entries.account_id = $1 AND ledger_entries.id = given.id`

// A statement holds up other writers as long as it lasts.
const placesAtOnce = 1000

const setBalance = 'UPDATE ledger_balances SET units = $2, month = $3, entries = $4 WHERE account_id = $1'

const utcMonthStart = (month: number) => Date.UTC(Math.floor(month / 100), (month % 100) - 1, 1) / 1000

/** An entry that follows from others, as it stands in the book. */
const entryOf = (accountId: string, { id, kind, month, amount }: Reckoned): ImportedEntry => {
  const beginning = gregorianOfUnix(utcMonthStart(month))
  const usage = { type: 'month', quantity: 1, unit: 'month' }
  const before = monthBefore(month)
  return kind === 'rollover'
    ? {
        ...{ id, month, amount, usage, forAccountId: accountId, created: beginning },
        source: { service: rolloverService, id: String(before) },
        details: { description: `Balance of ${before}`, reckoned: true },
      }
    : {
        ...{ id, month: before, amount, usage, forAccountId: accountId, created: beginning - 1 },
        source: { service: correctionService, id: String(month) },
        details: { description: `What ${month} began with beyond the balance of ${before}` },
      }
}

/** The rows of entries that another system has booked. */
export const createLedgerImportStore = ({ all, scan, words, writeUnrecorded }: Store) => {
  const forIds = (sql: (given: string) => string, params: readonly string[], ids: readonly string[]) =>
    words.forEachRow({ shape: idShape, rows: ids.map((id) => ({ id })), params, sql, orElse: conflict })

  const counterBooks = (rows: readonly EntryRow[]) =>
    rows.map((row) => ({ id: String(row.id), book: counterBook(String(row.source_service)) }))

  const removal = (accountId: string, rows: readonly EntryRow[]): Statement[] => [
    ...forIds(
      deleteEntries,
      [accountId],
      rows.map(({ id }) => String(id)),
    ),
    ...forIds(
      deleteLegs,
      [accountId, 'account'],
      rows.map(({ id }) => String(id)),
    ),
    ...[...Map.groupBy(counterBooks(rows), ({ book }) => book)].flatMap(([book, ofBook]) =>
      forIds(
        deleteLegs,
        [accountId, book],
        ofBook.map(({ id }) => id),
      ),
    ),
  ]

  const addition = (accountId: string, rows: readonly EntryRow[]): readonly Statement[] => {
    const legs = rows.flatMap(({ id, source_service, amount }) => [
      { entry_id: id, book: 'account', amount },
      { entry_id: id, book: counterBook(String(source_service)), amount: -Number(amount) },
    ])
    const params = [accountId]
    return [
      ...words.forEachRow({ shape: entryShape, rows, params, sql: insertEntries, orElse: conflict }),
      ...words.forEachRow({ shape: legShape, rows: legs, params, sql: insertLegs, orElse: conflict }),
    ]
  }

  /** The rows that stand there under these ids. */
  const standing = async (accountId: string, ids: readonly string[]) => {
    const pairs = JSON.stringify(ids.map((id) => [accountId, id]))
    const names = Object.keys(entryShape)
    const rows = await all(
      `SELECT ${names.map((name) => `e.${name}`).join(', ')} FROM ${words.pairs('$1')}
        JOIN ledger_entries e ON e.account_id = pairs.a AND e.id = pairs.b`,
      [pairs],
    )
    return new Map(rows.map((row) => [row.id as string, row as EntryRow]))
  }

  const isSame = (a: EntryRow | undefined, b: EntryRow) =>
    a !== undefined &&
    Object.keys(entryShape).every((key) => a[key as keyof EntryRow] === b[key as keyof EntryRow])

  return {
    /** Puts entries of one account, each in the place of what bears its id. Tells which of them were not there so. */
    async put(set: ChangeSet, accountId: string, entries: readonly ImportedEntry[]): Promise<boolean[]> {
      const rows = entries.map(rowOf)
      const before = await standing(
        accountId,
        rows.map(({ id }) => String(id)),
      )
      const isNews = rows.map((row) => !isSame(before.get(String(row.id)), row))
      const news = rows.filter((_, at) => isNews[at])
      if (news.length === 0) return isNews
      const replaced = news.flatMap(({ id }) => before.get(String(id)) ?? [])
      set
        .add(...removal(accountId, replaced), ...addition(accountId, news))
        .run(outdateBalance, [accountId, earliestOf([...news, ...replaced])])
      return isNews
    },

    /** False when there is none. */
    async remove(set: ChangeSet, accountId: string, id: string): Promise<boolean> {
      const before = await standing(accountId, [id])
      if (before.size === 0) return false
      const rows = [...before.values()]
      set.add(...removal(accountId, rows)).run(outdateBalance, [accountId, earliestOf(rows)])
      return true
    },

    /** Accounts whose balance is to be reckoned, and from which month on. */
    async outdated(limit: number): Promise<{ accountId: string; from: number }[]> {
      const rows = await scan(
        'SELECT account_id, month FROM ledger_balances WHERE entries < 0 ORDER BY account_id LIMIT $1',
        [limit],
      )
      return rows.map((row) => ({ accountId: row.account_id as string, from: row.month as number }))
    },

    /** What arrived of an account's months, the oldest first. Sums of months before `from` hold still. */
    async months(accountId: string, from: number): Promise<ImportedMonth[]> {
      const moved = await scan(
        `SELECT month, CAST(sum(amount) AS BIGINT) AS units FROM ledger_months
            WHERE account_id = $1 AND month < $2 AND ${isMoving} GROUP BY month
          UNION ALL
          SELECT month, CAST(sum(amount) AS BIGINT) AS units FROM ledger_entries
            WHERE account_id = $1 AND id >= $3 AND ${isMoving} GROUP BY month`,
        [accountId, from, rangeOf(from)[0]],
      )
      const carried = await scan(
        `SELECT month, amount AS units FROM ledger_entries
          WHERE account_id = $1 AND source_service = '${rolloverService}' AND NOT ${isReckoned}`,
        [accountId],
      )
      const unitsBy = (rows: readonly Row[]) =>
        new Map(rows.map(({ month, units }) => [month as number, units as number]))
      const [movedBy, carriedBy] = [unitsBy(moved), unitsBy(carried)]
      return [...new Set([...movedBy.keys(), ...carriedBy.keys()])]
        .toSorted((a, b) => a - b)
        .map((month) => ({ month, moved: movedBy.get(month) ?? 0, rollover: carriedBy.get(month) }))
    },

    /** Puts what was reckoned in the place of what was before. Answers with the months in which that changed something. */
    async putReckoned(accountId: string, entries: readonly Reckoned[]): Promise<number[]> {
      const names = Object.keys(entryShape).join(', ')
      const sql = `SELECT ${names} FROM ledger_entries WHERE account_id = $1 AND ${isReckoned}`
      const before = (await scan(sql, [accountId])) as EntryRow[]
      const after = entries.map((entry) => rowOf(entryOf(accountId, entry)))
      const without = (some: readonly EntryRow[], others: readonly EntryRow[]) =>
        some.filter((row) => !others.some((other) => isSame(other, row)))
      const [gone, news] = [without(before, after), without(after, before)]
      const statements = [...removal(accountId, gone), ...addition(accountId, news)]
      if (statements.length > 0) await writeUnrecorded(statements)
      return [...gone, ...news].map(({ month }) => Number(month))
    },

    /** The months of an account from one on, those of reckoned entries among them, and how many entries each has. */
    async monthsFrom(accountId: string, from: number): Promise<ReadonlyMap<number, number>> {
      const sql = `SELECT month, count(*) AS count FROM ledger_entries
        WHERE account_id = $1 AND id >= $2 GROUP BY month ORDER BY month`
      const rows = counted.list(await scan(sql, [accountId, rangeOf(from)[0]]))
      return new Map(rows.map(({ month, count }) => [month, count]))
    },

    /** How many entries an account had before a month, and what they came to. */
    async before(accountId: string, month: number): Promise<{ count: number; units: number }> {
      const [row] = await scan(
        `SELECT (SELECT count(*) FROM ledger_entries WHERE account_id = $1 AND id < $3) AS count,
            CAST(coalesce((SELECT sum(amount) FROM ledger_months WHERE account_id = $1 AND month < $2
              AND source_service <> '${rolloverService}'), 0) AS BIGINT) AS units`,
        [accountId, month, rangeOf(month)[0]],
      )
      return { count: Number(row?.count ?? 0), units: Number(row?.units ?? 0) }
    },

    /** Adds months up anew. */
    sumMonths: (accountId: string, months: readonly number[]) =>
      writeUnrecorded(
        months.flatMap((month) => [
          {
            sql: 'DELETE FROM ledger_months WHERE account_id = $1 AND month = $2',
            params: [accountId, month],
          },
          { sql: sumMonth, params: [accountId, ...rangeOf(month)] },
        ]),
      ),

    /** The entries of months in the order in which they moved the balance, what was carried over first in each. */
    async inOrder(accountId: string, first: number, last: number): Promise<Placed[]> {
      const rows = await scan(
        `SELECT ${places.columns} FROM ledger_entries WHERE ${inMonth}
          ORDER BY month, source_service <> '${rolloverService}', created, id`,
        [accountId, rangeOf(first)[0], rangeOf(last)[1]],
      )
      return places.list(rows)
    },

    /** Gives entries their places. */
    async place(accountId: string, placed: readonly NewPlace[]) {
      for (let at = 0; at < placed.length; at += placesAtOnce) {
        const rows = placed
          .slice(at, at + placesAtOnce)
          .map(({ id, ordinal, had }) => ({ id, place: ordinal, had }))
        await writeUnrecorded(
          words.forEachRow({
            shape: placeShape,
            rows,
            params: [accountId],
            sql: placeEntries,
            orElse: conflict,
          }),
        )
      }
    },

    /** The balance is reckoned: what it comes to, and how many entries there are. */
    finish: (accountId: string, { units, month, count }: { units: number; month: number; count: number }) =>
      writeUnrecorded([{ sql: setBalance, params: [accountId, units, month, count] }]),

    /** Of an account whose entries have all gone nothing is left. */
    forget: (accountId: string) =>
      writeUnrecorded(
        ['ledger_entries', 'ledger_postings', 'ledger_months', 'ledger_balances'].map((table) => ({
          sql: `DELETE FROM ${table} WHERE account_id = $1`,
          params: [accountId],
        })),
      ),
  }
}
