// Sums of ledgers in a time range, and the change of months.
import { expect, it } from 'vitest'
import { gregorianNow, gregorianOfUnix } from '../../src/lib/gregorian.ts'
import type { Json } from '../../src/lib/json.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

describeEngines('sums of ledgers', (engine) => {
  const world = useWorld(engine)

  /** Tokens do not outlive months. */
  const freshOperator = async () =>
    world.clientWithToken(await world.tokenOf(world.master, world.operator.id))

  let entries = 0
  const entry = (amount: number) => ({
    source: { service: 'X', id: `${++entries}` },
    usage: { type: 'cycle', quantity: 1, unit: 'Hz' },
    amount,
  })

  const beginningOfMonth = (monthsAhead: number) => {
    const now = new Date(world.clock.now())
    return gregorianOfUnix(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + monthsAhead, 1) / 1000)
  }

  const goTo = async (time: number) => {
    world.clock.advance({ seconds: time - gregorianNow(world.clock) })
    await world.server.scheduler.runNow('ledger_months')
    return freshOperator()
  }

  it('count what was carried over once, wherever the time begins', async () => {
    const account = await world.account(world.reseller)
    const [first, second, third] = [beginningOfMonth(1), beginningOfMonth(2), beginningOfMonth(3)]
    await (await goTo(first + 40)).put(`${account.path}/ledgers/credit`, entry(12.5))
    await (await goTo(second + 40)).put(`${account.path}/ledgers/debit`, entry(2.5))
    const operator = await goTo(third + 40)
    await world.configure('crossbar', { maximum_range: 366 * 86_400 })
    const sums = async (from: number, to: number): Promise<Record<string, number>> => {
      const { data } = await operator.get(`${account.path}/ledgers?created_from=${from}&created_to=${to}`)
      const amounts = Object.entries(data).map(([source, sum]) => [source, (sum as Json).amount as number])
      return Object.fromEntries(amounts)
    }
    // Begun inside the month that was carried.
    expect(await sums(first + 30, second + 60)).toEqual({ X: 10 })
    // Behind its entries: what moved since.
    expect(await sums(first + 60, second + 60)).toEqual({ X: -2.5 })
    expect(await sums(first + 60, second + 39)).toEqual({})
    // Begun with a month: what there was, and what moved.
    expect(await sums(second, second + 60)).toEqual({ rollovers: 12.5, X: -2.5 })
    expect(await sums(second, third + 3)).toEqual({ rollovers: 12.5, X: -2.5 })
    expect(await sums(third, third + 60)).toEqual({ rollovers: 10 })
    // A second later it begins within the month.
    expect(await sums(second + 1, second + 60)).toEqual({ X: -2.5 })
    // Over several months.
    expect(await sums(first, third + 60)).toEqual({ X: 10 })
    expect(await sums(first - 86_400, third + 60)).toEqual({ X: 10 })
    expect((await operator.get(`${account.path}/ledgers/total`)).data).toEqual({ amount: 10 })
  })
})
