// Properties of every history of plans, counts and payments: the preview equals the bill, counts equal a
// recount, and the ledger sums to zero.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const units = fc.integer({ min: 0, max: 500_000 })
const dollars = units.map((value) => value / 10_000)

const item = fc.record(
  {
    rate: dollars,
    minimum: fc.nat(4),
    step: fc.integer({ min: 1, max: 3 }),
    rates: fc.dictionary(fc.constantFrom('2', '5'), dollars),
    activation_charge: dollars,
    discounts: fc.record(
      {
        single: fc.record({ rate: dollars }),
        cumulative: fc.record({ rate: dollars, maximum: fc.nat(4) }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['rate'] },
)

const plan = fc.record({
  plan: fc.record({
    devices: fc.record({ sip_device: item, softphone: item }, { requiredKeys: [] }),
    users: fc.record({ user: item }, { requiredKeys: [] }),
  }),
  merge: fc.record({
    strategy: fc.constantFrom('simple', 'recursive', 'cumulative'),
    priority: fc.nat(3),
  }),
})

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      what: fc.constantFrom('sip_device', 'softphone', 'user'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('plan' as const), plan }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('pay' as const), units: fc.integer({ min: 1, max: 900_000 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('settle' as const) }) },
)

interface InvoiceJson {
  items: { changes?: object }[]
  summary: { today: number; recurring: number }
}

const inUnits = (amount: number) => Math.round(amount * 10_000)

describeAnyEngine('histories of services', (engine) => {
  const world = useWorld(engine)
  const settle = () => world.server.scheduler.runNow('quantities')

  const invoicesOf = async ({ path }: TestAccount) =>
    (await world.ross.get(`${path}/services/summary`)).data.invoices as InvoiceJson[]

  const withoutChanges = (invoices: readonly InvoiceJson[]) =>
    invoices.map(({ items, summary: { recurring } }) => ({
      recurring,
      items: items.map(({ changes: _, ...line }) => line),
    }))

  /** Adds something, after the preview where there is one. Answers with what was to be paid at once. */
  const add = async (admin: Person, account: TestAccount, what: string, paths: string[]) => {
    const [path, data] =
      what === 'user'
        ? [`${account.path}/users`, { first_name: 'A', last_name: 'B' }]
        : [`${account.path}/devices`, { name: 'Phone', device_type: what }]
    const send = (fields: Json) => admin.put(path as string, { ...(data as Json), ...fields })
    const asked = await send({})
    if (asked.status === 201) {
      paths.push(`${path}/${asked.data.id}`)
      return 0
    }
    expect(asked.status).toBe(402)
    const preview = asked.data as unknown as InvoiceJson[]
    const agreed = await send({ accept_charges: true })
    expect(agreed.status).toBe(201)
    paths.push(`${path}/${agreed.data.id}`)
    expect(withoutChanges(await invoicesOf(account))).toEqual(withoutChanges(preview))
    return preview.reduce((sum, { summary }) => sum + inUnits(summary.today), 0)
  }

  const take = async (admin: Person, path: string) => {
    const { status } = await admin.delete(path, undefined, { query: { accept_charges: true } })
    expect(status).toBe(200)
  }

  it('bill what was previewed, count what is there, and keep the ledger balanced', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 18 }), async (steps) => {
        const account = await world.account(world.reseller)
        const admin = await world.admin(account)
        await world.credit(account, 1_000_000)
        const things: string[] = []
        let expected = 1_000_000 * 10_000
        for (const [index, one] of steps.entries()) {
          if (one.do === 'add') expected -= await add(admin, account, one.what, things)
          else if (one.do === 'settle') await settle()
          else if (one.do === 'remove' && things.length > 0)
            await take(admin, things.splice(one.at % things.length, 1)[0] as string)
          else if (one.do === 'plan') {
            const made = await world.ross.put(`${world.reseller.path}/service_plans`, {
              name: `Plan ${index}`,
              ...one.plan,
            })
            expect(made.status).toBe(201)
            const quote = await world.ross.post(`${account.path}/services/quote`, {
              add: [...(await planIds(account)), made.data.id],
            })
            expect((await world.ross.post(`${account.path}/services`, { add: [made.data.id] })).status).toBe(
              200,
            )
            expect(await invoicesOf(account)).toEqual(quote.data.invoices)
          } else if (one.do === 'pay') {
            const source = { service: 'payments', id: `payment ${index}` }
            const usage = { type: 'cash', quantity: 1, unit: 'note' }
            const credit = { source, usage, amount: one.units / 10_000 }
            expect((await world.ross.put(`${account.path}/ledgers/credit`, credit)).status).toBe(201)
            expected += one.units
          }
        }
        await settle()
        const { amount } = (await world.ross.get(`${account.path}/ledgers/total`)).data
        expect(inUnits(amount)).toBe(expected)
        const { recount } = world.server.areas.reconciliation
        expect(await recount(account.id)).toEqual(
          (await world.server.areas.services.quantities.of(account.id)).account,
        )
        const uneven = await world.server.store.all(
          'SELECT entry_id FROM ledger_postings GROUP BY account_id, entry_id HAVING sum(amount) <> 0',
        )
        expect(uneven).toEqual([])
      }),
      { numRuns: 6 },
    )
  })

  const planIds = async ({ path }: TestAccount) =>
    Object.keys((await world.ross.get(`${path}/services`)).data.plans as Json)
})
