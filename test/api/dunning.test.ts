// Invoices that a card did not pay: the server retries on some days, then grants days of grace, then marks the
// account as delinquent.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { mailsTo } from '../support/servers/outbox.ts'
import { type StripeServer, startStripe } from '../support/servers/stripe-server.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

let stripe: StripeServer

beforeAll(async () => {
  stripe = await startStripe()
})

afterAll(() => stripe.close())

afterEach(() => stripe.reset())

const dayHours = 24

describeAnyEngine('unpaid invoices', (engine) => {
  const world = useWorld(engine, async ({ configure }) => {
    await configure('services.stripe', stripe.settings)
  })

  const runJobs = async (...names: string[]) => {
    for (const name of names) await world.server.scheduler.runNow(name)
  }
  const operator = async () => world.clientWithToken(await world.tokenOf(world.master, world.operator.id))

  let made = 0

  /** A customer with a card that is refused, whose month was billed just now. */
  const debtor = async (card = 'pm_card_chargeDeclined') => {
    await runJobs('monthly_bills')
    const who = await operator()
    const name = `Debtor ${++made} ${engine}`
    const { data: account } = await who.put(world.reseller.path, { name })
    const path = `/v2/accounts/${account.id}`
    const email = `debtor${made}${engine}@acme.test`
    await who.put(`${path}/users`, { first_name: 'A', last_name: 'B', priv_level: 'admin', email })
    await who.post(`${path}/services`, { bookkeeper: { type: 'stripe' } })
    const tokens = `${path}/services/payment_tokens`
    await who.put(tokens, { payment_method: `${card}_${engine}_${made}` })
    const plan = { name: 'Phones', plan: { devices: { sip_device: { rate: 10 } } } }
    const { data } = await who.put(`${world.reseller.path}/service_plans`, plan)
    await who.post(`${path}/services`, { add: [data.id] })
    await who.put(`${path}/devices`, { name: 'One' }, { query: { accept_charges: true } })
    // Mails that wait too long expire, so they are delivered before the clock moves.
    await world.deliverMail()
    const now = new Date(world.clock.now())
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    world.clock.advance({ seconds: Math.ceil((next - world.clock.now()) / 1000) })
    await runJobs('monthly_bills', 'transactions', 'dunning', 'invoice_mail')
    await world.deliverMail()
    return { id: account.id as string, path, email, tokens }
  }

  type Debtor = Awaited<ReturnType<typeof debtor>>

  const read = async ({ path }: Debtor, place: string) =>
    (await (await operator()).get(`${path}/${place}`)).data
  const invoiceOf = async (one: Debtor) => {
    const [row] = (await read(one, 'invoices')) as unknown as Json[]
    return read(one, `invoices/${row?.id}`)
  }
  const eventsOf = async (one: Debtor) =>
    ((await invoiceOf(one)).events as Json[]).map(({ event }) => event as string)
  const charges = async ({ id }: Debtor) =>
    (
      await world.server.store.all("SELECT id FROM transactions WHERE account_id = $1 AND type = 'sale'", [
        id,
      ])
    ).length

  /** How often the server emitted this event for the account. */
  const told = async ({ id }: Debtor, event: string) =>
    (
      await world.server.store.all('SELECT id FROM audit_log WHERE account_id = $1 AND event = $2', [
        id,
        event,
      ])
    ).length

  /** A day passes; every scheduled job of payments runs twice. */
  const day = async (days = 1) => {
    world.clock.advance({ hours: dayHours * days })
    for (const _ of [1, 2]) await runJobs('dunning', 'transactions')
    await runJobs('dunning')
    await world.deliverMail()
  }

  const subjectsTo = async ({ email }: Debtor) => {
    await world.deliverMail()
    return (await mailsTo(world.config.dataDir, email)).flatMap(
      (mail) => /^Subject: (.*)\r$/m.exec(mail)?.[1]?.replace(/\d{4}-\d{6}/, 'N') ?? [],
    )
  }

  it('are tried again on days 3, 7 and 14; then come days of grace, then the account is delinquent', async () => {
    const one = await debtor()
    const standing = () => read(one, 'services/status')
    expect((await invoiceOf(one)).status).toBe('open')
    expect(await charges(one)).toBe(1)
    const tries: number[] = []
    for (let at = 1; at <= 14; at += 1) {
      const before = await charges(one)
      await day()
      if ((await charges(one)) > before) tries.push(at)
    }
    expect(tries).toEqual([3, 7, 14])
    expect(await standing()).toEqual({ in_good_standing: true })
    await day(6)
    expect(await standing()).toEqual({ in_good_standing: true })
    await day()
    expect(await standing()).toEqual({
      in_good_standing: false,
      reason: 'payment_declined',
      reason_code: 402,
    })
    const refused = ['payment_declined']
    expect((await eventsOf(one)).filter((event) => event !== 'mailed')).toEqual([
      'issued',
      ...[1, 2, 3].flatMap(() => [...refused, 'payment_retry', 'payment_attempt']),
      ...refused,
      'payment_grace',
      'account_delinquent',
    ])
    const subjects = await subjectsTo(one)
    expect(subjects.filter((subject) => /could not be paid/.test(subject))).toHaveLength(3)
    expect(subjects.filter((subject) => /^Pay invoice/.test(subject))).toHaveLength(1)
    expect(subjects.filter((subject) => /^Orders of .* are blocked/.test(subject))).toHaveLength(1)
    expect(await told(one, 'invoice.edited')).toBeGreaterThanOrEqual(7)
    expect(await told(one, 'invoice.issued')).toBe(1)
    expect(await told(one, 'invoice.overdue')).toBe(1)
    expect(await told(one, 'invoice.paid')).toBe(0)
    await day(59)
    expect((await invoiceOf(one)).status).toBe('open')
    await day()
    expect((await invoiceOf(one)).status).toBe('uncollectible')
    // It may be paid all the same.
    await (await operator()).put(one.tokens, { payment_method: `pm_card_visa_late_${engine}`, default: true })
    const late = (await (await operator()).get(one.tokens)).data as Json[]
    const good = late.find(({ id }) => String(id).startsWith('pm_card_visa'))
    await (await operator()).post(`${one.tokens}/${good?.id}`, { default: true })
    const invoice = await invoiceOf(one)
    const paid = await (await operator()).post(`${one.path}/invoices/${invoice.id}/pay`)
    expect(paid.data).toMatchObject({ status: 'paid', amount_due: 0 })
    expect(await told(one, 'invoice.paid')).toBe(1)
    expect(await standing()).toEqual({ in_good_standing: true })
  })

  it('that are paid in between are left alone', async () => {
    const one = await debtor()
    await day(3)
    expect(await charges(one)).toBe(2)
    const who = await operator()
    const source = { service: 'payments', id: 'cash' }
    const usage = { type: 'cash', quantity: 1, unit: 'note' }
    await who.put(`${one.path}/ledgers/credit`, { source, usage, amount: 10 })
    await runJobs('dunning')
    expect((await invoiceOf(one)).status).toBe('paid')
    await world.deliverMail()
    // No longer: with the next month comes its bill, which the card pays.
    await day(20)
    expect(await charges(one)).toBe(2)
    expect(await read(one, 'services/status')).toEqual({ in_good_standing: true })
  })

  it('are paid by the next try, when the card works then', async () => {
    const one = await debtor()
    const who = await operator()
    await who.put(one.tokens, { payment_method: `pm_card_visa_new_${engine}_${made}` })
    await who.post(`${one.tokens}/pm_card_visa_new_${engine}_${made}`, { default: true })
    await day(3)
    const invoice = await invoiceOf(one)
    expect(invoice.status).toBe('paid')
    expect(invoice.transaction_id).toMatch(/^\d{6}-/)
    expect(await read(one, 'ledgers/total')).toEqual({ amount: 0 })
    // No longer: with the next month comes its bill, which the card pays.
    await day(20)
    expect(await charges(one)).toBe(2)
  })

  it('are charged once, though the server dies between every two steps', async () => {
    const one = await debtor()
    world.clock.advance({ hours: 3 * dayHours })
    await runJobs('dunning')
    // This simulates a process that died before it recorded the attempt: the payment is not attempted twice.
    await world.server.store.writeUnrecorded([
      { sql: "UPDATE work SET due_at = 0 WHERE kind = 'dunning' AND account_id = $1", params: [one.id] },
    ])
    await runJobs('dunning', 'dunning')
    await runJobs('transactions', 'transactions', 'dunning')
    expect(await charges(one)).toBe(2)
    expect((await eventsOf(one)).filter((event) => event === 'payment_attempt')).toHaveLength(1)
  })

  it('cannot be voided or credited while a payment is in progress', async () => {
    stripe.state.chargesBecome = 'processing'
    const one = await debtor('pm_card_visa')
    const before = await invoiceOf(one)
    const { id } = before
    const who = await operator()
    // Jobs for other debtors run at the same time, so only this account is compared.
    const balance = await read(one, 'ledgers/total')
    expect(await who.post(`${one.path}/invoices/${id}/void`)).toFailWith(409, 'datastore_conflict')
    expect(await who.put(`${one.path}/invoices/${id}/credit_notes`, {})).toFailWith(409, 'datastore_conflict')
    expect(await invoiceOf(one)).toEqual(before)
    expect(await read(one, 'ledgers/total')).toEqual(balance)
    const paying = await who.post(`${one.path}/invoices/${id}/pay`)
    expect(paying.status).toBe(202)
  })
})
