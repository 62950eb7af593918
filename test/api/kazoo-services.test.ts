// The services of accounts in Kazoo, and their bills after the import.
import { expect, it } from 'vitest'
import { convertMoney, emptyBook } from '../../import-kazoo/conversions/ledgers.rules.ts'
import { convertLimits } from '../../import-kazoo/conversions/limits.rules.ts'
import { convertPlan, convertRate } from '../../import-kazoo/conversions/pricing.rules.ts'
import { convertAudit, createDays, createUses } from '../../import-kazoo/conversions/service-usage.rules.ts'
import { convertServices } from '../../import-kazoo/conversions/services.rules.ts'
import type { Draft } from '../../import-kazoo/documents/document.ts'
import { checkAccounts, checkNames } from '../../src/commands/verification/accounts.sql.ts'
import { checkLedgers } from '../../src/commands/verification/ledgers.sql.ts'
import { checkDocuments } from '../../src/commands/verification/store.sql.ts'
import type { Fault } from '../../src/lib/check.ts'
import type { Json } from '../../src/lib/json.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { createAdopter } from '../support/kazoo/adopter.ts'
import { documentOf, documentOfText } from '../support/kazoo/kazoo-texts.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

const at = (text: string) => Date.parse(text) / 1000 + 62_167_219_200
const made = at('2025-12-10T12:00:00Z')

