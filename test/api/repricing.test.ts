// The effects of an edited plan on the accounts that have it.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

describeAnyEngine('an edited plan', (engine) => {
  const world = useWorld(engine)

  const priced = (rate: number) => ({ devices: { sip_device: { rate, activation_charge: 5 } } })
  const plansOfReseller = () => `${world.reseller.path}/service_plans`

  const makePlan = async (rate: number) => {
    const { data } = await world.ross.put(plansOfReseller(), { name: 'Plan', plan: priced(rate) })
    return { id: data.id as string, path: `${plansOfReseller()}/${data.id}` }
  }

  const customer = async (planId: string, phones = 2) => {
    const account = await world.account(world.reseller)
    await world.ross.post(`${account.path}/services`, { add: [planId] })
    await world.ross.post(`${account.path}/services/manual`, { devices: { sip_device: phones } })
    return account
  }

  const tellAll = () => world.server.scheduler.runNow('repricing')

  const waiting = () =>
    world.server.store.all("SELECT id FROM work WHERE kind = 'repricing' AND state = 'waiting'")

  const audit = async ({ path }: TestAccount, query = '') => {
    const { data } = await world.ross.get(`${path}/services/audit?ascending=true${query}`)
    return (data as unknown as Json[]).filter(({ type }) => (type as string[]).includes('plan'))
  }

  it('leaves an audit entry for each account whose price it changes', async () => {
    const plan = await makePlan(3)
    const [one, other, overridden] = [
      await customer(plan.id),
      await customer(plan.id),
      await customer(plan.id),
    ]
    const stranger = await customer((await makePlan(3)).id)
    await world.ross.post(`${overridden.path}/services/overrides`, { plan: priced(7) })
    expect((await world.ross.patch(plan.path, { plan: priced(4) })).status).toBe(200)
    await tellAll()
    for (const account of [one, other]) {
      const rows = await audit(account)
      expect(rows.map(({ summary }) => summary)).toEqual([{ today: 0, recurring: 8 }])
      const { data } = await world.ross.get(`${account.path}/services/audit/${rows[0]?.id}`)
      expect(data.audit).toEqual({
        account: { id: account.id, name: account.name },
        changes: { type: ['plan'], account_id: world.reseller.id, account_name: 'Reseller' },
        authentication: expect.objectContaining({ account_id: world.reseller.id }),
        agent: expect.objectContaining({ type_id: world.ross.id }),
        request: expect.objectContaining({ method: 'PATCH', path: plan.path }),
      })
      expect(data.invoice).toMatchObject({
        items: [{ changes: { type: 'modified', difference: { rate: 1 } }, total: 8 }],
        activation_charges: [],
      })
    }
    for (const account of [overridden, stranger]) expect(await audit(account)).toEqual([])
  })

  it('is reported once for each edit, in the order of the edits', async () => {
    const plan = await makePlan(1)
    const account = await customer(plan.id)
    for (const rate of [2, 5, 3]) await world.ross.post(plan.path, { name: 'Plan', plan: priced(rate) })
    await world.ross.patch(plan.path, { description: 'No other price' })
    for (const _ of [1, 2]) await tellAll()
    const rows = await audit(account)
    expect(rows.map(({ summary }) => (summary as Json).recurring)).toEqual([4, 10, 6])
    expect((await world.ross.get(`${account.path}/ledgers/total`)).data).toEqual({ amount: 0 })
  })

  it('reaches more accounts than one batch notifies, each of them once', async () => {
    const plan = await makePlan(1)
    const accounts: TestAccount[] = []
    for (let count = 0; count < 53; count += 1) accounts.push(await customer(plan.id))
    await world.ross.patch(plan.path, { plan: priced(2) })
    await tellAll()
    for (const account of accounts) expect(await audit(account)).toHaveLength(1)
    expect(await waiting()).toEqual([])
  })

  it('does not keep an account that is gone, or has the plan no more, from others', async () => {
    const plan = await makePlan(1)
    const [gone, without, kept] = [await customer(plan.id), await customer(plan.id), await customer(plan.id)]
    await world.ross.patch(plan.path, { plan: priced(2) })
    await world.operator.delete(gone.path)
    await world.ross.delete(`${without.path}/services/${plan.id}`)
    await tellAll()
    expect(await audit(kept)).toHaveLength(1)
    expect(await waiting()).toEqual([])
  })
})
