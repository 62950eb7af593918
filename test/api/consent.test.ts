// Reference 03 section 1.11 and reference 05 section 6: every area asks alike before something costs more.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeEngines, useWorld } from '../support/world.ts'

describeEngines('consent to charges', (engine) => {
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
})
