// Nothing is booked that cannot be shown: sums have bounds like amounts.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type BookkeeperServer, startBookkeeper } from '../support/servers/bookkeeper-server.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

let bookkeeper: BookkeeperServer

beforeAll(async () => {
  bookkeeper = await startBookkeeper()
})

afterAll(() => bookkeeper.close())

const most = 99_999_999_999
const dollars = {
  message: 'Balances and the sums of a month stay within 900000000000 dollars',
  target: 900_000_000_000,
}

describeAnyEngine('sums of money', (engine) => {
  const world = useWorld(engine, async ({ configure }) => {
    await configure('services.http_sync', bookkeeper.settings)
  })

  let entries = 0
  const book = (
    account: TestAccount,
    kind: 'credit' | 'debit',
    amount: number,
    fields: Json = {},
    envelope: Json = {},
  ) => {
    const data = {
      source: { service: 'X', id: `${++entries}` },
      usage: { type: 'cycle', quantity: 1, unit: 'Hz' },
      amount,
      ...fields,
    }
    return world.ross.put(`${account.path}/ledgers/${kind}`, undefined, {
      body: JSON.stringify({ data, ...envelope }),
    })
  }

  const total = async (account: TestAccount) =>
    (await world.operator.get(`${account.path}/ledgers/total`)).data.amount

  it('stay within what can be shown, either way', async () => {
    for (const [kind, sign] of [
      ['credit', 1],
      ['debit', -1],
    ] as const) {
      const account = await world.account(world.reseller)
      for (let count = 0; count < 9; count += 1) expect((await book(account, kind, most)).status).toBe(201)
      const refused = await world.unchanged(() => book(account, kind, most))
      expect(refused).toFailWith(400, 'validation error', { amount: { maximum: dollars } })
      expect((await book(account, kind, 9)).status).toBe(201)
      expect(await world.unchanged(() => book(account, kind, 0.0001))).toFailWith(400, 'validation error', {
        amount: { maximum: dollars },
      })
      expect(await total(account)).toBe(sign * 900_000_000_000)
      // The way back is open.
      expect((await book(account, sign > 0 ? 'debit' : 'credit', 1)).status).toBe(201)
    }
  })

  it('let no more of many bookings at once through than can be shown', async () => {
    const account = await world.account(world.reseller)
    const answers = await Promise.all(Array.from({ length: 15 }, () => book(account, 'credit', most)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(9)
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(6)
    expect(await total(account)).toBe(9 * most)
    expect((await world.ross.get(`${account.path}/ledgers`)).data).toMatchObject({ X: { amount: 9 * most } })
  })

  it('of the reseller are checked too when it is impacted', async () => {
    const reseller = await world.account()
    await world.operator.put(`${reseller.path}/reseller`, {})
    const [full, empty] = [await world.account(reseller), await world.account(reseller)]
    const admin = await world.admin(reseller)
    const credit = (account: TestAccount) => {
      const usage = { type: 'cycle', quantity: 1, unit: 'Hz' }
      const data = { source: { service: 'X', id: `${++entries}` }, usage, amount: most }
      const body = JSON.stringify({ data, impact_reseller: true })
      return admin.put(`${account.path}/ledgers/credit`, undefined, { body })
    }
    for (let count = 0; count < 9; count += 1) expect((await credit(full)).status).toBe(201)
    expect(await world.unchanged(() => credit(empty))).toFailWith(400, 'validation error', {
      amount: { maximum: dollars },
    })
    expect(await total(empty)).toBe(0)
  })

  it('of a month are checked for each source, even when the balance is zero', async () => {
    const account = await world.account(world.reseller)
    const ofY = { source: { service: 'Y', id: 'y' } }
    for (let count = 0; count < 9; count += 1) {
      await book(account, 'credit', most)
      await book(account, 'debit', most, { ...ofY, period: { start: 63_900_000_000 + count } })
    }
    expect(await total(account)).toBe(0)
    expect(await world.unchanged(() => book(account, 'credit', most))).toFailWith(400, 'validation error', {
      amount: { maximum: dollars },
    })
    expect((await book(account, 'credit', most, ofY)).status).toBe(201)
  })

  it('of usage are checked like those of money', async () => {
    const account = await world.account(world.reseller)
    await book(account, 'credit', 1)
    const rows = `UPDATE ledger_months SET usage_quantity = $2 WHERE account_id = $1`
    await world.server.store.writeUnrecorded([{ sql: rows, params: [account.id, 8_999_000_000_000_000] }])
    const usage = { type: 'cycle', quantity: 1_000_000_000_000, unit: 'Hz' }
    const use = () => book(account, 'credit', 1, { usage })
    const answers = await Promise.all([use(), use(), use()])
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 400, 400])
    const target = 9_000_000_000_000_000
    const message = `The quantities of a month stay within ${target}`
    expect(await world.unchanged(use)).toFailWith(400, 'validation error', {
      'usage.quantity': { maximum: { message, target } },
    })
  })

  it('of top-ups are checked before any charge', async () => {
    const account = await world.account(world.reseller)
    const path = `${account.path}/services/topup`
    for (let count = 0; count < 9; count += 1) await book(account, 'credit', most)
    const refusal = { amount: { maximum: dollars } }
    const credited = await world.unchanged(() => world.ross.post(path, { amount: most }))
    expect(credited).toFailWith(400, 'validation error', refusal)
    await world.ross.post(`${account.path}/services`, { bookkeeper: { type: 'http' } })
    const charged = await world.unchanged(() => world.ross.post(path, { amount: most }))
    expect(charged).toFailWith(400, 'validation error', refusal)
    expect(bookkeeper.calls).toEqual([])
    // Sales with a pending result count as if they were booked.
    const other = await world.account(world.reseller)
    await world.ross.post(`${other.path}/services`, { bookkeeper: { type: 'http' } })
    bookkeeper.state.manner = 'mute'
    const sales = await Promise.all(
      Array.from({ length: 12 }, () => world.ross.post(`${other.path}/services/topup`, { amount: most })),
    )
    expect(sales.filter(({ status }) => status === 202)).toHaveLength(9)
    expect(sales.filter(({ status }) => status === 400)).toHaveLength(3)
    expect(await world.unchanged(() => book(other, 'credit', most))).toFailWith(
      400,
      'validation error',
      refusal,
    )
    bookkeeper.reset()
  })

  it('on invoices are checked before a plan, an override or a count makes them too large', async () => {
    const account = await world.account(world.reseller)
    const plan = { devices: { sip_device: { rate: most } } }
    const { data } = await world.operator.put(`${world.reseller.path}/service_plans`, { name: 'P', plan })
    await world.ross.post(`${account.path}/services`, { add: [data.id] })
    const manual = (sip_device: number) =>
      world.ross.post(`${account.path}/services/manual`, { devices: { sip_device } })
    expect((await manual(9)).status).toBe(200)
    const maximum = {
      message: 'An invoice stays within 900000000000 dollars',
      target: 900_000_000_000,
    }
    expect(await world.unchanged(() => manual(10))).toFailWith(400, 'validation error', {
      'devices.sip_device': { maximum },
    })
    const override = { plan: { devices: { sip_device: { activation_charge: 100, step: 20 } } } }
    const problem = { 'plan.devices.sip_device': { maximum } }
    expect(
      await world.unchanged(() => world.ross.post(`${account.path}/services/overrides`, override)),
    ).toFailWith(400, 'validation error', problem)
    expect(
      await world.unchanged(() =>
        world.ross.post(`${account.path}/services/quote`, { add: [{ id: data.id, overrides: override }] }),
      ),
    ).toFailWith(400, 'validation error', problem)
  })

  it('are never booked as what is carried over', async () => {
    const account = await world.account(world.reseller)
    const source = { service: 'rollovers', id: '202601' }
    const message = 'Balances are carried over automatically: rollovers cannot be booked'
    expect(await world.unchanged(() => book(account, 'credit', 1, { source }))).toFailWith(
      400,
      'validation error',
      {
        'source.service': { forbidden: { message, value: 'rollovers' } },
      },
    )
  })
})
