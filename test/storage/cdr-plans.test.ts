import { beforeAll, expect, it } from 'vitest'
import type { CdrRow } from '../../src/areas/calls/cdrs/columns.ts'
import { createIntakeStore } from '../../src/areas/calls/cdrs/intake/store.ts'
import { createInteractionStore } from '../../src/areas/calls/cdrs/interactions.sql.ts'
import type { Scope } from '../../src/areas/calls/cdrs/parts.sql.ts'
import { cellCareOf } from '../../src/areas/calls/cdrs/rules.ts'
import { quarterSpanOf } from '../../src/areas/calls/cdrs/stats/rules.ts'
import { createCallStats, tallyStatements } from '../../src/areas/calls/cdrs/stats/store.ts'
import { createCdrStore } from '../../src/areas/calls/cdrs/store.ts'
import { questionsOf } from '../../src/http/response/filters.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { ChangeSet, conflict } from '../../src/storage/change-set.ts'
import { guarded } from '../../src/storage/csv-lines.ts'
import type { Row, Value } from '../../src/storage/db.ts'
import { createStore, type Store } from '../../src/storage/store.ts'
import { describeEngines, openTestDatabase, sharedBySuite } from '../support/servers/databases.ts'

// 2026-01-01T00:00:00Z
const newYear = 63_934_444_800
const accounts = ['a'.repeat(32), 'b'.repeat(32)]
const perMonth = 2000

// Far from the others, so that what asks for them does not look there.
const grownMonth = 202605
const beginOf = (month: number) => newYear + (month === grownMonth ? 120 * 86_400 : 0)

const legOf = (account_id: string, month: number, index: number): CdrRow => {
  const created = month === 202512 ? newYear - index * 60 : beginOf(month) + index * 60
  const leg = {
    account_id,
    id: `${month}-${String(index).padStart(6, '0')}`,
    created,
    interaction_time: created,
    interaction_key: String(index % 7),
    owner_id: `u${index % 50}`,
    call_direction: index % 2 === 0 ? 'inbound' : 'outbound',
    duration_seconds: 0,
    billing_seconds: null,
    ringing_seconds: null,
    channel_created_time: null,
    caller_id_number: null,
    caller_id_name: null,
    callee_id_number: null,
    callee_id_name: null,
    hangup_cause: 'NORMAL_CLEARING',
    other_leg_call_id: null,
    sip_from: null,
    sip_to: null,
    from_uri: null,
    sip_request: null,
    authorizing_id: `d${index % 50}`,
    resource_id: null,
    account_billing: null,
    reseller_billing: null,
    rate: null,
    rate_name: null,
    bridge_id: null,
    recording_url: null,
    media_recordings: null,
    media_server: null,
    call_priority: null,
    loopback_leg: null,
    cost: 0,
    reseller_cost: 0,
    rest: 'x'.repeat(300),
  }
  return { ...leg, ...cellCareOf(leg) }
}

const legsOf = (account: string, month: number) =>
  Array.from({ length: perMonth }, (_, index) => legOf(account, month, index))

const insert = async (store: Store, month: number, rows: readonly CdrRow[]) => {
  const account = rows[0]?.account_id ?? ''
  const set = new ChangeSet({ requestId: 'test' })
  set.record({ accountId: account, kind: 'cdr', id: 'x', action: 'created' })
  await store.cdrs.insert(set, month, rows, { isArchived: false, orElse: conflict })
  for (const { sql, params } of tallyStatements(store.words, rows)) set.run(sql, params)
  await store.commit(set)
}

interface Plan {
  /** The statement, as far as FROM. */
  of: string
  lines: string[]
}

