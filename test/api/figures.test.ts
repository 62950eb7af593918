// Figures of sub-accounts: what resellers and operators see first.
import { beforeEach, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { legOf, nowOf, pagesOf, sendLegs } from '../support/world/legs.ts'
import { accountWithMany, memberName } from '../support/world/many-accounts.ts'
import { describeEngines, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const day = 86_400

describeEngines('Figures of sub-accounts', (engine) => {
  const world = useWorld(engine)
  let top: TestAccount
  let admin: Person
  let owing: TestAccount
  let paid: TestAccount
  let reseller: TestAccount
  let below: TestAccount

  const debit = async ({ path }: TestAccount, amount: number) => {
    const source = { service: 'services', id: `debit of ${path}` }
    const usage = { type: 'seat', quantity: 1, unit: 'seat' }
    expect(await world.operator.put(`${path}/ledgers/debit`, { source, usage, amount })).toSucceed()
  }

  beforeEach(async () => {
    top = await world.account(world.master)
    expect(await world.operator.put(`${top.path}/reseller`, {})).toSucceed()
    admin = await world.admin(top)
    owing = await world.account(top, { name: `A ${top.name}` })
    paid = await world.account(top, { name: `B ${top.name}` })
    reseller = await world.account(top, { name: `C ${top.name}` })
    expect(await world.operator.put(`${reseller.path}/reseller`, {})).toSucceed()
    below = await world.account(reseller)
    await debit(owing, 2.5)
    await world.credit(paid, 10)
    await debit(paid, 4)
    await debit(below, 100)
    const now = nowOf(world)
    await sendLegs(world, [
      legOf(paid, now - 60, { billing_seconds: 20 }),
      legOf(paid, now - 90),
      legOf(owing, now - 3 * day),
      legOf(below, now - 60, { billing_seconds: 10 }),
      // Longer ago than is counted.
      legOf(owing, now - 40 * day),
      // Not below.
      legOf(top, now - 60),
    ])
  })

  const row = ({ id, name, realm }: TestAccount, more: Json) => ({
    id,
    name,
    realm,
    enabled: true,
    is_reseller: false,
    descendants_count: 0,
    balance: 0,
    calls: 0,
    alerts: 0,
    ...more,
  })
  const children = (query: Record<string, string | number | boolean> = {}, who = admin) =>
    who.get(`${top.path}/figures/children`, { query })
  const idsBy = async (query: Record<string, string | boolean>) =>
    (await children(query)).data.map(({ id }: Json) => id)

  it('list the direct sub-accounts', async () => {
    await world.operator.patch(owing.path, { enabled: false })
    await world.operator.put(`${paid.path}/phone_numbers/%2B14155550155`, { create_with_state: 'port_in' })
    expect(await children({ ascending: true })).toSucceedWith([
      row(owing, { enabled: false, balance: -2.5, calls: 1 }),
      row(paid, { balance: 6, calls: 2, alerts: 1 }),
      row(reseller, { is_reseller: true, descendants_count: 1 }),
    ])
  })

  it('are sorted by balance and by calls, page after page', async () => {
    expect(await idsBy({ sort: 'balance', ascending: true })).toEqual([owing.id, reseller.id, paid.id])
    expect(await idsBy({ sort: 'balance' })).toEqual([paid.id, reseller.id, owing.id])
    expect(await idsBy({ sort: 'calls' })).toEqual([paid.id, owing.id, reseller.id])
    for (const sort of ['name', 'balance', 'calls']) {
      const pages = await pagesOf((query) => children({ sort, page_size: 2, ...query }))
      expect(pages.map((page) => page.length)).toEqual([2, 1])
      expect(pages.flat().map(({ id }) => id)).toEqual(await idsBy({ sort }))
    }
  })

  it('sum up all accounts below', async () => {
    await world.operator.patch(below.path, { enabled: false })
    const today = Math.floor(nowOf(world) / day) * day
    const stat = {
      calls: 3,
      answered: 2,
      answer_seizure_ratio: 0.6667,
      average_call_duration: 15,
      duration_seconds: 90,
      billing_seconds: 30,
      cost: 0,
    }
    const once = { calls: 1, answered: 0, answer_seizure_ratio: 0, average_call_duration: 0 }
    const silent = { ...once, duration_seconds: 30, billing_seconds: 0, cost: 0 }
    expect(await admin.get(`${top.path}/figures/descendants`)).toSucceedWith({
      accounts: 4,
      disabled: 1,
      overdrawn: 2,
      // The account below the other reseller is charged by that one.
      charged: [{ month: '2026-01', amount: 6.5 }],
      calls: [
        { start: today - 3 * day, ...silent },
        { start: today, ...stat },
      ],
    })
    const query = { created_from: today - 50 * day, created_to: today - 30 * day }
    const { data } = await admin.get(`${top.path}/figures/descendants`, { query })
    expect(data.calls).toEqual([{ start: today - 40 * day, ...silent }])
  })

  it('are empty for an account without sub-accounts', async () => {
    const own = await world.admin(paid)
    expect(await own.get(`${paid.path}/figures/children`)).toSucceedWith([])
    expect(await own.get(`${paid.path}/figures/descendants`)).toSucceedWith({
      accounts: 0,
      disabled: 0,
      overdrawn: 0,
      charged: [],
      calls: [],
    })
  })

  it('refuse an unknown order, a range of more than a year, and other accounts', async () => {
    const target = ['name', 'balance', 'calls']
    const message = 'Value not found in enumerated list of values'
    expect(await children({ sort: 'realm' })).toFailWith(400, 'validation error', {
      sort: { enum: { message, target, value: 'realm' } },
    })
    const { status } = await admin.get(`${top.path}/figures/descendants`, { query: { created_from: 1 } })
    expect(status).toBe(400)
    for (const stranger of [await world.user(top), await world.admin(paid), world.ada])
      expect((await children({}, stranger)).status).toBe(403)
  })

  inFullRun(() => {
    it('are sorted by name only if there are more than 10,000 sub-accounts', async () => {
      const crowd = await accountWithMany(world, 10_001)
      const query = { page_size: 1, ascending: true }
      const path = `${crowd.path}/figures/children`
      const { data } = await world.ross.get(path, { query })
      expect(data.map(({ name }: Json) => name)).toEqual([memberName(0)])
      const message = 'More than 10000 sub-accounts are listed by name only'
      expect(await world.ross.get(path, { query: { ...query, sort: 'balance' } })).toFailWith(
        400,
        'validation error',
        { sort: { maximum: { message, target: 10_000 } } },
      )
    })
  })
})
