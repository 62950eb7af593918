// Events that Stripe sends: a genuine event is accepted once, and the ledgers follow it.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { mailsTo } from '../support/servers/outbox.ts'
import { type StripeServer, startStripe } from '../support/servers/stripe-server.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

const gregorian = (unixMilliseconds: number) => Math.floor(unixMilliseconds / 1000) + 62_167_219_200

let stripe: StripeServer

beforeAll(async () => {
  stripe = await startStripe()
})

afterAll(() => stripe.close())

afterEach(() => stripe.reset())

describeEngines('events of Stripe', (engine) => {
  const world = useWorld(engine, async ({ configure }) => {
    await configure('services.stripe', stripe.settings)
  })

  let cards = 0

  /** An account that paid 25 dollars by its card. */
  const payer = async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    await world.ross.post(`${account.path}/services`, { bookkeeper: { type: 'stripe' } })
    const card = `pm_card_visa_${engine}_events_${++cards}`
    await admin.put(`${account.path}/services/payment_tokens`, { payment_method: card })
    const { data } = await admin.post(`${account.path}/services/topup`, { amount: 25 })
    const intent = stripe.kept.intents.at(-1) as Json & { id: string }
    return { account, admin, card, intent, sale: data.transaction as Json }
  }

  const post = async (
    { body, signature }: { body: string; signature: string },
    vendor = world.reseller.id,
  ) => {
    const { port } = world.server
    const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
    const answer = await fetch(`http://127.0.0.1:${port}/ingest/stripe/${vendor}`, {
      method: 'POST',
      headers,
      body,
    })
    return { status: answer.status, content: (await answer.json()) as Json }
  }

  const tell = async (type: string, object: Json) => {
    const answer = await post(stripe.event(type, object, { at: world.clock.now() }))
    await world.server.scheduler.runNow('payment_events')
    return answer
  }

  const total = async ({ path }: TestAccount) => (await world.ross.get(`${path}/ledgers/total`)).data.amount

  it('are taken when the signature proves them, and not too late', async () => {
    const { intent } = await payer()
    const at = world.clock.now()
    const rejected = { status: 400, content: { status: 'rejected', reason: 'the signature does not match' } }
    const event = stripe.event('charge.refunded', { payment_intent: intent.id }, { at })
    await world.unchanged(async () => {
      expect(await post({ ...event, signature: '' })).toEqual(rejected)
      expect(await post({ ...event, body: event.body.replace('evt_', 'evt_x') })).toEqual(rejected)
      expect(await post(stripe.event('charge.refunded', {}, { at, secret: 'guessed' }))).toEqual(rejected)
      expect(await post(stripe.event('charge.refunded', {}, { at: at - 301_000 }))).toEqual(rejected)
    })
    expect((await post(event, 'nobody')).status).toBe(404)
    const large = await post({ ...event, body: ' '.repeat(1_000_001) })
    expect(large.status).toBe(413)
    expect((await post(event)).content).toEqual({ status: 'accepted' })
    expect((await post(event)).content).toEqual({ status: 'duplicate' })
    const other = stripe.event('invoice.created', {}, { at })
    expect((await post(other)).content).toEqual({ status: 'ignored' })
    await world.server.scheduler.runNow('payment_events')
  })

  it('of refunds that were made at Stripe are booked once, and those made here are recognised', async () => {
    const { account, sale, intent } = await payer()
    const own = await world.ross.put(`${account.path}/transactions/refund`, { amount: 4 })
    expect(own.status).toBe(201)
    const refund = stripe.refundOutside(intent.id, 500)
    for (const type of ['charge.refunded', 'refund.created', 'charge.refunded'])
      await tell(type, { id: 'ch_1', payment_intent: intent.id })
    expect(await total(account)).toBe(25 - 4 - 5)
    const rows = (await world.ross.get(`${account.path}/transactions`)).data as Json[]
    expect(rows.map(({ amount, status }) => [amount, status]).toSorted()).toEqual([
      [-4, 'completed'],
      [-5, 'completed'],
      [25, 'completed'],
    ])
    const adopted = rows.find(({ amount }) => amount === -5)
    expect(adopted).toMatchObject({
      description: 'Refund by the payment processor',
      executor: { trigger: 'outside', module: 'gateway' },
    })
    const record = (await world.ross.get(`${account.path}/transactions/${adopted?.id}`)).data
    expect(record).toMatchObject({ refund_of: sale.id, bookkeeper: { results: [{ id: refund.id }] } })
    expect((await world.ross.get(`${account.path}/transactions/${sale.id}`)).data.refunded).toBe(9)
  })

  it('of disputes take the money, and bring it back when they are won, in whatever order they come', async () => {
    const vendorMail = `vendor${engine}@reseller.test`
    await world.admin(world.reseller, { email: vendorMail })
    const dispute = (id: string, intent: Json, status: string) => ({
      id,
      object: 'dispute',
      payment_intent: intent.id as string,
      amount: 2500,
      currency: 'usd',
      status,
      reason: 'fraudulent',
    })
    const first = await payer()
    const id = `dp_${engine}_1`
    await tell('charge.dispute.created', dispute(id, first.intent, 'warning_needs_response'))
    expect(await total(first.account)).toBe(25)
    await tell('charge.dispute.created', dispute(id, first.intent, 'needs_response'))
    await tell('charge.dispute.updated', dispute(id, first.intent, 'under_review'))
    expect(await total(first.account)).toBe(0)
    for (const _ of [1, 2]) await tell('charge.dispute.closed', dispute(id, first.intent, 'won'))
    expect(await total(first.account)).toBe(25)
    const second = await payer()
    const other = `dp_${engine}_2`
    await tell('charge.dispute.closed', dispute(other, second.intent, 'lost'))
    await tell('charge.dispute.created', dispute(other, second.intent, 'needs_response'))
    expect(await total(second.account)).toBe(0)
    const third = await payer()
    const won = `dp_${engine}_3`
    await tell('charge.dispute.closed', dispute(won, third.intent, 'won'))
    await tell('charge.dispute.created', dispute(won, third.intent, 'needs_response'))
    expect(await total(third.account)).toBe(25)
    await world.deliverMail()
    const mails = (await mailsTo(world.config.dataDir, vendorMail)).filter((mail) =>
      mail.includes('is disputed'),
    )
    expect(mails).toHaveLength(4)
  })

  it('of renewed cards replace the old expiration', async () => {
    const { account, card, admin } = await payer()
    const token = async () => (await admin.get(`${account.path}/services/payment_tokens/${card}`)).data
    const before = await token()
    stripe.state.expires = { year: 2026, month: 1 }
    const told = { ...stripe.methodJson(card) }
    await tell('payment_method.automatically_updated', told)
    const expiration = gregorian(Date.UTC(2026, 1, 1)) - 1
    expect(await token()).toEqual({ ...before, expiration, modified: gregorian(world.clock.now()) })
    // Accounts without purchases get no alert.
    const sold = { name: 'Phones', plan: { devices: { sip_device: { rate: 1 } } } }
    const { data: plan } = await world.ross.put(`${world.reseller.path}/service_plans`, sold)
    await world.ross.post(`${account.path}/services`, { add: [plan.id] })
    const alerts = (await admin.get(`${account.path}/alerts`)).data as Json[]
    expect(alerts.map(({ category }) => category)).toContain('expired_payment_token')
    // An event about another customer changes nothing here.
    const stranger = await payer()
    await tell('payment_method.updated', { ...told, customer: stripe.owners.get(stranger.card) })
    expect((await token()).expiration).toBe(expiration)
  })

  it('end what was open', async () => {
    stripe.state.chargesBecome = 'processing'
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    await world.ross.post(`${account.path}/services`, { bookkeeper: { type: 'stripe' } })
    const card = `pm_card_visa_${engine}_open`
    await admin.put(`${account.path}/services/payment_tokens`, { payment_method: card })
    const { data } = await admin.post(`${account.path}/services/topup`, { amount: 25 })
    expect(data.transaction.status).toBe('pending')
    const intent = stripe.kept.intents.at(-1) as Json
    intent.status = 'succeeded'
    await tell('payment_intent.succeeded', { id: intent.id })
    expect(await total(account)).toBe(25)
    await tell('payment_intent.succeeded', { id: intent.id })
    expect(await total(account)).toBe(25)
  })

  it('about charges of others change nothing', async () => {
    const { account, intent } = await payer()
    // The owner of a Stripe account may write one of our keys into the metadata of another charge.
    const foreign = { ...intent, id: `pi_foreign_${engine}`, amount: 2500 }
    stripe.kept.intents.push(foreign)
    stripe.refundOutside(foreign.id, 2500)
    await tell('charge.refunded', { payment_intent: foreign.id })
    expect(await total(account)).toBe(25)
    await world.configure('services.stripe', { vendors: { [world.master.id]: stripe.settings } })
    const at = world.clock.now()
    stripe.refundOutside(intent.id, 2500)
    await post(stripe.event('charge.refunded', { payment_intent: intent.id }, { at }), world.master.id)
    await world.server.scheduler.runNow('payment_events')
    expect(await total(account)).toBe(25)
  })

  it('book, once, what was given up as never arrived and has arrived after all', async () => {
    const { account, admin, intent } = await payer()
    stripe.state.manner = ({ method }) => (method === 'POST' ? 'deaf' : 'works')
    const { data } = await admin.post(`${account.path}/services/topup`, { amount: 7 })
    world.clock.advance({ hours: 24 })
    stripe.state.manner = 'works'
    await world.server.scheduler.runNow('transactions')
    const ross = await world.clientWithToken(await world.tokenOf(world.reseller, world.ross.id))
    const id = data.transaction.id as string
    const read = async (what: string) => (await ross.get(`${account.path}/${what}`)).data
    expect(await read(`transactions/${id}`)).toMatchObject({ status: 'failed' })
    expect(await read('ledgers/total')).toEqual({ amount: 25 })
    const metadata = { crosspoint_key: `${account.id}/${id}` }
    const late = { ...intent, id: `pi_late_${engine}`, amount: 700, metadata }
    stripe.kept.intents.push(late)
    for (const _ of [1, 2]) await tell('payment_intent.succeeded', { id: late.id })
    expect(await read(`transactions/${id}`)).toMatchObject({ status: 'completed' })
    expect(await read('ledgers/total')).toEqual({ amount: 32 })
  })
})
