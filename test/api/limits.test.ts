// How many calls accounts may have, and what is included in their plans.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import type { TestAccount } from '../support/world/world.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const standard = {
  id: 'limits',
  twoway_trunks: 0,
  inbound_trunks: 0,
  outbound_trunks: 0,
  burst_trunks: 0,
  calls: -1,
  resource_consuming_calls: -1,
  allow_prepay: true,
  authz_resource_types: [],
}

const standardInForce = {
  enabled: true,
  twoway_trunks: 0,
  inbound_trunks: 0,
  outbound_trunks: 0,
  burst_trunks: 0,
  calls: -1,
  resource_consuming_calls: -1,
  allow_prepay: true,
  allow_postpay: false,
  max_postpay_amount: 0,
  reserve_amount: 0.5,
  soft_limit_inbound: false,
  soft_limit_outbound: false,
  authz_resource_types: [],
}

const refusal = { message: 'Please contact your phone provider to add limits.' }

describeAnyEngine('limits', (engine) => {
  const world = useWorld(engine)

  const planFor = async (account: TestAccount, fields: Json) => {
    const plan = { name: 'Plan', plan: {}, ...fields }
    const made = await world.operator.put(`${world.reseller.path}/service_plans`, plan)
    expect(made.status).toBe(201)
    const assigned = await world.ross.post(`${account.path}/services`, { add: [made.data.id] })
    expect(assigned.status).toBe(200)
  }

  const limitsOf = (account: TestAccount) => `${account.path}/limits`

  it('have their standard values until they are set', async () => {
    const account = await world.account(world.reseller)
    const answer = await world.ross.get(limitsOf(account))
    expect(answer.status).toBe(200)
    expect(answer.data).toEqual(standard)
    expect(answer.body.metadata).toEqual({
      id: 'limits',
      allow_postpay: false,
      max_postpay_amount: 0,
      effective: standardInForce,
    })
  })

  it('are set by the reseller of an account', async () => {
    const account = await world.account(world.reseller)
    const answer = await world.ross.post(limitsOf(account), { twoway_trunks: 3, calls: 10 })
    expect(answer.status).toBe(200)
    expect(answer.data).toEqual({ ...standard, twoway_trunks: 3, calls: 10 })
    expect(answer.body.metadata.effective).toEqual({ ...standardInForce, twoway_trunks: 3, calls: 10 })
    expect((await world.ross.get(limitsOf(account))).data).toEqual(answer.data)
  })

  it('are not set by an account below a reseller; the error refers to the phone provider', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const answer = await world.unchanged(() => admin.post(limitsOf(account), { twoway_trunks: 1 }))
    expect(answer).toFailWith(403, 'forbidden', refusal)
  })

  it('are set by an account that buys from the operator, for itself alone', async () => {
    const account = await world.account()
    const below = await world.account(account)
    const admin = await world.admin(account)
    expect((await admin.post(limitsOf(account), { inbound_trunks: 2 })).data.inbound_trunks).toBe(2)
    const answer = await world.unchanged(() => admin.post(limitsOf(below), { inbound_trunks: 2 }))
    expect(answer).toFailWith(403, 'forbidden', refusal)
  })

  it('are whole numbers from -1 on', async () => {
    const account = await world.account(world.reseller)
    for (const [value, rule] of [
      [-2, 'minimum'],
      ['x', 'type'],
      [1.5, 'type'],
    ] as const) {
      const answer = await world.unchanged(() => world.ross.post(limitsOf(account), { twoway_trunks: value }))
      expect(answer.status).toBe(400)
      expect(Object.keys(answer.data.twoway_trunks)).toEqual([rule])
    }
  })

  it('accept restrictions of calls that accounts accept, and report that these have no effect', async () => {
    const account = await world.account(world.reseller)
    const deny = { action: 'deny' }
    const wrong = { call_restriction: { toll_us: { action: 'allow' }, made_up: { action: 'allow' } } }
    for (const path of [account.path, limitsOf(account)]) {
      const refused = await world.refused(() => world.ross.post(path, { name: account.id, ...wrong }))
      expect(refused).toBreak({ 'call_restriction.toll_us.action': ['enum'] })
    }
    const call_restriction = { toll_us: deny, undefined: deny, closed_groups: deny }
    const answer = await world.ross.post(limitsOf(account), { call_restriction })
    const kept = { ...standard, call_restriction: { toll_us: deny, closed_groups: deny } }
    expect(answer).toSucceedWith(kept)
    expect(answer.body.metadata.warnings).toEqual([
      {
        path: 'call_restriction.undefined',
        message: 'No class of numbers has this name: the key was dropped',
      },
      {
        path: 'call_restriction',
        message: 'Has no effect in limits: set it on the account, a user or a device',
      },
    ])
    expect(await world.ross.get(limitsOf(account))).toSucceedWith(kept)
  })

  it('cost the price of the plan for trunks, and need consent first', async () => {
    const account = await world.account()
    const admin = await world.admin(account)
    const plan = { name: 'Trunks', plan: { limits: { twoway_trunks: { rate: 20 } } } }
    const made = await world.operator.put(`${world.master.path}/service_plans`, plan)
    await world.operator.post(`${account.path}/services`, { add: [made.data.id] })
    const answer = await world.unchanged(() => admin.post(limitsOf(account), { twoway_trunks: 5 }))
    expect(answer.status).toBe(402)
    expect(answer.body.message).toBe('accept charges')
    expect(answer.data[0].summary).toEqual({ today: 0, recurring: 100 })
    const accepted = await admin.post(limitsOf(account), undefined, {
      body: JSON.stringify({ data: { twoway_trunks: 5 }, accept_charges: true }),
    })
    expect(accepted.data.twoway_trunks).toBe(5)
    const services = (await admin.get(`${account.path}/services`)).data
    expect(services.account_quantities.limits).toEqual({ twoway_trunks: 5 })
    expect((await admin.post(limitsOf(account), { twoway_trunks: 2 })).status).toBe(200)
    expect((await admin.post(limitsOf(account), { twoway_trunks: -1 })).status).toBe(200)
    expect((await admin.get(`${account.path}/services`)).data.account_quantities).not.toHaveProperty('limits')
  })

  it('are the same after a recount', async () => {
    const account = await world.account(world.reseller)
    await world.ross.post(limitsOf(account), { inbound_trunks: 7, outbound_trunks: 2, twoway_trunks: -1 })
    const before = (await world.ross.get(`${account.path}/services`)).data.account_quantities
    expect(before.limits).toEqual({ inbound_trunks: 7, outbound_trunks: 2 })
    expect((await world.ross.post(`${account.path}/services/reconciliation`)).status).toBe(200)
    expect((await world.ross.get(`${account.path}/services`)).data.account_quantities).toEqual(before)
  })

  it('do not let an account allow itself to pay later', async () => {
    const account = await world.account()
    const admin = await world.admin(account)
    const answer = await admin.post(limitsOf(account), { allow_postpay: true, max_postpay_amount: 100 })
    expect(answer.status).toBe(200)
    expect(answer.data).toEqual(standard)
    expect(answer.body.metadata).toMatchObject({ allow_postpay: false, max_postpay_amount: 0 })
  })

  it('of the operator hold back those of the account, by plan or for the account alone', async () => {
    const account = await world.account(world.reseller)
    const operator = `${limitsOf(account)}/operator`
    await planFor(account, {
      limits: { twoway_trunks: 4, calls: 20, allow_postpay: true, max_postpay_amount: 50 },
    })
    await world.ross.post(limitsOf(account), { twoway_trunks: 9, calls: -1 })
    const effective = async () => (await world.ross.get(limitsOf(account))).body.metadata.effective
    expect(await effective()).toMatchObject({
      twoway_trunks: 4,
      calls: 20,
      allow_postpay: true,
      max_postpay_amount: 50,
    })
    expect((await world.ross.get(operator)).data).toEqual({})
    expect((await world.ross.post(operator, { twoway_trunks: 6 })).data).toEqual({ twoway_trunks: 6 })
    const patched = await world.ross.patch(operator, { calls: 5, soft_limit_inbound: true })
    expect(patched.data).toEqual({ twoway_trunks: 6, calls: 5, soft_limit_inbound: true })
    expect(await effective()).toMatchObject({ twoway_trunks: 6, calls: 5, soft_limit_inbound: true })
  })

  it('of the operator may add a trunk for each device', async () => {
    const account = await world.account(world.reseller)
    await world.device(account)
    await world.device(account)
    await world.device(account, { enabled: false })
    await world.ross.post(`${limitsOf(account)}/operator`, { bundled_inbound_trunks: 'device' })
    const { metadata } = (await world.ross.get(limitsOf(account))).body
    expect(metadata.effective).toMatchObject({ inbound_trunks: 2 })
  })

  it('of the operator are not for the account to read or set', async () => {
    const account = await world.account()
    const admin = await world.admin(account)
    const operator = `${limitsOf(account)}/operator`
    expect(await admin.get(operator)).toFailWith(403, 'forbidden')
    for (const attempt of [() => admin.post(operator, {}), () => admin.patch(operator, { calls: 1 })])
      expect(await world.unchanged(attempt)).toFailWith(403, 'forbidden')
  })

  it('of the operator list numbers and blocks that the account may show', async () => {
    const account = await world.account(world.reseller)
    const operator = `${limitsOf(account)}/operator`
    const caller_ids = ['+4930123', '+493099*', '*']
    expect((await world.ross.post(operator, { caller_ids })).data).toEqual({ caller_ids })
    const wrong = ['+49 30', '+49*30', 'acme', '**']
    const answer = await world.unchanged(() => world.ross.post(operator, { caller_ids: wrong }))
    expect(answer).toBreak(Object.fromEntries(wrong.map((_, index) => [`caller_ids.${index}`, ['pattern']])))
    expect(answer.data['caller_ids.0'].pattern.message).toBe(
      'Must be a number (+49301234567), a block (+4930123*) or *',
    )
  })

  it('of the operator name money to the unit', async () => {
    const account = await world.account(world.reseller)
    const answer = await world.unchanged(() =>
      world.ross.post(`${limitsOf(account)}/operator`, { max_postpay_amount: 0.00001 }),
    )
    expect(answer).toFailWith(400, 'validation error', {
      max_postpay_amount: { decimals: { message: 'Money has at most 4 decimals', target: 4 } },
    })
  })

  it('let the balance of a prepaid account go as far below nothing as the operator allows', async () => {
    const reseller = await world.account()
    await world.operator.put(`${reseller.path}/reseller`, {})
    const [account, admin] = [await world.account(reseller), await world.admin(reseller)]
    await world.prepay(reseller)
    let id = 0
    const debit = (amount: number) => {
      const data = {
        source: { service: 'X', id: `${++id}` },
        usage: { type: 'cycle', quantity: 1, unit: 'Hz' },
        amount,
      }
      const body = JSON.stringify({ data, impact_reseller: true })
      return admin.put(`${account.path}/ledgers/debit`, undefined, { body })
    }
    expect((await world.unchanged(() => debit(1))).status).toBe(402)
    const postpay = { prepaid: true, allow_postpay: true, max_postpay_amount: 10 }
    await world.operator.post(`${limitsOf(reseller)}/operator`, postpay)
    expect((await debit(10)).status).toBe(201)
    expect((await world.unchanged(() => debit(0.0001))).status).toBe(402)
  })
})
