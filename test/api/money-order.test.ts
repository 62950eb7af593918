// In which order money moved and invoices changed, within one second too.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type BookkeeperServer, startBookkeeper } from '../support/servers/bookkeeper-server.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

let bookkeeper: BookkeeperServer

beforeAll(async () => {
  bookkeeper = await startBookkeeper()
})

afterAll(() => bookkeeper.close())

describeEngines('lists of money', (engine) => {
  const world = useWorld(engine, async ({ configure }) => {
    await configure('services.http_sync', bookkeeper.settings)
  })

  const gregorianMs = () => world.clock.now() + 62_167_219_200_000

  const pass = (milliseconds: number) => world.clock.advance({ milliseconds })

  /** All rows of a list, read page by page. */
  const pages = async (path: string, direction: 'ascending' | 'descending', size: number) => {
    const rows: Json[] = []
    let key = ''
    do {
      const { data, body } = await world.ross.get(`${path}?${direction}=true&page_size=${size}${key}`)
      rows.push(...(data as unknown as Json[]))
      key = body.next_start_key ? `&start_key=${body.next_start_key}` : ''
    } while (key !== '')
    return rows
  }

  /** The list shows these in the order in which they were made, whichever way it is paged through. */
  const expectOrder = async (path: string, key: string, made: readonly unknown[]) => {
    for (const size of [1, 2, 100]) {
      const forth = await pages(path, 'ascending', size)
      expect(forth.map((row) => row[key])).toEqual(made)
      const back = await pages(path, 'descending', size)
      expect(back.map((row) => row[key])).toEqual(made.toReversed())
    }
  }

  const debit = (account: TestAccount, amount: number, fields: Json = {}) =>
    world.ross.put(`${account.path}/ledgers/debit`, {
      source: { service: 'X', id: String(amount) },
      usage: { type: 'cycle', quantity: 1, unit: 'Hz' },
      amount,
      ...fields,
    })

  it('keeps the order of entries, and says when each was made', async () => {
    const account = await world.account(world.reseller)
    const amounts = [7, 3, 9, 1, 8, 2, 6, 4, 5]
    const moments: number[] = []
    for (const amount of amounts) {
      moments.push(gregorianMs())
      expect((await debit(account, amount)).status).toBe(201)
      if (amount % 2 === 0) pass(3)
    }
    const path = `${account.path}/ledgers/X`
    const made = amounts.map((amount) => -amount)
    await expectOrder(path, 'amount', made)
    const rows = await pages(path, 'ascending', 100)
    expect(rows.map(({ created_ms }) => created_ms)).toEqual(moments)
    expect(new Set(rows.map(({ created }) => created)).size).toBe(1)
    expect(rows.map(({ created }) => created)).toEqual(moments.map((moment) => Math.floor(moment / 1000)))
    const before = rows.map(({ audit }) => (audit as Json).available_units as number)
    expect(before).toEqual(
      made.map((_, index) => made.slice(0, index).reduce((sum, one) => sum + one * 10_000, 0)),
    )
  })

  it('keeps the order of many entries that are booked at once by many', async () => {
    const account = await world.account(world.reseller)
    await Promise.all(Array.from({ length: 20 }, (_, index) => debit(account, index + 1)))
    const rows = await pages(`${account.path}/ledgers/X`, 'ascending', 3)
    expect(rows).toHaveLength(20)
    let balance = 0
    for (const { amount, audit } of rows) {
      expect((audit as Json).available_units).toBe(balance)
      balance += (amount as number) * 10_000
    }
  })

  it('keeps the order of transactions', async () => {
    const account = await world.account(world.reseller)
    await world.ross.post(`${account.path}/services`, { bookkeeper: { type: 'http' } })
    const amounts = [5, 2, 4, 1, 3, 7, 6]
    for (const amount of amounts) {
      const answer = await world.ross.put(`${account.path}/transactions/sale`, { amount })
      expect(answer.data).toMatchObject({ created_ms: gregorianMs() })
      pass(1)
    }
    await expectOrder(`${account.path}/transactions`, 'amount', amounts)
  })

  it('keeps the order of the audit of services', async () => {
    const account = await world.account(world.reseller)
    const plan = { devices: { sip_device: { rate: 1 } } }
    const { data } = await world.operator.put(`${world.reseller.path}/service_plans`, { name: 'P', plan })
    await world.ross.post(`${account.path}/services`, { add: [data.id] })
    const counts = [4, 9, 2, 8, 5, 7]
    for (const sip_device of counts) {
      await world.ross.post(`${account.path}/services/manual`, { devices: { sip_device } })
      pass(1)
    }
    const path = `${account.path}/services/audit`
    const rows = await pages(path, 'ascending', 100)
    const recurring = rows.map(({ summary }) => (summary as Json).recurring)
    expect(recurring).toEqual([0, ...counts])
    expect(rows.at(-1)?.created_ms).toBe(gregorianMs() - 1)
    await expectOrder(
      path,
      'id',
      rows.map(({ id }) => id),
    )
  })
})
