// Endpoints: services. Payments and charges: docs/guides/payments-and-invoices.md.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { expectNoStrangers, said, saidError } from '../support/matchers/said.ts'
import { nowOf } from '../support/world/legs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

// 2026-02-01T00:00:00Z
const february = 63_937_123_200
const prices = { devices: { sip_device: { rate: 1 } } }

describeAnyEngine('Endpoints: services', (engine) => {
  const world = useWorld(engine)
  const settle = () => world.server.scheduler.runNow('quantities')

  const newPlan = async () =>
    (await world.operator.put(`${world.reseller.path}/service_plans`, { name: 'Basic', plan: prices })).data
      .id as string

  /** A customer with one plan and an admin, and where its services are. */
  const customer = async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const plan = await newPlan()
    const path = `${account.path}/services`
    await world.ross.post(`${path}/${plan}`, {})
    await settle()
    return { account, admin, plan, path }
  }

  const item = {
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
  }

  const recordOf = (accountId: string, plan: string, more: Json = {}) => ({
    account_quantities: { accounts: { account: 1 }, users: { admin: 1 } },
    cascade_quantities: {},
    quantities: { account: { accounts: { account: 1 }, users: { admin: 1 } }, cascade: {}, manual: {} },
    plans: { [plan]: { vendor_id: world.reseller.id, overrides: {} } },
    overrides: {},
    billing_id: accountId,
    reseller: false,
    reseller_id: world.reseller.id,
    dirty: false,
    status: 'good_standing',
    in_good_standing: true,
    bookkeeper: { id: 'default_bookkeeper', type: 'default', vendor_id: world.reseller.id },
    items: { devices: { sip_device: item } },
    ...more,
  })

  const invoice = (phones: number, more: Json = {}) => ({
    items: [
      {
        category: 'devices',
        item: 'sip_device',
        name: 'devices/sip_device',
        quantity: phones,
        billable: phones,
        rate: 1,
        prorate: { additions: false, removals: false },
        taxes: [],
        total: phones,
        ...more,
      },
    ],
    activation_charges: [],
    prorations: [],
    taxes: [],
    summary: { today: 0, recurring: phones },
    plan: prices,
    bookkeeper: { id: 'default_bookkeeper', type: 'default', vendor_id: world.reseller.id },
  })

  const summaryOf = (plan: string) => ({
    invoices: [invoice(0)],
    plans: { [plan]: { vendor_id: world.reseller.id, overrides: {} } },
    quantities: { account: { accounts: { account: 1 }, users: { admin: 1 } }, cascade: {}, manual: {} },
    overrides: {},
    billing_cycle: { next: february, period: 1, unit: 'month' },
    reseller: { id: world.reseller.id, is_reseller: false },
    status: { acceptable: true },
    applications: {},
    im: {},
    limits: {},
    payment_tokens: {},
    ratedeck: {},
  })

  it('services are for their own account and those above', () =>
    expectNoStrangers(world, [
      ['GET', '/v2/accounts/{account_id}/services'],
      ['POST', '/v2/accounts/{account_id}/services'],
      ['GET', '/v2/accounts/{account_id}/services/status'],
      ['GET', '/v2/accounts/{account_id}/services/summary'],
      ['GET', '/v2/accounts/{account_id}/services/available'],
      ['GET', '/v2/accounts/{account_id}/services/editable'],
      ['GET', '/v2/accounts/{account_id}/services/audit'],
      ['GET', '/v2/accounts/{account_id}/services/audit/{audit_id}'],
      ['GET', '/v2/accounts/{account_id}/services/audit/summary'],
      ['GET', '/v2/accounts/{account_id}/services/audit/summary/user'],
      ['POST', '/v2/accounts/{account_id}/services/{plan_id}'],
      ['DELETE', '/v2/accounts/{account_id}/services/{plan_id}'],
      ['GET', '/v2/accounts/{account_id}/services/manual'],
      ['POST', '/v2/accounts/{account_id}/services/manual'],
      ['PATCH', '/v2/accounts/{account_id}/services/manual'],
      ['GET', '/v2/accounts/{account_id}/services/overrides'],
      ['POST', '/v2/accounts/{account_id}/services/overrides'],
      ['PATCH', '/v2/accounts/{account_id}/services/overrides'],
      ['POST', '/v2/accounts/{account_id}/services/quote'],
      ['POST', '/v2/accounts/{account_id}/services/reconciliation'],
      ['POST', '/v2/accounts/{account_id}/services/synchronization'],
      ['POST', '/v2/accounts/{account_id}/services/topup'],
    ]))

  it('what is sold, counted by hand and booked is for the reseller', async () => {
    const { admin, path, plan } = await customer()
    const sellers: [string, string][] = [
      ['POST', `${path}/${plan}`],
      ['DELETE', `${path}/${plan}`],
      ['GET', `${path}/manual`],
      ['POST', `${path}/manual`],
      ['PATCH', `${path}/manual`],
      ['POST', `${path}/overrides`],
      ['PATCH', `${path}/overrides`],
      ['POST', `${path}/reconciliation`],
      ['POST', `${path}/synchronization`],
    ]
    await world.unchanged(async () => {
      for (const [method, place] of sellers)
        expect(await admin.request(method, place, {}), place).toFailWith(403, 'forbidden')
    })
  })

  it('GET …/services: the service record', async () => {
    const { account, admin, path, plan } = await customer()
    expect(said(await admin.get(path))).toEqual({
      status: 200,
      data: recordOf(account.id, plan),
      metadata: {},
    })
  })

  it('POST …/services with data.billing_id: the updated record', async () => {
    const { account, admin, path, plan } = await customer()
    const billing_id = world.reseller.id
    expect(said(await admin.post(path, { billing_id }))).toEqual({
      status: 200,
      data: recordOf(account.id, plan, { billing_id }),
      metadata: {},
    })
  })

  it('GET …/services/status, /summary, /available, /editable, /audit: listings', async () => {
    const { admin, path, plan } = await customer()
    const read = async (name: string) => said(await admin.get(`${path}/${name}`))
    const ok = { status: 200, metadata: {} }
    expect(await read('status')).toEqual({ ...ok, data: { in_good_standing: true } })
    expect(await read('summary')).toEqual({ ...ok, data: summaryOf(plan) })
    expect((await admin.get(`${path}/available`)).data).toContainEqual({ id: plan, name: 'Basic' })
    expect((await admin.get(`${path}/editable`)).data.devices).toEqual(expect.any(Object))
    expect(await read('audit')).toEqual({
      ...ok,
      data: [
        {
          id: expect.stringMatching(/^202601-/),
          status: 'completed',
          type: ['account'],
          summary: { today: 0, recurring: 0 },
          created: nowOf(world),
          created_ms: nowOf(world) * 1000,
        },
      ],
      page_size: 1,
    })
  })

  it('GET …/services/audit/{audit_id}: one audit entry', async () => {
    const { account, admin, path } = await customer()
    await world.device(account)
    await settle()
    const entries = (await admin.get(`${path}/audit`)).data
    const { id } = entries.find(({ summary }: { summary: Json }) => summary.recurring === 1)
    const changes = { type: 'modified', difference: { quantity: 1, billable: 1 } }
    expect(said(await admin.get(`${path}/audit/${id}`))).toEqual({
      status: 200,
      data: {
        id,
        status: 'completed',
        created: nowOf(world),
        created_ms: nowOf(world) * 1000,
        audit: {
          account: { id: account.id, name: account.name },
          changes: { type: ['account'], account_id: account.id, account_name: account.name },
          authentication: { type: 'cb_user_auth', account_id: world.master.id, account_name: 'master' },
          agent: {
            type: 'user',
            type_id: world.operator.id,
            account_id: world.master.id,
            first_name: 'Account',
            last_name: 'Admin',
            full_name: 'Account Admin',
          },
          request: {
            id: expect.any(String),
            method: 'PUT',
            path: `${account.path}/devices`,
            client_ip: '127.0.0.1',
          },
        },
        bookkeeper: {
          id: 'default_bookkeeper',
          type: 'default',
          vendor_id: world.reseller.id,
          results: [],
        },
        invoice: invoice(1, { changes }),
      },
      metadata: {},
    })
    expect(said(await admin.get(`${path}/audit/nothing`))).toEqual(
      saidError(404, 'bad_identifier', { message: 'bad identifier', cause: 'nothing' }),
    )
  })

  it('GET …/services/audit/summary: one object by service category, then by day', async () => {
    const { account, admin, path } = await customer()
    await world.user(account)
    await settle()
    const counted = {
      addition: 1,
      removal: 0,
      quantity: 1,
      last_timestamp: nowOf(world),
      sum_quantity: false,
    }
    const day = (more: object = {}) => ({ '2026-01-05': { ...counted, ...more } })
    const summary = [{ accounts: day(), users: day({ addition: 2, quantity: 2 }) }]
    expect(said(await admin.get(`${path}/audit/summary`))).toEqual({
      status: 200,
      data: summary,
      metadata: {},
    })
    const asked = (created_from: number, created_to: number) =>
      admin.get(`${path}/audit/summary`, { query: { created_from, created_to } })
    const yesterday = nowOf(world) - 86_400
    expect(await asked(yesterday, nowOf(world) + 1)).toSucceedWith(summary)
    expect(await asked(yesterday - 86_400, yesterday)).toSucceedWith([])
  })

  it('GET …/services/audit/summary/{service_category}: objects by day; the same with an underscore', async () => {
    const { account, admin, path } = await customer()
    await world.user(account)
    await settle()
    const entry = { addition: 2, removal: 0, quantity: 2, last_timestamp: nowOf(world), sum_quantity: false }
    for (const place of ['audit/summary', 'audit_summary'])
      expect(said(await admin.get(`${path}/${place}/users`))).toEqual({
        status: 200,
        data: [{ '2026-01-05': entry }],
        metadata: {},
      })
  })

  it('POST, DELETE …/services/{plan_id}: assign, change or remove a plan', async () => {
    const { account, path, plan } = await customer()
    const overrides = { plan: { devices: { sip_device: { rate: 2 } } } }
    expect(said(await world.ross.post(`${path}/${plan}`, { overrides }))).toEqual({
      status: 200,
      data: recordOf(account.id, plan, {
        plans: { [plan]: { vendor_id: world.reseller.id, overrides } },
        items: { devices: { sip_device: { ...item, rate: 2 } } },
      }),
      metadata: {},
    })
    expect(said(await world.ross.delete(`${path}/${plan}`))).toEqual({
      status: 200,
      data: recordOf(account.id, plan, { plans: {}, items: {} }),
      metadata: {},
    })
  })

  it('GET, POST, PATCH …/services/manual and …/overrides: the record', async () => {
    const { path } = await customer()
    const { ross } = world
    const records = [
      { place: 'manual', posted: { fax: { lines: 2 } }, patch: { fax: { boxes: 1 } } },
      { place: 'overrides', posted: { plan: prices }, patch: { category: 'gold' } },
    ]
    const merged = [{ fax: { lines: 2, boxes: 1 } }, { plan: prices, category: 'gold' }]
    for (const [index, { place, posted, patch }] of records.entries()) {
      const ok = { status: 200, metadata: {} }
      expect(said(await ross.get(`${path}/${place}`))).toEqual({ ...ok, data: {} })
      expect(said(await ross.post(`${path}/${place}`, posted))).toEqual({ ...ok, data: posted })
      expect(said(await ross.patch(`${path}/${place}`, patch))).toEqual({ ...ok, data: merged[index] })
      expect(said(await ross.get(`${path}/${place}`))).toEqual({ ...ok, data: merged[index] })
    }
  })

  it('POST …/services/quote: what plans would cost; nothing changes', async () => {
    const { account, admin, path, plan } = await customer()
    await world.device(account)
    const answer = await world.unchanged(() => admin.post(`${path}/quote`, { plans: [plan] }))
    expect(said(answer)).toEqual({
      status: 200,
      data: (await admin.get(`${path}/summary`)).data,
      metadata: {},
    })
    expect(answer.data.invoices[0].summary).toEqual({ today: 0, recurring: 1 })
  })

  it('POST …/services/reconciliation, /synchronization: done', async () => {
    const { path } = await customer()
    for (const name of ['reconciliation', 'synchronization'])
      expect(said(await world.ross.post(`${path}/${name}`, {}))).toEqual({
        status: 200,
        data: {},
        metadata: {},
      })
  })

  it('POST …/services/topup: what was booked', async () => {
    const { account, admin, path } = await customer()
    const answer = await world.ross.post(`${path}/topup`, { amount: 25 })
    expect(said(answer)).toEqual({
      status: 200,
      data: {
        ledger: {
          id: expect.stringMatching(/^202601-/),
          account: { id: account.id, name: account.name },
          source: { service: 'payments', id: expect.any(String) },
          usage: { type: 'topup', quantity: 1, unit: 'payment' },
          amount: 25,
          description: 'Manual top-up',
          period: { start: nowOf(world) },
          executor: { trigger: 'manual', module: 'topup' },
          audit: { available_units: 0 },
          created: nowOf(world),
          created_ms: nowOf(world) * 1000,
        },
      },
      metadata: {},
    })
    expect(await admin.get(`${account.path}/ledgers/total`)).toSucceedWith({ amount: 25 })
  })
})
