import type { StepwiseWork } from '../../../jobs/steps.ts'
import { daySeconds, monthAfter, monthBefore } from '../../../lib/gregorian.ts'
import { pagesOf } from '../../../lib/list.ts'
import { ChangeSet, conflict } from '../../../storage/change-set.ts'
import type { Row } from '../../../storage/db.ts'
import { readingAgain } from '../../../storage/monthly.ts'
import type { Store } from '../../../storage/store.ts'
import { integer, optional, shape } from '../../../storage/table.ts'
import { type CdrRow, monthOfId, storedColumns } from './columns.ts'
import { costsOf, payersOf } from './intake/rules.ts'
import { changedLegs } from './parts.sql.ts'
import { monthAt, windowOf } from './places.rules.ts'
import { documentOf } from './rules.ts'
import type { Cdr } from './schema.ts'
import { dimensions, quarterSeconds, type Span, sumNames } from './stats/rules.ts'
import { legSums, tallyTurn, totalSums } from './stats/store.ts'

/** A UTC month, and the months whose tables may have its records: see columns.ts. */
interface RebuildPeriod extends Span {
  month: number
  tables: readonly number[]
}

const periodAt = (gregorian: number): RebuildPeriod => {
  const month = monthAt(gregorian)
  const { from, to } = windowOf(month)
  return { from, end: to + 1, month, tables: [monthBefore(month), month, monthAfter(month)] }
}

type DaySums = ReadonlyMap<number, string>

/** The number of days with different sums. */
const daysApart = (here: DaySums, there: DaySums) =>
  [...new Set([...here.keys(), ...there.keys()])].filter((day) => here.get(day) !== there.get(day)).length

/**
 * The correct cost of a stored leg. A leg that was rated here keeps its cost, because the record shows the rate in
 * whole units only.
 */
const dueCosts = (leg: CdrRow): Pick<CdrRow, 'cost' | 'reseller_cost'> => {
  const record: Cdr = { ...documentOf(leg), call_id: leg.id }
  if (!('rate_id' in (record.custom_channel_vars ?? {}))) return costsOf(record)
  const payers = payersOf(record)
  return { cost: payers.account ? leg.cost : 0, reseller_cost: payers.reseller ? leg.reseller_cost : 0 }
}

const rowsPerRead = 2000
const times = shape({ time: optional(integer()) })

const tallyColumns = ['account_id', 'dimension', 'seconds', 'group_value', 'start', ...sumNames].join(', ')

const bucketStartSql = (time: string, seconds: number) => `(${time} / ${seconds}) * ${seconds}`

const inSpan = (time: string) => `account_id = $1 AND ${time} >= $2 AND ${time} < $3`

const wholeDays = `cdr_tallies WHERE dimension = 'all' AND seconds = ${daySeconds} AND group_value = ''`

const quartersSql = (dimension: string, from: string) => {
  const group = dimension === 'all' ? "''" : `COALESCE(${dimension}, '')`
  return `INSERT INTO cdr_tallies (${tallyColumns})
    SELECT account_id, '${dimension}', ${quarterSeconds}, ${group} AS group_name,
        ${bucketStartSql('created', quarterSeconds)} AS quarter, ${legSums}
      FROM ${from} WHERE ${inSpan('created')} GROUP BY account_id, group_name, quarter`
}

const daysSql = `INSERT INTO cdr_tallies (${tallyColumns})
  SELECT account_id, dimension, ${daySeconds}, group_value, ${bucketStartSql('start', daySeconds)} AS day, ${totalSums}
    FROM cdr_tallies WHERE ${inSpan('start')} AND seconds = ${quarterSeconds}
      AND dimension IN (${dimensions.map((name) => `'${name}'`).join(', ')})
    GROUP BY account_id, dimension, group_value, day`

export const createRebuildStore = (store: Store) => ({ ...rebuildReads(store), ...rebuildWrites(store) })

