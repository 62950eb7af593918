// Services of accounts: plans, acceptance of higher charges, and the audit log of changes.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import type { Answer } from '../support/world/client.ts'
import type { Person, TestAccount } from '../support/world/world.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

const perDevice = (rate: number, item: Json = {}) => ({
  devices: { sip_device: { rate, ...item } },
})

describeEngines('services', (engine) => {
  const world = useWorld(engine)
  const settle = () => world.server.scheduler.runNow('quantities')

  const planOf = async (reseller: TestAccount, plan: Json, fields: Json = {}) => {
    const made = await world.operator.put(`${reseller.path}/service_plans`, { name: 'Plan', plan, ...fields })
    expect(made.status).toBe(201)
    return made.data.id as string
  }

  /** A customer of the reseller with an admin, and these plans. */
  const customer = async (...plans: Json[]) => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const ids: string[] = []
    for (const plan of plans) ids.push(await planOf(world.reseller, plan))
    if (ids.length > 0)
      expect(await world.ross.post(`${account.path}/services`, { add: ids })).toMatchObject({ status: 200 })
    await settle()
    return { account, admin, plans: ids }
  }

  const addPhone = (who: Person, account: TestAccount, fields: Json = {}, options: Json = {}) =>
    who.put(`${account.path}/devices`, { name: 'Phone', ...fields }, options)

  it('are sold by the own reseller of an account, not by one further up', async () => {
    const upper = await world.account()
    const lower = await world.account(upper)
    const account = await world.account(lower)
    for (const { path } of [upper, lower]) await world.operator.put(`${path}/reseller`, {})
    const [above, own] = [await world.admin(upper), await world.admin(lower)]
    const plan = await planOf(lower, perDevice(1))
    const at = (rest: string) => `${account.path}/${rest}`
    const entry = (id: string) => ({
      source: { service: 'X', id },
      usage: { type: 'cycle', quantity: 1, unit: 'Hz' },
      amount: 1,
    })
    const rights: ((who: Person) => ReturnType<Person['get']>)[] = [
      (who) => who.post(at('services'), { add: [plan] }),
      (who) => who.post(at('services'), { overrides: {} }),
      (who) => who.post(at(`services/${plan}`), {}),
      (who) => who.post(at('services/overrides'), {}),
      (who) => who.get(at('services/manual')),
      (who) => who.post(at('services/manual'), {}),
      (who) => who.post(at('services/reconciliation'), {}),
      (who) => who.post(at('services/synchronization'), {}),
      (who) => who.put(at('ledgers/credit'), entry('1')),
      (who) => who.put(at('ledgers/debit'), entry('2')),
      (who) => who.get(at('security/login_lock')),
      (who) => who.post(at('limits/operator'), {}),
    ]
    for (const right of rights) {
      expect(await world.unchanged(() => right(above))).toFailWith(403, 'forbidden')
      expect((await right(own)).status).toBeLessThan(300)
    }
    // Routes that sell nothing stay open to all accounts above.
    expect((await above.get(at('services'))).status).toBe(200)
    expect((await above.post(at('services'), { billing_id: account.id })).status).toBe(200)
    // The reseller below is the upper one's own customer; and without it, so is the account.
    expect((await above.post(`${lower.path}/services/manual`, {})).status).toBe(200)
    await world.operator.delete(`${lower.path}/reseller`)
    expect(await world.unchanged(() => own.post(at('services/manual'), {}))).toFailWith(403, 'forbidden')
    expect((await above.post(at('services/manual'), {})).status).toBe(200)
  })

  it('of a reseller are assigned by the reseller', async () => {
    const { account } = await customer()
    const plan = await planOf(world.reseller, perDevice(1))
    const answer = await world.ross.post(`${account.path}/services`, { add: [plan] })
    expect(answer.status).toBe(200)
    expect(answer.data.plans).toEqual({ [plan]: { vendor_id: world.reseller.id, overrides: {} } })
    expect(answer.data).toEqual({
      account_quantities: { accounts: { account: 1 }, users: { admin: 1 } },
      cascade_quantities: {},
      plans: { [plan]: { vendor_id: world.reseller.id, overrides: {} } },
      overrides: {},
      quantities: { account: { accounts: { account: 1 }, users: { admin: 1 } }, cascade: {}, manual: {} },
      billing_id: account.id,
      reseller: false,
      reseller_id: world.reseller.id,
      bookkeeper: { id: 'default_bookkeeper', type: 'default', vendor_id: world.reseller.id },
      dirty: false,
      status: 'good_standing',
      in_good_standing: true,
      items: {
        devices: {
          sip_device: {
            category: 'devices',
            item: 'sip_device',
            quantity: 0,
            rate: 1,
            single_discount: false,
            single_discount_rate: 0,
            cumulative_discount: 0,
            cumulative_discount_rate: 0,
            activation_charge: 0,
            minimum: 0,
            exceptions: [],
          },
        },
      },
    })
  })

  it('are not the account’s own to choose', async () => {
    const { account, admin } = await customer()
    const plan = await planOf(world.reseller, perDevice(1))
    const answer = await world.unchanged(() => admin.post(`${account.path}/services`, { add: [plan] }))
    expect(answer).toFailWith(403, 'forbidden')
  })

  it('take plans of the reseller only, all of a request or none', async () => {
    const { account, admin } = await customer()
    const [good, foreign] = [
      await planOf(world.reseller, perDevice(1)),
      await planOf(world.master, perDevice(2)),
    ]
    for (const bad of [foreign, 'f'.repeat(32), admin.id, 'base', 'f'.repeat(200)]) {
      const answer = await world.unchanged(() =>
        world.ross.post(`${account.path}/services`, { add: [good, bad] }),
      )
      expect(answer).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause: bad })
    }
  })

  it('cannot lose a plan that is not assigned', async () => {
    const { account } = await customer()
    const plan = await planOf(world.reseller, perDevice(1))
    const answer = await world.unchanged(() =>
      world.ross.post(`${account.path}/services`, { delete: [plan] }),
    )
    expect(answer).toFailWith(400, 'plan_is_not_assigned', {
      message: 'plan is not assigned',
      cause: plan,
    })
  })

  it('keep a plan that is assigned from being removed', async () => {
    const { account, plans } = await customer(perDevice(1))
    const path = `${world.reseller.path}/service_plans/${plans[0]}`
    expect(await world.unchanged(() => world.ross.delete(path))).toFailWith(409, 'datastore_conflict', {
      message: `the plan is assigned to account ${account.id}`,
    })
    expect((await world.ross.delete(`${account.path}/services/${plans[0]}`)).data.plans).toEqual({})
    expect((await world.ross.delete(path)).status).toBe(200)
  })

  it('may be billed through the parent, and through no other account', async () => {
    const { account, admin } = await customer()
    const billThrough = (id: string) => admin.post(`${account.path}/services`, { billing_id: id })
    expect((await billThrough(world.reseller.id)).data.billing_id).toBe(world.reseller.id)
    expect((await billThrough(account.id)).data.billing_id).toBe(account.id)
    for (const id of [world.master.id, world.rival.id]) {
      expect(await world.unchanged(() => billThrough(id))).toFailWith(400, 'invalid_billing_id', {
        billing_id: { invalid: 'Requested billing id is not the parent of this account' },
      })
    }
  })

  it('ask before a device costs more, and store nothing', async () => {
    const { account, admin } = await customer(perDevice(1))
    const answer = await world.unchanged(() => addPhone(admin, account))
    expect(answer).toFailWith(402, 'accept charges', [
      {
        items: [
          {
            category: 'devices',
            item: 'sip_device',
            name: 'devices/sip_device',
            quantity: 1,
            billable: 1,
            rate: 1,
            prorate: { additions: false, removals: false },
            taxes: [],
            total: 1,
            changes: { type: 'modified', difference: { quantity: 1, billable: 1 } },
          },
        ],
        activation_charges: [],
        prorations: [],
        taxes: [],
        summary: { today: 0, recurring: 1 },
        plan: perDevice(1),
        bookkeeper: { id: 'default_bookkeeper', type: 'default', vendor_id: world.reseller.id },
      },
    ])
  })

  it('accept consent next to the data, in the data and in the query', async () => {
    const { account, admin } = await customer(perDevice(1))
    const path = `${account.path}/devices`
    const beside = await admin.put(path, undefined, {
      body: JSON.stringify({ data: { name: 'One' }, accept_charges: true }),
    })
    const inside = await admin.put(path, { name: 'Two', accept_charges: true })
    const query = await admin.put(`${path}?accept_charges=true`, { name: 'Three' })
    expect([beside.status, inside.status, query.status]).toEqual([201, 201, 201])
    expect(inside.data).not.toHaveProperty('accept_charges')
    const summary = (await admin.get(`${account.path}/services/summary`)).data
    expect(summary.invoices[0].summary).toEqual({ today: 0, recurring: 3 })
  })

  it('need no acceptance without plans; the audit entry names the author', async () => {
    const { account } = await customer(perDevice(1))
    expect((await addPhone(world.ross, account)).status).toBe(201)
    await settle()
    const rows = (await world.ross.get(`${account.path}/services/audit`)).data as unknown as Json[]
    const row = rows.find(({ summary }) => (summary as Json).recurring === 1)
    const entry = (await world.ross.get(`${account.path}/services/audit/${row?.id}`)).data
    expect(entry.audit).toMatchObject({
      account: { id: account.id, name: account.name },
      changes: { type: ['account'], account_id: account.id, account_name: account.name },
      authentication: { account_id: world.reseller.id, account_name: 'Reseller' },
      agent: { type: 'user', type_id: world.ross.id, account_id: world.reseller.id },
      request: { method: 'PUT', path: `${account.path}/devices` },
    })
    expect(entry.invoice.items[0].changes.difference).toEqual({ quantity: 1, billable: 1 })
    expect(entry.status).toBe('completed')
  })

  it('ask a reseller whose own plan counts what is below', async () => {
    const reseller = await world.account()
    expect((await world.operator.put(`${reseller.path}/reseller`, {})).status).toBe(201)
    const seller = await world.admin(reseller)
    const shop = await world.account(reseller)
    const plan = await planOf(world.master, perDevice(2, { cascade: true }))
    await world.operator.post(`${reseller.path}/services`, { add: [plan] })
    await world.device(shop)
    const answer = await world.unchanged(() => addPhone(seller, shop))
    expect(answer.status).toBe(402)
    const [invoice] = answer.data as unknown as Json[]
    expect(invoice?.summary).toEqual({ today: 0, recurring: 4 })
    expect((await addPhone(seller, shop, { accept_charges: true })).status).toBe(201)
  })

  it('refuse charges of an account that is not in good standing', async () => {
    const { account, admin } = await customer(perDevice(1))
    await world.configure('services', { enforce_good_standing: true })
    await world.operator.post(`${account.path}/services/status`, { in_good_standing: false, reason: 'card' })
    const answer = await world.unchanged(() => addPhone(admin, account, { accept_charges: true }))
    expect(answer).toFailWith(402, 'billing_issue', {
      reason: 'card',
      message: 'the account is not in good standing',
    })
    await world.operator.post(`${account.path}/services/status`, { in_good_standing: true })
    expect((await addPhone(admin, account, { accept_charges: true })).status).toBe(201)
    await world.configure('services', { enforce_good_standing: false })
  })

  it('say whether the account is in good standing', async () => {
    const { account, admin } = await customer()
    const path = `${account.path}/services/status`
    expect((await admin.get(path)).data).toEqual({ in_good_standing: true })
    const bad = { in_good_standing: false, reason: 'card', reason_code: 7 }
    expect(await world.unchanged(() => world.ross.post(path, bad))).toFailWith(403, 'forbidden')
    expect((await world.operator.post(path, bad)).data).toEqual(bad)
    expect((await admin.get(path)).data).toEqual(bad)
  })

  it('take counts set by hand from the reseller, of which null takes one away', async () => {
    const { account, admin } = await customer()
    const path = `${account.path}/services/manual`
    expect((await world.ross.post(path, { a: { b: 2 } })).data).toEqual({ a: { b: 2 } })
    expect((await world.ross.patch(path, { a: { c: 1 } })).data).toEqual({ a: { b: 2, c: 1 } })
    expect((await world.ross.get(path)).data).toEqual({ a: { b: 2, c: 1 } })
    expect((await world.ross.patch(path, { a: { b: null } })).data).toEqual({ a: { c: 1 } })
    expect((await world.ross.get(path)).data).toEqual({ a: { c: 1 } })
    expect(await admin.get(path)).toFailWith(403, 'forbidden')
  })

  it('keep each count of those that are set by hand side by side', async () => {
    const { account } = await customer()
    const path = `${account.path}/services/manual`
    // The slower request tries again, up to five times.
    const items = ['one', 'two', 'three', 'four']
    await Promise.all(items.map((item) => world.ross.patch(path, { a: { [item]: 1 } })))
    expect(Object.keys((await world.ross.get(path)).data.a).toSorted()).toEqual(items.toSorted())
  })

  it('take overrides, of which null takes a key away', async () => {
    const { account } = await customer(perDevice(5))
    const path = `${account.path}/services/overrides`
    const override = { plan: perDevice(7), category: 'x' }
    expect((await world.ross.post(path, override)).data).toEqual(override)
    expect((await world.ross.patch(path, { category: null })).data).toEqual({ plan: perDevice(7) })
    const summary = (await world.ross.get(`${account.path}/services/summary`)).data
    expect(summary.invoices[0].items[0].rate).toBe(7)
  })

  it('refuse overrides whose categories are outside the plan, where they would change no price', async () => {
    const { account, plans } = await customer(perDevice(5))
    const path = `${account.path}/services`
    const stray = perDevice(7)
    const other = { ...stray, note: 'kept', extra: { kept: true } }
    const asked: [() => Promise<Answer>, string][] = [
      [() => world.ross.post(`${path}/${plans[0]}`, { overrides: stray }), 'overrides.devices'],
      [() => world.ross.post(path, { overrides: stray }), 'overrides.devices'],
      [() => world.ross.post(path, { add: [{ id: plans[0], overrides: stray }] }), 'add.0.overrides.devices'],
      [() => world.ross.post(`${path}/overrides`, other), 'devices'],
      [() => world.ross.patch(`${path}/overrides`, other), 'devices'],
    ]
    for (const [ask, key] of asked)
      expect(await world.unchanged(ask)).toBreak({ [key]: ['additionalProperties'] })
    const { devices: _, ...kept } = other as Json
    expect((await world.ross.post(`${path}/overrides`, kept)).data).toEqual(kept)
  })

  it('charge the activation of what is added once, with what is added', async () => {
    const { account, admin } = await customer(perDevice(4, { activation_charge: 12.5 }))
    await world.credit(account, 40)
    for (const name of ['one', 'two', 'three'])
      expect((await addPhone(admin, account, { name, accept_charges: true })).status).toBe(201)
    expect((await admin.get(`${account.path}/ledgers/total`)).data).toEqual({ amount: 2.5 })
    await settle()
    expect((await admin.get(`${account.path}/ledgers/total`)).data).toEqual({ amount: 2.5 })
    const entries = (await admin.get(`${account.path}/ledgers/services`)).data as unknown as Json[]
    expect(entries.map(({ amount }) => amount)).toEqual([-12.5, -12.5, -12.5])
    const audit = (await admin.get(`${account.path}/services/audit`)).data as unknown as Json[]
    expect(audit.filter(({ summary }) => (summary as Json).today === 12.5)).toHaveLength(3)
  })

  it('are quoted exactly as they will be billed', async () => {
    const { account } = await customer()
    await world.device(account)
    await world.device(account, { device_type: 'softphone' })
    const plan = await planOf(world.reseller, {
      devices: { _all: { rate: 3, as: 'endpoint', discounts: { single: { rate: 1.25 } } } },
      users: { admin: { rate: 10, rates: { 5: 8 } } },
    })
    const quote = (await world.ross.post(`${account.path}/services/quote`, { add: [plan] })).data
    expect((await world.ross.get(`${account.path}/services/summary`)).data.invoices).toEqual([])
    await world.ross.post(`${account.path}/services`, { add: [plan] })
    const summary = (await world.ross.get(`${account.path}/services/summary`)).data
    expect(JSON.stringify(summary.invoices)).toBe(JSON.stringify(quote.invoices))
    expect(summary.invoices[0].summary).toEqual({ today: 0, recurring: 12.75 })
  })

  it('are quoted without an account by the plans of the master account, for a customer without services', async () => {
    const plan = await planOf(world.master, { devices: { sip_device: { rate: 3, minimum: 2 } } })
    const quote = await world.unchanged(() => world.operator.post('/v2/services/quote', { add: [plan] }))
    expect(quote.data).toMatchObject({
      plans: { [plan]: { vendor_id: world.master.id, overrides: {} } },
      quantities: { account: {}, cascade: {}, manual: {} },
      invoices: [{ items: [{ category: 'devices', item: 'sip_device', quantity: 0, billable: 2 }] }],
    })
    expect(quote.data.invoices[0].summary).toEqual({ today: 0, recurring: 6 })
    const foreign = await planOf(world.reseller, perDevice(1))
    for (const bad of [foreign, 'base']) {
      const answer = await world.operator.post('/v2/services/quote', { add: [bad] })
      expect(answer).toFailWith(404, 'bad_identifier', { message: 'bad identifier', cause: bad })
    }
    expect(await world.ross.post('/v2/services/quote', { add: [foreign] })).toFailWith(403, 'forbidden')
  })

  it('can be edited alike with an account and without', async () => {
    const [bare, own] = [
      await world.ada.get('/v2/services/editable'),
      await world.ada.get(`${world.acme.path}/services/editable`),
    ]
    expect(bare.status).toBe(200)
    expect(bare.data).toEqual(own.data)
  })

  it('tell the applications and messages of plans with what these leave out', async () => {
    const { account } = await customer()
    const fields = {
      applications: { voip: { name: 'Voip' }, fax: { vendor_id: world.reseller.id, enabled: false } },
      im: { sms: { rate: { outbound: 0.01 } }, mms: { enabled: false } },
    }
    const plan = await planOf(world.reseller, perDevice(1), fields)
    await world.ross.post(`${account.path}/services`, { add: [plan] })
    const { applications, im } = (await world.ross.get(`${account.path}/services/summary`)).data
    expect(applications).toEqual({
      voip: { name: 'Voip', vendor_id: world.master.id, enabled: true },
      fax: { vendor_id: world.reseller.id, enabled: false },
    })
    expect(im).toEqual({
      sms: { enabled: true, rate: { inbound: 0.007, outbound: 0.01 } },
      mms: { enabled: false, rate: { inbound: 0.015, outbound: 0.015 } },
    })
  })

  it('refuse applications and messages of another form', async () => {
    const given = {
      name: 'Plan',
      plan: {},
      applications: { voip: { enabled: 'yes' } },
      im: { sms: { enabled: 1, rate: { inbound: 'cheap' } } },
    }
    const answer = await world.unchanged(() => world.ross.put(`${world.reseller.path}/service_plans`, given))
    expect(answer).toBreak({
      'applications.voip.enabled': ['type'],
      'im.sms.enabled': ['type'],
      'im.sms.rate.inbound': ['type'],
    })
  })

  it('are recounted if they are ever wrong, those above included', async () => {
    const { account } = await customer()
    await world.device(account)
    await settle()
    const before = await world.server.areas.services.quantities.of(account.id)
    const above = await world.server.areas.services.quantities.of(world.reseller.id)
    await world.server.store.writeUnrecorded([
      {
        sql: "UPDATE quantities SET own = own + 5 WHERE account_id = $1 AND item = 'sip_device'",
        params: [account.id],
      },
      {
        sql: "UPDATE quantities SET below = below + 5 WHERE item = 'sip_device' AND account_id IN (SELECT ancestor_id FROM account_tree WHERE account_id = $1)",
        params: [account.id],
      },
    ])
    expect((await world.ross.post(`${account.path}/services/reconciliation`, {})).data).toEqual({})
    expect(await world.server.areas.services.quantities.of(account.id)).toEqual(before)
    expect(await world.server.areas.services.quantities.of(world.reseller.id)).toEqual(above)
    const refused = await world.unchanged(() =>
      world.ada.post(`${world.acme.path}/services/reconciliation`, {}),
    )
    expect(refused).toFailWith(403, 'forbidden')
  })

  it.each(['constructor', 'toString', '__proto__'])('count devices of type %s like others', async (type) => {
    const { account } = await customer()
    await world.device(account, { device_type: type })
    await settle()
    const counted = async () =>
      Object.entries((await world.server.areas.services.quantities.of(account.id)).account.devices ?? {})
    expect(await counted()).toEqual([[type, 1]])
    expect(await world.ross.post(`${account.path}/services/reconciliation`, {})).toSucceed()
    expect(await counted()).toEqual([[type, 1]])
    await world.device(account, { device_type: type })
    await settle()
    expect(await counted()).toEqual([[type, 2]])
  })

  it.each(['constructor', 'toString'])(
    'can be set by hand in the category %s, as in others',
    async (name) => {
      const { account } = await customer()
      const manual = `${account.path}/services/manual`
      expect(await world.ross.post(manual, { [name]: { [name]: 3 } })).toSucceed()
      expect(await world.ross.post(manual, { [name]: { [name]: 5, length: 1 } })).toSucceed()
      const { data } = await world.ross.get(`${account.path}/services/audit/summary/${name}`)
      expect(Object.values(data[0])).toEqual([
        { addition: 6, removal: 0, quantity: 6, last_timestamp: expect.any(Number), sum_quantity: false },
      ])
      expect(await world.ross.post(manual, {})).toSucceed()
      expect(await world.ross.get(manual)).toSucceedWith({})
    },
  )

  it('have no audit entry of another form', async () => {
    const { account } = await customer()
    for (const id of ['foo', '202601-abc'])
      expect(await world.ross.get(`${account.path}/services/audit/${id}`)).toFailWith(404, 'bad_identifier', {
        message: 'bad identifier',
        cause: id,
      })
  })

  it('tell what moved by day, by item and by category', async () => {
    const { account } = await customer()
    const start = await world.user(account)
    for (const _ of [1, 2]) await world.user(account)
    await world.ross.delete(start.path)
    await settle()
    const summary = (await world.ross.get(`${account.path}/services/audit/summary`)).data as unknown as Json[]
    const day = new Date(world.clock.now()).toISOString().slice(0, 10)
    const last = Math.floor(world.clock.now() / 1000) + 62_167_219_200
    const entry = { addition: 3, removal: 1, quantity: 2, last_timestamp: last, sum_quantity: false }
    expect(Object.keys(summary[0] as Json)).toEqual(['accounts', 'users'])
    expect(summary[0]?.users).toEqual({ [day]: { ...entry, addition: 4, quantity: 3 } })
    world.clock.advance({ hours: 24 })
    // Yesterday's tokens are no longer valid.
    const operator = world.clientWithToken(await world.tokenOf(world.master, world.operator.id))
    await operator.put(`${account.path}/users`, { first_name: 'Late', last_name: 'Comer' })
    await settle()
    const next = new Date(world.clock.now()).toISOString().slice(0, 10)
    for (const path of ['audit/summary/user', 'audit_summary/user']) {
      const days = (await operator.get(`${account.path}/services/${path}`)).data as unknown as Json[]
      expect(days).toEqual([
        { [next]: { ...entry, addition: 1, removal: 0, quantity: 3, last_timestamp: last + 86_400 } },
        { [day]: entry },
      ])
    }
  })

  it('tell of counts set by hand, which stand for the own ones until they are taken away', async () => {
    const { account } = await customer()
    await world.user(account)
    await settle()
    const path = `${account.path}/services`
    const last = Math.floor(world.clock.now() / 1000) + 62_167_219_200
    const read = async (name: string) => (await world.ross.get(`${path}/audit/summary/${name}`)).data
    const entry = { removal: 0, last_timestamp: last, sum_quantity: false }
    const day = new Date(world.clock.now()).toISOString().slice(0, 10)
    const manual = { users: { user: 7 }, licences: { desk: 2 } }
    expect(await world.ross.post(`${path}/manual`, manual)).toSucceed()
    expect(await read('licences')).toEqual([{ [day]: { ...entry, addition: 2, quantity: 2 } }])
    expect(await read('user')).toEqual([{ [day]: { ...entry, addition: 7, quantity: 7 } }])
    await world.user(account)
    await settle()
    expect(await read('user')).toEqual([{ [day]: { ...entry, addition: 8, quantity: 7 } }])
    expect(await world.ross.patch(`${path}/manual`, { users: { user: null } })).toSucceed()
    expect(await read('user')).toEqual([{ [day]: { ...entry, addition: 8, removal: 5, quantity: 2 } }])
  })

  it('are read over a range of any length', async () => {
    const { account } = await customer({ users: { user: { rate: 1 } } })
    const query = { created_from: 1, created_to: 99_999_999_999 }
    for (const path of ['audit', 'audit/summary'])
      expect((await world.ross.get(`${account.path}/services/${path}`, { query })).data).not.toEqual([])
  })
})
