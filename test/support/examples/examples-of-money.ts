// Examples of charges: cards at a local Stripe, invoices of a month that ended, and the audit of services.
import type { Json } from '../../../src/lib/json.ts'
import { startStripe } from '../servers/stripe-server.ts'
import type { World } from '../world/world.ts'
import { onAccount, type Recorder } from './example-recorder.ts'

const services = `${onAccount}/services`
const invoices = `${onAccount}/invoices/{invoice_id}`
const notes = `${invoices}/credit_notes`

export const recordMoney = async (world: World, { record }: Recorder) => {
  const { ross, reseller } = world
  const round = (name: string) => world.server.scheduler.runNow(name)

  const cards = async () => {
    const stripe = await startStripe()
    try {
      await world.configure('services.stripe', stripe.settings)
      const account = await world.account(reseller, { name: 'A card holder', realm: 'cards.test' })
      const admin = await world.admin(account)
      await ross.post(`${account.path}/services`, { bookkeeper: { type: 'stripe' } })
      const tokens = `${services}/payment_tokens`
      const ids = { account_id: account.id, token_id: 'pm_card_visa' }
      await record(admin, `PUT ${tokens}/setup`, ids)
      await record(admin, `PUT ${tokens}`, ids, { data: { payment_method: 'pm_card_visa' } })
      await record(admin, `GET ${tokens}`, ids)
      await record(admin, `GET ${tokens}/{token_id}`, ids)
      await record(admin, `POST ${tokens}/{token_id}`, ids, { data: { default: true } })
      await record(ross, `PUT ${onAccount}/transactions/sale`, ids, { data: { amount: 25 } })
      await record(ross, `PUT ${onAccount}/transactions/refund`, ids, { data: { amount: 10 } })
      const { data } = await record(admin, `GET ${onAccount}/transactions`, ids)
      const one = { ...ids, transaction_id: data[0].id }
      await record(admin, `GET ${onAccount}/transactions/{transaction_id}`, one)
      await record(admin, `GET ${onAccount}/transactions/{transaction_id}/audit`, one)
      await record(admin, `DELETE ${tokens}/{token_id}`, ids)
    } finally {
      await stripe.close()
    }
  }

  const customer = async (name: string, credit: number) => {
    const account = await world.account(reseller, { name, realm: `${name.toLowerCase()}.test` })
    const item = { name: 'Phone', rate: 10, taxes: [{ name: 'VAT', rate: 20, tax_id: 'vat' }] }
    const plan = { name: 'Phones', plan: { devices: { sip_device: item } } }
    const { data } = await ross.put(`${reseller.path}/service_plans`, plan)
    await ross.post(`${account.path}/services`, { add: [data.id] })
    if (credit > 0) await give(account.path, credit)
    await ross.put(`${account.path}/devices`, { name: 'Phone' }, { query: { accept_charges: true } })
    return account
  }

  const give = (path: string, amount: number) =>
    ross.put(`${path}/ledgers/credit`, {
      source: { service: 'payments', id: `credit of ${path}` },
      usage: { type: 'voucher', quantity: 1, unit: 'voucher' },
      amount,
    })

  const audits = async (accountId: string) => {
    const ids = { account_id: accountId }
    await round('quantities')
    const { data } = await record(ross, `GET ${services}/audit`, ids)
    const entry = { ...ids, audit_id: (data as unknown as Json[])[0]?.id as string }
    await record(ross, `GET ${services}/audit/{audit_id}`, entry)
    await record(ross, `GET ${services}/audit/{audit_id}/audit`, entry)
    await record(ross, `GET ${onAccount}/transactions/subscriptions`, ids)
    await ross.post(`/v2/accounts/${accountId}/allotments`, { did_us: { amount: 6000, cycle: 'monthly' } })
    await record(ross, `GET ${onAccount}/allotments/consumed`, ids)
  }

  const months = async () => {
    await round('monthly_bills')
    const paying = await customer('Payer', 100)
    const [late, lost] = [await customer('Late', 0), await customer('Lost', 0)]
    await audits(paying.id)
    const now = new Date(world.clock.now())
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    world.clock.advance({ seconds: Math.ceil((next - world.clock.now()) / 1000) })
    await round('monthly_bills')
    const idsOf = async ({ id, path }: typeof paying) => {
      const { data } = await ross.get(`${path}/invoices`)
      return { account_id: id, invoice_id: data[0].id as string }
    }
    const ids = await idsOf(paying)
    await record(ross, `GET ${onAccount}/invoices`, ids)
    const credit = { amount: 6, reason: 'The line was down' }
    const { data: note } = await record(ross, `PUT ${notes}`, ids, { data: credit })
    const one = { ...ids, credit_note_id: note.id }
    await record(ross, `GET ${notes}`, ids)
    await record(ross, `GET ${notes}/{credit_note_id}`, one)
    await record(ross, `GET ${notes}/{credit_note_id}/audit`, one)
    await record(ross, `GET ${invoices}`, ids)
    await record(ross, `GET ${invoices}/audit`, ids)
    await record(ross, `POST ${invoices}/void`, await idsOf(lost))
    await give(late.path, 100)
    await record(ross, `POST ${invoices}/pay`, await idsOf(late))
  }

  await cards()
  await months()
}
