// The amount that is due at once for the rest of a month, and the taxes on purchases of accounts.
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import type { Person, TestAccount } from '../support/world/world.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const vat = { name: 'VAT', rate: 20, tax_id: 'vat' }
const vatRow = { ...vat, inclusive: false }
const californian = { name: 'CA sales tax', rate: 7.25, tax_id: 'ca', jurisdiction: 'US-CA' }

describeAnyEngine('proration and taxes', (engine) => {
  const world = useWorld(engine)

  const planOf = async (item: Json) => {
    const plan = { devices: { sip_device: item } }
    const made = await world.ross.put(`${world.reseller.path}/service_plans`, { name: 'Plan', plan })
    expect(made.status).toBe(201)
    return made.data.id as string
  }

  const customer = async (item: Json, services: Json = {}) => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const plan = await planOf(item)
    const answer = await world.ross.post(`${account.path}/services`, { add: [plan], ...services })
    expect(answer.status).toBe(200)
    await world.credit(account, 1000)
    return { account, admin, plan }
  }

  const addPhone = (who: Person, account: TestAccount, fields: Json = {}) =>
    who.put(`${account.path}/devices`, { name: 'Phone', ...fields })

  const summaryOf = async (who: Person, account: TestAccount) =>
    (await who.get(`${account.path}/services/summary`)).data.invoices[0]

  /** Days left of the clock's month and all of them, today counted. */
  const daysLeft = () => {
    const now = new Date(world.clock.now())
    const last = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 0)).getUTCDate()
    return { days: last - now.getUTCDate() + 1, days_in_month: last }
  }

  it('show in the 402 what an addition costs for the rest of the month, with its taxes', async () => {
    const { account, admin, plan } = await customer({
      rate: 31,
      activation_charge: 5,
      prorate: { additions: true, removals: true },
      taxes: [vat],
    })
    const left = daysLeft()
    const units = Math.round((310_000 * left.days) / left.days_in_month)
    const total = units / 10_000
    const tax = Math.round(units * 0.2) / 10_000
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
            rate: 31,
            prorate: { additions: true, removals: true },
            taxes: [{ ...vatRow, base: 31, amount: 6.2 }],
            total: 31,
            changes: { type: 'modified', difference: { quantity: 1, billable: 1 } },
          },
        ],
        activation_charges: [
          {
            category: 'devices',
            item: 'sip_device',
            name: 'devices/sip_device',
            quantity: 1,
            billable: 1,
            rate: 5,
            taxes: [{ ...vatRow, base: 5, amount: 1 }],
            total: 5,
          },
        ],
        prorations: [
          {
            category: 'devices',
            item: 'sip_device',
            name: 'devices/sip_device',
            quantity: 1,
            billable: 1,
            rate: 31,
            recurring: 31,
            ...left,
            taxes: [{ ...vatRow, base: total, amount: tax }],
            total,
          },
        ],
        taxes: [
          {
            ...vatRow,
            base: 31,
            amount: 6.2,
            today: { base: (units + 50_000) / 10_000, amount: (tax * 10_000 + 10_000) / 10_000 },
          },
        ],
        summary: {
          today: (units + tax * 10_000 + 60_000) / 10_000,
          recurring: 31,
          taxes: 6.2,
          total: 37.2,
        },
        plan: (await world.ross.get(`${world.reseller.path}/service_plans/${plan}`)).data.plan,
        bookkeeper: { id: 'default_bookkeeper', type: 'default', vendor_id: world.reseller.id },
      },
    ])
    expect((await addPhone(admin, account, { accept_charges: true })).status).toBe(201)
    const booked = async (ledger: string) =>
      ((await admin.get(`${account.path}/ledgers/${ledger}`)).data as unknown as Json[]).map((entry) => [
        entry.description,
        entry.amount,
      ])
    expect(await booked('services')).toEqual([['Activation of 1 devices/sip_device', -5]])
    expect(await booked('prorations')).toEqual([
      [`1 devices/sip_device for ${left.days} of ${left.days_in_month} days`, -total],
    ])
    expect(await booked('taxes')).toEqual([['VAT 20%', -(tax * 10_000 + 10_000) / 10_000]])
  })

  it('ask for nothing when something goes', async () => {
    const { account, admin } = await customer({ rate: 31, prorate: { additions: true, removals: true } })
    const phone = await addPhone(admin, account, { accept_charges: true })
    expect((await admin.delete(`${account.path}/devices/${phone.data.id}`)).status).toBe(200)
    expect((await summaryOf(admin, account)).summary).toEqual({ today: 0, recurring: 0 })
    expect((await admin.get(`${account.path}/ledgers/total`)).data).toEqual({ amount: 1000 })
  })

  it('are quoted as they will stand', async () => {
    const account = await world.account(world.reseller)
    await world.device(account)
    const plan = await planOf({ rate: 12, taxes: [{ ...vat, inclusive: true }, californian] })
    const asked = { add: [plan], tax: { jurisdiction: 'US-CA' } }
    const { invoices } = (await world.ross.post(`${account.path}/services/quote`, asked)).data
    expect(invoices[0].summary).toEqual({ today: 0, recurring: 12, taxes: 0.725, total: 12.725 })
    expect(invoices[0].taxes).toEqual([
      { ...vatRow, inclusive: true, base: 10, amount: 2 },
      { ...californian, inclusive: false, base: 10, amount: 0.725 },
    ])
    await world.ross.post(`${account.path}/services`, asked)
    expect((await summaryOf(world.ross, account)).items).toEqual(invoices[0].items)
  })

  it('apply where the account is located, and not to exempt accounts', async () => {
    const { account } = await customer({ rate: 10, taxes: [vat, californian] }, { add: [] })
    const plan = await planOf({ rate: 10, taxes: [vat, californian] })
    await world.device(account)
    const path = `${account.path}/services`
    const taxesOf = async (tax: Json) => {
      const answer = await world.ross.post(path, { delete: [], plans: [plan], tax })
      expect(answer.data.tax).toEqual(tax)
      expect((await world.ross.get(path)).data.tax).toEqual(tax)
      const { taxes, summary } = await summaryOf(world.ross, account)
      return [taxes.map(({ tax_id: id }: Json) => id), summary]
    }
    const plain = { today: 0, recurring: 10 }
    expect(await taxesOf({})).toEqual([['vat'], { ...plain, taxes: 2, total: 12 }])
    expect(await taxesOf({ jurisdiction: 'US-CA' })).toEqual([
      ['vat', 'ca'],
      { ...plain, taxes: 2.725, total: 12.725 },
    ])
    expect(await taxesOf({ jurisdiction: 'US-NV' })).toEqual([['vat'], { ...plain, taxes: 2, total: 12 }])
    expect(await taxesOf({ jurisdiction: 'US-CA', exempt: ['vat'], exemption_number: 'X-1' })).toEqual([
      ['ca'],
      { ...plain, taxes: 0.725, total: 10.725 },
    ])
    expect(await taxesOf({ jurisdiction: 'US-CA', exempt: true })).toEqual([[], plain])
  })

  it('of an account are its reseller’s to say', async () => {
    const { account, admin } = await customer({ rate: 10, taxes: [vat] })
    const answer = await world.unchanged(() =>
      admin.post(`${account.path}/services`, { tax: { exempt: true } }),
    )
    expect(answer).toFailWith(403, 'forbidden')
  })

  it('of an account merge when asked to, and leave an audit entry where they change a price', async () => {
    const { account } = await customer({ rate: 10, taxes: [vat] }, { tax: { jurisdiction: 'US' } })
    const path = `${account.path}/services`
    const body = JSON.stringify({ data: { tax: { exempt: ['vat'] } }, merge: true })
    const answer = await world.ross.post(path, undefined, { body })
    expect(answer.data.tax).toEqual({ jurisdiction: 'US', exempt: ['vat'] })
    const rows = (await world.ross.get(`${path}/audit`)).data as unknown as Json[]
    const entries = await Promise.all(
      rows.map(async ({ id }) => (await world.ross.get(`${path}/audit/${id}`)).data.invoice.items[0].changes),
    )
    expect(entries).toContainEqual({
      type: 'modified',
      difference: { taxes: { additions: [], removals: [vatRow] } },
    })
  })

  it.each<[string, Json, string, string]>([
    ['below nothing', { ...vat, rate: -1 }, 'rate', 'minimum'],
    ['above the whole price', { ...vat, rate: 100.5 }, 'rate', 'maximum'],
    ['finer than four decimals', { ...vat, rate: 8.87512 }, 'rate', 'decimals'],
    ['without a rate', { name: 'VAT' }, 'rate', 'required'],
    ['without a name', { rate: 1 }, 'name', 'required'],
    ['of no jurisdiction', { ...vat, jurisdiction: 'california' }, 'jurisdiction', 'maxLength'],
    ['of a jurisdiction in small letters', { ...vat, jurisdiction: 'us-ca' }, 'jurisdiction', 'pattern'],
    ['with unknown keys', { ...vat, inclusiv: true }, 'inclusiv', 'additionalProperties'],
  ])('refuse a tax %s', async (_, tax, key, rule) => {
    const plan = { devices: { sip_device: { rate: 1, taxes: [vat, tax] } } }
    const answer = await world.unchanged(() =>
      world.ross.put(`${world.reseller.path}/service_plans`, { name: 'Plan', plan }),
    )
    expect(answer).toMatchObject({
      status: 400,
      body: {
        message: 'validation error',
        data: { [`plan.devices.sip_device.taxes.1.${key}`]: { [rule]: expect.anything() } },
      },
    })
  })

  it.each<[Json, string]>([
    [{ jurisdiction: 'nowhere' }, 'tax.jurisdiction'],
    [{ exempt: 'yes' }, 'tax.exempt'],
    [{ exemptt: true }, 'tax.exemptt'],
  ])('refuse an account’s %j', async (tax, key) => {
    const account = await world.account(world.reseller)
    const answer = await world.unchanged(() => world.ross.post(`${account.path}/services`, { tax }))
    expect(answer).toMatchObject({ status: 400, body: { data: { [key]: expect.anything() } } })
  })
})
