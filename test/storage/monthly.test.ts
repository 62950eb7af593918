import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../src/lib/clock.ts'
import { ChangeSet, conflict } from '../../src/storage/change-set.ts'
import type { Database } from '../../src/storage/db.ts'
import { MonthMoved } from '../../src/storage/monthly.ts'
import { createStore, type Store } from '../../src/storage/store.ts'
import type { Run } from '../../src/storage/upgrades.ts'
import { eventually } from '../support/run/eventually.ts'
import { describeEngines, openTestDatabase, type TestDatabase } from '../support/servers/databases.ts'

const always = { first: 190001, last: 999912 }

describeEngines('A table by month', (engine) => {
  let opened: TestDatabase
  let db: Database
  let store: Store
  /** Another process of the same store. */
  let other: Store

  beforeEach(async () => {
    opened = await openTestDatabase(engine)
    db = opened.db
    store = createStore(db, systemClock)
    other = createStore(opened.reopen(), systemClock)
    await other.fence()
  })

  afterEach(() => opened.close())

  const rowOf = (month: number, name: string, created = 1) => ({
    account_id: 'account',
    id: `${month}-${name}`,
    created,
    interaction_time: 1,
    interaction_key: 'key',
    cost: 0,
    reseller_cost: 0,
    csv_quoted: 0,
    csv_guarded: 0,
    rest: null,
  })

  const changes = () =>
    new ChangeSet({ requestId: 'test' }).record({
      accountId: 'account',
      kind: 'cdrs',
      id: 'x',
      action: 'created',
    })

  const insert = async (into: Store, month: number, ...names: string[]) => {
    const set = changes()
    await into.cdrs.insert(
      set,
      month,
      names.map((name) => rowOf(month, name)),
      { isArchived: (await into.cdrs.archivedMonths()).has(month), orElse: conflict },
    )
    await into.commit(set)
  }

  const drop = async (from: Store, month: number) => {
    const set = changes()
    from.cdrs.drop(set, month)
    await from.commit(set)
  }

  const idsIn = async (from: Store, range = always) => {
    await from.fence()
    const rows = await from.cdrs.read(range, (text) => from.all(`SELECT id FROM ${text} ORDER BY id`))
    return rows.map(({ id }) => id)
  }

  it('is empty before it has a month', async () => {
    expect(await store.cdrs.months()).toEqual([])
    expect(await idsIn(store)).toEqual([])
  })

  it('gets its months as rows come', async () => {
    await insert(store, 202612, 'a', 'b')
    await insert(store, 202701, 'c')
    await insert(store, 202612, 'd')
    expect(await store.cdrs.months()).toEqual([202612, 202701])
    expect(await idsIn(store)).toEqual(['202612-a', '202612-b', '202612-d', '202701-c'])
    expect(await idsIn(store, { first: 202701, last: 202701 })).toEqual(['202701-c'])
    expect(await idsIn(store, { first: 202702, last: 202703 })).toEqual([])
  })

  it('refuses a row that is there, and with it the whole change', async () => {
    await insert(store, 202612, 'a')
    await expect(insert(store, 202612, 'new', 'a')).rejects.toMatchObject({
      kind: { name: 'datastore_conflict' },
    })
    expect(await idsIn(store)).not.toContain('202612-new')
  })

  it('takes nothing for a month that is none', async () => {
    await expect(insert(store, 20261, 'x')).rejects.toThrow('20261 is not a month')
  })

  it('notifies the other processes of its months', async () => {
    await insert(store, 202612, 'a')
    expect(await idsIn(other)).toEqual(['202612-a'])
    await insert(other, 202703, 'e')
    expect(await idsIn(store)).toContain('202703-e')
    await drop(store, 202703)
    expect(await idsIn(other)).toEqual(['202612-a'])
  })

  it('gets the same month from two processes at once', async () => {
    await Promise.all([insert(store, 202705, 'a'), insert(other, 202705, 'b'), insert(store, 202706, 'c')])
    expect(await idsIn(store, { first: 202705, last: 202706 })).toEqual(['202705-a', '202705-b', '202706-c'])
  })

  it('has a month before its first row, however often it is made', async () => {
    const make = async (into: Store, month: number) => {
      const set = changes()
      await into.cdrs.make(set, month)
      await into.writeAlone(set.statements, set.stale)
    }
    await insert(store, 202612, 'a')
    await insert(other, 202706, 'c')
    await Promise.all([make(store, 202707), make(other, 202707), make(store, 202707)])
    await make(other, 202612)
    for (const process of [store, other]) {
      await process.fence()
      expect(await process.cdrs.months()).toEqual([202612, 202706, 202707])
    }
    expect(await idsIn(store, { first: 202706, last: 202707 })).toEqual(['202706-c'])
    await insert(other, 202707, 'first')
    expect(await idsIn(store, { first: 202707, last: 202707 })).toEqual(['202707-first'])
  })

  it('loses a month at once, and can have it again', async () => {
    await insert(store, 202705, 'a')
    await drop(store, 202705)
    expect(await idsIn(store, { first: 202705, last: 202705 })).toEqual([])
    expect(await store.cdrs.droppedMonths()).toContain(202705)
    await insert(other, 202705, 'back')
    expect(await idsIn(store, { first: 202705, last: 202705 })).toEqual(['202705-back'])
  })

  it('is read by a process that does not know yet that a month is gone', async () => {
    await insert(store, 202706, 'c')
    await insert(store, 202708, 'x')
    expect(await idsIn(other, { first: 202706, last: 202708 })).toHaveLength(2)
    await drop(store, 202708)
    // Without a fence: `other` may still believe in the month.
    const rows = await other.cdrs.read({ first: 202706, last: 202708 }, (text) =>
      other.all(`SELECT id FROM ${text}`),
    )
    expect(rows.map(({ id }) => id)).toEqual(['202706-c'])
  })

  const written = async (into: Store, change: (set: ChangeSet) => void) => {
    const set = changes()
    change(set)
    await into.commit(set)
  }

  it('reports to a reader that a month was archived after the reader looked', async () => {
    await insert(store, 202710, 'x')
    const archived = await store.cdrs.archivedMonths()
    const [month, year] = [
      { first: 202710, last: 202710, archived },
      { first: 202701, last: 202712, archived },
    ]
    await written(store, (set) => store.cdrs.beginArchiving(set, 202710))
    await written(store, (set) => store.cdrs.endArchiving(set, 202710, conflict))
    for (const range of [month, year]) await expect(idsIn(store, range)).rejects.toThrow(MonthMoved)
    // The table that it has again for what comes late does not hide it.
    await insert(store, 202710, 'late')
    for (const range of [month, year]) await expect(idsIn(store, range)).rejects.toThrow(MonthMoved)
    const now = { ...month, archived: await store.cdrs.archivedMonths() }
    expect(await idsIn(store, now)).toEqual(['202710-late'])
    await written(store, (set) => store.cdrs.beginArchiving(set, 202710))
    await written(store, (set) => store.cdrs.endArchiving(set, 202710, conflict))
    await expect(idsIn(store, now)).rejects.toThrow(MonthMoved)
  })

  it('does not archive a month that was dropped in between', async () => {
    await insert(store, 202711, 'x')
    await written(store, (set) => store.cdrs.beginArchiving(set, 202711))
    await drop(store, 202711)
    await expect(
      written(store, (set) => store.cdrs.endArchiving(set, 202711, conflict)),
    ).rejects.toMatchObject(
      engine === 'postgres' ? { code: '42P01' } : { kind: { name: 'datastore_conflict' } },
    )
    expect((await store.cdrs.archivedMonths()).has(202711)).toBe(false)
  })

  it('merges its months along the index instead of sorting them', async () => {
    await insert(store, 202612, 'a')
    await insert(store, 202701, 'c')
    const sql = `SELECT created, id FROM ${store.cdrs.from([202612, 202701])}
      WHERE account_id = 'account' AND created <= 5 ORDER BY created DESC, id DESC LIMIT 10`
    const explain = engine === 'sqlite' ? 'EXPLAIN QUERY PLAN ' : 'EXPLAIN '
    let plan = ''
    await db.exclusively(async (run) => {
      if (engine === 'postgres') await run('SET LOCAL enable_seqscan = off')
      const rows = await run(explain + sql)
      plan = rows.map((row) => Object.values(row).join(' ')).join('\n')
    })
    expect(plan).toMatch(engine === 'sqlite' ? /MERGE \(UNION ALL\)/ : /Merge Append/)
    expect(plan).toMatch(engine === 'sqlite' ? /cdrs_202612_listed/ : /cdrs_202612_account_id_created_id_idx/)
    expect(plan).not.toMatch(/TEMP B-TREE|Sort Key.*\n\s*->\s*Append/)
  })

  if (engine === 'postgres') {
    it('takes a row whose month goes while it is on its way, and makes the month again', async () => {
      await insert(store, 202801, 'x')
      const isWaited = async (run: Run) =>
        (await run("SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'cdrs'::regclass")).length > 0
      let inserting: Promise<void> | undefined
      await opened.reopen().exclusively(async (run) => {
        await run('LOCK TABLE cdrs IN ACCESS EXCLUSIVE MODE')
        inserting = insert(store, 202801, 'late')
        await eventually(() => isWaited(run), Boolean)
        await run('DROP TABLE cdrs_202801')
        await run('DELETE FROM monthly_tables WHERE month = 202801')
      })
      await inserting
      expect(await idsIn(store, { first: 202801, last: 202801 })).toEqual(['202801-late'])
    })

    it('waits a moment for a reader of a month that is dropped, then fails', async () => {
      await insert(store, 202709, 'x')
      let dropped: unknown
      await opened.reopen().exclusively(async (run) => {
        await run('SELECT id FROM cdrs WHERE month = 202709')
        dropped = await drop(store, 202709).catch((error) => error)
      })
      expect(dropped).toMatchObject({ code: '55P03' })
      await drop(store, 202709)
      expect(await idsIn(store, { first: 202709, last: 202709 })).toEqual([])
    })
  }

  it('decides each change set separately when several add rows at once', async () => {
    const month = 202409
    const row = (name: string, more: object = {}) => ({ ...rowOf(month, name), ...more })
    const add = async (...rows: ReturnType<typeof row>[]) => {
      const set = changes()
      await store.cdrs.insert(set, month, rows, { isArchived: false, orElse: conflict })
      return store.commit(set)
    }
    await add(row('a'), row('b', { interaction_key: 'ü' }))
    // On the embedded store they share a transaction.
    const ended = await Promise.allSettled([
      add(row('c'), row('d'), row('e', { rest: 'x'.repeat(5000) })),
      add(row('a'), row('f')),
      add(row('g', { cost: -1.5e9 }), row('h', { rest: '' })),
    ])
    expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    const rows = await store.cdrs.read({ first: month, last: month }, (text) =>
      store.all(`SELECT id, interaction_key, cost, rest FROM ${text} ORDER BY id`),
    )
    const wanted = { interaction_key: 'key', cost: 0, rest: null }
    expect(rows).toEqual([
      { ...wanted, id: `${month}-a` },
      { ...wanted, id: `${month}-b`, interaction_key: 'ü' },
      { ...wanted, id: `${month}-c` },
      { ...wanted, id: `${month}-d` },
      { ...wanted, id: `${month}-e`, rest: 'x'.repeat(5000) },
      { ...wanted, id: `${month}-g`, cost: -1.5e9 },
      { ...wanted, id: `${month}-h`, rest: '' },
    ])
  })
})
