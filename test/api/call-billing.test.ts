// The cost of a call when its record arrives, the account that pays it, and the part that allotments cover.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

const day = 86_400

describeEngines('calls', (engine) => {
  const world = useWorld(engine)

  let decks = 0
  const newDeck = async (...rates: Json[]) => {
    decks += 1
    const ratedeck_id = `calls-${decks}`
    for (const rate of rates)
      expect(await world.operator.put('/v2/rates', { ratedeck_id, ...rate })).toSucceed()
    return ratedeck_id
  }

  const sellTo = async (account: TestAccount, fields: Json) => {
    const { data } = await world.operator.put(`${world.reseller.path}/service_plans`, {
      name: 'Calls',
      plan: {},
      ...fields,
    })
    expect(await world.ross.post(`${account.path}/services`, { add: [data.id] })).toSucceed()
  }

  const call = (account: TestAccount, fields: Json = {}, vars: Json = {}) =>
    legOf(account, nowOf(world) - 60, {
      call_direction: 'outbound',
      to: '+14155550100@carrier.test',
      from: '+14155550199@acme.test',
      caller_id_number: '+14155550199',
      callee_id_number: '+14155550100',
      billing_seconds: 30,
      ...fields,
      custom_channel_vars: { account_billing: 'per_minute', ...vars },
    })

  const costOf = async (account: TestAccount, leg: Json) => {
    const rows = (await world.operator.get(`${account.path}/cdrs`)).data as unknown as Json[]
    return rows.find(({ call_id }) => call_id === leg.call_id)
  }

  const entriesOf = async (account: TestAccount) =>
    (await world.ross.get(`${account.path}/ledgers/per-minute-voip`)).data as unknown as Json[]

  const total = async (account: TestAccount) =>
    (await world.operator.get(`${account.path}/ledgers/total`)).data.amount

  it('are taken from the ledger at the price that their record names', async () => {
    const account = await world.account(world.reseller)
    const leg = call(
      account,
      { billing_seconds: 61 },
      { rate: 120, rate_name: 'us', rate_increment: 6, rate_minimum: 60, rate_nocharge_time: 0 },
    )
    await sendLegs(world, [leg])
    const [entry, ...others] = await entriesOf(account)
    expect(others).toEqual([])
    expect(entry).toEqual({
      id: expect.stringMatching(/^202601-[0-9a-f]{32}$/),
      source: { service: 'per-minute-voip', id: leg.call_id },
      usage: { type: 'voice', quantity: 66, unit: 'sec' },
      amount: -0.0132,
      description: 'us',
      account: { id: account.id, name: account.name },
      period: { start: nowOf(world) - 60 - 61, end: nowOf(world) - 60 },
      metadata: {
        to: '+14155550100@carrier.test',
        from: '+14155550199@acme.test',
        direction: 'outbound',
        caller_id_number: '+14155550199',
        callee_id_number: '+14155550100',
        rate: { name: 'us', value: 120, increment: 6, minimum: 60, nocharge_time: 0 },
        billing_seconds: 61,
      },
      executor: { trigger: 'automatic', module: 'cdrs' },
      audit: { available_units: 0 },
      created: nowOf(world),
      created_ms: world.clock.now() + 62_167_219_200_000,
    })
    expect(await total(account)).toBe(-0.0132)
  })

  it('are paid once, however often their record comes', async () => {
    const account = await world.account(world.reseller)
    const [one, two] = [call(account, {}, { rate: 100 }), call(account, {}, { rate: 200 })]
    await sendLegs(world, [one])
    await world.unchanged(() => world.operator.put('/v2/cdrs', [one, one]))
    await world.operator.put('/v2/cdrs', [one, two])
    expect((await entriesOf(account)).map(({ amount }) => amount).toSorted()).toEqual([-0.01, -0.02])
    expect(await total(account)).toBe(-0.03)
  })

  it('lie in the ledger in the order of their times, whenever their records come', async () => {
    const account = await world.account(world.reseller)
    const at = [300, 60, 3600, 7200, 90]
    const legs = at.map((ago) => ({ ...call(account, {}, { rate: 100 }), timestamp: nowOf(world) - ago }))
    await sendLegs(world, legs.slice(0, 3))
    await sendLegs(world, legs.slice(3))
    const entries = (await entriesOf(account)) as { id: string; period: { end: number } }[]
    const byId = entries
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ period }) => nowOf(world) - period.end)
    expect(byId).toEqual(at.toSorted((a, b) => b - a))
  })

  it('that come together each say what was left before them', async () => {
    const account = await world.account(world.reseller)
    const legs = [100, 200, 300].map((rate) => call(account, {}, { rate }))
    await sendLegs(world, legs)
    const audits = (await entriesOf(account)).map(({ amount, audit }) => [
      amount,
      (audit as { available_units: number }).available_units,
    ])
    expect(audits.toSorted(([a], [b]) => Number(b) - Number(a))).toEqual([
      [-0.01, 0],
      [-0.02, -100],
      [-0.03, -300],
    ])
    const sums = (await world.ross.get(`${account.path}/ledgers`)).data
    expect(sums).toEqual({
      'per-minute-voip': { amount: -0.06, usage: { type: 'voice', quantity: 180, unit: 'sec' } },
    })
    const { all } = world.server.store
    const uneven =
      'SELECT entry_id FROM ledger_postings GROUP BY account_id, entry_id HAVING sum(amount) <> 0'
    expect(await all(uneven)).toEqual([])
  })

  it('without a price are priced by the longest prefix of the deck that the plan names', async () => {
    const account = await world.account(world.reseller)
    const deck = await newDeck(
      { prefix: 1, rate_cost: 0.05, rate_name: 'us' },
      { prefix: 1415, rate_cost: 0.01, rate_surcharge: 0.02, rate_name: 'bay', rate_increment: 6 },
      { prefix: 1415, rate_cost: 9, direction: ['inbound'], weight: 1 },
    )
    await sellTo(account, { ratedeck: { id: deck, name: 'Calls' } })
    const [bay, other] = [
      call(account, { billing_seconds: 61 }),
      call(account, { to: '+12125550100@carrier.test' }),
    ]
    await sendLegs(world, [bay, other])
    expect(await costOf(account, bay)).toMatchObject({ cost: '310', rate: '0.01', rate_name: 'bay' })
    expect(await costOf(account, other)).toMatchObject({ cost: '500', rate: '0.05', rate_name: 'us' })
    expect(await total(account)).toBe(-0.081)
    const price = await world.ross.get(`${account.path}/rates/number/+14155550100?direction=outbound`)
    expect(price.data).toMatchObject({ 'Ratedeck-ID': deck, 'Rate-Name': 'bay', Rate: '100' })
  })

  it('are priced for the number that was called, however the carrier was asked for it', async () => {
    const account = await world.account(world.reseller)
    const deck = await newDeck(
      { prefix: 1415, rate_cost: 0.01, rate_name: 'bay' },
      { prefix: 41, rate_cost: 9, rate_name: 'Switzerland' },
    )
    await sellTo(account, { ratedeck: { id: deck } })
    const asked = { to: '4155550100@carrier.test', callee_id_number: '4155550100' }
    const leg = call(account, asked, { e164_destination: '+14155550100' })
    await sendLegs(world, [leg])
    expect(await costOf(account, leg)).toMatchObject({ cost: '100', rate_name: 'bay' })
  })

  it('follow the deck of the reseller when the account has none, and the services before the plan', async () => {
    const reseller = await world.account()
    await world.operator.put(`${reseller.path}/reseller`, {})
    const account = await world.account(reseller)
    const [ofReseller, own] = [
      await newDeck({ prefix: 1, rate_cost: 0.03 }),
      await newDeck({ prefix: 1, rate_cost: 0.04 }),
    ]
    const deckFor = async () =>
      (await world.operator.get(`${account.path}/rates/number/+14155550100`)).data['Ratedeck-ID']
    await world.operator.put('/v2/rates', { prefix: 1415, rate_cost: 0.5 })
    expect(await deckFor()).toBe('ratedeck')
    await world.operator.post(`${reseller.path}/services`, { ratedeck: { id: ofReseller } })
    expect(await deckFor()).toBe(ofReseller)
    await world.operator.post(`${account.path}/services`, { ratedeck: { id: own } })
    expect(await deckFor()).toBe(own)
    const leg = call(account)
    await sendLegs(world, [leg])
    expect(await costOf(account, leg)).toMatchObject({ cost: '400' })
  })

  it('cost exactly what their rate says, also where that is no whole number of units', async () => {
    const account = await world.account(world.reseller)
    const deck = await newDeck({ prefix: 1, rate_cost: 0.000_45, rate_increment: 1, rate_minimum: 1 })
    await sellTo(account, { ratedeck: { id: deck } })
    const leg = call(account, { billing_seconds: 600, duration_seconds: 600 })
    await sendLegs(world, [leg])
    expect(await costOf(account, leg)).toMatchObject({ cost: '45' })
    const id = (await costOf(account, leg))?.id
    const { data } = await world.operator.get(`${account.path}/cdrs/${id}`)
    expect(data.custom_channel_vars).toMatchObject({ rate: 5, exact_rate: '4.5' })
  })

  it('cost what the look-up of the rate said, also where the record brings it with decimals', async () => {
    const account = await world.account(world.reseller)
    const deck = await newDeck({ prefix: 1, rate_cost: 0.004_35, rate_surcharge: 0.000_15, rate_minimum: 1 })
    await sellTo(account, { ratedeck: { id: deck } })
    const { data: rate } = await world.operator.get(`${account.path}/rates/number/+14155550100`)
    expect([rate.Rate, rate.Surcharge]).toEqual(['43.5', '1.5'])
    const priced = (vars: Json) => call(account, { billing_seconds: 600, duration_seconds: 600 }, vars)
    const minutes = { rate_increment: 60, rate_minimum: 60 }
    const legs = [
      priced({ ...minutes, rate: rate.Rate, surcharge: rate.Surcharge }),
      priced({ ...minutes, rate: 43.5, surcharge: 1.5 }),
      priced({ ...minutes, rate: '43.0', surcharge: 0 }),
      priced({ ...minutes, rate: 43.333_333_333_333_336, surcharge: 0 }),
      priced({ ...minutes, rate: 43.5, exact_rate: '99.9', surcharge: 0 }),
    ]
    await sendLegs(world, legs)
    const found = await Promise.all(legs.map((leg) => costOf(account, leg)))
    expect(found.map((leg) => leg?.cost)).toEqual(['436', '436', '430', '433', '999'])
    const { data } = await world.operator.get(`${account.path}/cdrs/${found[0]?.id}`)
    expect(data.custom_channel_vars).toMatchObject({
      rate: 44,
      exact_rate: '43.5',
      surcharge: 2,
      exact_surcharge: '1.5',
    })
  })

  it('for which there is no rate cost nothing', async () => {
    const account = await world.account(world.reseller)
    const deck = await newDeck({ prefix: 44, rate_cost: 1 })
    await sellTo(account, { ratedeck: { id: deck } })
    const legs = [call(account), call(account, { to: 'alice@acme.test', callee_id_number: 'alice' })]
    await sendLegs(world, legs)
    for (const leg of legs) expect(await costOf(account, leg)).toMatchObject({ cost: '0' })
    expect(await entriesOf(account)).toEqual([])
  })

  it('are cheaper by what the operator takes off for their kind of number', async () => {
    const account = await world.account(world.reseller)
    const deck = await newDeck({ prefix: 1, rate_cost: 0.01 })
    await sellTo(account, { ratedeck: { id: deck }, limits: { discounts: { did_us: { percentage: 15 } } } })
    const [local, free] = [call(account), call(account, { to: '+18005550100@carrier.test' })]
    await sendLegs(world, [local, free])
    expect(await costOf(account, local)).toMatchObject({ cost: '85' })
    expect(await costOf(account, free)).toMatchObject({ cost: '100' })
  })

  it('that the reseller pays by the minute are taken from the reseller, for the account', async () => {
    const account = await world.account(world.reseller)
    const before = await total(world.reseller)
    await sendLegs(world, [
      call(account, {}, { account_billing: 'flat_rate', reseller_billing: 'per_minute', rate: 100 }),
      call(account, {}, { reseller_billing: 'per_minute', rate: 50 }),
    ])
    expect(await total(account)).toBe(-0.005)
    expect(Number(await total(world.reseller)) - Number(before)).toBeCloseTo(-0.015, 10)
    const { breakdown } = (await world.ross.get(`${world.reseller.path}/ledgers/summary/202601`)).data
    expect(breakdown).toContainEqual({
      account: { id: account.id, name: account.name },
      ledgers: {
        'per-minute-voip': { amount: -0.015, usage: { type: 'voice', quantity: 120, unit: 'sec' } },
      },
      total: -0.015,
    })
  })

  it('that were paid elsewhere are stored and not charged again', async () => {
    const account = await world.account(world.reseller)
    const leg = call(account, {}, { rate: 100 })
    async function* history() {
      yield [{ line: 1, record: leg }]
    }
    const report = await world.server.areas.cdrs.intake.take({ requestId: 'test' }, history(), {
      paid: 'elsewhere',
    })
    expect(report.accepted).toBe(1)
    expect(await costOf(account, leg)).toMatchObject({ cost: '100' })
    expect(await total(account)).toBe(0)
  })
})

