// Cards by Stripe, spoken to by its own library, at a local stand-in.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type StripeServer, startStripe } from '../support/servers/stripe-server.ts'
import type { Client } from '../support/world/client.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const gregorian = (unixMilliseconds: number) => Math.floor(unixMilliseconds / 1000) + 62_167_219_200

let stripe: StripeServer

beforeAll(async () => {
  stripe = await startStripe()
})

afterAll(() => stripe.close())

afterEach(() => stripe.reset())

describeAnyEngine('cards', (engine) => {
  const world = useWorld(engine, async ({ configure }) => {
    await configure('services.stripe', stripe.settings)
  })

  let cards = 0
  const visa = () => `pm_card_visa_${engine}_${++cards}`

  const customer = async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    await world.ross.post(`${account.path}/services`, { bookkeeper: { type: 'stripe' } })
    return { account, admin, tokens: `${account.path}/services/payment_tokens` }
  }

  const withCard = async (card = visa()) => {
    const one = await customer()
    const { status, data } = await one.admin.put(one.tokens, { payment_method: card })
    expect(status).toBe(201)
    return { ...one, card: data }
  }

  const topUp = (who: Client, { path }: TestAccount, amount: number, headers = {}) =>
    who.post(`${path}/services/topup`, { amount }, { headers })

  const total = async ({ path }: TestAccount) => (await world.ross.get(`${path}/ledgers/total`)).data.amount

  const intentsOf = ({ id }: TestAccount) =>
    stripe.kept.intents.filter(({ metadata }) => (metadata as Json).account_id === id)

  const later = async () => {
    world.clock.advance({ seconds: 60 })
    await world.server.scheduler.runNow('transactions')
  }

  it('go from the browser to Stripe: here comes what may be shown', async () => {
    const { account, admin, tokens } = await customer()
    const setup = await admin.put(`${tokens}/setup`)
    const [made] = stripe.kept.customers.slice(-1)
    expect(setup.data).toEqual({ client_secret: `secret_of_${made?.id}`, publishable_key: 'pk_test_sample' })
    expect(made?.metadata).toEqual({ account_id: account.id })
    const method = visa()
    const { status, data, headers } = await admin.put(tokens, { payment_method: method })
    expect(status).toBe(201)
    expect(headers.location).toBe(`${tokens}/${method}`)
    expect(data).toEqual({
      id: method,
      bookkeeper: { type: 'stripe', vendor_id: world.reseller.id },
      default: true,
      created: gregorian(world.clock.now()),
      modified: gregorian(world.clock.now()),
      expiration: gregorian(Date.UTC(2031, 0, 1)) - 1,
      metadata: { type: 'card', brand: 'visa', last_four: '4242' },
    })
    // The customer that was made for the setup is used, not a second one.
    expect(stripe.owners.get(method)).toBe(made?.id)
    expect((await admin.get(tokens)).data).toEqual([data])
    expect((await admin.get(`${tokens}/${method}`)).data).toEqual(data)
    const summary = await admin.get(`${account.path}/services/summary`)
    expect(summary.data.payment_tokens).toEqual({ [method]: data })
    const events = await world.server.store.all(
      "SELECT id FROM audit_log WHERE account_id = $1 AND kind = 'services' AND concat(after_doc, changes) LIKE '%sk_test%'",
      [account.id],
    )
    expect(events).toEqual([])
  })

  it('take turns: one of them is charged', async () => {
    const { admin, tokens, card: first } = await withCard()
    const { data: second } = await admin.put(tokens, { payment_method: visa() })
    expect(second.default).toBe(false)
    const defaults = async () =>
      ((await admin.get(tokens)).data as Json[]).filter((token) => token.default).map(({ id }) => id)
    expect(await defaults()).toEqual([first.id])
    expect((await admin.post(`${tokens}/${second.id}`, { default: true })).data.default).toBe(true)
    expect(await defaults()).toEqual([second.id])
    expect((await admin.delete(`${tokens}/${second.id}`)).data.id).toBe(second.id)
    expect(await defaults()).toEqual([first.id])
    expect(stripe.owners.has(second.id)).toBe(false)
    expect(await admin.get(`${tokens}/${second.id}`)).toFailWith(404, 'bad_identifier', {
      message: 'bad identifier',
      cause: second.id,
    })
  })

  it('that Stripe does not know are not kept', async () => {
    const { admin, tokens } = await customer()
    const answer = await world.unchanged(() => admin.put(tokens, { payment_method: 'nothing' }))
    expect(answer).toFailWith(400, 'payment processor error', {
      code: 'resource_missing',
      message: 'No such PaymentMethod',
    })
    stripe.state.manner = 'deaf'
    const deaf = await world.unchanged(() => admin.put(tokens, { payment_method: visa() }))
    expect(deaf).toFailWith(503, 'processor_unreachable')
  })

  it('are kept only where a bookkeeper charges them', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const answer = await world.unchanged(() =>
      admin.put(`${account.path}/services/payment_tokens`, { payment_method: visa() }),
    )
    expect(answer).toFailWith(501, 'not_configured', {
      message: 'default stores no payment methods',
    })
  })

  it('are charged, and what was paid is booked', async () => {
    const { account, admin, card } = await withCard()
    const { status, data } = await topUp(admin, account, 25)
    expect(status).toBe(200)
    expect(data.transaction).toMatchObject({
      amount: 25,
      status: 'completed',
      card: { last_four: '4242' },
      bookkeeper: { type: 'stripe', results: [{ status: 'succeeded', id: expect.stringMatching(/^pi_/) }] },
    })
    expect(data.ledger.amount).toBe(25)
    expect(await total(account)).toBe(25)
    const charge = stripe.calls.find(({ path }) => path === '/v1/payment_intents')
    expect(charge?.form).toMatchObject({
      amount: '2500',
      currency: 'usd',
      payment_method: card.id,
      confirm: 'true',
      off_session: 'true',
      description: 'Manual top-up',
      'metadata[account_id]': account.id,
      'metadata[reference]': data.transaction.id,
    })
    expect(charge?.key).toBe(`${account.id}/${data.transaction.id}`)
    expect(JSON.stringify(data)).not.toContain('cus_')
  })

  it('cannot be charged where there are none', async () => {
    const { account, admin } = await customer()
    expect(await world.unchanged(() => topUp(admin, account, 5))).toFailWith(402, 'no_payment_token', {
      message: 'no payment method available',
    })
  })

  it('cannot be charged parts of a cent', async () => {
    const { account, admin } = await withCard()
    expect(await world.unchanged(() => topUp(admin, account, 2.675))).toFailWith(400, 'validation error', {
      amount: {
        multipleOf: { message: 'Amounts must be whole multiples of 0.01', target: 0.01, value: 2.675 },
      },
    })
  })

  it('are refused with the reason of the bank', async () => {
    const { account, admin } = await withCard('pm_card_insufficientFunds')
    const answer = await topUp(admin, account, 5)
    expect(answer).toFailWith(
      402,
      'insufficient_funds',
      expect.objectContaining({
        message: 'The payment was refused, and nothing was booked: Your card was declined.',
        status: 'failed',
        bookkeeper: expect.objectContaining({
          results: [
            {
              status: 'declined',
              reason: 'insufficient_funds',
              message: 'Your card was declined.',
              retryable: true,
            },
          ],
        }),
      }),
    )
    expect(await total(account)).toBe(0)
  })

  it('are charged once when answers get lost', async () => {
    const { account, admin } = await withCard()
    let lost = 1
    stripe.state.manner = ({ path, method }) =>
      method === 'POST' && path === '/v1/payment_intents' && lost-- > 0 ? 'mute' : 'works'
    expect((await topUp(admin, account, 5)).data.transaction.status).toBe('completed')
    expect(intentsOf(account)).toHaveLength(1)
    stripe.state.manner = ({ method }) => (method === 'POST' ? 'mute' : 'works')
    const answer = await topUp(admin, account, 6)
    expect(answer.status).toBe(202)
    expect(intentsOf(account)).toHaveLength(2)
    stripe.state.manner = 'works'
    await later()
    expect(await total(account)).toBe(11)
    stripe.state.manner = 'deaf'
    expect((await topUp(admin, account, 7)).status).toBe(202)
    expect(intentsOf(account)).toHaveLength(2)
    stripe.state.manner = 'works'
    await later()
    expect(await total(account)).toBe(18)
    expect(intentsOf(account)).toHaveLength(3)
  })

  it('that take their time are pending until they are done', async () => {
    const { account, admin } = await withCard()
    stripe.state.chargesBecome = 'processing'
    const answer = await topUp(admin, account, 5)
    expect(answer.status).toBe(202)
    expect(answer.data.transaction.status).toBe('pending')
    await later()
    expect(await total(account)).toBe(0)
    for (const intent of intentsOf(account)) intent.status = 'succeeded'
    await later()
    expect(await total(account)).toBe(5)
    expect(intentsOf(account)).toHaveLength(1)
  })

  it('get money back, no more than was taken', async () => {
    const { account } = await withCard()
    const move = (kind: string, amount: number) =>
      world.ross.put(`${account.path}/transactions/${kind}`, { amount })
    expect((await move('sale', 10)).status).toBe(201)
    stripe.state.manner = ({ path, method }) =>
      method === 'POST' && path === '/v1/refunds' ? 'mute' : 'works'
    expect((await move('refund', 4)).status).toBe(202)
    stripe.state.manner = 'works'
    expect((await move('refund', 7)).status).toBe(400)
    await later()
    expect((await move('refund', 6)).status).toBe(201)
    expect(await total(account)).toBe(0)
    const [intent] = intentsOf(account)
    expect(stripe.kept.refunds.filter((one) => one.payment_intent === intent?.id)).toHaveLength(2)
  })

  it('decide on the standing: without a good one nothing is charged', async () => {
    const { account, admin, tokens } = await customer()
    const { data: plan } = await world.ross.put(`${world.reseller.path}/service_plans`, {
      name: 'Phones',
      plan: { devices: { sip_device: { rate: 1 } } },
    })
    await world.ross.post(`${account.path}/services`, { add: [plan.id] })
    await world.configure('services', { enforce_good_standing: true })
    const addPhone = () =>
      admin.put(`${account.path}/devices`, { name: 'One' }, { query: { accept_charges: true } })
    expect(await world.unchanged(addPhone)).toFailWith(402, 'billing_issue', {
      reason: 'no_payment_token',
      message: 'no payment method available',
    })
    stripe.state.expires = { year: 2025, month: 12 }
    const { data: old } = await admin.put(tokens, { payment_method: visa() })
    expect(await world.unchanged(addPhone)).toFailWith(402, 'billing_issue', {
      reason: 'no_payment_token',
      message: 'the payment method has expired',
    })
    await admin.delete(`${tokens}/${old.id}`)
    stripe.state.expires = { year: 2030, month: 12 }
    await admin.put(tokens, { payment_method: visa() })
    expect((await addPhone()).status).toBe(201)
    await world.configure('services', { enforce_good_standing: false })
  })

  it('pay the monthly bill; of one that is refused more is tried before the account is delinquent', async () => {
    await world.server.scheduler.runNow('monthly_bills')
    const good = await withCard()
    const bad = await withCard('pm_card_chargeDeclined')
    const { data: plan } = await world.ross.put(`${world.reseller.path}/service_plans`, {
      name: 'Phones',
      plan: { devices: { sip_device: { rate: 1.005 } } },
    })
    for (const { account, admin } of [good, bad]) {
      await world.ross.post(`${account.path}/services`, { add: [plan.id] })
      await admin.put(`${account.path}/devices`, { name: 'One' }, { query: { accept_charges: true } })
    }
    const now = new Date(world.clock.now())
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    world.clock.advance({ seconds: Math.ceil((next - world.clock.now()) / 1000) })
    for (const name of ['monthly_bills', 'transactions', 'monthly_bills', 'transactions'])
      await world.server.scheduler.runNow(name)
    const operator = world.clientWithToken(await world.tokenOf(world.master, world.operator.id))
    const read = async ({ path }: TestAccount, place: string) => (await operator.get(`${path}/${place}`)).data
    // Charges are rounded up to whole cents; debts are not.
    expect(await read(good.account, 'ledgers/total')).toEqual({ amount: 0.005 })
    const [paid] = (await read(good.account, 'transactions')) as Json[]
    expect(paid).toMatchObject({
      amount: 1.01,
      status: 'completed',
      description: 'Recurring preemptive top-up',
      executor: { trigger: 'recurring', module: 'services' },
    })
    expect(await read(good.account, 'services/status')).toEqual({ in_good_standing: true })
    expect(await read(bad.account, 'ledgers/total')).toEqual({ amount: -1.005 })
    expect(await read(bad.account, 'services/status')).toEqual({ in_good_standing: true })
    const invoice = async (one: TestAccount) => ((await read(one, 'invoices')) as unknown as Json[])[0]
    expect(await invoice(good.account)).toMatchObject({ status: 'paid', total: 1.005 })
    expect(await invoice(bad.account)).toMatchObject({ status: 'open', total: 1.005 })
    const card = await operator.put(bad.tokens, { payment_method: visa(), default: true })
    expect(card.status).toBe(201)
    expect((await topUp(operator, bad.account, 5)).status).toBe(200)
    await world.server.scheduler.runNow('dunning')
    expect(await invoice(bad.account)).toMatchObject({ status: 'paid' })
  })

  it('that Stripe has not received within a day are no longer charged', async () => {
    const fresh = async (account: TestAccount, id: string) =>
      world.clientWithToken(await world.tokenOf(account, id))
    const account = await (async () => {
      const operator = await fresh(world.master, world.operator.id)
      const { data } = await operator.put(world.reseller.path, { name: `Forgotten ${engine}` })
      const path = `/v2/accounts/${data.id}`
      await operator.post(`${path}/services`, { bookkeeper: { type: 'stripe' } })
      await operator.put(`${path}/services/payment_tokens`, { payment_method: visa() })
      return { ...world.acme, id: data.id as string, path }
    })()
    stripe.state.manner = ({ method }) => (method === 'POST' ? 'deaf' : 'works')
    const operator = await fresh(world.master, world.operator.id)
    const { data, status } = await topUp(operator, account, 5)
    expect(status).toBe(202)
    world.clock.advance({ hours: 24 })
    stripe.state.manner = 'works'
    await world.server.scheduler.runNow('transactions')
    const later = await fresh(world.master, world.operator.id)
    const read = await later.get(`${account.path}/transactions/${data.transaction.id}`)
    expect(read.data).toMatchObject({
      status: 'failed',
      bookkeeper: {
        results: [
          {
            status: 'declined',
            reason: 'never_arrived',
            message: 'the billing provider does not know it',
            retryable: false,
          },
        ],
      },
    })
    expect(intentsOf(account)).toEqual([])
    expect((await later.get(`${account.path}/ledgers/total`)).data.amount).toBe(0)
  })
})
