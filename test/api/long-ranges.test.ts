// Lists of money over more than a month: pages and keys across the ends of months.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import type { Json } from '../../src/lib/json.ts'
import { type BookkeeperServer, startBookkeeper } from '../support/servers/bookkeeper-server.ts'
import type { Client } from '../support/world/client.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

const months = 4
/** Three within two seconds, at the end of each month. */
const perMonth = 3
const amounts = Array.from({ length: months * perMonth }, (_, at) => at + 1)

describeEngines('ranges longer than a month', (engine) => {
  let bookkeeper: BookkeeperServer

  beforeAll(async () => {
    bookkeeper = await startBookkeeper()
  })
  afterAll(() => bookkeeper.close())

  const world = useWorld(engine, ({ configure }) => configure('services.http_sync', bookkeeper.settings))
  let begin: number
  let end: number
  let path: string
  let by: Client

  /** Tokens do not outlive months. */
  const freshReseller = async () => world.clientWithToken(await world.tokenOf(world.reseller, world.ross.id))

  const goTo = (time: number) => world.clock.advance({ seconds: time - gregorianNow(world.clock) })

  const endOfMonth = () => {
    const now = new Date(world.clock.now())
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    return gregorianNow(world.clock) + Math.floor((next - world.clock.now()) / 1000) - 1
  }

  beforeAll(async () => {
    const account = await world.account(world.reseller)
    path = account.path
    by = await freshReseller()
    expect(await by.post(`${path}/services`, { bookkeeper: { type: 'http' } })).toSucceed()
    begin = gregorianNow(world.clock)
    for (const [at, amount] of amounts.entries()) {
      if (at % perMonth === 0) goTo(endOfMonth())
      if (at % perMonth === 2) world.clock.advance({ seconds: 1 })
      by = await freshReseller()
      expect((await by.put(`${path}/transactions/sale`, { amount })).status).toBe(201)
    }
    end = gregorianNow(world.clock)
  })

  const range = () => `created_from=${begin}&created_to=${end}`

  /** The pages of a list, up to the last. */
  const pagesOf = async (list: string, query: string, size: number) => {
    const pages: Json[][] = []
    for (let key: string | undefined = ''; key !== undefined; ) {
      const start = key === '' ? '' : `&start_key=${encodeURIComponent(key)}`
      const answer = await by.get(`${path}/${list}?${range()}&page_size=${size}${query}${start}`)
      expect(answer).toSucceed()
      pages.push(answer.data as unknown as Json[])
      key = answer.body.next_start_key as string | undefined
    }
    return pages
  }

  describe.each(['ledgers/payments', 'transactions'])('of %s', (list) => {
    it.each([1, 2, 5])('come in pages of %s, without a repetition or a gap', async (size) => {
      for (const [query, wanted] of [
        ['', amounts.toReversed()],
        ['&descending=false', amounts],
      ] as const) {
        const pages = await pagesOf(list, query, size)
        expect(pages.flat().map(({ amount }) => amount)).toEqual(wanted)
        for (const page of pages.slice(0, -1)) expect(page).toHaveLength(size)
      }
    })

    it('come as a whole when asked so, as JSON and as CSV', async () => {
      const whole = await by.get(`${path}/${list}?${range()}&paginate=false`)
      expect(whole.data).toEqual((await pagesOf(list, '', 5)).flat())
      const csv = await by.get(`${path}/${list}?${range()}&paginate=false&accept=csv`)
      expect(csv.text.trim().split('\r\n')).toHaveLength(1 + amounts.length)
    })

    it('reach from an old beginning to now', async () => {
      const { data } = await by.get(`${path}/${list}?created_from=${begin}`)
      expect(data).toHaveLength(amounts.length)
    })

    it('are the newest month when no beginning is given, and are refused when they end before it', async () => {
      const { data } = await by.get(`${path}/${list}?created_to=${end}`)
      expect(data).toEqual((await by.get(`${path}/${list}?created_from=${end - 2_682_000}`)).data)
      expect(data.length).toBeLessThan(amounts.length)
      expect(await by.get(`${path}/${list}?created_from=${end}&created_to=${begin}`)).toBreak({
        created_from: ['date_range'],
      })
    })
  })

  it('are summed up', async () => {
    const { data } = await by.get(`${path}/ledgers?${range()}`)
    expect(data).toMatchObject({ payments: { amount: amounts.reduce((sum, amount) => sum + amount) } })
    expect(await by.get(`${path}/transactions/monthly_recurring?${range()}`)).toSucceedWith([])
  })
})
