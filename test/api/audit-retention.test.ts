import { afterEach, beforeEach, expect, it } from 'vitest'
import { createVerification } from '../../src/commands/verification/audit.sql.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import type { Value } from '../../src/storage/db.ts'
import { buildWorld, describeEngines, type TestAccount, type World } from '../support/world/world.ts'

describeEngines('the retention of the audit', (engine) => {
  let world: World

  // Each has its own: weeks pass in them.
  beforeEach(async () => {
    world = await buildWorld(engine)
  })

  afterEach(async () => {
    expect(world.takeErrors()).toEqual([])
    await world.close()
  })

  const days = (count: number) => world.clock.advance({ hours: 24 * count })
  const run = (job: string) => world.server.scheduler.runNow(job)

  /** The operator, whose token of before has ended. */
  const operator = async () => world.clientWithToken(await world.tokenOf(world.master, world.operator.id))

  const auditOf = async ({ path }: TestAccount) => {
    const answer = await (await operator()).get(`${path}/audit`)
    expect(answer).toSucceed()
    return answer.data
  }

  const verified = () => createVerification(world.server.store).all(() => undefined)

  const count = async (sql: string, params: readonly Value[] = []) => {
    const [row] = await world.server.store.all(`SELECT count(*) AS count FROM audit_log WHERE ${sql}`, params)
    return Number(row?.count)
  }

  const indexed = async ({ id }: TestAccount) => {
    const sql = 'SELECT count(*) AS count FROM audit_index WHERE account_id = $1'
    const [row] = await world.server.store.all(sql, [id])
    return Number(row?.count)
  }

  it('is off by default', async () => {
    const before = await auditOf(world.acme)
    days(4000)
    await run('events')
    await run('audit')
    expect(await auditOf(world.acme)).toEqual(before)
    expect((await verified()).faults).toEqual([])
  })

  it('leaves an entry with the number and the last time of the removed entries, and the chain continues from it', async () => {
    const account = await world.account(world.reseller)
    await world.device(account, { name: 'Old' })
    const old = await auditOf(account)
    days(40)
    await world.configure('events', { audit_retention_days: 30 })
    const young = await (await operator()).put(`${account.path}/devices`, { name: 'Young' })
    expect(young).toSucceed()
    await run('events')
    await run('audit')
    const [line, kept, ...others] = await auditOf(account)
    expect(others).toEqual([])
    expect(kept).toMatchObject({
      action: 'created',
      record: { kind: 'device', name: 'Young' },
      previous_digest: old[0].digest,
    })
    expect(line).toMatchObject({
      actor: { type: 'system' },
      action: 'deleted',
      record: { kind: 'audit', id: account.id },
      changes: [
        { path: 'entries', from: old.length },
        { path: 'until', from: old[0].at },
        { path: 'sequence', from: old[0].sequence },
        { path: 'digest', from: old[0].digest },
      ],
      previous_digest: kept.digest,
    })
    expect(await verified()).toMatchObject({ faults: [] })
  })

  it('leaves a valid chain when only that entry is left, and the chain continues from it', async () => {
    const account = await world.account(world.reseller)
    days(40)
    await world.configure('events', { audit_retention_days: 30 })
    await run('events')
    await run('audit')
    const lines = await auditOf(account)
    expect(lines).toMatchObject([{ record: { kind: 'audit' } }])
    expect((await verified()).faults).toEqual([])
    days(40)
    await run('audit')
    expect(await auditOf(account)).toEqual(lines)
    expect(await (await operator()).put(`${account.path}/devices`, { name: 'New' })).toSucceed()
    days(40)
    await run('audit')
    expect(await auditOf(account)).toMatchObject([
      { record: { kind: 'audit' }, changes: expect.arrayContaining([{ path: 'entries', from: 2 }]) },
    ])
    expect((await verified()).faults).toEqual([])
  })

  it('is the only one who may remove: one entry more is missed', async () => {
    const account = await world.account(world.reseller)
    await world.device(account)
    days(40)
    await world.configure('events', { audit_retention_days: 30 })
    for (const name of ['One', 'Two'])
      expect(await (await operator()).put(`${account.path}/devices`, { name })).toSucceed()
    await run('audit')
    const entries = await auditOf(account)
    const one = entries.find(({ record }: { record: { name: string } }) => record.name === 'One')
    await world.server.store.writeUnrecorded([
      { sql: 'DELETE FROM audit_log WHERE account_id = $1 AND id = $2', params: [account.id, one.id] },
    ])
    const two = entries.find(({ record }: { record: { name: string } }) => record.name === 'Two')
    expect((await verified()).faults).toMatchObject([{ accountId: account.id, entryId: two.id }])
  })

  it('leaves events to the retention of events', async () => {
    const account = await world.account(world.reseller)
    await world.device(account, { name: 'Seen' })
    const events = async () =>
      (
        await world.server.feed.page({ accountId: account.id, below: false, after: 0, limit: 100 })
      ).events.map(({ type }) => type)
    await auditOf(account)
    const before = await events()
    expect(before).toContain('device.created')
    days(10)
    await world.configure('events', { audit_retention_days: 7 })
    await run('events')
    await run('audit')
    expect(await auditOf(account)).toMatchObject([{ record: { kind: 'audit' } }])
    expect(await events()).toEqual([...before, 'audit.deleted'])
    expect((await verified()).faults).toEqual([])
    days(25)
    await run('events')
    expect(await events()).toEqual(['audit.deleted'])
    expect(await count('account_id = $1', [account.id])).toBe(1)
    expect((await verified()).faults).toEqual([])
  })

  it('keeps the audit of a deleted account readable for the accounts that were above it', async () => {
    const account = await world.account(world.reseller, { name: 'Gone' })
    expect(await world.operator.delete(account.path)).toSucceed()
    days(40)
    await world.configure('events', { audit_retention_days: 30 })
    await run('audit')
    const ross = world.clientWithToken(await world.tokenOf(world.reseller, world.ross.id))
    const answer = await ross.get(`${account.path}/audit`)
    expect(answer).toSucceed()
    expect(answer.data).toMatchObject([{ record: { kind: 'audit', name: 'Gone' } }])
    const rex = world.clientWithToken(await world.tokenOf(world.rival, world.rex.id))
    expect((await rex.get(`${account.path}/audit`)).status).toBe(403)
  })

  it('removes more than one write holds', async () => {
    const account = await world.account(world.reseller)
    const set = new ChangeSet({ requestId: 'many' })
    for (let entry = 0; entry < 5100; entry += 1)
      set.record({ accountId: account.id, kind: 'sample', id: String(entry), action: 'created', after: '{}' })
    await world.server.store.commit(set)
    await auditOf(account)
    await run('audit index')
    expect(await indexed(account)).toBeGreaterThan(4000)
    days(40)
    await world.configure('events', { audit_retention_days: 30 })
    let isDone = false
    const removing = run('audit').finally(() => {
      isDone = true
    })
    // Nothing has to rest while the chains are looked at.
    do expect((await verified()).faults).toEqual([])
    while (!isDone)
    await removing
    expect(await auditOf(account)).toMatchObject([
      { record: { kind: 'audit' } },
      { record: { kind: 'audit' } },
    ])
    expect((await verified()).faults).toEqual([])
    expect(await indexed(account)).toBe(0)
  })
})
