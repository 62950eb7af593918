// Every area asks for consent before a higher charge, and charges exactly the accepted amount.
import { expect, it } from 'vitest'
import { startServer } from '../../src/compose.ts'
import type { Json } from '../../src/lib/json.ts'
import { createTestLog } from '../support/run/log.ts'
import { type Client, clientWithToken, createTransport } from '../support/world/client.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

describeAnyEngine('consent to charges', (engine) => {
  const world = useWorld(engine)

  let numbers = 0
  const freshNumber = () => {
    numbers += 1
    return `+1415555${String(numbers).padStart(4, '0')}`
  }

  const customer = async (plan: Json) => {
    const account = await world.account(world.reseller)
    await world.operator.patch(account.path, { wnm_allow_additions: true })
    const admin = await world.admin(account)
    const made = await world.ross.put(`${world.reseller.path}/service_plans`, { name: 'Plan', plan })
    expect((await world.ross.post(`${account.path}/services`, { add: [made.data.id] })).status).toBe(200)
    return { account, admin }
  }

  const recurring = ({ data }: { data: unknown }) =>
    (data as { summary: Json; bookkeeper: Json }[]).map(({ summary }) => summary)

  it('is asked for a number, which is not made without it', async () => {
    const { account, admin } = await customer({ number_carriers: { _all: { rate: 1.5 } } })
    const path = `${account.path}/phone_numbers/${encodeURIComponent(freshNumber())}`
    const asked = await world.unchanged(() => admin.put(path, {}))
    expect(asked).toMatchObject({ status: 402, body: { message: 'accept charges' } })
    expect(recurring(asked)).toEqual([{ today: 0, recurring: 1.5 }])
    const agreed = await admin.put(path, undefined, {
      body: JSON.stringify({ data: {}, accept_charges: true }),
    })
    expect(agreed.status).toBe(201)
  })

  it('is asked once for all numbers of a collection, none of which is made without it', async () => {
    const { account, admin } = await customer({ number_carriers: { _all: { rate: 1.5 } } })
    const wanted = [freshNumber(), freshNumber(), freshNumber()]
    const path = `${account.path}/phone_numbers/collection`
    const asked = await world.unchanged(() => admin.put(path, { numbers: wanted }))
    expect(asked).toMatchObject({ status: 402, body: { message: 'accept charges' } })
    expect(recurring(asked)).toEqual([{ today: 0, recurring: 4.5 }])
    const body = JSON.stringify({ data: { numbers: wanted }, accept_charges: true })
    const agreed = await admin.put(path, undefined, { body })
    expect(agreed.status).toBe(201)
    expect(Object.keys(agreed.data.success)).toEqual(wanted)
  })

  it('is asked for a user and for a brand', async () => {
    const { account, admin } = await customer({
      users: { user: { rate: 2 } },
      branding: { whitelabel: { rate: 30, activation_charge: 100 } },
    })
    await world.credit(account, 100)
    const user = { first_name: 'A', last_name: 'B' }
    const brand = { company_name: 'Brand' }
    const forUser = await world.unchanged(() => admin.put(`${account.path}/users`, user))
    expect(recurring(forUser)).toEqual([{ today: 0, recurring: 2 }])
    const forBrand = await world.unchanged(() => admin.put(`${account.path}/whitelabel`, brand))
    expect(recurring(forBrand)).toEqual([{ today: 100, recurring: 30 }])
    const agreed = await admin.put(`${account.path}/whitelabel`, { ...brand, accept_charges: true })
    expect(agreed.status).toBe(201)
  })

  it('is about counts that a recount confirms in every area', async () => {
    const { account, admin } = await customer({ users: { user: { rate: 0 } } })
    const path = `${account.path}/phone_numbers`
    for (const number of [freshNumber(), freshNumber()])
      await admin.put(`${path}/${encodeURIComponent(number)}`, {})
    await admin.put(`${account.path}/whitelabel`, { company_name: 'Brand' })
    await world.device(account)
    const { account: counted } = await world.server.areas.services.quantities.of(account.id)
    expect(counted).toMatchObject({ branding: { whitelabel: 1 }, number_carriers: { knm_local: 2 } })
    expect(await world.server.areas.reconciliation.recount(account.id)).toEqual(counted)
  })

  it('is asked when a change makes something dearer, and not when it makes it cheaper', async () => {
    const { account, admin } = await customer({ users: { admin: { rate: 10 }, user: { rate: 2 } } })
    const user = await world.user(account)
    const admit = () => admin.patch(user.path, { priv_level: 'admin' })
    const asked = await world.unchanged(admit)
    expect(recurring(asked)).toEqual([{ today: 0, recurring: 20 }])
    expect((await admin.patch(user.path, { priv_level: 'admin', accept_charges: true })).status).toBe(200)
    expect((await admin.patch(user.path, { priv_level: 'user' })).status).toBe(200)
  })

  const user = { first_name: 'A', last_name: 'B' }
  const addUser = (admin: Client, { path }: TestAccount) =>
    admin.put(`${path}/users`, { ...user, accept_charges: true })
  const balance = async (admin: Client, { path }: TestAccount) =>
    (await admin.get(`${path}/ledgers/total`)).data.amount

  it('charges nothing for what was made before there was a price', async () => {
    const { account, admin } = await customer({ devices: { softphone: { rate: 1 } } })
    await world.credit(account, 100)
    expect((await admin.put(`${account.path}/users`, user)).status).toBe(201)
    const made = await world.ross.put(`${world.reseller.path}/service_plans`, {
      name: 'Later',
      plan: { users: { user: { rate: 2, activation_charge: 25 } } },
    })
    await world.ross.post(`${account.path}/services`, { add: [made.data.id] })
    await world.server.scheduler.runNow('quantities')
    expect(await balance(admin, account)).toBe(100)
  })

  it('charges the price that was agreed to, even if the plan changes a moment later', async () => {
    const { account, admin } = await customer({ users: { user: { rate: 2, activation_charge: 25 } } })
    await world.credit(account, 100)
    expect((await addUser(admin, account)).status).toBe(201)
    const [plan] = Object.keys((await world.ross.get(`${account.path}/services`)).data.plans as Json)
    const dearer = { name: 'Plan', plan: { users: { user: { rate: 2, activation_charge: 90 } } } }
    expect((await world.ross.post(`${world.reseller.path}/service_plans/${plan}`, dearer)).status).toBe(200)
    await world.ross.delete(`${account.path}/services/${plan}`)
    await world.server.scheduler.runNow('quantities')
    expect(await balance(admin, account)).toBe(75)
  })

  it('is required from the payer for a new sub-account, and is charged once', async () => {
    const { account, admin } = await customer({
      accounts: { account: { rate: 5, activation_charge: 10, cascade: true } },
    })
    await world.credit(account, 100)
    const shop = { name: `Shop of ${account.name}` }
    const asked = await world.unchanged(() => admin.put(account.path, shop))
    expect(asked).toMatchObject({ status: 402, body: { message: 'accept charges' } })
    expect(recurring(asked)).toEqual([{ today: 10, recurring: 10 }])
    const made = await admin.put(account.path, { ...shop, accept_charges: true })
    expect(made.status).toBe(201)
    expect(await balance(admin, account)).toBe(90)
    const audit = (await admin.get(`${account.path}/services/audit`)).data as unknown as { id: string }[]
    const { data } = await admin.get(`${account.path}/services/audit/${audit[0]?.id}`)
    expect(data.audit).toMatchObject({
      changes: { type: ['cascade'], account_id: made.data.id, account_name: shop.name },
    })
    expect((await world.operator.delete(`/v2/accounts/${made.data.id}`)).status).toBe(200)
    expect(await balance(admin, account)).toBe(90)
    const summary = (await admin.get(`${account.path}/services/summary`)).data
    expect(summary.invoices[0].summary.recurring).toBe(5)
  })

  it('refuses to a prepaid account, with nothing changed, what neither its balance nor postpay covers', async () => {
    const { account, admin } = await customer({ users: { user: { rate: 2, activation_charge: 25 } } })
    await world.prepay(account)
    await world.credit(account, 24)
    const refused = await world.unchanged(() => addUser(admin, account))
    expect(refused).toFailWith(402, 'not_enough_credit', {
      message: 'the account does not have enough credit to perform the operation',
      missing: 1,
    })
    await world.credit(account, 1)
    expect((await addUser(admin, account)).status).toBe(201)
    expect(await balance(admin, account)).toBe(0)
    await world.operator.post(`${account.path}/limits/operator`, {})
    expect((await world.ross.put(`${account.path}/users`, user)).status).toBe(201)
    expect(await balance(admin, account)).toBe(-25)
  })

  it('lets only one of several parallel requests use a price that applies once', async () => {
    const { account, admin } = await customer({
      devices: { sip_device: { rate: 10, activation_charge: 5, discounts: { cumulative: { maximum: 1 } } } },
    })
    await world.credit(account, 1000)
    const send = (name: string) => admin.put(`${account.path}/devices`, { name })
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => send(`Phone ${index}`)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(402))
    const free = await customer({
      devices: { sip_device: { rate: 10, discounts: { cumulative: { maximum: 1 } } } },
    })
    const tries = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        free.admin.put(`${free.account.path}/devices`, { name: `P${index}` }),
      ),
    )
    expect(tries.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(402)])
    const summary = (await free.admin.get(`${free.account.path}/services/summary`)).data
    expect(summary.invoices[0].summary.recurring).toBe(0)
  })

  it('refuses, among waiting requests, only those for a number that another request has just taken', async () => {
    const { account, admin } = await customer({ number_carriers: { _all: { activation_charge: 4 } } })
    await world.credit(account, 100)
    const wanted = Array.from({ length: 6 }, freshNumber)
    const buy = (number: string) =>
      admin.put(`${account.path}/phone_numbers/${encodeURIComponent(number)}`, undefined, {
        body: JSON.stringify({ data: {}, accept_charges: true }),
      })
    const answers = await Promise.all([...wanted, ...wanted].map(buy))
    const of = (number: string) =>
      [answers[wanted.indexOf(number)], answers[wanted.indexOf(number) + wanted.length]]
        .map((answer) => answer?.status)
        .sort()
    for (const number of wanted) expect(of(number)).toEqual([201, 409])
    expect(await balance(admin, account)).toBe(100 - 6 * 4)
    const { data } = await admin.get(`${account.path}/phone_numbers?paginate=false`)
    expect(Object.keys(data.numbers as Json).sort()).toEqual([...wanted].sort())
    const entries = (await admin.get(`${account.path}/services/audit`)).data as unknown as Json[]
    // And the one of the plan's assignment.
    expect(entries).toHaveLength(6 + 1)
  })

  it('lets waiting requests spend the available credit and no more', async () => {
    const { account, admin } = await customer({ users: { user: { rate: 0, activation_charge: 25 } } })
    await world.prepay(account)
    await world.credit(account, 80)
    const answers = await Promise.all(Array.from({ length: 10 }, () => addUser(admin, account)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, ...Array(7).fill(402)])
    const refused = answers.filter(({ status }) => status === 402)
    for (const answer of refused) expect(answer).toFailWith(402, 'not_enough_credit')
    expect(await balance(admin, account)).toBe(5)
    // With the admin who asks.
    expect((await admin.get(`${account.path}/users`)).data).toHaveLength(3 + 1)
  })

  it('holds between processes: one place is given to one of many who ask in two of them', async () => {
    const other = await startServer(world.config, { clock: world.clock, log: createTestLog().log })
    const transport = createTransport(other.port)
    try {
      for (let round = 0; round < 4; round += 1) {
        const { account, admin } = await customer({
          devices: { sip_device: { rate: 10, discounts: { cumulative: { maximum: 1 } } } },
        })
        const there = clientWithToken(transport.send, admin.token)
        const tries = await Promise.all(
          Array.from({ length: 12 }, (_, index) =>
            (index % 2 ? there : admin).put(`${account.path}/devices`, { name: `P${index}` }),
          ),
        )
        expect(tries.map(({ status }) => status).sort()).toEqual([201, ...Array(11).fill(402)])
      }
    } finally {
      transport.close()
      await other.stop()
    }
  })
})
