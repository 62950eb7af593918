import { correctionService, rolloverService } from '../../src/areas/billing/ledgers/rules.ts'
import { pagesOf } from '../../src/lib/list.ts'
import type { Value } from '../../src/storage/db.ts'
import type { Store } from '../../src/storage/store.ts'
import { integer, placeholders, shape, text } from '../../src/storage/table.ts'
import { begunModulus } from '../conversions/call-import.ts'

const ids = shape({ id: text() })
const balances = shape({ units: integer() })
const booked = shape({ carried: integer(), moved: integer(), entries: integer() })
const called = shape({
  ...{ month: text(), count: integer(), duration: integer(), billing: integer(), cost: integer() },
  begun: integer(),
})
const measured = shape({
  ...{ id: text(), cost: integer(), interaction_time: integer('interaction_time') },
  duration_seconds: integer('duration_seconds'),
  billing_seconds: integer('billing_seconds'),
})
const counts = shape({ count: integer('count(*)') })
const ancestors = shape({ accountId: text(), ancestorId: text() })
const names = shape({ accountId: text('holder_account_id'), name: text(), value: text() })
const states = shape({ name: text('state'), count: integer('count(*)') })
const types = shape({ name: text('type'), count: integer('count(*)') })

const accountsSql = `SELECT ${counts.columns} FROM records r WHERE r.kind = 'account' AND r.account_id = r.id`

const accountsAtOnce = 200
const allMonths = { first: 0, last: 999_912 }

const sumOf = (column: string) => `CAST(COALESCE(sum(${column}), 0) AS BIGINT)`

const countsIn = (rows: readonly { name: string; count: number }[]): ReadonlyMap<string, number> =>
  new Map(rows.map(({ name, count }) => [name, count]))

/** The stored records and rows that checks compare. */
export const createStoredValues = ({ all, scan, cdrs }: Pick<Store, 'all' | 'scan' | 'cdrs'>) => {
  const idsIn = async (sql: string, params: readonly Value[]): Promise<ReadonlySet<string>> =>
    new Set(ids.list(await all(sql, params)).map(({ id }) => id))

  const idsAmong = (some: readonly string[], from: string, params: readonly string[]) => {
    const list = placeholders(some.length, params.length + 1)
    return idsIn(`SELECT id FROM ${from} AND id IN (${list})`, [...params, ...some])
  }

  const countOf = async (sql: string) => counts.first(await scan(sql))?.count ?? 0

  return {
    present: (kind: string, accountId: string, some: readonly string[]) =>
      idsAmong(some, 'records WHERE account_id = $1 AND kind = $2', [accountId, kind]),

    /** Those of these users who cannot sign in. */
    withoutKeys(accountId: string, some: readonly string[]) {
      const from = `records WHERE account_id = $1 AND kind = 'user' AND hidden LIKE '%"signInKeys":[]%'`
      return idsAmong(some, from, [accountId])
    },

    preserved: (accountId: string, database: string, some: readonly string[]) =>
      idsAmong(some, `kazoo_kept WHERE account_id = $1 AND source = $2 AND name = ''`, [accountId, database]),

    numbersOf: (accountId: string) =>
      idsIn('SELECT number AS id FROM numbers WHERE account_id = $1', [accountId]),

    async balance(accountId: string): Promise<number> {
      const rows = await all('SELECT units FROM ledger_balances WHERE account_id = $1', [accountId])
      return balances.first(rows)?.units ?? 0
    },

    /** Numbers of the inventory by state. */
    async numberStates() {
      const sql = `SELECT ${states.columns} FROM numbers WHERE hidden NOT LIKE '%"isHearsay":true%' GROUP BY state`
      return countsIn(states.list(await scan(sql)))
    },

    accounts(): AsyncGenerator<readonly string[]> {
      const sql = `SELECT id FROM records WHERE kind = 'account' AND account_id = id AND account_id > $1
        ORDER BY account_id LIMIT ${accountsAtOnce}`
      return pagesOf<string>(accountsAtOnce, async (last = '') =>
        ids.list(await scan(sql, [last])).map(({ id }) => id),
      )
    },

    accountCount: () => countOf(accountsSql),

    rootCount: () =>
      countOf(
        `${accountsSql} AND NOT EXISTS (SELECT 1 FROM account_tree t WHERE t.account_id = r.account_id)`,
      ),

    /** The ancestors as lists of descendants use them, by account, the master account first. */
    async trees(accountIds: readonly string[]) {
      const sql = `SELECT ${ancestors.columns} FROM account_tree WHERE account_id IN (${placeholders(accountIds.length)})
        ORDER BY account_id, distance DESC, ancestor_id`
      return Map.groupBy(ancestors.list(await all(sql, accountIds)), ({ accountId }) => accountId)
    },

    /** The unique names of accounts, by account. */
    async accountNames(accountIds: readonly string[]) {
      const sql = `SELECT ${names.columns} FROM claims
        WHERE kind = 'account' AND holder_account_id IN (${placeholders(accountIds.length)})`
      return Map.groupBy(names.list(await all(sql, accountIds)), ({ accountId }) => accountId)
    },

    /**
     * Units of a month: carried over and moved, and the number of entries; without corrections of other
     * months.
     */
    async booked(accountId: string, month: number) {
      const isMoving = 'source_service NOT IN ($3, $4)'
      const sql = `SELECT ${sumOf('CASE WHEN source_service = $3 THEN amount END')} AS carried,
          ${sumOf(`CASE WHEN ${isMoving} THEN amount END`)} AS moved,
          ${sumOf(`CASE WHEN ${isMoving} THEN 1 END`)} AS entries
        FROM ledger_entries WHERE account_id = $1 AND month = $2`
      const rows = await all(sql, [accountId, month, rolloverService, correctionService])
      return booked.first(rows) ?? { carried: 0, moved: 0, entries: 0 }
    },

    /** By month (`202502`). */
    async called(accountId: string) {
      const sqlFrom = (
        from: string,
      ) => `SELECT month, count(*) AS count, ${sumOf('duration_seconds')} AS duration,
          ${sumOf('billing_seconds')} AS billing, ${sumOf('cost')} AS cost,
          ${sumOf(`interaction_time % ${begunModulus}`)} AS begun
        FROM (SELECT substr(id, 1, 6) AS month, duration_seconds, billing_seconds, cost, interaction_time
          FROM ${from} WHERE account_id = $1) AS legs GROUP BY month`
      const rows = await cdrs.read(allMonths, async (from, { length }) =>
        length === 0 ? [] : scan(sqlFrom(from), [accountId]),
      )
      return new Map(called.list(rows).map(({ month, ...sums }) => [month, sums]))
    },

    /** Measures of the legs of one month, by id. */
    async measures(accountId: string, month: number, some: readonly string[]) {
      const sqlFrom = (from: string) => `SELECT id, COALESCE(duration_seconds, 0) AS duration_seconds,
          COALESCE(billing_seconds, 0) AS billing_seconds, cost, interaction_time
        FROM ${from} WHERE account_id = $1 AND id IN (${placeholders(some.length, 2)})`
      const rows = await cdrs.read({ first: month, last: month }, async (from, { length }) =>
        length === 0 ? [] : all(sqlFrom(from), [accountId, ...some]),
      )
      return new Map(measured.list(rows).map(({ id, ...found }) => [id, found]))
    },

    /** Numbers of stored results, by type. */
    async remembered(name: string) {
      const sql = `SELECT ${types.columns} FROM kazoo_documents WHERE name = $1 GROUP BY type`
      return countsIn(types.list(await all(sql, [name])))
    },
  }
}