const rebuildReads = ({ cdrs, all, scan }: Store) => {
  const inTables = <T>(tables: readonly number[], query: (from: string) => Promise<T>) =>
    readingAgain(() => cdrs.read({ first: Math.min(...tables), last: Math.max(...tables) }, query))

  const first = async (rows: Promise<Row[]>) => times.first(await rows)?.time

  const sumsOf = (rows: readonly Row[]): DaySums =>
    new Map(rows.map(({ day, ...sums }) => [Number(day), sumNames.map((name) => Number(sums[name])).join()]))

  return {
    /** The first second from `from` on with a record or statistics. */
    async nextTime(accountId: string, from: number): Promise<number | undefined> {
      const params = [accountId, from]
      const leg = await inTables([0, 999_999], (source) =>
        first(
          scan(
            `SELECT created AS time, id FROM ${source} WHERE account_id = $1 AND created >= $2
              ORDER BY created, id LIMIT 1`,
            params,
          ),
        ),
      )
      const tally = await first(
        all(`SELECT min(start) AS time FROM ${wholeDays} AND account_id = $1 AND start >= $2`, params),
      )
      const found = [leg, tally].filter((time) => time !== undefined)
      return found.length > 0 ? Math.min(...found) : undefined
    },

    /** Archived and dropped months. */
    absentMonths: async () => [...(await cdrs.droppedMonths()), ...(await cdrs.archivedMonths()).keys()],

    /** Counts up to `most` + 1. */
    async count(accountId: string, { tables }: RebuildPeriod, span: Span, most: number): Promise<number> {
      const [row] = await inTables(tables, (from) =>
        scan<Row>(
          `SELECT count(*) AS legs FROM (SELECT 1 AS one FROM ${from} WHERE ${inSpan('created')} LIMIT $4) AS counted`,
          [accountId, span.from, span.end, most + 1],
        ),
      )
      return Number(row?.legs ?? 0)
    },

    legDays: async (accountId: string, { tables }: RebuildPeriod, { from, end }: Span): Promise<DaySums> =>
      sumsOf(
        await inTables(tables, (source) =>
          scan<Row>(
            `SELECT ${bucketStartSql('created', daySeconds)} AS day, ${legSums} FROM ${source}
              WHERE ${inSpan('created')} GROUP BY day`,
            [accountId, from, end],
          ),
        ),
      ),

    tallyDays: async (accountId: string, { from, end }: Span): Promise<DaySums> =>
      sumsOf(
        await scan<Row>(
          `SELECT start AS day, ${totalSums} FROM ${wholeDays} AND ${inSpan('start')} GROUP BY start`,
          [accountId, from, end],
        ),
      ),

    /** The records of a span that cost something or should. */
    billed: (accountId: string, { tables }: RebuildPeriod, { from, end }: Span) =>
      pagesOf<CdrRow>(rowsPerRead, (last) =>
        inTables(tables, (source) =>
          scan<CdrRow>(
            `SELECT ${storedColumns.join(', ')} FROM ${source} WHERE ${inSpan('created')}
              AND (created, id) > ($4, $5)
              AND (cost <> 0 OR reseller_cost <> 0 OR account_billing IS NOT NULL OR reseller_billing IS NOT NULL)
              ORDER BY created, id LIMIT $6`,
            [accountId, from, end, last?.created ?? from, last?.id ?? '', rowsPerRead],
          ),
        ),
      ),
  }
}

const rebuildWrites = ({ cdrs, words }: Store) => ({
  correctCost(set: ChangeSet, leg: CdrRow, costs: { cost: number; reseller_cost: number }) {
    const month = monthOfId(leg.id)
    set.run(
      `UPDATE ${cdrs.tableOf(month)} SET cost = $3, reseller_cost = $4 WHERE account_id = $1 AND id = $2`,
      [leg.account_id, leg.id, costs.cost, costs.reseller_cost],
      { rows: 1, orElse: conflict },
    )
    set.add(cdrs.noteChange(month))
    set.stale.push(changedLegs(leg.account_id))
  },

  /**
   * Recounts the statistics of whole days. Concurrent writers of records take the same lock after writing, so each
   * record is counted once.
   */
  async replaceTallies(set: ChangeSet, accountId: string, { tables }: RebuildPeriod, { from, end }: Span) {
    const present = (await cdrs.months()).filter((month) => tables.includes(month))
    const absent = tables.filter((month) => !present.includes(month))
    const params = [accountId, from, end]
    const turn = tallyTurn(words)
    if (turn) set.statements.push(turn)
    for (const dimension of dimensions)
      for (const seconds of [quarterSeconds, daySeconds])
        set.run(
          `DELETE FROM cdr_tallies WHERE ${inSpan('start')} AND dimension = '${dimension}' AND seconds = ${seconds}`,
          params,
        )
    for (const dimension of dimensions) set.run(quartersSql(dimension, cdrs.from(present)), params)
    set.run(daysSql, params)
    // Last: it waits for a concurrent drop of a month.
    cdrs.requireMonths(set, { present, absent }, conflict)
  },
})

// Longer months are processed day by day: writers of records wait for a step.
const maxLegs = 20_000

/** Recounts the statistics of an account from its records and corrects costs. */
export const createCdrRebuild = (store: Store): StepwiseWork => {
  const legs = createRebuildStore(store)

  /** Statistics include dropped and archived records, so their months are skipped. */
  const nextPeriod = async (accountId: string, from: number) => {
    const absent = await legs.absentMonths()
    for (let place = from; ; ) {
      const time = await legs.nextTime(accountId, place)
      if (time === undefined) return undefined
      const period = periodAt(time)
      if (!period.tables.some((month) => absent.includes(month))) return { period, time }
      place = period.end
    }
  }

  const correctCosts = async (set: ChangeSet, accountId: string, period: RebuildPeriod, span: Span) => {
    let corrected = 0
    for await (const rows of legs.billed(accountId, period, span)) {
      for (const row of rows) {
        const costs = dueCosts(row)
        if (costs.cost === row.cost && costs.reseller_cost === row.reseller_cost) continue
        legs.correctCost(set, row, costs)
        corrected += 1
      }
    }
    return corrected
  }

  return async (author, { id: accountId }, position = '0') => {
    const start = Number(position)
    const found = await nextPeriod(accountId, start)
    if (!found) return { sets: [], changed: 0 }
    const { period, time } = found
    const whole = { from: Math.max(period.from, start), end: period.end }
    const isLong = (await legs.count(accountId, period, whole, maxLegs)) > maxLegs
    const day = Math.floor(time / daySeconds) * daySeconds
    const span = isLong ? { from: day, end: day + daySeconds } : whole
    const set = new ChangeSet(author)
    const costs = await correctCosts(set, accountId, period, span)
    const days = daysApart(await legs.tallyDays(accountId, span), await legs.legDays(accountId, period, span))
    await legs.replaceTallies(set, accountId, period, span)
    const after = JSON.stringify({ from: span.from, to: span.end, wrong_days: days, wrong_costs: costs })
    set.record({ accountId, kind: 'cdr_statistics', id: String(period.month), action: 'edited', after })
    return { sets: [set], changed: days + costs, next: String(span.end) }
  }
}
