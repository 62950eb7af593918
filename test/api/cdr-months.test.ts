import { expect, it } from 'vitest'
import { storedCdrs, storedRows } from '../support/world/stored-cdrs.ts'
import { buildWorld, describeEngines, useWorld } from '../support/world/world.ts'

// The clock of the tests is set to 2026-01-05.
const january = 63_934_444_800 + 86_400

describeEngines('The retention of call detail records', (engine) => {
  const world = useWorld(engine)
  const job = 'cdr-retention'

  const monthsBack = (count: number) => january - count * 30.4 * 86_400

  const send = async (...ages: number[]) => {
    const records = ages.map((age) => ({
      call_id: `leg-of-${age}`,
      timestamp: Math.floor(monthsBack(age)),
      custom_channel_vars: { account_id: world.acme.id },
    }))
    expect((await world.operator.put('/v2/cdrs', records)).data.accepted).toBe(ages.length)
  }

  const ids = async () => (await storedCdrs(world.server.store)).map(({ id }) => id)

  const deletions = async () => {
    const rows = await world.server.store.all<{ account_id: string; record_id: string; before_doc: string }>(
      "SELECT account_id, record_id, before_doc FROM audit_log WHERE kind = 'cdrs' AND action = 'deleted' ORDER BY id",
    )
    return rows.map(({ account_id, record_id, before_doc }) => [
      account_id,
      record_id,
      JSON.parse(before_doc),
    ])
  }

  it('is without end unless it is set; then whole months go, but for their sums', async () => {
    await send(0, 1, 2, 3)
    await world.unchanged(() => world.server.scheduler.runNow(job))
    expect(await ids()).toEqual(['202510-leg-of-3', '202511-leg-of-2', '202512-leg-of-1', '202601-leg-of-0'])
    // Two months stay in addition to the current one, and the audit log lists what was removed.
    await world.operator.patch('/v2/system_configs/cdr', { default: { retention_months: 2 } })
    await world.server.scheduler.runNow(job)
    expect(await ids()).toEqual(['202511-leg-of-2', '202512-leg-of-1', '202601-leg-of-0'])
    expect(await deletions()).toEqual([[world.master.id, '202510', { month: 202510, records: 1 }]])
    await world.unchanged(() => world.server.scheduler.runNow(job))
    await world.configure('cdr', { retention_months: 1 })
    await world.server.scheduler.runNow(job)
    expect(await ids()).toEqual(['202512-leg-of-1', '202601-leg-of-0'])
    // Records that are sent again are not counted twice.
    const sums = () => world.server.store.all('SELECT * FROM cdr_tallies ORDER BY 1, 2, 3, 4, 5')
    const before = await sums()
    await send(3)
    expect(await ids()).toContain('202510-leg-of-3')
    expect(await sums()).toEqual(before)
  })

  it('cannot be set to nothing at all', async () => {
    const answer = await world.unchanged(() =>
      world.operator.patch('/v2/system_configs/cdr', { default: { retention_months: 0 } }),
    )
    expect(answer).toFailWith(400, 'validation error')
  })
})

describeEngines('The months of call detail records that are to come', (engine) => {
  const world = useWorld(engine)
  const job = 'cdr-months'
  const february = january + 30 * 86_400

  const months = () => world.server.store.cdrs.months()

  /** Changes if a table or an index is created or dropped. */
  const structure = () =>
    world.server.store.all(
      engine === 'sqlite'
        ? 'SELECT schema_version FROM pragma_schema_version'
        : "SELECT oid, relname FROM pg_class WHERE relname LIKE 'cdrs%' ORDER BY oid",
    )

  const send = async (timestamp: number) => {
    const leg = { call_id: `leg-${timestamp}`, timestamp, custom_channel_vars: { account_id: world.acme.id } }
    expect((await world.operator.put('/v2/cdrs', [leg])).data).toMatchObject({ accepted: 1 })
  }

  const listed = async () => {
    const query = { created_from: String(january), created_to: String(february) }
    const answer = await world.ada.get(`${world.acme.path}/cdrs`, { query })
    expect(answer).toSucceed()
    return (answer.data as { id: string }[]).map(({ id }) => id)
  }

  it('have their tables before their first call, and go by retention', async () => {
    // Where no call has come yet there are none.
    await world.server.scheduler.runNow(job)
    expect(await months()).toEqual([])
    await send(january)
    await world.server.scheduler.runNow(job)
    expect(await months()).toEqual([202601, 202602])
    const made = await structure()
    await world.server.scheduler.runNow(job)
    world.clock.advance({ hours: 24 * 28 })
    await send(february)
    expect(await months()).toEqual([202601, 202602])
    expect(await structure()).toEqual(made)

    // Months to come are in no way of lists, of retention and of the months behind them.
    const stored = [`202602-leg-${february}`, `202601-leg-${january}`]
    await world.server.scheduler.runNow(job)
    expect(await months()).toEqual([202601, 202602, 202603])
    expect(await listed()).toEqual(stored)
    await world.configure('cdr', { retention_months: 1 })
    await world.server.scheduler.runNow('cdr-retention')
    expect(await months()).toEqual([202601, 202602, 202603])
    expect(await listed()).toEqual(stored)

    // After a time in which no server ran they begin with the current one.
    world.clock.advance({ hours: 24 * 31 * 3 })
    await world.server.scheduler.runNow(job)
    expect(await months()).toEqual([202601, 202602, 202603, 202605, 202606])
    await world.server.scheduler.runNow('cdr-retention')
    expect(await months()).toEqual([202605, 202606])
  })
})

