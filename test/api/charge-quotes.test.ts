// Consent to charges is for the price that was shown.

import { expect, it } from 'vitest'
import {
  createNumberCollections,
  type PlanNumber,
} from '../../src/areas/numbers/phone-numbers/collections.operations.ts'
import { numberExists } from '../../src/areas/numbers/phone-numbers/failures.ts'
import { startServer } from '../../src/compose.ts'
import { failure } from '../../src/lib/failure.ts'
import type { Json } from '../../src/lib/json.ts'
import { createTestLog } from '../support/run/log.ts'
import {
  type Answer,
  basicHeader,
  type Client,
  clientWithToken,
  createTransport,
} from '../support/world/client.ts'
import { allowAdditions, createNumberSource } from '../support/world/numbers.ts'
import { credentialsOf, describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

describeAnyEngine('the price that a request accepts', (engine) => {
  const world = useWorld(engine, allowAdditions)
  const next = createNumberSource('+1415777')

  const priceAt = ({ path }: TestAccount, plan: Json) =>
    world.ross.post(`${path}/services/overrides`, { plan })

  const customer = async (plan: Json) => {
    const account = await world.account(world.reseller)
    await world.operator.patch(account.path, { wnm_allow_additions: true })
    const admin = await world.admin(account)
    const made = await world.ross.put(`${world.reseller.path}/service_plans`, { name: 'Plan', plan })
    expect(await world.ross.post(`${account.path}/services`, { add: [made.data.id] })).toSucceed()
    return { account, admin }
  }

  const phones = (rate: number) => ({ devices: { sip_device: { rate } } })
  const phone = { name: 'Desk' }
  const addPhone = (by: Client, { path }: TestAccount, envelope: Json = {}) =>
    by.put(`${path}/devices`, phone, { envelope })
  const agreed = { accept_charges: true }
  const monthlyOf = ({ data }: Answer) =>
    (data as unknown as { summary: { recurring: number } }[]).map(({ summary }) => summary.recurring)

  it('is the one in the 402, which is repeated when the price has risen since', async () => {
    const { account, admin } = await customer(phones(1))
    const first = await addPhone(admin, account)
    expect(first).toMatchObject({
      status: 402,
      body: { message: 'accept charges', quote_id: expect.stringMatching(/^[0-9a-f]{32}$/) },
    })
    await priceAt(account, phones(500))
    const second = await world.unchanged(() => addPhone(admin, account, agreed))
    expect(second).toMatchObject({ status: 402, body: { message: 'accept charges' } })
    expect(monthlyOf(second)).toEqual([500])
    expect(second.body.quote_id).not.toBe(first.body.quote_id)
    const old = { ...agreed, quote_id: first.body.quote_id }
    expect(await world.unchanged(() => addPhone(admin, account, old))).toMatchObject({ status: 402 })
    expect((await addPhone(admin, account, agreed)).status).toBe(201)
  })

  it('covers a lower price, with the quote_id and without it', async () => {
    const { account, admin } = await customer(phones(3))
    const { body } = await addPhone(admin, account)
    await priceAt(account, phones(2))
    expect((await addPhone(admin, account, { ...agreed, quote_id: body.quote_id })).status).toBe(201)
    await addPhone(admin, account)
    await priceAt(account, phones(1))
    expect((await addPhone(admin, account, agreed)).status).toBe(201)
  })

  it('is covered by each quote_id of a 402 that the account got, in any session and after later ones', async () => {
    const { account, admin } = await customer({ ...phones(3), users: { user: { rate: 3 } } })
    const priced = (rate: number) => priceAt(account, { ...phones(rate), users: { user: { rate } } })
    const first = await addPhone(admin, account)
    await priced(9)
    const second = await addPhone(admin, account)
    const named = ({ body }: Answer) => ({ ...agreed, quote_id: body.quote_id })
    expect(await world.unchanged(() => addPhone(admin, account, named(first)))).toMatchObject({ status: 402 })
    await priced(2)
    const another = { first_name: 'A', last_name: 'B' }
    const otherPurchase = () => admin.put(`${account.path}/users`, another, { envelope: named(second) })
    expect(await world.unchanged(otherPurchase)).toMatchObject({ status: 402 })
    expect((await addPhone(await world.again(admin), account, named(first))).status).toBe(201)
  })

  it('is any price for a client that always accepts charges and was shown none', async () => {
    const { account, admin } = await customer(phones(500))
    expect((await addPhone(admin, account, agreed)).status).toBe(201)
  })

  it('is not that of a quote that does not exist', async () => {
    const { account, admin } = await customer(phones(1))
    const refused = await world.unchanged(() =>
      addPhone(admin, account, { ...agreed, quote_id: 'f'.repeat(32) }),
    )
    expect(refused).toMatchObject({ status: 402, body: { message: 'accept charges' } })
  })

  it('may be in data, next to data or in the query, and is not stored', async () => {
    const { account, admin } = await customer(phones(1))
    const ask = async () => (await addPhone(admin, account)).body.quote_id as string
    const inData = await admin.put(`${account.path}/devices`, { ...phone, ...agreed, quote_id: await ask() })
    expect(inData.status).toBe(201)
    expect(inData.data).not.toHaveProperty('quote_id')
    const query = { ...agreed, quote_id: await ask() }
    expect((await admin.put(`${account.path}/devices`, phone, { query })).status).toBe(201)
  })

  it('is asked for again after ten minutes, unless the request names the quote and nothing has changed', async () => {
    const { account, admin } = await customer(phones(1))
    const { body } = await addPhone(admin, account)
    world.clock.advance({ minutes: 11 })
    expect(await world.unchanged(() => addPhone(admin, account, agreed))).toMatchObject({ status: 402 })
    world.clock.advance({ minutes: 11 })
    expect((await addPhone(admin, account, { ...agreed, quote_id: body.quote_id })).status).toBe(201)
  })

  it('is kept for a day', async () => {
    const kept = () => world.server.store.all('SELECT quote_id FROM charge_quotes')
    const { account, admin } = await customer(phones(1))
    await addPhone(admin, account)
    await world.server.scheduler.runNow('charge_quotes')
    expect(await kept()).not.toEqual([])
    world.clock.advance({ hours: 25 })
    await world.server.scheduler.runNow('charge_quotes')
    expect(await kept()).toEqual([])
    expect((await addPhone(admin, account, agreed)).status).toBe(201)
  })

  it('is that of the same caller and the same purchase', async () => {
    const { account, admin } = await customer({ ...phones(1), users: { user: { rate: 1 } } })
    await addPhone(admin, account)
    await priceAt(account, { ...phones(2), users: { user: { rate: 2 } } })
    const other = await world.admin(account)
    expect((await addPhone(other, account, agreed)).status).toBe(201)
    const user = { first_name: 'A', last_name: 'B' }
    expect((await admin.put(`${account.path}/users`, user, { envelope: agreed })).status).toBe(201)
    const sameKind = () => admin.put(`${account.path}/devices`, { name: 'Hall' }, { envelope: agreed })
    expect(await world.unchanged(sameKind)).toMatchObject({ status: 402 })
    expect((await addPhone(admin, account, agreed)).status).toBe(201)
  })

  it.each<[string, (account: TestAccount) => Promise<readonly [Client, Client]>]>([
    [
      'sessions of one API key',
      async (account) => [await world.keyHolder(account), await world.keyHolder(account)],
    ],
    [
      'sessions of one user',
      async (account) => {
        const admin = await world.admin(account)
        return [admin, await world.again(admin)]
      },
    ],
    [
      'users who send their passwords',
      async (account) => {
        const basicOf = async (password: string) => {
          const { username } = await world.admin(account, { password })
          return world.anonymous.with(basicHeader(account.id, credentialsOf(username, password)))
        }
        return [await basicOf('one-secret'), await basicOf('other-secret')]
      },
    ],
  ])('is not shared by %s', async (_, callersOf) => {
    const { account } = await customer(phones(1))
    const [one, other] = await callersOf(account)
    expect(monthlyOf(await addPhone(one, account))).toEqual([1])
    await priceAt(account, phones(2))
    expect(monthlyOf(await addPhone(other, account))).toEqual([2])
    expect(monthlyOf(await world.unchanged(() => addPhone(one, account, agreed)))).toEqual([2])
    expect((await addPhone(other, account, agreed)).status).toBe(201)
    expect((await addPhone(one, account, agreed)).status).toBe(201)
  })

  it('is that of the same request in another spelling', async () => {
    const { account, admin } = await customer(phones(1))
    const sip = { username: 'desk', password: 'desk-secret' }
    const swapped = { password: 'desk-secret', username: 'desk' }
    const add = (path: string, data: Json) => admin.put(`${account.path}${path}`, data, { envelope: agreed })
    for (const [path, data] of [
      ['/devices', { sip: swapped, name: 'Desk' }],
      ['//devices/', { name: 'Desk', sip }],
      ['/%64evices', { name: 'Desk', sip }],
    ] as const) {
      await priceAt(account, phones(1))
      await admin.put(`${account.path}/devices`, { name: 'Desk', sip })
      await priceAt(account, phones(2))
      expect(monthlyOf(await world.unchanged(() => add(path, data))), path).toEqual([2])
    }
  })

  it('is that of the same numbers in another spelling or order', async () => {
    const spelled = (number: string) => [number, number.slice(1), number.slice(2)]
    const carriers = (rate: number) => ({ number_carriers: { _all: { rate } } })
    const { account, admin } = await customer(carriers(1))
    const [one, other] = [next(), next()]
    const collections = spelled(one).flatMap((text) => [
      [text, other],
      [other, text],
    ])
    const requests = [
      spelled(one).map((text) => ({ path: `/${encodeURIComponent(text)}`, data: {}, price: 1 })),
      collections.map((numbers) => ({ path: '/collection', data: { numbers }, price: 2 })),
    ]
    for (const spellings of requests)
      for (const { path, data, price } of spellings) {
        const send = (at: string, sent: Json, envelope: Json = {}) =>
          admin.put(`${account.path}/phone_numbers${at}`, sent, { envelope })
        const first = spellings[0] ?? { path, data }
        await priceAt(account, carriers(3))
        const shown = await send(first.path, first.data)
        expect(monthlyOf(shown)).toEqual([3 * price])
        await priceAt(account, carriers(9))
        const dearer = await world.unchanged(() => send(path, data, agreed))
        expect([path, data, monthlyOf(dearer)]).toEqual([path, data, [9 * price]])
        await priceAt(account, carriers(1))
        const cheaper = { ...agreed, quote_id: dearer.body.quote_id }
        expect(await send(path, data, cheaper), JSON.stringify(data)).toSucceed()
        for (const number of price === 1 ? [one] : [one, other])
          await world.operator.delete(`${account.path}/phone_numbers/${encodeURIComponent(number)}?hard=true`)
      }
  })

  it.each([5, '', true, [], {}])('is not accepted by the quote_id %j, which is rejected', async (quote) => {
    const { account, admin } = await customer(phones(1))
    const refused = await world.refused(() => addPhone(admin, account, { ...agreed, quote_id: quote }))
    expect(refused).toMatchObject({ status: 400 })
    expect(refused.data).toEqual({
      quote_id: { type: { message: 'Must be the quote_id of a 402 response', value: quote } },
    })
  })

  it('is known to every process of a server', async () => {
    const { account, admin } = await customer(phones(1))
    await addPhone(admin, account)
    await priceAt(account, phones(2))
    const other = await startServer(world.config, { clock: world.clock, log: createTestLog().log })
    const transport = createTransport(other.port)
    try {
      const there = clientWithToken(transport.send, admin.token)
      const asked = await addPhone(there, account, agreed)
      expect(asked).toMatchObject({ status: 402, body: { message: 'accept charges' } })
      expect((await addPhone(admin, account, agreed)).status).toBe(201)
    } finally {
      transport.close()
      await other.stop()
    }
  })

  const both = { additions: true, removals: true }
  const numbersOf = (path: string, data: Json) => ({ method: 'PUT', path: `/phone_numbers${path}`, data })

  it.each<[string, (rate: number) => Json, (own: string) => { method: string; path: string; data: Json }]>([
    [
      'a prorated addition',
      (rate) => ({ users: { user: { rate, prorate: both } } }),
      () => ({ method: 'PUT', path: '/users', data: { first_name: 'A', last_name: 'B' } }),
    ],
    [
      'an activation',
      (rate) => ({ users: { user: { activation_charge: rate } } }),
      () => ({ method: 'PUT', path: '/users', data: { first_name: 'A', last_name: 'B' } }),
    ],
    [
      'a tax that is added',
      (rate) => ({ users: { user: { rate: 1, taxes: [{ name: 'VAT', rate }] } } }),
      () => ({ method: 'PUT', path: '/users', data: { first_name: 'A', last_name: 'B' } }),
    ],
    [
      'a collection of numbers',
      (rate) => ({ number_carriers: { _all: { rate } } }),
      () => numbersOf('/collection', { numbers: [next(), next()] }),
    ],
    [
      'a feature of a number',
      (rate) => ({ number_services: { prepend: { rate } } }),
      (own) => ({
        method: 'PATCH',
        path: `/phone_numbers/${encodeURIComponent(own)}`,
        data: { prepend: { name: 'Bakery', enabled: true } },
      }),
    ],
    [
      'a sub-account of a plan that cascades',
      (rate) => ({ accounts: { account: { rate, cascade: true } } }),
      () => ({ method: 'PUT', path: '', data: { name: `Shop ${next()}` } }),
    ],
  ])('binds %s', async (_, plan, requestFor) => {
    const { account, admin } = await customer(plan(1))
    await world.credit(account, 10_000)
    const own = next()
    await world.operator.put(
      `${account.path}/phone_numbers/${encodeURIComponent(own)}`,
      {},
      { envelope: agreed },
    )
    const { method, path, data } = requestFor(own)
    const send = (envelope: Json = {}) => admin.request(method, `${account.path}${path}`, data, { envelope })
    const first = await send()
    expect([first.status, first.body.message], first.text).toEqual([402, 'accept charges'])
    await priceAt(account, plan(50))
    const second = await world.unchanged(() => send(agreed))
    expect([second.status, second.body.message]).toEqual([402, 'accept charges'])
    expect(await send({ ...agreed, quote_id: second.body.quote_id })).toSucceed()
  })

  const numbersAt = (rate: number, activation = 0) => ({
    number_carriers: { _all: { rate, activation_charge: activation } },
  })
  const collection = (by: Client, { path }: TestAccount, numbers: readonly string[], envelope: Json = {}) =>
    by.put(`${path}/phone_numbers/collection`, { numbers: [...numbers] }, { envelope })
  const balanceOf = async ({ path }: TestAccount): Promise<number> =>
    (await world.operator.get(`${path}/ledgers/total`)).data.amount
  const several = (count: number) => Array.from({ length: count }, next)
  const sumsOf = ({ data }: Answer) => (data as unknown as { summary: Json }[]).map(({ summary }) => summary)

  it('is the sum of a collection of any length, and the sum is what is charged', async () => {
    const { account, admin } = await customer(numbersAt(2, 1))
    await world.credit(account, 10_000)
    const before = await balanceOf(account)
    const numbers = several(450)
    const asked = await world.unchanged(() => collection(admin, account, numbers))
    expect(asked).toMatchObject({ status: 402, body: { message: 'accept charges' } })
    const sum = { today: 450, recurring: 900 }
    expect(sumsOf(asked)).toEqual([sum])
    const made = await collection(admin, account, numbers, { ...agreed, quote_id: asked.body.quote_id })
    expect([made.status, Object.keys(made.data.success), made.data.error]).toEqual([201, numbers, []])
    expect(before - (await balanceOf(account))).toBe(sum.today)
    const { data } = await world.operator.get(`${account.path}/services/summary`)
    expect(data.invoices.map(({ summary }: { summary: Json }) => summary)).toMatchObject([
      { recurring: sum.recurring },
    ])
  })

  it('is not that of a part of a collection', async () => {
    const { account, admin } = await customer(numbersAt(1))
    const numbers = several(450)
    const { body } = await collection(admin, account, numbers.slice(0, 200))
    const quoted = { ...agreed, quote_id: body.quote_id }
    const refused = await world.unchanged(() => collection(admin, account, numbers, quoted))
    expect(refused).toMatchObject({ status: 402, body: { message: 'accept charges' } })
    expect(monthlyOf(refused)).toEqual([450])
  })

  it('is asked before anything is done where only the last numbers of a collection cost something', async () => {
    const rates = { 200: 0, 1000: 3 }
    const { account, admin } = await customer({ number_carriers: { _all: { rates } } })
    const numbers = several(252)
    const asked = await world.unchanged(() => collection(admin, account, numbers))
    expect(asked).toMatchObject({ status: 402, body: { message: 'accept charges' } })
    expect(monthlyOf(asked)).toEqual([756])
    const made = await collection(admin, account, numbers, { ...agreed, quote_id: asked.body.quote_id })
    expect([made.status, Object.keys(made.data.success)]).toEqual([201, numbers])
  })

  it('is asked for the numbers that are left when a plan is assigned between the commits of a collection', async () => {
    const account = await world.account(world.reseller)
    await world.operator.patch(account.path, { wnm_allow_additions: true })
    const admin = await world.admin(account)
    const plan = { name: 'Plan', plan: numbersAt(1) }
    const made = await world.ross.put(`${world.reseller.path}/service_plans`, plan)
    let isAssigned = false
    world.server.store.guard(async (sets, write) => {
      await write(sets)
      if (isAssigned || !sets.some(({ author }) => author.authUserId === admin.id)) return
      isAssigned = true
      expect(await world.ross.post(`${account.path}/services`, { add: [made.data.id] })).toSucceed()
    })
    const numbers = several(450)
    const { status, data } = await collection(admin, account, numbers)
    expect([status, Object.keys(data.success)]).toEqual([201, numbers.slice(0, 200)])
    const error = { code: 402, error: 'accept_charges', message: 'accept charges' }
    expect(data.error).toEqual(Object.fromEntries(numbers.slice(200).map((number) => [number, error])))
    const left = await collection(admin, account, numbers.slice(200), agreed)
    expect([left.status, Object.keys(left.data.success)]).toEqual([201, numbers.slice(200)])
  })

  it('is looked for with one plan for each number of a collection that costs nothing', async () => {
    const { accounts, phoneNumbers, services } = world.server.areas
    const { numbers } = phoneNumbers
    const account = await accounts.get((await world.account(world.reseller)).id)
    const master = await accounts.get(world.master.id)
    const by = { accountId: master.id, account: master, user: undefined }
    const planned: string[] = []
    const create: PlanNumber = (view, request) => {
      planned.push(request.number)
      return numbers.plan.create(view, { ...request, fields: {} })
    }
    const texts = several(450)
    const collections = createNumberCollections(numbers, services.foresight)
    const { success } = await collections.apply(texts, create, { by, author: { requestId: 'test' }, account })
    expect([Object.keys(success), planned]).toEqual([texts, texts])
  })

  it('covers a collection as a whole: what the store refuses is not charged number by number', async () => {
    const { account, admin } = await customer(numbersAt(1))
    const numbers = several(3)
    const { body } = await collection(admin, account, numbers)
    const quoted = { ...agreed, quote_id: body.quote_id }
    let isRefusing = true
    world.server.store.guard(async (sets, write) => {
      const [number = ''] = numbers
      if (isRefusing && sets.some(({ changes }) => changes.some(({ id }) => id === number)))
        throw failure(numberExists, { number })
      await write(sets)
    })
    const refused = await world.unchanged(() => collection(admin, account, numbers, quoted))
    expect(refused.data).toMatchObject({
      success: {},
      error: Object.fromEntries(
        numbers.map((number) => [number, { error: 'number_exists', cause: numbers[0] }]),
      ),
    })
    isRefusing = false
    const made = await collection(admin, account, numbers, quoted)
    expect([made.status, Object.keys(made.data.success)]).toEqual([201, numbers])
  })
})
