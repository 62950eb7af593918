// How many items of each category accounts have, and have below them.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Quantities } from '../../src/areas/billing/services/quantities/rules.ts'
import { accountKind } from '../../src/auth/identity.ts'
import { openDatabase, startServer } from '../../src/compose.ts'
import { systemScope } from '../../src/storage/change-set.ts'
import type { Database } from '../../src/storage/db.ts'
import { createTestLog } from '../support/run/log.ts'
import { countOf } from '../support/run/run-length.ts'
import { createFaults } from '../support/servers/faulty-database.ts'
import { describeEngines, quickLayers, type TestAccount, useWorld } from '../support/world/world.ts'

describeEngines('quantities', (engine) => {
  const world = useWorld(engine)
  const book = () => world.server.areas.services.quantities
  const fold = () => world.server.scheduler.runNow('quantities')

  const totals = async ({ id }: Pick<TestAccount, 'id'>) => ({ ...(await book().of(id)) })

  /** The counts of every account, counted again from the records. */
  const recount = async (): Promise<Map<string, Quantities>> => {
    const rows = await world.server.store.all<{ account_id: string; kind: string; doc: string }>(
      "SELECT account_id, kind, doc FROM records WHERE kind IN ('account', 'user', 'device')",
    )
    const counted = new Map<string, Quantities>()
    const add = (accountId: string, category: string, item: string) => {
      const own = counted.get(accountId) ?? {}
      own[category] ??= {}
      const items = own[category] as Record<string, number>
      items[item] = (items[item] ?? 0) + 1
      counted.set(accountId, own)
    }
    for (const { account_id: accountId, kind, doc } of rows) {
      const { enabled, priv_level: level, device_type: type } = JSON.parse(doc)
      if (kind === accountKind) add(accountId, 'accounts', 'account')
      else if (enabled === false) continue
      else if (kind === 'user') add(accountId, 'users', level === 'admin' ? 'admin' : 'user')
      else add(accountId, 'devices', type ?? 'sip_device')
    }
    return counted
  }

  const sum = (parts: readonly Quantities[]) => {
    const whole: Quantities = {}
    for (const part of parts)
      for (const [category, items] of Object.entries(part))
        for (const [item, count] of Object.entries(items)) {
          whole[category] ??= {}
          const counts = whole[category] as Record<string, number>
          counts[item] = (counts[item] ?? 0) + count
        }
    return whole
  }

  const expectRecount = async () => {
    const counted = await recount()
    const tree = await world.server.store.all<{ account_id: string; ancestor_id: string }>(
      'SELECT account_id, ancestor_id FROM account_tree',
    )
    for (const id of [...counted.keys()].filter((one) => one !== systemScope)) {
      const below = tree.filter(({ ancestor_id: ancestor }) => ancestor === id)
      expect(await book().of(id)).toEqual({
        account: counted.get(id),
        cascade: sum(below.map(({ account_id: one }) => counted.get(one) ?? {})),
      })
    }
  }

  it('count users by level and devices by type, own and below, at once and after folding', async () => {
    const shop = await world.account(world.acme)
    await world.user(shop)
    await world.admin(shop)
    await world.device(shop, { device_type: 'softphone' })
    const phone = await world.device(shop)
    const own = {
      accounts: { account: 1 },
      users: { admin: 1, user: 1 },
      devices: { sip_device: 1, softphone: 1 },
    }
    expect(await totals(shop)).toEqual({ account: own, cascade: {} })
    const above = await totals(world.acme)
    expect(above.cascade).toEqual(own)
    await fold()
    expect(await totals(shop)).toEqual({ account: own, cascade: {} })
    expect(await totals(world.acme)).toEqual(above)
    await world.operator.patch(phone.path, { enabled: false })
    expect((await totals(shop)).account.devices).toEqual({ softphone: 1 })
    expect((await totals(world.acme)).cascade.devices).toEqual({ softphone: 1 })
  })

  it('are known for the beginning and the end of each month, own ones only', async () => {
    const account = await world.account()
    const phone = await world.device(account)
    await world.device(account)
    await world.device(await world.account(account))
    world.clock.advance({ hours: 31 * 24 })
    expect(await world.operator.delete(phone.path)).toSucceed()
    await fold()
    const ofPhones = (await book().months(account.id)).filter(({ category }) => category === 'devices')
    const item = { category: 'devices', item: 'sip_device' }
    expect(ofPhones).toEqual([
      { ...item, month: 202601, atBeginning: undefined, atEnd: 2 },
      { ...item, month: 202602, atBeginning: 2, atEnd: undefined },
    ])
  })

  it('are the same as a full recount after any history of changes, moves and removals', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('user' as const), at: fc.nat(), admin: fc.boolean() }),
      fc.record({ do: fc.constant('device' as const), at: fc.nat() }),
      fc.record({ do: fc.constant('disable' as const), at: fc.nat() }),
      fc.record({ do: fc.constant('account' as const), at: fc.nat() }),
      fc.record({ do: fc.constant('move' as const), at: fc.nat(), to: fc.nat() }),
      fc.record({ do: fc.constant('remove' as const), at: fc.nat() }),
      fc.record({ do: fc.constant('fold' as const) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 16 }), async (steps) => {
        const accounts = [await world.account(), await world.account()]
        const devices: string[] = []
        const at = <T>(list: readonly T[], index: number) => list[index % list.length] as T
        for (const one of steps) {
          if (one.do === 'fold') await fold()
          else if (one.do === 'user')
            await world.user(at(accounts, one.at), one.admin ? { priv_level: 'admin' } : {})
          else if (one.do === 'device') devices.push((await world.device(at(accounts, one.at))).path)
          else if (one.do === 'disable' && devices.length > 0)
            await world.operator.patch(at(devices, one.at), { enabled: false })
          else if (one.do === 'account') accounts.push(await world.account(at(accounts, one.at)))
          else if (one.do === 'move')
            await world.operator.post(`${at(accounts, one.at).path}/move`, { to: at(accounts, one.to).id })
          else if (one.do === 'remove' && accounts.length > 1) {
            const { status } = await world.operator.delete(at(accounts, one.at).path)
            if (status === 200) accounts.splice(one.at % accounts.length, 1)
          }
        }
        await expectRecount()
        await fold()
        await expectRecount()
      }),
      { numRuns: countOf(3, 8) },
    )
  })
})

