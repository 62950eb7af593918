// Items of a plan: every key has an effect, or is refused.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('items of plans', (engine) => {
  const world = useWorld(engine)

  const planOf = async (plan: Json, fields: Json = {}) => {
    const made = await world.ross.put(`${world.reseller.path}/service_plans`, {
      name: 'Plan',
      plan,
      ...fields,
    })
    expect(made.status).toBe(201)
    return made.data.id as string
  }

  const customer = async (...plans: Json[]) => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const add = await Promise.all(plans.map(({ plan, ...fields }) => planOf(plan as Json, fields)))
    expect((await world.ross.post(`${account.path}/services`, { add })).status).toBe(200)
    return { account, admin }
  }

  const licences = (item: Json = {}) => ({
    plan: {
      extras: { licence: { rate: 3, quantity: { category: 'devices', name: 'sip_device' }, ...item } },
    },
  })

  const linesOf = (invoices: unknown) =>
    (invoices as Json[]).flatMap(({ items }) =>
      (items as Json[]).map(({ category, item, quantity, billable, total }) => ({
        category,
        item,
        quantity,
        billable,
        total,
      })),
    )

  it('count another item in consent, summary and audit alike', async () => {
    const { account, admin } = await customer(licences())
    const phone = (name: string) => admin.put(`${account.path}/devices`, { name })
    const line = { category: 'extras', item: 'licence', quantity: 1, billable: 1, total: 3 }
    const asked = await world.unchanged(() => phone('One'))
    expect(asked.status).toBe(402)
    expect(linesOf(asked.data)).toEqual([line])
    const agreed = { body: JSON.stringify({ data: { name: 'One' }, accept_charges: true }) }
    expect((await admin.put(`${account.path}/devices`, undefined, agreed)).status).toBe(201)
    const summary = await admin.get(`${account.path}/services/summary`)
    expect(linesOf(summary.data.invoices)).toEqual([line])
    const [row] = (await admin.get(`${account.path}/services/audit`)).data as unknown as Json[]
    expect(row?.summary).toEqual({ today: 0, recurring: 3 })
    const entry = await admin.get(`${account.path}/services/audit/${row?.id}`)
    expect(linesOf([entry.data.invoice])).toEqual([line])
    // Another kind of phone is not counted.
    expect((await admin.put(`${account.path}/devices`, { name: 'Fax', device_type: 'fax' })).status).toBe(201)
  })

  it.each<[string, Json]>([
    ['once', { single: { rate: 210 } }],
    ['for each', { cumulative: { maximum: 100, rate: 70 } }],
    ['for each by number', { cumulative: { maximum: 100, rates: { 100: 70 } } }],
    ['once and for each', { single: { rate: 1 }, cumulative: { maximum: 100 } }],
  ])(
    'cost nothing, and take nothing off others, where more than their price is taken off %s',
    async (_, discounts) => {
      const plan = { devices: { sip_device: { rate: 1, discounts }, fax: { rate: 5 } } }
      const account = await world.account(world.reseller)
      await world.ross.post(`${account.path}/services/manual`, { devices: { sip_device: 3, fax: 1 } })
      const id = await planOf(plan)
      const undiscounted = { ...plan, devices: { ...plan.devices, sip_device: { rate: 1 } } }
      const plain = await planOf(undiscounted)
      const total = { invoices: [{ summary: { today: 0, recurring: 5 } }] }
      const quote = (change: Json) => world.ross.post(`${account.path}/services/quote`, change)
      expect((await quote({ add: [id] })).data).toMatchObject(total)
      expect((await quote({ add: [plain], overrides: { plan } })).data).toMatchObject(total)
      await world.ross.post(`${account.path}/services`, { add: [{ id: plain, overrides: { plan } }] })
      const summary = await world.ross.get(`${account.path}/services/summary`)
      expect(summary.data).toMatchObject(total)
      expect(linesOf(summary.data.invoices)).toEqual([
        { category: 'devices', item: 'sip_device', quantity: 3, billable: 3, total: 0 },
        { category: 'devices', item: 'fax', quantity: 1, billable: 1, total: 5 },
      ])
    },
  )

  it('count another item by hand, in a whole category, and below', async () => {
    const all = { quantity: { category: 'devices', name: '_all' }, exceptions: ['fax'], cascade: true }
    const { account, admin } = await customer(licences(all))
    const below = await world.account(account)
    for (const device_type of ['fax', 'softphone']) await world.device(below, { device_type })
    await world.device(account)
    await world.ross.post(`${account.path}/services/manual`, { devices: { sip_device: 4 } })
    await world.server.scheduler.runNow('quantities')
    const { data } = await admin.get(`${account.path}/services/summary`)
    expect(linesOf(data.invoices)).toEqual([
      { category: 'extras', item: 'licence', quantity: 5, billable: 5, total: 15 },
    ])
  })

  it('count another item however plans are merged', async () => {
    for (const strategy of ['simple', 'recursive', 'cumulative']) {
      const merge = { strategy }
      const { account, admin } = await customer({ ...licences(), merge }, { ...licences({ rate: 3 }), merge })
      await world.device(account)
      const { data } = await admin.get(`${account.path}/services/summary`)
      expect(linesOf(data.invoices)).toEqual([
        { category: 'extras', item: 'licence', quantity: 1, billable: 1, total: 3 },
      ])
    }
  })

  it('are not marked up', async () => {
    const plan = { ledgers: { 'per-minute-voip': { markup_type: 'percentage', rate: 10 } } }
    const at = (prefix: string) => ({
      [`${prefix}plan.ledgers.per-minute-voip.markup_type`]: {
        forbidden: {
          message: 'Ledger entries have no markup: rates price calls when they happen',
          value: 'percentage',
        },
      },
    })
    const account = await world.account(world.reseller)
    const id = await planOf({ devices: {} })
    const services = `${account.path}/services`
    const refused: [string, () => ReturnType<typeof world.ross.get>][] = [
      ['', () => world.ross.put(`${world.reseller.path}/service_plans`, { name: 'P', plan })],
      ['', () => world.ross.patch(`${world.reseller.path}/service_plans/${id}`, { plan })],
      ['', () => world.ross.post(`${services}/overrides`, { plan })],
      ['overrides.', () => world.ross.post(services, { overrides: { plan } })],
      ['overrides.', () => world.ross.post(`${services}/${id}`, { overrides: { plan } })],
      ['add.0.overrides.', () => world.ross.post(services, { add: [{ id, overrides: { plan } }] })],
      [
        'plans.0.overrides.',
        () => world.ross.post(`${services}/quote`, { plans: [{ id, overrides: { plan } }] }),
      ],
    ]
    for (const [prefix, ask] of refused)
      expect(await world.unchanged(ask)).toFailWith(400, 'validation error', at(prefix))
  })

  it('are assigned without a contract', async () => {
    const account = await world.account(world.reseller)
    const id = await planOf({ devices: {} })
    const message = 'Plans are assigned without contracts: use overrides'
    const contract = { until: 63_999_999_999 }
    const services = `${account.path}/services`
    const add = () => world.ross.post(services, { add: [{ id, contract }] })
    expect(await world.unchanged(add)).toFailWith(400, 'validation error', {
      'add.0.contract': { forbidden: { message } },
    })
    const assign = () => world.ross.post(`${services}/${id}`, { contract })
    expect(await world.unchanged(assign)).toFailWith(400, 'validation error', {
      contract: { forbidden: { message } },
    })
    // Clients without a contract send an empty one.
    expect((await world.ross.post(`${services}/${id}`, { contract: {} })).data.plans).toEqual({
      [id]: { vendor_id: world.reseller.id, overrides: {} },
    })
  })

  it('have no entries of ledgers that are drafts', async () => {
    const entry = {
      source: { service: 'X', id: 'draft' },
      usage: { type: 'cycle', quantity: 1, unit: 'Hz' },
      amount: 1,
    }
    const book = (draft: boolean) => world.ross.put(`${world.acme.path}/ledgers/credit`, { ...entry, draft })
    expect(await world.unchanged(() => book(true))).toFailWith(400, 'validation error', {
      draft: { forbidden: { message: 'Entries are booked immediately: drafts are not possible' } },
    })
    expect((await book(false)).status).toBe(201)
  })
})
