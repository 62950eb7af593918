// After any history of an account, the sum of its invoices equals its ledger, and no invoice number is missing.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

const amount = fc.integer({ min: 1, max: 300_000 }).map((units) => units / 10_000)

const prices = fc.record({
  rate: amount,
  activation_charge: amount,
  prorate: fc.record({ additions: fc.boolean(), removals: fc.boolean() }),
  taxes: fc.subarray([
    { name: 'VAT', tax_id: 'vat', rate: 19.5 },
    { name: 'City', tax_id: 'city', rate: 1.25, inclusive: true },
  ]),
})

const step = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ do: 'add' as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), at: fc.nat() }) },
  { weight: 3, arbitrary: fc.constant({ do: 'month' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('days' as const), days: fc.integer({ min: 1, max: 12 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('call' as const), amount }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('debit' as const),
      service: fc.constantFrom('services', 'taxes'),
      amount,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('credit' as const),
      at: fc.nat(),
      share: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('void' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pay' as const), amount }) },
)

type Step = typeof step extends fc.Arbitrary<infer One> ? One : never

describeEngines('histories of invoices', (engine) => {
  const world = useWorld(engine)
  const runJobs = (name: string) => world.server.scheduler.runNow(name)
  const operator = async () => world.clientWithToken(await world.tokenOf(world.master, world.operator.id))
  let made = 0

  const customer = async (item: Json) => {
    const who = await operator()
    const { data } = await who.put(world.reseller.path, { name: `History ${++made} ${engine}` })
    const path = `/v2/accounts/${data.id}`
    const plan = { name: 'Phones', plan: { devices: { sip_device: item } } }
    const sold = await who.put(`${world.reseller.path}/service_plans`, plan)
    await who.post(`${path}/services`, { add: [sold.data.id] })
    return { id: data.id as string, path }
  }

  type Customer = Awaited<ReturnType<typeof customer>>

  const sum = async (sql: string, params: string[]) =>
    Number((await world.server.store.all<{ sum: number | null }>(sql, params))[0]?.sum ?? 0)

  const nextMonth = async () => {
    const now = new Date(world.clock.now())
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    world.clock.advance({ seconds: Math.ceil((next - world.clock.now()) / 1000) })
    await runJobs('monthly_bills')
  }

  const book = async ({ path }: Customer, way: 'debit' | 'credit', service: string, dollars: number) => {
    const source = { service, id: `${way} ${++made}` }
    const usage = { type: 'voice', quantity: 60, unit: 'sec' }
    const answer = await (await operator()).put(`${path}/ledgers/${way}`, { source, usage, amount: dollars })
    expect(answer.status).toBe(201)
  }

  const invoicesOf = async ({ path }: Customer) =>
    (await (await operator()).get(`${path}/invoices`)).data as Json[]

  const perform = async (account: Customer, things: string[], one: Step) => {
    const who = await operator()
    const accepted = { query: { accept_charges: true } }
    switch (one.do) {
      case 'add': {
        const phone = await who.put(`${account.path}/devices`, { name: 'Phone' }, accepted)
        expect(phone.status).toBe(201)
        things.push(phone.data.id)
        return
      }
      case 'remove': {
        const [gone] = things.splice(one.at % Math.max(1, things.length), 1)
        if (gone)
          expect((await who.delete(`${account.path}/devices/${gone}`, undefined, accepted)).status).toBe(200)
        return
      }
      case 'month':
        return nextMonth()
      case 'days':
        return world.clock.advance({ hours: one.days * 24 })
      case 'call':
        return book(account, 'debit', 'per-minute-voip', one.amount)
      case 'debit':
        return book(account, 'debit', one.service, one.amount)
      case 'pay':
        await book(account, 'credit', 'payments', one.amount)
        return runJobs('dunning')
      default: {
        const rows = await invoicesOf(account)
        const row = rows[one.at % Math.max(1, rows.length)]
        if (!row) return
        const place = `${account.path}/invoices/${row.id}`
        const left = Math.round((Number(row.total) - Number(row.credited ?? 0)) * 10_000)
        const part = one.do === 'credit' ? { amount: Math.ceil(left / one.share) / 10_000 } : {}
        const { status } =
          one.do === 'void' ? await who.post(`${place}/void`) : await who.put(`${place}/credit_notes`, part)
        expect([200, 201, 400]).toContain(status)
      }
    }
  }

  it('are ledgers', async () => {
    await runJobs('monthly_bills')
    const history = fc.array(step, { minLength: 8, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(prices, history, async (item, steps) => {
        const account = await customer(item)
        const things: string[] = []
        for (const one of steps) await perform(account, things, one)
        await nextMonth()
        const ledger = await sum(
          `SELECT sum(amount) AS sum FROM ledger_entries WHERE account_id = $1
            AND source_service IN ('services', 'prorations', 'taxes', 'per-minute-voip')`,
          [account.id],
        )
        const issued = await sum('SELECT sum(total) AS sum FROM invoices WHERE account_id = $1', [account.id])
        const credited = await sum('SELECT sum(total) AS sum FROM credit_notes WHERE account_id = $1', [
          account.id,
        ])
        const taken = await sum(
          `SELECT sum(i.total - s.credited) AS sum FROM invoices i JOIN invoice_states s
            ON s.account_id = i.account_id AND s.id = i.id WHERE s.status = 'void' AND i.account_id = $1`,
          [account.id],
        )
        expect(ledger).toBe(credited + taken - issued)
        // The lines and the added taxes of each document sum to its total.
        for (const { id } of await invoicesOf(account)) {
          const {
            items,
            taxes,
            total,
            status,
            credited: given = 0,
          } = (await (await operator()).get(`${account.path}/invoices/${id}`)).data
          const units = (dollars: unknown) => Math.round(Number(dollars) * 10_000)
          const lines = (items as Json[]).reduce((all, line) => all + units(line.amount), 0)
          const added = (taxes as Json[]).reduce(
            (all, tax) => (tax.inclusive ? all : all + units(tax.amount)),
            0,
          )
          expect(lines + added).toBe(units(total))
          expect(units(given)).toBeLessThanOrEqual(Math.max(0, units(total)))
          expect(['open', 'paid', 'void']).toContain(status)
        }
      }),
      { numRuns: 8 },
    )
    const rows = await world.server.store.all<{ series: string; value: number }>(
      `SELECT series, number_value AS value FROM invoices UNION ALL
        SELECT series, number_value FROM credit_notes ORDER BY series, value`,
    )
    for (const [, numbers] of Map.groupBy(rows, ({ series }) => series))
      expect(numbers.map(({ value }) => value)).toEqual(numbers.map((_, index) => index + 1))
  })
})