describeEngines('a fold of quantities', (engine) => {
  const faults = createFaults()
  const world = useWorld(engine, undefined, undefined, { over: faults.over })

  it('counts for those above an account that was looked for before it came, and came while moves were read', async () => {
    let isFolding = false
    const arrive = async () => {
      isFolding = false
      faults.state.onWrite = async ({ statements }) => {
        const made = statements.find(
          ({ sql, params }) => sql.includes('INSERT INTO records') && params[1] === accountKind,
        )
        const id = made && String(made.params[0])
        if (id) expect(await there.store.records.find(id, accountKind, id)).toBeUndefined()
        return undefined
      }
      await world.account(world.acme)
      faults.mend()
    }
    const reading = (db: Database): Database => ({
      ...db,
      all: async (sql, params) => {
        if (isFolding && sql.includes('FROM quantity_moves ORDER BY id')) await arrive()
        return db.all(sql, params)
      },
    })
    const parts = { db: reading(await openDatabase(world.config)), layers: quickLayers }
    const there = await startServer(world.config, { clock: world.clock, log: createTestLog().log }, parts)
    await world.server.scheduler.runNow('quantities')
    const { quantities } = world.server.areas.services
    const before = await quantities.cascade(world.acme.id, 'accounts')
    isFolding = true
    await there.scheduler.runNow('quantities')
    expect(isFolding).toBe(false)
    expect(await quantities.cascade(world.acme.id, 'accounts')).toBe(before + 1)
    await there.stop()
  })
})
