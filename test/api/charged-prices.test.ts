// A removal refunds the price that was charged for the rest of the month, even if the price has changed since.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import type { Client } from '../support/world/client.ts'
import { describeAnyEngine, type TestAccount, useWorld, type World } from '../support/world/world.ts'

const both = { additions: true, removals: true }

const useCustomers = (world: World) => {
  /** With an item for users that costs a dollar for each day of a month of 31 days. */
  const customer = async (item: Json = {}) => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const plan = { users: { user: { rate: 31, prorate: both, ...item } } }
    const made = await world.ross.put(`${world.reseller.path}/service_plans`, { name: 'Plan', plan })
    expect(await world.ross.post(`${account.path}/services`, { add: [made.data.id] })).toSucceed()
    await world.credit(account, 10_000)
    return { account, admin, planId: String(made.data.id) }
  }

  const priceAt = async ({ path }: TestAccount, item: Json) => {
    const plan = { users: { user: item } }
    expect(await world.ross.post(`${path}/services/overrides`, { plan })).toSucceed()
  }

  const balanceOf = async ({ path }: TestAccount) =>
    (await world.ross.get(`${path}/ledgers/total`)).data.amount

  const agreed = { query: { accept_charges: true } }

  const add = async (admin: Client, { path }: TestAccount): Promise<string> => {
    const made = await admin.put(`${path}/users`, { first_name: 'A', last_name: 'B' }, agreed)
    expect(made.status).toBe(201)
    return `${path}/users/${made.data.id}`
  }

  /** Dollars that the account gets back. */
  const remove = async (admin: Client, account: TestAccount, path: string) => {
    const before = await balanceOf(account)
    expect(await admin.delete(path)).toSucceed()
    return (await balanceOf(account)) - before
  }

  return { customer, priceAt, balanceOf, add, remove }
}

describeAnyEngine('a removal', (engine) => {
  const world = useWorld(engine)
  const { customer, priceAt, balanceOf, add, remove } = useCustomers(world)

  // 27 of 31 days are left.
  it.each([
    ['raised', 500],
    ['lowered', 3.1],
    ['dropped to nothing', 0],
  ])('gives back what was charged when the price was %s since', async (_, rate) => {
    const { account, admin } = await customer()
    const path = await add(admin, account)
    expect(await balanceOf(account)).toBe(10_000 - 27)
    await priceAt(account, { rate })
    expect(await remove(admin, account, path)).toBe(27)
  })

  it('gives back what was added last first, each at its own price', async () => {
    const { account, admin } = await customer()
    const paths = [await add(admin, account), await add(admin, account)]
    await priceAt(account, { rate: 62 })
    paths.push(await add(admin, account))
    await priceAt(account, { rate: 310 })
    const returned: number[] = []
    for (const path of paths) returned.push(await remove(admin, account, path))
    expect(returned).toEqual([54, 27, 27])
    expect(await balanceOf(account)).toBe(10_000)
  })

  it('gives back the tax that was charged', async () => {
    const taxes = (rate: number) => [{ name: 'VAT', rate, tax_id: 'vat' }]
    const { account, admin } = await customer({ taxes: taxes(10) })
    const path = await add(admin, account)
    expect(await balanceOf(account)).toBe(10_000 - 29.7)
    await priceAt(account, { taxes: taxes(20) })
    await remove(admin, account, path)
    expect(await balanceOf(account)).toBe(10_000)
  })

  it.each<[string, (customer: { account: TestAccount; planId: string }) => Promise<unknown>]>([
    [
      'its item is no longer in the plan',
      ({ planId }) =>
        world.ross.post(`${world.reseller.path}/service_plans/${planId}`, {
          name: 'Plan',
          plan: { devices: { sip_device: { rate: 1 } } },
        }),
    ],
    [
      'the plan prices all items of the category instead',
      ({ planId }) =>
        world.ross.post(`${world.reseller.path}/service_plans/${planId}`, {
          name: 'Plan',
          plan: { users: { _all: { rate: 310, prorate: both } } },
        }),
    ],
    [
      'the account no longer has the plan',
      ({ account, planId }) => world.ross.post(`${account.path}/services`, { delete: [planId] }),
    ],
  ])('gives back what was charged when %s', async (_, change) => {
    const { account, admin, planId } = await customer()
    const paths = [await add(admin, account), await add(admin, account)]
    expect(await change({ account, planId })).toSucceed()
    const later = await add(admin, account)
    const charged = 10_000 - 54 - (await balanceOf(account))
    expect(await remove(admin, account, later)).toBe(charged)
    for (const path of paths.toReversed()) expect(await remove(admin, account, path)).toBe(27)
    expect(await balanceOf(account)).toBe(10_000)
  })

  it.each<[string, Json]>([
    ['no longer gives back removals', { rate: 31, prorate: { additions: true, removals: false } }],
    ['no longer charges additions by the day', { rate: 31, prorate: { additions: false, removals: true } }],
    ['no longer mentions days', { rate: 31 }],
    ['no longer has a price', {}],
  ])('gives back what was charged when the plan %s', async (_, item) => {
    const { account, admin, planId } = await customer()
    const paths = [await add(admin, account), await add(admin, account)]
    const changed = { name: 'Plan', plan: { users: { user: item } } }
    expect(await world.ross.post(`${world.reseller.path}/service_plans/${planId}`, changed)).toSucceed()
    const balance = await balanceOf(account)
    paths.push(await add(admin, account))
    const charged = balance - (await balanceOf(account))
    const returned: number[] = []
    for (const path of paths.toReversed()) returned.push(await remove(admin, account, path))
    expect(returned).toEqual([0, 27, 27])
    expect(await balanceOf(account)).toBe(10_000 - charged)
  })

  it('gives back nothing that neither the plan of the addition nor the present one promises', async () => {
    const { account, admin } = await customer({ prorate: { additions: true, removals: false } })
    const path = await add(admin, account)
    await priceAt(account, { rate: 1 })
    expect(await remove(admin, account, path)).toBe(0)
  })

  it('gives back nothing of what was added when it was free', async () => {
    const { account, admin } = await customer({ rate: 0 })
    const path = await add(admin, account)
    await priceAt(account, { rate: 31 })
    expect(await remove(admin, account, path)).toBe(0)
  })
})

describeAnyEngine('a removal in a month that was billed', (engine) => {
  const world = useWorld(engine)
  const { customer, priceAt, balanceOf, add, remove } = useCustomers(world)

  it('gives back what the bill charged, for the days that are left', async () => {
    const { account, admin } = await customer()
    const paths = [await add(admin, account), await add(admin, account)]
    await world.server.scheduler.runNow('monthly_bills')
    world.clock.advance({ milliseconds: Date.UTC(2026, 1, 1) - world.clock.now() })
    await world.server.scheduler.runNow('monthly_bills')
    expect(await balanceOf(account)).toBe(10_000 - 2 * 27 - 2 * 31)
    await priceAt(account, { rate: 500 })
    world.clock.advance({ hours: 14 * 24 })
    const later = world.clientWithToken(await world.tokenOf(account, admin.id))
    for (const path of paths) expect(await remove(later, account, path)).toBe(15.5)
  })
})