describeEngines('The call records of an account that is deleted', (engine) => {
  const job = 'departed_calls'

  it('go with it after the time that the operator sets, and those of others stay', async () => {
    const world = await buildWorld(engine)
    try {
      const { store, scheduler } = world.server
      const account = await world.account()
      const stays = await world.account()
      const records = (accountId: string, count: number) =>
        Array.from({ length: count }, (_, index) => ({
          call_id: `leg-${index}`,
          timestamp: january - (index % 3) * 27 * 86_400,
          billing_seconds: 60,
          custom_channel_vars: { account_id: accountId, owner_id: 'owner' },
        }))
      for (const [{ id }, count] of [
        [account, 2500],
        [stays, 3],
      ] as const)
        expect((await world.operator.put('/v2/cdrs', records(id, count))).data.accepted).toBe(count)
      const left = async (table: 'legs' | 'cdr_tallies') => {
        if (table === 'legs') {
          const rows = await storedRows(store)
          return [account, stays].map(({ id }) => rows.filter((row) => row.account_id === id).length)
        }
        const counted = await store.all<{ account_id: string; calls: number }>(
          `SELECT account_id, CAST(sum(calls) AS BIGINT) AS calls FROM cdr_tallies
            WHERE dimension = 'all' AND seconds = 900 GROUP BY account_id`,
        )
        return [account, stays].map(({ id }) => counted.find((row) => row.account_id === id)?.calls ?? 0)
      }
      const tally = await left('cdr_tallies')
      await world.configure('cdr', { departed_account_days: 30 })
      expect(await world.operator.delete(account.path)).toSucceed()
      world.clock.advance({ hours: 24 * 20 })
      await scheduler.runNow(job)
      expect(await left('legs')).toEqual([2500, 3])
      // A changed setting also applies to accounts that already wait.
      await world.configure('cdr', { departed_account_days: 21 })
      world.clock.advance({ hours: 24 })
      await scheduler.runNow(job)
      // Each run deletes a part, so that other work is not delayed; the next run continues.
      const [some = 0] = await left('legs')
      expect(some).toBeGreaterThan(0)
      expect(some).toBeLessThan(2500)
      expect((await left('cdr_tallies'))[0]).toBe(tally[0])
      for (let part = 0; part < 8; part += 1) {
        world.clock.advance({ seconds: 2 })
        await scheduler.runNow(job)
      }
      expect(await left('legs')).toEqual([0, 3])
      expect(await left('cdr_tallies')).toEqual([0, tally[1]])
      const [told] = await store.all<{ account_id: string; before_doc: string }>(
        "SELECT account_id, before_doc FROM audit_log WHERE kind = 'cdrs' AND action = 'deleted'",
      )
      expect([told?.account_id, JSON.parse(told?.before_doc ?? '{}')]).toEqual([
        world.master.id,
        { account_id: account.id, records: 2500 },
      ])
      const work = await store.all("SELECT state FROM work WHERE kind = 'departed_calls'")
      expect(work).toEqual([{ state: 'done' }])
      expect(world.takeErrors()).toEqual([])
    } finally {
      await world.close()
    }
  })
})