describeEngines('what was sold in Kazoo', (engine) => {
  const adopter = createAdopter()
  const world = useWorld(engine, undefined, undefined, { more: [adopter.area] })

  const adopt = (drafts: readonly Draft[]) => adopter.adopt(world.server.store, drafts)

  /** The clock moves by months, so each read uses a new token. */
  const operator = async () => world.clientWithToken(await world.tokenOf(world.master, world.operator.id))

  const read = async (
    { path }: Pick<TestAccount, 'path'>,
    place: string,
    query: Record<string, string> = {},
  ) => (await (await operator()).get(`${path}/${place}`, { query })).data

  const databaseOf = ({ id }: TestAccount) => `account/${id.slice(0, 2)}/${id.slice(2, 4)}/${id.slice(4)}`

  const planOf = (id: string, fields: Json = {}) =>
    convertPlan(
      documentOf(databaseOf(world.reseller), {
        _id: id,
        pvt_type: 'service_plan',
        name: 'Phones',
        plan: { devices: { sip_device: { rate: 4.25, activation_charge: 7 } } },
        pvt_created: made,
        ...fields,
      }),
      world.reseller.id,
    ).drafts

  const servicesOf = (account: TestAccount, planId: string, fields: Json = {}) =>
    convertServices(
      documentOf('services', {
        _id: account.id,
        pvt_type: 'service',
        pvt_vsn: '2',
        plans: { [planId]: { vendor_id: world.reseller.id, overrides: {} } },
        pvt_created: made,
        ...fields,
      }),
      {
        accounts: new Map([[account.id, { parent: world.reseller.id }]]),
        plans: new Map([[world.reseller.id, new Set([planId])]]),
      },
    ).drafts

  let plans = 0
  const nextPlanId = () => `${engine.length}${++plans}`.padStart(32, 'a')

  it('is sold here: plans, overrides and counts set by hand give the same invoice', async () => {
    const account = await world.account(world.reseller)
    const planId = nextPlanId()
    const drafts = [
      ...planOf(planId, {
        plan: { devices: { sip_device: { rate: 4.25 } }, support: { hours: { rate: 1 } } },
      }),
      ...servicesOf(account, planId, {
        plans: {
          [planId]: {
            vendor_id: world.reseller.id,
            overrides: { plan: { support: { hours: { rate: 2.5 } } } },
          },
        },
        quantities: { manual: { support: { hours: 3 } } },
      }),
    ]
    expect(await adopt(drafts)).toBe(2)
    expect(await adopt(drafts)).toBe(0)
    expect(await read(world.reseller, `service_plans/${planId}`)).toEqual({
      id: planId,
      name: 'Phones',
      plan: { devices: { sip_device: { rate: 4.25 } }, support: { hours: { rate: 1 } } },
    })
    const services = await read(account, 'services')
    expect(services).toMatchObject({
      plans: {
        [planId]: {
          vendor_id: world.reseller.id,
          overrides: { plan: { support: { hours: { rate: 2.5 } } } },
        },
      },
      quantities: { account: {}, cascade: {}, manual: { support: { hours: 3 } } },
      bookkeeper: { id: 'default_bookkeeper', type: 'default', vendor_id: world.reseller.id },
      in_good_standing: true,
      dirty: false,
    })
    const { invoices } = await read(account, 'services/summary')
    expect(invoices).toMatchObject([{ summary: { today: 0, recurring: 7.5 } }])
    // A plan that an account has can only go when no account has it.
    const refused = await (await operator()).delete(`${world.reseller.path}/service_plans/${planId}`)
    expect(refused.status).toBe(409)
  })

  it('is limited as it was, with trunks that are counted', async () => {
    const account = await world.account(world.reseller)
    const limits = (trunks: number) =>
      convertLimits(
        [
          documentOfText(
            databaseOf(account),
            `{"_id":"limits","pvt_type":"limits","twoway_trunks":${trunks},"pvt_allow_postpay":true,
              "pvt_max_postpay_amount":20.0,"pvt_created":${made}}`,
          ),
        ],
        account.id,
      ).flatMap(({ drafts }) => drafts)
    expect(await adopt(limits(5))).toBe(2)
    expect(await adopt(limits(5))).toBe(0)
    expect(await adopt(limits(3))).toBe(1)
    const answer = await (await operator()).get(`${account.path}/limits`)
    expect(answer.data).toMatchObject({ id: 'limits', twoway_trunks: 3 })
    expect(answer.body.metadata).toMatchObject({ created: made, allow_postpay: true, max_postpay_amount: 20 })
    const counted = async () => (await read(account, 'services')).account_quantities.limits
    expect(await counted()).toEqual({ twoway_trunks: 3 })
    const place = { accountId: account.id, id: account.id }
    expect(await adopter.remove(world.server.store, { as: 'limits', ...place })).toBe(true)
    expect(await counted()).toBeUndefined()
  })

  it('has used of its allotments what it used there', async () => {
    const account = await world.account(world.reseller)
    const [wishes, operatorLimits] = convertLimits(
      [
        documentOf(databaseOf(account), {
          _id: 'limits',
          pvt_type: 'limits',
          pvt_allotments: { did_us: { amount: 600, cycle: 'monthly' } },
          pvt_created: made,
        }),
      ],
      account.id,
    ).flatMap(({ drafts }) => drafts)
    const now = Math.floor(world.clock.now() / 1000) + 62_167_219_200
    const uses = createUses()
    const consumed = (id: string, seconds: unknown) =>
      uses.add(
        documentOf(databaseOf(account), {
          _id: id,
          pvt_type: 'allotment_consumption',
          classification: 'did_us',
          call_id: id,
          seconds,
          pvt_created: now - (now % 60),
        }),
      )
    expect([consumed('1', 60), consumed('2', '30'), consumed('3', 'x')]).toEqual([true, true, false])
    const drafts = [wishes, operatorLimits, ...uses.drafts(account.id)].filter((one) => one !== undefined)
    expect(await adopt(drafts)).toBe(3)
    expect(await adopt(drafts)).toBe(0)
    expect(await read(account, 'allotments/consumed')).toMatchObject({ did_us: { consumed: 90 } })
    const [use] = uses.drafts(account.id)
    expect(use && (await adopter.remove(world.server.store, use))).toBe(true)
    expect(use && (await adopter.remove(world.server.store, use))).toBe(false)
    expect(await read(account, 'allotments/consumed')).toMatchObject({ did_us: { consumed: 0 } })
  })

  it('is priced by the same decks', async () => {
    const rate = (id: string, deck: string, cost: unknown) =>
      convertRate(
        documentOf(deck, { _id: id, pvt_type: 'rate', prefix: '4930', rate_cost: cost, pvt_created: made }),
      ).drafts
    const drafts = [
      ...rate('DE-4930', 'ratedeck', '0.02'),
      ...rate('DE-4930', `ratedeck/gold-${engine}`, 0.0123456),
    ]
    expect(await adopt(drafts)).toBe(2)
    expect(await adopt(drafts)).toBe(0)
    const gold = await (await operator()).get('/v2/rates/number/+493012345678', {
      query: { ratedeck_id: `gold-${engine}` },
    })
    expect(gold.data).toMatchObject({ Rate: '123.456', 'Ratedeck-ID': `gold-${engine}`, Prefix: '4930' })
    const main = await (await operator()).get('/v2/rates/DE-4930')
    expect(main.data).toMatchObject({ id: 'DE-4930', prefix: 4930, rate_cost: 0.02, ratedeck_id: 'ratedeck' })
  })

  it('is remembered: entries and days', async () => {
    const account = await world.account(world.reseller)
    const document = documentOf(`${databaseOf(account)}-202512`, {
      _id: '202512-ab',
      pvt_type: 'audit_log',
      status: 'completed',
      audit: { changes: { type: ['account'] } },
      invoice: {
        items: [
          { category: 'devices', item: 'sip_device', quantity: 4, changes: { difference: { quantity: 3 } } },
        ],
        summary: { today: 0, recurring: 17 },
      },
      pvt_created: made,
    })
    const days = createDays()
    days.add(document)
    const drafts = [...convertAudit(document, account).drafts, ...days.drafts(account.id)]
    expect(await adopt(drafts)).toBe(2)
    expect(await adopt(drafts)).toBe(0)
    const window = { created_from: String(made - 60), created_to: String(made + 60) }
    expect(await read(account, 'services/audit', window)).toEqual([
      {
        id: '202512-ab',
        status: 'completed',
        type: ['account'],
        summary: { today: 0, recurring: 17 },
        created: made,
        created_ms: made * 1000,
      },
    ])
    expect(await read(account, 'services/audit/summary/sip_device', window)).toEqual([
      {
        '2025-12-10': { addition: 3, removal: 0, quantity: 4, last_timestamp: made, sum_quantity: false },
      },
    ])
    for (const draft of drafts) expect(await adopter.remove(world.server.store, draft)).toBe(true)
    for (const draft of drafts) expect(await adopter.remove(world.server.store, draft)).toBe(false)
    expect(await read(account, 'services/audit', window)).toEqual([])
    expect(await read(account, 'services/audit/summary', window)).toEqual([])
  })

  it('is sound: nothing that a verification looks for is wrong', async () => {
    const { store, areas } = world.server
    const account = await world.account(world.reseller)
    const planId = nextPlanId()
    const limits = documentOf(databaseOf(account), {
      ...{ _id: 'limits', pvt_type: 'limits', twoway_trunks: 3, pvt_created: made },
    })
    await adopt([
      ...planOf(planId),
      ...servicesOf(account, planId),
      ...convertLimits([limits], account.id).flatMap(({ drafts }) => drafts),
    ])
    await world.server.scheduler.runNow('quantities')
    const faults: Fault[] = []
    const checks = [
      checkLedgers(store),
      checkNames(store),
      checkDocuments(store, true),
      checkAccounts(store, areas.reconciliation.differences),
    ]
    for (const check of checks) await check.run((fault) => void faults.push(fault))
    expect(faults).toEqual([])
  })

  it('and billed there up to the cut-over is not billed again, and the next month is billed once', async () => {
    await world.configure('services', { own_topup_without_gateway: true })
    const jobs = ['ledger_months', 'monthly_bills', 'quantities', 'topup', 'transactions', 'dunning']
    const runAllJobs = async () => {
      for (const name of jobs) await world.server.scheduler.runNow(name)
    }
    const advanceTo = (unixMs: number) =>
      world.clock.advance({ seconds: Math.ceil((unixMs - world.clock.now()) / 1000) })
    const dayOfNextMonth = (day: number) => {
      const now = new Date(world.clock.now())
      return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, day)
    }
    // The server has billed before. The new month begins during the copy, while no scheduled job runs.
    await runAllJobs()
    const account = await world.account(world.reseller, { topup: { amount: 20, threshold: 5 } })
    advanceTo(dayOfNextMonth(10))
    const planId = nextPlanId()
    const now = new Date(world.clock.now())
    const month = now.getUTCFullYear() * 100 + now.getUTCMonth() + 1
    const today = Math.floor(world.clock.now() / 1000) + 62_167_219_200
    const booked = (id: string, amount: number, service: string, created: number) =>
      convertMoney(
        documentOf(`${databaseOf(account)}-${month}`, {
          _id: `${month}-${id}`,
          pvt_type: 'ledger',
          pvt_ledger_type: amount < 0 ? 'debit' : 'credit',
          amount: Math.abs(amount),
          source: { service, id: `of ${id}` },
          usage: { type: 'x', quantity: 1, unit: 'x' },
          pvt_created: created,
        }),
        {
          ...{ accountId: account.id, accountName: account.name, month, hasRollover: false },
          ...{ before: undefined, carriesOver: true },
        },
        emptyBook,
      ).drafts
    await adopt([
      ...planOf(planId, {
        plan: {
          devices: { sip_device: { rate: 4.25, activation_charge: 7 } },
          limits: { twoway_trunks: { rate: 1, activation_charge: 3, prorate: { additions: true } } },
        },
      }),
      ...servicesOf(account, planId, { quantities: { manual: { devices: { sip_device: 2 } } } }),
      ...convertLimits(
        [
          documentOf(databaseOf(account), {
            _id: 'limits',
            pvt_type: 'limits',
            twoway_trunks: 3,
            pvt_created: made,
          }),
        ],
        account.id,
      ).flatMap(({ drafts }) => drafts),
      ...booked('a1', 200_000, 'payments', today - 3600),
      ...booked('a2', -85_000, 'services', today - 7200),
      ...booked('a3', -70_000, 'per-minute-voip', today - 7200),
    ])
    const set = new ChangeSet({ requestId: 'import' })
    await world.server.areas.payments.takeOver(set)
    set.record({ accountId: world.master.id, kind: 'account', id: world.master.id, action: 'edited' })
    await world.server.store.adopt(set)
    await world.configure('topup', { enable: true })

    const total = async () => (await read(account, 'ledgers/total')).amount
    const spend = async (service: string) => {
      const data = {
        source: { service, id: String(world.clock.now()) },
        usage: { type: 'x', quantity: 1, unit: 'x' },
        amount: 0.1,
      }
      expect((await (await operator()).put(`${account.path}/ledgers/debit`, data)).status).toBe(201)
    }
    await runAllJobs()
    expect(await total()).toBe(4.5)
    // Less than the threshold is left, and Kazoo has topped the account up an hour ago.
    await spend('support')
    await runAllJobs()
    expect(await total()).toBe(4.4)
    // Before it changes counts, the server bills the accounts whose bill is still due.
    expect((await (await operator()).put(`${account.path}/devices`, { name: 'Phone' })).status).toBe(201)
    await runAllJobs()
    expect(await total()).toBe(4.4)
    expect(await read(account, 'invoices')).toEqual([])
    world.clock.advance({ hours: 24 })
    await spend('per-minute-voip')
    await runAllJobs()
    expect(await total()).toBe(24.3)

    advanceTo(dayOfNextMonth(1) + 60_000)
    await runAllJobs()
    await runAllJobs()
    expect(await total()).toBe(12.8)
    const [invoice, ...others] = await read(account, 'invoices')
    expect(others).toEqual([])
    const { total: sum, items } = await read(account, `invoices/${invoice.id}`)
    expect({ sum, items }).toMatchObject({
      sum: 11.6,
      items: [
        { source: 'services', category: 'devices', item: 'sip_device', quantity: 2, amount: 8.5 },
        { source: 'services', category: 'limits', item: 'twoway_trunks', quantity: 3, amount: 3 },
        // The usage here in the month that came from Kazoo.
        { source: 'usage', quantity: 1, amount: 0.1 },
      ],
    })
    expect(items).toHaveLength(3)
    expect(await read(account, 'ledgers/rollovers')).toMatchObject([{ amount: 24.3 }])
  })
})