describeEngines('Reading call detail records costs the same everywhere', (engine) => {
  const place = sharedBySuite(
    async () => {
      const opened = await openTestDatabase(engine, { onOneServer: true })
      return { opened, store: createStore(opened.db, systemClock) }
    },
    ({ opened }) => opened.close(),
  )

  beforeAll(async () => {
    for (const month of [202512, 202601])
      for (const account of accounts) await insert(place.store, month, legsOf(account, month))
    // Statistics that the server would gather automatically before long.
    await place.opened.db.exclusively(async (run) => void (await run('ANALYZE')))
  })

  const explain = async (sql: string, params: readonly Value[]): Promise<string[]> => {
    const { db } = place.opened
    if (engine === 'postgres') {
      const rows = await db.all<Record<string, string>>(
        `EXPLAIN (ANALYZE, BUFFERS OFF, SUMMARY OFF, TIMING OFF) ${sql}`,
        params,
      )
      return rows.map((row) => row['QUERY PLAN'] as string)
    }
    return (await db.scan<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, params)).map(
      ({ detail }) => detail,
    )
  }

  /** As connections for exports are set: see storage/postgres-exporter.ts. */
  const explainByBlock = async (sql: string, params: readonly Value[]) => {
    let lines: string[] = []
    await place.opened.db.exclusively(async (run) => {
      for (const way of ['seqscan', 'indexscan']) await run(`SET LOCAL enable_${way} = off`)
      lines = (await run(`EXPLAIN ${sql}`, params)).map((row) => row['QUERY PLAN'] as string)
    })
    return lines
  }

  /** Does it with a store that notes the plan of every statement. */
  const plansOf = async (read: (store: Store) => Promise<unknown>): Promise<Plan[]> => {
    const plans: Plan[] = []
    const note = async (sql: string, params: readonly Value[] = []) => {
      plans.push({ of: sql.slice(0, 60), lines: await explain(sql, params) })
    }
    const { store } = place
    await read({
      ...store,
      linesAtOnce: perMonth / 4,
      all: async <R = Row>(sql: string, params?: readonly Value[]) => {
        await note(sql, params)
        return store.all<R>(sql, params)
      },
      scan: async <R = Row>(sql: string, params?: readonly Value[]) => {
        await note(sql, params)
        return store.scan<R>(sql, params)
      },
      scanForLines: async <R = Row>(sql: string, params?: readonly Value[]) => {
        await note(sql, params)
        return store.scanForLines<R>(sql, params)
      },
      csvLines: async (query) => {
        // Only threads that export know functions of ours.
        const columns = query.cells.map(
          (cell, index) => `${guarded(cell).replace(/timeCells\([^)]*\)/, 'created')} AS cell_${index}`,
        )
        const sql = `SELECT ${[...query.orderedBy, ...columns].join(', ')} ${query.tail}`
        await note(sql, query.params)
        if (engine === 'postgres' && query.byBlock)
          plans.push({ of: 'by block', lines: await explainByBlock(sql, query.params) })
        return store.csvLines(query)
      },
    })
    return plans.filter(({ of }) => !/monthly_tables/.test(of))
  }

  const scans = engine === 'sqlite' ? /\bSCAN cdr(s|_)/ : /Seq Scan on cdr(s|_)/
  const sorts = engine === 'sqlite' ? /TEMP B-TREE/ : /Sort +\(cost/

  const alongIndex =
    /^Sort [\s\S]*Bitmap Heap Scan on cdrs_\d+ [\s\S]*Bitmap Index Scan on cdrs_\d+_account_id_created_id_idx [\s\S]*Index Cond: .*account_id = .*created/

  const offences = (plans: Plan[], allowed: { sorts: boolean } = { sorts: false }) =>
    plans.filter(({ lines }) =>
      lines.some((line) => scans.test(line) || (!allowed.sorts && sorts.test(line))),
    )

  const [accountId = ''] = accounts
  const whole: Scope = { accountId, from: 0, to: newYear + 31 * 86_400, questions: [] }
  const first = { after: undefined, limit: 51, descending: true, long: false }
  const deep = { ...first, after: { time: newYear - 1500 * 60, mark: '202512-001500' } }

  const shapeOf = (plans: Plan[]) =>
    plans.at(-1)?.lines.map((line) => line.replace(/\d{6}|cost=.*|[<>]=?|AND|\(.*\)/g, ''))

  it('a page is read along an index, in its order, whether it is the first or a deep one', async () => {
    for (const scope of [whole, { ...whole, ownerId: 'u1' }])
      for (const reading of [first, deep, { ...first, descending: false }]) {
        const plans = await plansOf((store) => createCdrStore(store).batch(scope, reading))
        expect(plans.length).toBeGreaterThan(1)
        expect(offences(plans)).toEqual([])
      }
    const [shallow, far] = await Promise.all(
      [first, deep].map(async (reading) =>
        shapeOf(
          await plansOf((store) => createCdrStore(store).batch({ ...whole, to: newYear - 1 }, reading)),
        ),
      ),
    )
    expect(far?.length).toBe(shallow?.length)
  })

  it('a page of interactions is found along an index', async () => {
    for (const scope of [whole, { ...whole, ownerId: 'u1' }])
      for (const reading of [first, { ...first, after: { time: newYear - 1500 * 60, mark: '3' } }]) {
        const plans = await plansOf((store) => createInteractionStore(store).batch(scope, reading))
        // The legs of each interaction are sorted, and the rows of the page.
        expect(offences(plans, { sorts: true })).toEqual([])
      }
  })

  it('an account that has grown since the database looked costs no more', async () => {
    const strangers = Array.from({ length: 600 }, (_, index) => String(index).padStart(32, '0'))
    await insert(
      place.store,
      grownMonth,
      strangers.map((account, index) => legOf(account, grownMonth, index)),
    )
    await place.opened.db.exclusively(async (run) => void (await run('ANALYZE')))
    await insert(place.store, grownMonth, legsOf(accountId, grownMonth))
    const fresh: Scope = { ...whole, from: beginOf(grownMonth), to: 99_999_999_999 }
    const view = { utcOffset: 0, forReseller: false }
    const walk = { after: undefined, descending: true }
    const plans = await plansOf(async (store) => {
      for (const scope of [fresh, { ...fresh, ownerId: 'u1' }]) {
        const [legs, interactions] = [createCdrStore(store), createInteractionStore(store)]
        await legs.batch(scope, first)
        await interactions.batch(scope, first)
        for await (const _lines of legs.lines(scope, walk, view));
        for await (const _lines of interactions.lines(scope, walk, view));
      }
      const leg = legOf(accountId, grownMonth, 7)
      const place = { time: leg.interaction_time, mark: leg.interaction_key }
      expect(await createCdrStore(store).find(accountId, leg.id)).toMatchObject({ id: leg.id })
      expect(await createCdrStore(store).legPlaces(accountId, place)).toHaveLength(1)
      expect(await createCdrStore(store).legs(accountId, place, [leg.id])).toHaveLength(1)
      const again = legsOf(accountId, grownMonth).slice(100, 300)
      const set = new ChangeSet({ requestId: 'test' })
      const { added, stored } = await createIntakeStore(store).add(set, again, { looks: true })
      expect([added.length, stored.size]).toEqual([0, 200])
    })
    expect(plans.some(({ lines }) => lines.join().includes(`cdrs_${grownMonth}`))).toBe(true)
    const others = plans.filter(({ of }) => of !== 'by block')
    expect(offences(others, { sorts: true })).toEqual([])
    // It would read all legs of the account for each that is wanted, and throw them away.
    const thrownAway = (line: string) => Number(/Rows Removed by .*: (\d+)/.exec(line)?.[1] ?? 0)
    expect(plans.filter(({ lines }) => lines.some((line) => thrownAway(line) > 1))).toEqual([])
  })

  it('exports and filters go along the same index', async () => {
    const view = { utcOffset: 0, forReseller: false }
    const walk = { after: undefined, descending: true }
    const questions = questionsOf(new URLSearchParams('filter_hangup_cause=USER_BUSY'))
    const plans = await plansOf(async (store) => {
      for await (const _lines of createCdrStore(store).lines(whole, walk, view));
      await createCdrStore(store).find(accountId, '202601-000001')
      await createCdrStore(store).legPlaces(accountId, { time: newYear, mark: '0' })
      await createCdrStore(store).legs(accountId, { time: newYear, mark: '0' }, ['202601-000001'])
    })
    const [byBlock = [], others = []] = [true, false].map((is) =>
      plans.filter(({ of }) => (of === 'by block') === is),
    )
    expect(offences(others)).toEqual([])
    // A part of an export is bounded: it is found along the index, and sorted.
    expect(byBlock.length > 0).toBe(engine === 'postgres')
    for (const { lines } of byBlock) expect(lines.join('\n')).toMatch(alongIndex)
    const filtered = await plansOf((store) => createCdrStore(store).batch({ ...whole, questions }, first))
    // A batch with filters may be sorted: its size is bounded.
    expect(offences(filtered, { sorts: true })).toEqual([])
  })

  it('statistics are read from tallies along their key', async () => {
    const span = quarterSpanOf({ from: newYear - 86_400, to: newYear + 86_399 })
    const plans = await plansOf(async (store) => {
      const stats = createCallStats({ store, legs: createCdrStore(store) })
      for (const interval of ['hour', 'month'] as const)
        for (const groupBy of [undefined, 'owner_id'] as const) {
          await stats.chart({ accountId }, { span, interval, groupBy, utcOffset: 0 })
          await stats.chart({ accountId, ownerId: 'u1' }, { span, interval, groupBy, utcOffset: 0 })
        }
    })
    expect(plans.every(({ lines }) => lines.every((line) => !/cdrs_/.test(line)))).toBe(true)
    expect(offences(plans, { sorts: true })).toEqual([])
  })
})
