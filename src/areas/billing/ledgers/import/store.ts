import { gregorianOfMonth, gregorianUnixOffset, monthBefore } from '../../../../lib/gregorian.ts'
import { type ChangeSet, conflict } from '../../../../storage/change-set.ts'
import type { Row, Statement } from '../../../../storage/db.ts'
import type { Store } from '../../../../storage/store.ts'
import { integer, type RowOf, shape, text } from '../../../../storage/table.ts'
import {
  correctionService,
  counterBook,
  type ImportedMonth,
  type LedgerBooking,
  type Reckoned,
  rolloverService,
} from '../rules.ts'
import { contentOf, contentShape, insertLegs, legShape, legsOf } from '../store.ts'

/** An entry of another system's ledger. Units; Gregorian seconds. */
export interface ImportedEntry extends Omit<LedgerBooking, 'identity' | 'about'> {
  id: string
  created: number
  month: number
  forAccountId: string
}

const entryShape = { ...contentShape, created: 'integer', month: 'integer' } as const

type EntryColumn = keyof typeof entryShape
type EntryRow = { [Name in EntryColumn]: (typeof entryShape)[Name] extends 'text' ? string : number }

const entryNames = Object.keys(entryShape) as EntryColumn[]

const importedRowOf = ({ id, created, month, forAccountId, ...entry }: ImportedEntry): EntryRow => ({
  ...contentOf(id, { ...entry, about: { id: forAccountId } }),
  created,
  month,
})

const earliestOf = (rows: readonly EntryRow[]) => Math.min(...rows.map(({ month }) => month))

// `ordinal` and `available_before` follow when all entries are there.
const insertEntries = (given: string) => `INSERT INTO ledger_entries
    (account_id, ${entryNames.join(', ')}, available_before, ordinal, made_at)
  SELECT CAST($1 AS TEXT), ${entryNames.map((name) => `given.${name}`).join(', ')}, 0, 0,
      (given.created - ${gregorianUnixOffset}) * 1000
    FROM ${given}`

const idShape = { id: 'text' } as const

const deleteEntries = (given: string) =>
  `DELETE FROM ledger_entries WHERE account_id = $1 AND id IN (SELECT id FROM ${given})`
const deleteLegs = (given: string) =>
  `DELETE FROM ledger_postings WHERE account_id = $1 AND book = $2 AND entry_id IN (SELECT id FROM ${given})`

// `entries = -1` marks a balance that is to be computed again from its month on. The mark survives a crash.
const outdateBalance = `INSERT INTO ledger_balances (account_id, units, month, entries) VALUES ($1, 0, $2, -1)
  ON CONFLICT (account_id) DO UPDATE SET entries = -1, month = CASE
    WHEN ledger_balances.entries < 0 AND ledger_balances.month < excluded.month THEN ledger_balances.month
    ELSE excluded.month END`

const isReckoned = `(source_service = '${correctionService}'
    OR source_service = '${rolloverService}' AND doc LIKE '%"reckoned":true%')`
const isMoving = `source_service NOT IN ('${rolloverService}', '${correctionService}')`

// Ids begin with their months, so months are ranges of the key.
const inMonth = 'account_id = $1 AND id >= $2 AND id < $3'
const monthRange = (month: number) => [`${month}-`, `${month}.`] as const

const sumMonth = `INSERT INTO ledger_months
    (account_id, month, source_service, for_account_id, amount, usage_type, usage_quantity, usage_unit)
  SELECT account_id, month, source_service, for_account_id, CAST(sum(amount) AS BIGINT), min(usage_type),
      CAST(sum(usage_quantity) AS BIGINT), min(usage_unit)
    FROM ledger_entries WHERE ${inMonth}
    GROUP BY account_id, month, source_service, for_account_id`

const orderedEntries = shape({
  id: text(),
  created: integer(),
  service: text('source_service'),
  amount: integer(),
  ordinal: integer(),
  availableBefore: integer(),
})

type OrderedEntry = RowOf<typeof orderedEntries>

/** Position of an entry, and the balance in units before it. */
export type EntryPosition = { id: string; position: number; available: number }

const entryCounts = shape({ month: integer(), count: integer() })

const setPositions = (given: string) => `UPDATE ledger_entries
  SET ordinal = given.position, available_before = given.available
  FROM ${given} WHERE ledger_entries.account_id = $1 AND ledger_entries.id = given.id`

// A statement blocks other writers as long as it runs.
const positionsPerWrite = 1000

