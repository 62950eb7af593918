// Numbers of external carriers: a refused request orders nothing, an accepted one orders each number once.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { numberOrderRefused, type RefusedOrder } from '../../src/areas/numbers/phone-numbers/signals.ts'
import type { Json } from '../../src/lib/json.ts'
import { on } from '../../src/storage/signal.ts'
import { eventually } from '../support/run/eventually.ts'
import { type Inventory, startInventory } from '../support/servers/inventory-server.ts'
import { createNumberSource, pathOf } from '../support/world/numbers.ts'
import { rowsOf, runTask } from '../support/world/task-runs.ts'
import { describeAnyEngine, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const fault = (number: string) => ({
  code: 500,
  error: 'unspecified_fault',
  message: 'fault by carrier',
  cause: number,
})

describeAnyEngine('numbers of an inventory outside', (engine) => {
  let inventory: Inventory
  const refusals: RefusedOrder[] = []
  const world = useWorld(engine, async ({ server }) => {
    server.store.hear(on(numberOrderRefused, (_set, refused) => void refusals.push(refused)))
  })
  const next = createNumberSource('+1510555')

  beforeAll(async () => {
    inventory = await startInventory()
    await world.configure('number_manager', { carrier_modules: ['knm_other'] })
    await world.configure('number_manager.other', { phonebook_url: inventory.url })
  })
  beforeEach(() => {
    inventory.reset()
    inventory.sellEverything()
    refusals.splice(0)
  })
  afterAll(() => inventory.close())

  /** Numbers that a search of the account has just found. */
  const found = async (account: TestAccount, count = 1): Promise<[string, string, ...string[]]> => {
    const numbers = Array.from({ length: count }, next) as [string, string, ...string[]]
    inventory.answer('GET /numbers/US/search', Object.fromEntries(numbers.map((one) => [one, { of: one }])))
    const query = { prefix: '510555', quantity: count }
    const { data } = await world.operator.get(`${account.path}/phone_numbers`, { query })
    expect(data).toHaveLength(count)
    inventory.requests.splice(0)
    return numbers
  }
  const activate = (who: Person, account: TestAccount, number: string, options: Json = {}) =>
    who.put(`${pathOf(account, number)}/activate`, {}, options)
  const bought = async (account = world.acme) => {
    const [number] = await found(account)
    expect(await activate(world.operator, account, number)).toSucceed()
    inventory.requests.splice(0)
    return number
  }
  const asked = () => inventory.requests.map(({ method, path }) => `${method} ${path}`)
  const order = 'PUT /numbers/US/order'
  const release = 'POST /numbers/US/release'
  /** As if everything that waits had waited long enough. */
  const runAll = async () => {
    await world.server.store.writeUnrecorded([
      { sql: "UPDATE work SET due_at = 0 WHERE state = 'waiting'", params: [] },
    ])
    await world.server.scheduler.runNow('number_order')
    await world.server.scheduler.runNow('number_release')
  }
  const stored = async (number: string) => {
    const record = await world.server.areas.phoneNumbers.numbers.findAnywhere(number)
    return record && { accountId: record.accountId, state: record.state, ...record.hidden }
  }
  const sold = (number: string) => ({ sold: number })
  const refuse = (number: string) =>
    inventory.answer(order, () => ({ [number]: { status: 'error', message: 'taken' } }))

  /** A customer who pays for everything, with this credit in dollars. */
  const customer = async (amount = 100) => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const rate = { rate: 1.5, activation_charge: 2 }
    const plan = {
      number_carriers: { _all: rate },
      phone_numbers: { _all: rate },
      number_services: { _all: rate },
    }
    const made = await world.ross.put(`${world.reseller.path}/service_plans`, { name: 'Plan', plan })
    expect((await world.ross.post(`${account.path}/services`, { add: [made.data.id] })).status).toBe(200)
    const source = { service: 'stock', id: '1' }
    const credit = { source, usage: { type: 'stock', quantity: 1, unit: 'stock' }, amount }
    if (amount > 0) expect(await world.operator.put(`${account.path}/ledgers/credit`, credit)).toSucceed()
    return { account, admin }
  }
  const accepting = { envelope: { accept_charges: true } }

  it('are not ordered before the client accepts the charges, whichever route it calls', async () => {
    const { account, admin } = await customer()
    await world.operator.patch(account.path, { wnm_allow_additions: true })
    const [number, other] = await found(account, 2)
    const path = pathOf(account, number)
    const many = `${account.path}/phone_numbers/collection`
    const numbers = [number, other]
    const routes = [
      ['PUT', `${path}/activate`, {}],
      ['PUT', `${path}/reserve`, {}],
      ['PUT', path, {}],
      ['PUT', many, { numbers }],
      ['PUT', `${many}/activate`, { numbers }],
    ] as const
    for (const [method, route, data] of routes) {
      const answer = await world.unchanged(() => admin.request(method, route, data))
      expect(answer, route).toMatchObject({ status: 402, body: { message: 'accept charges' } })
    }
    expect(inventory.requests).toEqual([])
    expect(await activate(admin, account, number, accepting)).toSucceed()
    expect(asked()).toEqual([order])
  })

  it('are not given up, nor ordered again, by any change that is refused because of what it costs', async () => {
    const { account, admin } = await customer()
    await world.operator.patch(account.path, { wnm_allow_additions: true })
    const [number, reserved] = await found(account, 2)
    expect(await activate(admin, account, number, accepting)).toSucceed()
    expect(await admin.put(`${pathOf(account, reserved)}/reserve`, {}, accepting)).toSucceed()
    inventory.requests.splice(0)
    const named = { cnam: { display_name: 'Acme' } }
    const many = { numbers: [number, reserved], ...named }
    const collection = `${account.path}/phone_numbers/collection`
    for (const act of [
      () => admin.patch(pathOf(account, number), named),
      () => admin.post(pathOf(account, number), named),
      () => admin.patch(collection, many),
      () => admin.post(collection, many),
    ]) {
      expect((await world.unchanged(act)).status).toBe(402)
    }
    expect(inventory.requests).toEqual([])
  })

  it('are not asked for by an account that may not be charged', async () => {
    const { account, admin } = await customer()
    const [number] = await found(account)
    await world.configure('services', { enforce_good_standing: true })
    await world.operator.post(`${account.path}/services/status`, { in_good_standing: false, reason: 'card' })
    const answer = await world.unchanged(() => activate(admin, account, number, accepting))
    expect(answer).toFailWith(402, 'billing_issue', {
      reason: 'card',
      message: 'the account is not in good standing',
    })
    const collection = `${account.path}/phone_numbers/collection/activate`
    const several = await world.unchanged(() => admin.put(collection, { numbers: [number] }, accepting))
    expect(several.status).toBe(402)
    await world.configure('services', { enforce_good_standing: false })
    expect(inventory.requests).toEqual([])
  })

  it('are not asked for by an account that cannot pay', async () => {
    const { account, admin } = await customer(0)
    await world.prepay(account)
    const [number] = await found(account)
    const many = `${account.path}/phone_numbers/collection/activate`
    for (const act of [
      () => activate(admin, account, number, accepting),
      () => admin.put(`${pathOf(account, number)}/reserve`, {}, accepting),
      () => admin.put(many, { numbers: [number] }, accepting),
    ]) {
      const answer = await world.unchanged(act)
      expect(answer).toMatchObject({ status: 402, body: { message: 'not_enough_credit' } })
    }
    expect(inventory.requests).toEqual([])
  })

  it('are not asked for when anything else refuses them', async () => {
    const [number] = await found(world.acme)
    const refused = [
      [403, () => activate(world.rex, world.acme, number)],
      [404, () => activate(world.rex, world.rival, number)],
      [
        400,
        () =>
          world.ada.put(`${pathOf(world.acme, number)}/activate`, { cnam: { display_name: 'x'.repeat(16) } }),
      ],
      [403, () => world.ada.put(pathOf(world.acme, number), {})],
      [404, () => world.ada.put(`${pathOf(world.acme, next())}/reserve`, {})],
    ] as const
    for (const [status, act] of refused) expect((await world.unchanged(act)).status).toBe(status)
    expect(inventory.requests).toEqual([])
  })

  it('are ordered with a key, under which they are the account’s for good', async () => {
    const [number] = await found(world.acme)
    const answer = await activate(world.ada, world.acme, number)
    expect(answer.status).toBe(201)
    expect(answer.body.metadata).not.toHaveProperty('pending')
    expect(inventory.requests).toEqual([
      expect.objectContaining({ key: expect.stringMatching(/^number_order\/[0-9a-f]{32}$/) }),
    ])
    expect(await stored(number)).toEqual({
      accountId: world.acme.id,
      state: 'in_service',
      features: {},
      carrierData: sold(number),
    })
    expect(inventory.handedOut()).toEqual([number])
  })

  it.each(['breaks', 'mute', 'fails'] as const)(
    'stay pending where a carrier %s, and are settled automatically with the same key',
    async (manner) => {
      const [number] = await found(world.acme)
      inventory.behave(manner)
      const answer = await activate(world.ada, world.acme, number)
      expect(answer.status).toBe(201)
      expect(answer.data).toMatchObject({ id: number, state: 'in_service' })
      expect(answer.body.metadata).toMatchObject({ pending: true })
      const list = await world.ada.get(`${world.acme.path}/phone_numbers`)
      expect(list.data.numbers[number]).toMatchObject({ state: 'in_service', pending: true })
      inventory.behave('works')
      await runAll()
      const keys = inventory.requests.map(({ key }) => key)
      expect(keys).toEqual([keys[0], keys[0]])
      expect(await stored(number)).toMatchObject({ accountId: world.acme.id, carrierData: sold(number) })
      expect(await stored(number)).not.toHaveProperty('pendingOrder')
      expect((await world.ada.get(pathOf(world.acme, number))).body.metadata).not.toHaveProperty('pending')
      expect([...inventory.ordered.values()]).toEqual([number])
    },
  )

  it('are released when their carrier finally refuses them, and the payer is named', async () => {
    const [number] = await found(world.acme)
    inventory.behave('breaks')
    const before = await world.snapshot()
    const answer = await activate(world.ada, world.acme, number)
    expect(answer.body.metadata).toMatchObject({ pending: true })
    inventory.behave('works')
    refuse(number)
    await runAll()
    expect(await stored(number)).toBeUndefined()
    expect((await world.snapshot()).counts).toEqual(before.counts)
    expect(refusals).toEqual([
      {
        orderId: expect.stringMatching(/^[0-9a-f]{32}$/),
        number,
        act: expect.stringMatching(/^[0-9a-f]{32}$/),
        accountId: world.acme.id,
        author: expect.objectContaining({
          requestId: answer.body.request_id,
          authAccountId: world.acme.id,
          authUserId: world.ada.id,
        }),
      },
    ])
  })

  it('cost nothing when their carrier refuses them, now or later', async () => {
    const { account, admin } = await customer()
    const balance = async () => (await admin.get(`${account.path}/ledgers/total`)).data.amount
    const [number, other] = await found(account, 2)
    refuse(number)
    expect((await activate(admin, account, number, accepting)).status).toBe(500)
    expect(await balance()).toBe(100)
    inventory.behave('breaks')
    expect((await activate(admin, account, other, accepting)).status).toBe(201)
    expect(await balance()).toBeLessThan(100)
    inventory.behave('works')
    refuse(other)
    await runAll()
    expect(await balance()).toBe(100)
  })

  it('cost what they cost when another one was paid for under the same request id', async () => {
    const { account, admin } = await customer()
    const balance = async () => (await admin.get(`${account.path}/ledgers/total`)).data.amount
    const options = { ...accepting, headers: { 'x-request-id': 'one-for-all' } }
    const [kept, refused] = await found(account, 2)
    expect((await activate(admin, account, kept, options)).status).toBe(201)
    const rate = { rate: 1.5, activation_charge: 20 }
    const dearer = { phone_numbers: { _all: rate } }
    expect((await world.ross.post(`${account.path}/services`, { overrides: { plan: dearer } })).status).toBe(
      200,
    )
    const before = await balance()
    inventory.behave('breaks')
    expect((await activate(admin, account, refused, options)).status).toBe(201)
    expect(await balance()).toBeLessThan(before - 20)
    inventory.behave('works')
    refuse(refused)
    await runAll()
    expect(await balance()).toBe(before)
  })

  it('are not kept by an account whose carrier refuses them', async () => {
    const [number] = await found(world.acme)
    refuse(number)
    const answer = await world.unchanged(() => activate(world.ada, world.acme, number))
    expect(answer).toFailWith(500, 'unspecified_fault', fault(number))
    expect(refusals).toHaveLength(1)
    inventory.sellEverything()
    expect(await activate(world.ada, world.acme, number)).toSucceed()
    expect(new Set(inventory.requests.map(({ key }) => key)).size).toBe(2)
  })

  it('go to one of two accounts that want them at once, and are ordered once', async () => {
    const [number] = await found(world.acme)
    inventory.answer('GET /numbers/US/search', { [number]: {} })
    await world.rex.get(`${world.rival.path}/phone_numbers`, { query: { prefix: '510555' } })
    inventory.requests.splice(0)
    const answers = await Promise.all([
      activate(world.ada, world.acme, number),
      activate(world.rex, world.rival, number),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 403])
    expect(asked()).toEqual([order])
    expect(inventory.handedOut()).toEqual([number])
  })

  it('are released with a separate key, and ordered again by their next owner', async () => {
    const number = await bought()
    expect(await world.ada.delete(pathOf(world.acme, number))).toSucceed()
    await runAll()
    expect(asked()).toEqual([release])
    expect(inventory.requests[0]).toMatchObject({
      key: expect.stringMatching(/^number_release\/[0-9a-f]{32}$/),
      body: { data: { numbers: [number] } },
    })
    expect(await stored(number)).toMatchObject({ accountId: '', state: 'available', givenBack: true })
    expect(inventory.handedOut()).toEqual([])
    expect(await activate(world.rex, world.rival, number)).toSucceed()
    expect(await stored(number)).toMatchObject({ accountId: world.rival.id, state: 'in_service' })
    expect(await stored(number)).not.toHaveProperty('givenBack')
    expect(inventory.handedOut()).toEqual([number])
    refuse(number)
    expect(await world.rex.delete(pathOf(world.rival, number))).toSucceed()
    await runAll()
    const [before, left] = [await world.snapshot(), await stored(number)]
    const refused = await activate(world.ada, world.acme, number)
    expect(refused).toFailWith(500, 'unspecified_fault', fault(number))
    expect(await stored(number)).toEqual(left)
    expect((await world.snapshot()).counts).toEqual(before.counts)
  })

  it('are given back until the carrier has heard it, and once where it knows no such thing', async () => {
    const number = await bought()
    inventory.behave('breaks')
    await world.ada.delete(pathOf(world.acme, number))
    await runAll()
    inventory.behave('works')
    await runAll()
    const keys = inventory.requests.map(({ key }) => key)
    expect(asked().every((what) => what === release)).toBe(true)
    expect(new Set(keys).size).toBe(1)
    expect(inventory.handedOut()).toEqual([])
    const another = await bought()
    inventory.answer(release, undefined)
    await world.ada.delete(pathOf(world.acme, another))
    await runAll()
    await runAll()
    expect(asked()).toEqual([release])
  })

  it('are ordered first and then released if the account gives them up before the order is done', async () => {
    const [number] = await found(world.acme)
    inventory.behave('breaks')
    await activate(world.ada, world.acme, number)
    expect(await world.ada.delete(pathOf(world.acme, number))).toSucceed()
    await world.server.scheduler.runNow('number_release')
    expect(new Set(asked())).toEqual(new Set([order]))
    inventory.behave('works')
    await runAll()
    expect(asked().slice(-2)).toEqual([order, release])
    expect(inventory.handedOut()).toEqual([])
    expect(await stored(number)).toMatchObject({ accountId: '', state: 'available' })
  })

  it('are not given back when they were refused, and leave nothing', async () => {
    const [number] = await found(world.acme)
    inventory.behave('breaks')
    await activate(world.ada, world.acme, number)
    await world.ada.delete(pathOf(world.acme, number))
    inventory.behave('works')
    refuse(number)
    await runAll()
    expect(asked()).not.toContain(release)
    expect(await stored(number)).toBeUndefined()
    expect(refusals).toMatchObject([{ number, accountId: world.acme.id }])
  })

  it('stay where they are while their order is open, and may be changed there', async () => {
    const [number] = await found(world.acme)
    inventory.behave('breaks')
    await activate(world.ada, world.acme, number)
    const moved = await world.unchanged(() => activate(world.ross, world.rival, number))
    expect(moved).toFailWith(400, 'invalid', {
      code: 400,
      error: 'invalid',
      message: 'invalid',
      cause: 'the carrier has not confirmed the order of the number yet',
    })
    expect(await world.operator.patch(pathOf(world.acme, number), { my: 1 })).toSucceed()
    inventory.behave('works')
    await runAll()
    expect((await world.ada.get(pathOf(world.acme, number))).data).toMatchObject({
      my: 1,
      state: 'in_service',
    })
  })

  it('are given back when the operator removes them, and with their account', async () => {
    const number = await bought()
    expect(
      await world.operator.delete(pathOf(world.acme, number), undefined, { query: { hard: true } }),
    ).toSucceed()
    const leaving = await world.account(world.reseller)
    const [first, second] = [await bought(leaving), await bought(leaving)]
    expect(await world.operator.delete(leaving.path)).toSucceed()
    await runAll()
    expect([...inventory.released.values()].sort()).toEqual([number, first, second].sort())
    expect(inventory.handedOut()).toEqual([])
    expect(await stored(number)).toBeUndefined()
  })

  it('are ordered together in a collection, which returns a result for each number', async () => {
    const numbers = await found(world.acme, 12)
    const [bad] = numbers
    inventory.answer(order, ({ data }: { data: { numbers: string[] } }) => {
      const [number = ''] = data.numbers
      return { [number]: { status: number === bad ? 'error' : 'success' } }
    })
    const path = `${world.acme.path}/phone_numbers/collection/activate`
    const answer = await world.ada.put(path, { numbers })
    expect(answer.status).toBe(201)
    expect(Object.keys(answer.data.success)).toEqual(numbers.slice(1))
    expect(answer.data.error).toEqual({ [bad]: fault(bad) })
    expect(inventory.handedOut()).toEqual(numbers.slice(1))
    expect(await stored(bad)).toBeUndefined()
  })

  it('are pending in a collection whose carrier is out of order, which is not asked for each', async () => {
    const numbers = await found(world.acme, 40)
    inventory.behave('breaks')
    const path = `${world.acme.path}/phone_numbers/collection/activate`
    const answer = await world.ada.put(path, { numbers })
    expect(Object.keys(answer.data.success)).toEqual(numbers)
    for (const number of numbers)
      expect(answer.data.success[number]._read_only).toMatchObject({ pending: true })
    expect(inventory.requests.length).toBeLessThan(20)
    inventory.behave('works')
    await runAll()
    expect(inventory.handedOut()).toEqual(numbers)
  })

  /** Numbers that a task can order: the inventory has had them before. */
  const returned = async (count: number) => {
    const numbers: string[] = []
    for (let at = 0; at < count; at += 1) {
      const number = await bought()
      await world.ada.delete(pathOf(world.acme, number))
      numbers.push(number)
    }
    await runAll()
    inventory.reset()
    inventory.sellEverything()
    return numbers as [string, string, ...string[]]
  }
  const task = async (action: string, numbers: readonly string[], query = {}) => {
    const csv = `e164\n${numbers.join('\n')}\n`
    const { path } = world.acme
    const run = await runTask({ by: world.ada, path, category: 'number_management', action, csv, query })
    return { ...run, rows: rowsOf(run.output) }
  }

  it('are ordered by the rows of a task, whose outcome is the carrier’s', async () => {
    const numbers = await returned(3)
    const [good, bad] = numbers
    inventory.answer(order, ({ data }: { data: { numbers: string[] } }) => {
      const [number = ''] = data.numbers
      return { [number]: { status: number === bad ? 'error' : 'success' } }
    })
    const { task: ended, rows } = await task('assign_to', numbers)
    expect(ended).toMatchObject({ status: 'partial', success_count: 2, failure_count: 1 })
    expect(rows.map(({ state, error }) => [state, error])).toEqual([
      ['in_service', ''],
      ['', 'fault by carrier'],
      ['in_service', ''],
    ])
    const keys = inventory.requests.map(({ key }) => key).sort()
    expect(keys).toEqual([1, 2, 3].map((row) => `number_order/${ended.id}-${row}`))
    expect(await stored(good)).toMatchObject({ accountId: world.acme.id })
    expect(await stored(bad)).toMatchObject({ accountId: '', state: 'available', givenBack: true })
  })

  it('say in the rows of a task when the carrier has not answered yet', async () => {
    const numbers = await returned(1)
    inventory.behave('breaks')
    const { rows } = await task('assign_to', numbers)
    expect(rows).toMatchObject([
      { state: 'in_service', error: 'pending: the carrier has not confirmed the order yet' },
    ])
    inventory.behave('works')
    await runAll()
    expect(inventory.handedOut()).toEqual(numbers)
  })

  it('are not asked for by a task that only tries', async () => {
    const [number] = await returned(1)
    const before = await stored(number)
    const { rows } = await task('reserve', [number], { dry_run: 'true' })
    expect(rows).toMatchObject([{ state: 'reserved' }])
    expect(await stored(number)).toEqual(before)
    expect(inventory.requests).toEqual([])
  })

  it('are not asked for by a task that was started without agreeing to what they cost', async () => {
    const { account, admin } = await customer()
    await world.operator.patch(account.path, { wnm_allow_additions: true })
    const [number] = await returned(1)
    const before = await stored(number)
    const { output } = await runTask({
      by: admin,
      path: account.path,
      category: 'number_management',
      action: 'assign_to',
      csv: `e164\n${number}\n`,
      start: { accept_charges: 'false' },
    })
    expect(rowsOf(output)).toMatchObject([{ e164: number, error: 'accept_charges' }])
    expect(await stored(number)).toEqual(before)
    expect(inventory.requests).toEqual([])
  })

  it('are given back by the rows of a task', async () => {
    const number = await bought()
    const { rows } = await task('release', [number])
    expect(rows).toMatchObject([{ e164: number, state: 'available' }])
    await runAll()
    await eventually(
      () => inventory.handedOut(),
      (left) => left.length === 0,
    )
    expect([...inventory.released.values()]).toEqual([number])
  })
})