describeEngines('allotments', (engine) => {
  const world = useWorld(engine)

  const monthly = { amount: 6000, cycle: 'monthly' }

  const included = (account: TestAccount, seconds: number, billing: string, fields: Json = {}) =>
    legOf(account, nowOf(world) - 60, {
      call_direction: 'outbound',
      to: '+14155550100@carrier.test',
      billing_seconds: seconds,
      ...fields,
      custom_channel_vars: { account_billing: billing },
    })

  it('are set by the reseller and read by the account', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const path = `${account.path}/allotments`
    expect(await admin.get(path)).toSucceedWith({})
    const table = { did_us: { ...monthly, increment: 60, minimum: 60, no_consume_time: 5 } }
    expect(await world.ross.post(path, table)).toSucceedWith(table)
    expect(await admin.get(path)).toSucceedWith(table)
    expect(await world.unchanged(() => admin.post(path, {}))).toFailWith(403, 'forbidden')
    const other = await world.ross.get(`${account.path}/limits/operator`)
    expect(other.data).toEqual({ allotments: table })
  })

  it('are refused when they make no sense, each mistake by its path', async () => {
    const account = await world.account(world.reseller)
    for (const [table, path, rule] of [
      [{ did_us: { cycle: 'monthly' } }, 'did_us.amount', 'required'],
      [{ did_us: { amount: -1, cycle: 'monthly' } }, 'did_us.amount', 'minimum'],
      [{ did_us: { amount: 1, cycle: 'yearly' } }, 'did_us.cycle', 'enum'],
      [{ did_us: { ...monthly, increment: 0 } }, 'did_us.increment', 'minimum'],
    ] as const) {
      const answer = await world.unchanged(() => world.ross.post(`${account.path}/allotments`, table))
      expect(answer.status).toBe(400)
      expect(Object.keys(answer.data[path] as object)).toContain(rule)
    }
  })

  it('return 400 for the consumption when none are configured', async () => {
    const account = await world.account(world.reseller)
    expect(await world.ross.get(`${account.path}/allotments/consumed`)).toFailWith(
      400,
      'allotments are not configured for this account yet',
    )
  })

  it('are used by calls that the switch let in for them, as their steps say', async () => {
    const account = await world.account(world.reseller)
    await world.ross.post(`${account.path}/allotments`, {
      did_us: { ...monthly, increment: 60, minimum: 120, no_consume_time: 5 },
      inbound_did_us: { amount: 60, cycle: 'daily' },
      tollfree_us: { amount: 60, cycle: 'hourly', group_consume: ['inbound_did_us'] },
    })
    const legs = [
      included(account, 5, 'allotment_did_us'),
      included(account, 6, 'allotment_did_us'),
      included(account, 121, 'allotment'),
      included(account, 40, 'allotment', { call_direction: 'inbound', request: '+14155550100@acme.test' }),
      included(account, 600, 'flat_rate'),
      included(account, 600, 'per_minute'),
    ]
    await sendLegs(world, legs)
    await world.unchanged(() => world.operator.put('/v2/cdrs', legs))
    const start = nowOf(world) - 12 * 3600
    const answer = await world.ross.get(`${account.path}/allotments/consumed`)
    expect(answer).toSucceedWith({
      did_us: {
        cycle: 'monthly',
        consumed_from: start - 4 * day,
        consumed_to: start + 27 * day,
        consumed: 120 + 180,
      },
      inbound_did_us: { cycle: 'daily', consumed_from: start, consumed_to: start + day, consumed: 40 },
      tollfree_us: {
        cycle: 'hourly',
        consumed_from: nowOf(world),
        consumed_to: nowOf(world) + 3600,
        consumed: 0,
      },
    })
  })

  it('tell what was used in any time that is asked for', async () => {
    const account = await world.account(world.reseller)
    await world.ross.post(`${account.path}/allotments`, { did_us: { amount: 60, cycle: 'minutely' } })
    await sendLegs(world, [included(account, 30, 'allotment_did_us')])
    const consumed = (from: number, to: number) =>
      world.ross.get(`${account.path}/allotments/consumed?created_from=${from}&created_to=${to}`)
    const now = nowOf(world)
    expect(await consumed(now - 3600, now)).toSucceedWith({
      did_us: { cycle: 'manual', consumed_from: now - 3600, consumed_to: now, consumed: 30 },
    })
    expect((await consumed(now - 7200, now - 3600)).data.did_us).toMatchObject({ consumed: 0 })
    expect((await world.ross.get(`${account.path}/allotments/consumed`)).data.did_us).toMatchObject({
      consumed: 0,
    })
  })
})