/** A computed entry as it is stored. */
const computedEntryOf = (accountId: string, { id, kind, month, amount }: Reckoned): ImportedEntry => {
  const beginning = gregorianOfMonth(month)
  const common = { id, amount, usage: { type: 'month', quantity: 1, unit: 'month' }, forAccountId: accountId }
  const before = monthBefore(month)
  return kind === 'rollover'
    ? {
        ...{ ...common, month, created: beginning },
        source: { service: rolloverService, id: String(before) },
        details: { description: `Balance of ${before}`, reckoned: true },
      }
    : {
        ...{ ...common, month: before, created: beginning - 1 },
        source: { service: correctionService, id: String(month) },
        details: { description: `What ${month} began with beyond the balance of ${before}` },
      }
}

const isSameRow = (a: EntryRow | undefined, b: EntryRow) =>
  a !== undefined && entryNames.every((name) => a[name] === b[name])

const rowWrites = ({ words }: Store) => {
  const forIds = (sql: (given: string) => string, params: readonly string[], rows: readonly EntryRow[]) =>
    words.forEachRow({ shape: idShape, rows: rows.map(({ id }) => ({ id })), params, sql, orElse: conflict })

  return {
    removal: (accountId: string, rows: readonly EntryRow[]): Statement[] => [
      ...forIds(deleteEntries, [accountId], rows),
      ...forIds(deleteLegs, [accountId, 'account'], rows),
      ...[...Map.groupBy(rows, (row) => counterBook(row.source_service))].flatMap(([book, ofBook]) =>
        forIds(deleteLegs, [accountId, book], ofBook),
      ),
    ],

    addition(accountId: string, rows: readonly EntryRow[]): readonly Statement[] {
      const common = { params: [accountId], orElse: conflict }
      return [
        ...words.forEachRow({ ...common, shape: entryShape, rows, sql: insertEntries }),
        ...words.forEachRow({ ...common, shape: legShape, rows: legsOf(rows), sql: insertLegs }),
      ]
    },
  }
}

const importing = (store: Store) => {
  const { all, words } = store
  const { removal, addition } = rowWrites(store)

  /** The stored rows with these ids. */
  const stored = async (accountId: string, ids: readonly string[]) => {
    const rows = await all(
      `SELECT ${entryNames.map((name) => `e.${name}`).join(', ')} FROM ${words.pairs('$1')}
        JOIN ledger_entries e ON e.account_id = pairs.a AND e.id = pairs.b`,
      [JSON.stringify(ids.map((id) => [accountId, id]))],
    )
    return new Map(rows.map((row) => [row.id as string, row as EntryRow]))
  }

  return {
    /**
     * Stores entries of one account and replaces those with the same ID. Returns for each whether it changed.
     */
    async put(set: ChangeSet, accountId: string, entries: readonly ImportedEntry[]): Promise<boolean[]> {
      const rows = entries.map(importedRowOf)
      const ids = rows.map(({ id }) => id)
      const before = await stored(accountId, ids)
      const isNew = rows.map((row) => !isSameRow(before.get(row.id), row))
      const added = rows.filter((_, at) => isNew[at])
      if (added.length === 0) return isNew
      const replaced = added.flatMap(({ id }) => before.get(id) ?? [])
      set
        .add(...removal(accountId, replaced), ...addition(accountId, added))
        .run(outdateBalance, [accountId, earliestOf([...added, ...replaced])])
      return isNew
    },

    /** False if there is none. */
    async remove(set: ChangeSet, accountId: string, id: string): Promise<boolean> {
      const rows = [...(await stored(accountId, [id])).values()]
      if (rows.length === 0) return false
      set.add(...removal(accountId, rows)).run(outdateBalance, [accountId, earliestOf(rows)])
      return true
    },
  }
}

