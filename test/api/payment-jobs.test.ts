// Automatic payments: top-ups, monthly bills and notifications of bookkeepers.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import {
  type BookkeeperCall,
  type BookkeeperServer,
  startBookkeeper,
} from '../support/servers/bookkeeper-server.ts'
import type { Client } from '../support/world/client.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

const gregorian = (unixMilliseconds: number) => Math.floor(unixMilliseconds / 1000) + 62_167_219_200

let bookkeeper: BookkeeperServer

beforeAll(async () => {
  bookkeeper = await startBookkeeper()
})

afterAll(() => bookkeeper.close())

afterEach(() => bookkeeper.reset())

describeEngines('automatically', (engine) => {
  const world = useWorld(engine, async ({ configure }) => {
    await configure('services.http_sync', bookkeeper.settings)
  })

  const runJobs = async (...names: string[]) => {
    for (const name of names) await world.server.scheduler.runNow(name)
  }

  /** The clock advances by days, so tokens expire: callers get new ones. */
  const operator = async () => world.clientWithToken(await world.tokenOf(world.master, world.operator.id))

  let made = 0

  /** A customer of the reseller whose services are booked by a bookkeeper of this type. */
  const customer = async (type: string, fields: Json = {}) => {
    const who = await operator()
    const { data } = await who.put(world.reseller.path, { name: `Payer ${++made} ${engine}`, ...fields })
    const path = `/v2/accounts/${data.id}`
    await who.post(`${path}/services`, { bookkeeper: { type } })
    return { id: data.id as string, path }
  }

  type Customer = Awaited<ReturnType<typeof customer>>

  const read = async ({ path }: Customer, place: string) =>
    (await (await operator()).get(`${path}/${place}`)).data
  const balance = async (account: Customer) => (await read(account, 'ledgers/total')).amount as number
  const rows = async (account: Customer, place: string) => (await read(account, place)) as unknown as Json[]

  const assign = async (who: Client, { path }: Customer, rate: number, fields: Json = {}) => {
    const plan = { name: 'Phones', plan: { devices: { sip_device: { rate } } }, ...fields }
    const { data } = await who.put(`${world.reseller.path}/service_plans`, plan)
    await who.post(`${path}/services`, { add: [data.id] })
    return data.id as string
  }

  const phone = async (who: Client, { path }: Customer, name: string) => {
    await who.put(`${path}/devices`, { name }, { query: { accept_charges: true } })
    await runJobs('quantities')
  }

  const spend = async ({ path }: Customer, amount: number) => {
    const answer = await (await operator()).put(`${path}/ledgers/debit`, {
      source: { service: 'calls', id: `${amount}-${world.clock.now()}` },
      usage: { type: 'voice', quantity: 1, unit: 'sec' },
      amount,
    })
    expect(answer.status).toBe(201)
  }

  const tellings = ({ id }: Customer) =>
    bookkeeper.calls.filter(({ headers }) => headers['x-account-id'] === id)

  const nextMonth = () => {
    const now = new Date(world.clock.now())
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    world.clock.advance({ seconds: Math.ceil((next - world.clock.now()) / 1000) })
    return next
  }

  it('an account is topped up when its balance falls below the threshold, once in a day', async () => {
    await world.configure('topup', { enable: true })
    const account = await customer('http', { topup: { amount: 20, threshold: 5 } })
    const look = () => runJobs('topup', 'transactions')
    await look()
    expect(await balance(account)).toBe(20)
    await spend(account, 14)
    await look()
    expect(await balance(account)).toBe(6)
    await spend(account, 2)
    await look()
    expect(await balance(account)).toBe(4)
    world.clock.advance({ hours: 23 })
    await look()
    expect(await balance(account)).toBe(4)
    world.clock.advance({ hours: 1 })
    await look()
    await look()
    expect(await balance(account)).toBe(24)
    const topups = await rows(account, 'transactions')
    expect(topups.map(({ executor, description, status }) => ({ executor, description, status }))).toEqual(
      Array(2).fill({
        executor: { trigger: 'automatic', module: 'topup' },
        description: 'Automatic top-up',
        status: 'completed',
      }),
    )
  })

  it('an account whose bookkeeper refuses is not asked again the same day', async () => {
    await world.configure('topup', { enable: true })
    bookkeeper.state.manner = 'declines'
    const account = await customer('http', { topup: { amount: 20, threshold: 5 } })
    for (const _ of [1, 2, 3]) await runJobs('topup', 'transactions')
    expect(await rows(account, 'transactions')).toHaveLength(1)
    expect(await balance(account)).toBe(0)
    bookkeeper.state.manner = 'works'
    world.clock.advance({ hours: 24 })
    await runJobs('topup', 'transactions')
    expect(await balance(account)).toBe(20)
  })

  it('the built-in bookkeeper gives credit, and only where that is switched on', async () => {
    await world.configure('topup', { enable: false })
    const account = await customer('default', { topup: { amount: 20, threshold: 5 } })
    await runJobs('topup')
    expect(await balance(account)).toBe(0)
    await world.configure('topup', { enable: true })
    await runJobs('topup')
    expect(await balance(account)).toBe(0)
    world.clock.advance({ hours: 24 })
    await world.configure('services', { own_topup_without_gateway: true })
    await runJobs('topup', 'topup')
    await world.configure('services', { own_topup_without_gateway: false })
    expect(await balance(account)).toBe(20)
    expect(await rows(account, 'transactions')).toEqual([])
    expect(await rows(account, 'ledgers/payments')).toMatchObject([
      { amount: 20, executor: { trigger: 'automatic', module: 'topup' } },
    ])
  })

  it('a new top-up setting is followed when the balance is low already', async () => {
    await world.configure('topup', { enable: true })
    const account = await customer('http')
    await runJobs('topup')
    expect(await balance(account)).toBe(0)
    await (await operator()).patch(account.path, { topup: { amount: 7, threshold: 1 } })
    await runJobs('topup', 'transactions')
    expect(await balance(account)).toBe(7)
  })

  it('on the first of the month services are debited, once for account, month and bookkeeper', async () => {
    await runJobs('monthly_bills')
    const who = await operator()
    const [account, outside, idle] = [
      await customer('default'),
      await customer('http'),
      await customer('default'),
    ]
    for (const one of [account, outside]) {
      await assign(who, one, 2.5)
      for (const name of ['One', 'Two']) await phone(who, one, name)
    }
    await runJobs('monthly_bills')
    expect(await balance(account)).toBe(0)
    const first = nextMonth()
    await runJobs('monthly_bills', 'monthly_bills')
    // As after a crash in the middle.
    await world.server.store.writeUnrecorded([
      { sql: "UPDATE billing_progress SET is_done = 0, after_account = ''", params: [] },
    ])
    await runJobs('monthly_bills')
    expect(await balance(account)).toBe(-5)
    // The operator's own system bills automatically, and accounts without purchases owe nothing.
    expect(await balance(outside)).toBe(0)
    expect(await rows(idle, 'ledgers/services')).toEqual([])
    const month = new Date(first).toISOString().slice(0, 7).replace('-', '')
    const [entry] = await rows(account, 'ledgers/services')
    expect(entry).toMatchObject({
      amount: -5,
      description: `Services of ${month}`,
      executor: { trigger: 'recurring', module: 'services' },
      source: { service: 'services', id: `${month}/default_bookkeeper` },
      period: { start: gregorian(first) },
    })
    expect(await rows(account, 'transactions/monthly_recurring')).toEqual([
      {
        id: entry?.id,
        amount: 5,
        type: 'debit',
        reason: 'recurring',
        description: `Services of ${month}`,
        bookkeeper: { id: 'default_bookkeeper', type: 'default', vendor_id: world.reseller.id },
        created: gregorian(first),
      },
    ])
    const [subscription] = await rows(account, 'transactions/subscriptions')
    expect(subscription).toMatchObject({ price: 5, billing_start_date: gregorian(first) })
    expect(subscription?.add_ons).toEqual([{ id: 'devices/sip_device', quantity: 2, amount: 2.5, total: 5 }])
    nextMonth()
    await runJobs('monthly_bills')
    expect(await balance(account)).toBe(-10)
  })

  it('bookkeepers receive the content of an invoice after a few minutes, with the changes of that time', async () => {
    const who = await operator()
    const account = await customer('http')
    const dirty = async () => (await read(account, 'services')).dirty
    expect(await dirty()).toBe(false)
    await assign(who, account, 2.5)
    await phone(who, account, 'One')
    expect(await dirty()).toBe(true)
    await runJobs('synchronization')
    expect(tellings(account)).toEqual([])
    const pending = await rows(account, 'services/audit')
    expect(pending.map(({ status }) => status)).toEqual(['pending', 'pending'])
    world.clock.advance({ seconds: 600 })
    await runJobs('synchronization')
    expect(tellings(account)).toHaveLength(1)
    const { headers, body } = tellings(account)[0] as BookkeeperCall
    expect(body).toEqual({
      account_id: account.id,
      sync_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      items: {
        devices: { sip_device: expect.objectContaining({ quantity: 1, rate: 2.5, category: 'devices' }) },
      },
    })
    expect(headers).toMatchObject({
      'x-sync-id': body.sync_id,
      'x-account-id': account.id,
      authorization: 'Bearer of-the-operator',
      'x-crosspoint-signature': expect.stringMatching(/^t=\d+,v1=[0-9a-f]{64}$/),
    })
    expect(await dirty()).toBe(false)
    const told = await rows(account, 'services/audit')
    expect(told.map(({ status }) => status)).toEqual(['completed', 'completed'])
    const entry = await read(account, `services/audit/${told[0]?.id}`)
    expect(entry.bookkeeper.results).toEqual([{ status: 'synced', sync_id: body.sync_id }])
    await runJobs('synchronization')
    expect(tellings(account)).toHaveLength(1)
  })

  it('bookkeepers receive a change before its response if the request waits for them', async () => {
    const who = await operator()
    const account = await customer('http')
    await assign(who, account, 2.5)
    const query = { accept_charges: true, wait_for_service_update: true }
    expect((await who.put(`${account.path}/devices`, { name: 'One' }, { query })).status).toBe(201)
    expect(tellings(account).map(({ body }) => body.items)).toEqual([
      { devices: { sip_device: expect.objectContaining({ quantity: 1, rate: 2.5 }) } },
    ])
    expect((await read(account, 'services')).dirty).toBe(false)
    await who.put(`${account.path}/devices`, { name: 'Two' }, { query: { accept_charges: true } })
    expect(tellings(account)).toHaveLength(1)
  })

  it('a bookkeeper that does not respond is notified later, and 402 makes an account delinquent', async () => {
    const who = await operator()
    const account = await customer('http')
    const standing = () => read(account, 'services/status')
    await assign(who, account, 2.5)
    const tell = async (status: number) => {
      bookkeeper.state.syncStatus = status
      const answer = await (await operator()).post(`${account.path}/services/synchronization`)
      expect(answer.status).toBe(200)
      expect(answer.data).toEqual({})
    }
    await tell(500)
    expect((await read(account, 'services')).dirty).toBe(true)
    expect(await standing()).toEqual({ in_good_standing: true })
    bookkeeper.state.syncStatus = 200
    await runJobs('synchronization')
    expect(tellings(account)).toHaveLength(1)
    world.clock.advance({ seconds: 60 })
    await runJobs('synchronization')
    expect(tellings(account)).toHaveLength(2)
    expect((await read(account, 'services')).dirty).toBe(false)
    await tell(402)
    expect(await standing()).toEqual({
      in_good_standing: false,
      reason: 'bookkeeper_rejection',
      reason_code: 402,
    })
    expect((await read(account, 'services')).dirty).toBe(false)
    await tell(200)
    expect(await standing()).toEqual({ in_good_standing: true })
  })

  it('what the operator says of a standing is not taken back by a bookkeeper', async () => {
    const who = await operator()
    const account = await customer('http')
    await assign(who, account, 2.5)
    const set = { in_good_standing: false, reason: 'fraud', reason_code: 7 }
    await who.post(`${account.path}/services/status`, set)
    for (const status of [402, 200]) {
      bookkeeper.state.syncStatus = status
      await who.post(`${account.path}/services/synchronization`)
      expect(await read(account, 'services/status')).toEqual(set)
    }
  })

  it('a bookkeeper learns that nothing is left to bill', async () => {
    const who = await operator()
    const account = await customer('http')
    const plan = await assign(who, account, 2.5)
    await phone(who, account, 'One')
    await who.delete(`${account.path}/services/${plan}`)
    world.clock.advance({ seconds: 600 })
    await runJobs('synchronization')
    expect(tellings(account).map(({ body }) => body.items)).toEqual([{}])
  })

  it('a bookkeeper learns that an account is gone', async () => {
    const who = await operator()
    const account = await customer('http')
    await assign(who, account, 2.5)
    await phone(who, account, 'One')
    await who.post(`${account.path}/services/synchronization`)
    expect((await who.delete(account.path)).status).toBe(200)
    world.clock.advance({ seconds: 600 })
    await runJobs('synchronization')
    expect(tellings(account).map(({ body }) => Object.keys(body.items))).toEqual([['devices'], []])
  })

  it('only resellers and the operator ask for synchronization', async () => {
    const synchronize = (who: Client) => who.post(`${world.acme.path}/services/synchronization`)
    const ada = world.clientWithToken(await world.tokenOf(world.acme, world.ada.id))
    expect(await synchronize(ada)).toFailWith(403, 'forbidden')
    const ross = world.clientWithToken(await world.tokenOf(world.reseller, world.ross.id))
    expect((await synchronize(ross)).status).toBe(200)
  })

  it('charges wait for good standing where that is enforced', async () => {
    const who = await operator()
    const account = await customer('http')
    await assign(who, account, 2.5)
    await world.configure('services', { enforce_good_standing: true })
    bookkeeper.state.syncStatus = 402
    await who.post(`${account.path}/services/synchronization`)
    const admin = world.clientWithToken(
      await world.tokenOf(
        { ...world.acme, ...account },
        (await who.put(`${account.path}/users`, { first_name: 'A', last_name: 'B', priv_level: 'admin' }))
          .data.id,
      ),
    )
    const answer = await admin.put(
      `${account.path}/devices`,
      { name: 'One' },
      { query: { accept_charges: true } },
    )
    expect(answer).toFailWith(402, 'billing_issue', {
      reason: 'bookkeeper_rejection',
      message: 'the account is not in good standing',
    })
    await world.configure('services', { enforce_good_standing: false })
  })
})