const settlingReads = ({ scan }: Store) => ({
  /** Accounts whose balance is to be computed, and from which month on. */
  async outdated(limit: number): Promise<{ accountId: string; from: number }[]> {
    const rows = await scan(
      'SELECT account_id, month FROM ledger_balances WHERE entries < 0 ORDER BY account_id LIMIT $1',
      [limit],
    )
    return rows.map((row) => ({ accountId: row.account_id as string, from: row.month as number }))
  },

  /** The imported months of an account, the oldest first. Sums of months before `from` are up to date. */
  async months(accountId: string, from: number): Promise<ImportedMonth[]> {
    const moved = await scan(
      `SELECT month, CAST(sum(amount) AS BIGINT) AS units FROM ledger_months
          WHERE account_id = $1 AND month < $2 AND ${isMoving} GROUP BY month
        UNION ALL
        SELECT month, CAST(sum(amount) AS BIGINT) AS units FROM ledger_entries
          WHERE account_id = $1 AND id >= $3 AND ${isMoving} GROUP BY month`,
      [accountId, from, monthRange(from)[0]],
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

  /** The months of an account from one on, with how many entries each has. */
  async monthsFrom(accountId: string, from: number): Promise<ReadonlyMap<number, number>> {
    const sql = `SELECT month, count(*) AS count FROM ledger_entries
      WHERE account_id = $1 AND id >= $2 GROUP BY month ORDER BY month`
    const rows = entryCounts.list(await scan(sql, [accountId, monthRange(from)[0]]))
    return new Map(rows.map(({ month, count }) => [month, count]))
  },

  /** How many entries an account had before a month, and their total. */
  async before(accountId: string, month: number): Promise<{ count: number; units: number }> {
    const [row] = await scan(
      `SELECT (SELECT count(*) FROM ledger_entries WHERE account_id = $1 AND id < $3) AS count,
          CAST(coalesce((SELECT sum(amount) FROM ledger_months WHERE account_id = $1 AND month < $2
            AND source_service <> '${rolloverService}'), 0) AS BIGINT) AS units`,
      [accountId, month, monthRange(month)[0]],
    )
    return { count: Number(row?.count ?? 0), units: Number(row?.units ?? 0) }
  },

  /** The entries of months in the order in which they moved the balance; in each month rollovers come first. */
  async inOrder(accountId: string, first: number, last: number): Promise<OrderedEntry[]> {
    const rows = await scan(
      `SELECT ${orderedEntries.columns} FROM ledger_entries WHERE ${inMonth}
        ORDER BY month, source_service <> '${rolloverService}', created, id`,
      [accountId, monthRange(first)[0], monthRange(last)[1]],
    )
    return orderedEntries.list(rows)
  },
})

/** The rows of entries that another system has booked. */
export const createLedgerImportStore = (store: Store) => {
  const { scan, words, writeUnrecorded } = store
  const { removal, addition } = rowWrites(store)

  return {
    ...importing(store),
    ...settlingReads(store),

    /** Replaces the computed entries of an account. Returns the months in which that changed something. */
    async putReckoned(accountId: string, entries: readonly Reckoned[]): Promise<number[]> {
      const sql = `SELECT ${entryNames.join(', ')} FROM ledger_entries WHERE account_id = $1 AND ${isReckoned}`
      const before = (await scan(sql, [accountId])) as EntryRow[]
      const after = entries.map((entry) => importedRowOf(computedEntryOf(accountId, entry)))
      const without = (some: readonly EntryRow[], others: readonly EntryRow[]) =>
        some.filter((row) => !others.some((other) => isSameRow(other, row)))
      const [removed, added] = [without(before, after), without(after, before)]
      const statements = [...removal(accountId, removed), ...addition(accountId, added)]
      if (statements.length > 0) await writeUnrecorded(statements)
      return [...removed, ...added].map(({ month }) => month)
    },

    /** Computes the sums of months again. */
    sumMonths: (accountId: string, months: readonly number[]) =>
      writeUnrecorded(
        months.flatMap((month) => [
          {
            sql: 'DELETE FROM ledger_months WHERE account_id = $1 AND month = $2',
            params: [accountId, month],
          },
          { sql: sumMonth, params: [accountId, ...monthRange(month)] },
        ]),
      ),

    async setPositions(accountId: string, positions: readonly EntryPosition[]) {
      for (let at = 0; at < positions.length; at += positionsPerWrite)
        await writeUnrecorded(
          words.forEachRow({
            shape: { id: 'text', position: 'integer', available: 'integer' },
            rows: positions.slice(at, at + positionsPerWrite),
            params: [accountId],
            sql: setPositions,
            orElse: conflict,
          }),
        )
    },

    /** Stores a computed balance and removes its mark. */
    finish: (accountId: string, { units, month, count }: { units: number; month: number; count: number }) =>
      writeUnrecorded([
        {
          sql: 'UPDATE ledger_balances SET units = $2, month = $3, entries = $4 WHERE account_id = $1',
          params: [accountId, units, month, count],
        },
      ]),

    /** Removes all rows of an account that has no entries left. */
    removeAll: (accountId: string) =>
      writeUnrecorded(
        ['ledger_entries', 'ledger_postings', 'ledger_months', 'ledger_balances'].map((table) => ({
          sql: `DELETE FROM ${table} WHERE account_id = $1`,
          params: [accountId],
        })),
      ),
  }
}
