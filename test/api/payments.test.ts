// Money that moves at the operator's own billing system, and top-ups.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type BookkeeperServer, startBookkeeper } from '../support/servers/bookkeeper-server.ts'
import { describeEngines, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const gregorian = (unixMilliseconds: number) => Math.floor(unixMilliseconds / 1000) + 62_167_219_200

let bookkeeper: BookkeeperServer

beforeAll(async () => {
  bookkeeper = await startBookkeeper()
})

afterAll(() => bookkeeper.close())

afterEach(() => bookkeeper.reset())
describeEngines('payments', (engine) => {
  const world = useWorld(engine, async ({ configure }) => {
    await configure('services.http_sync', bookkeeper.settings)
  })

  const runJobs = (name: string) => world.server.scheduler.runNow(name)

  /** A customer of the reseller with an admin, whose money a bookkeeper of this type takes. */
  const customer = async (type = 'http', fields: Json = {}) => {
    const account = await world.account(world.reseller, fields)
    const admin = await world.admin(account)
    if (type !== 'default')
      expect(await world.ross.post(`${account.path}/services`, { bookkeeper: { type } })).toMatchObject({
        status: 200,
      })
    return { account, admin }
  }

  const total = async ({ path }: TestAccount) =>
    (await world.ross.get(`${path}/ledgers/total`)).data.amount as number

  const payments = async ({ path }: TestAccount) =>
    (await world.ross.get(`${path}/ledgers/payments`)).data as unknown as Json[]

  const transactions = async ({ path }: TestAccount, query = '') =>
    (await world.ross.get(`${path}/transactions${query}`)).data as unknown as Json[]

  const topUp = (who: Person, { path }: TestAccount, data: Json, headers = {}) =>
    who.post(`${path}/services/topup`, data, { headers })

  const move = (who: Person, { path }: TestAccount, kind: 'sale' | 'refund', data: Json) =>
    who.put(`${path}/transactions/${kind}`, data)

  const chargesOf = ({ id }: TestAccount) =>
    [...bookkeeper.moved.values()].filter(({ account }) => account === id)

  /** The server checks payments of unknown result again. */
  const later = async (seconds = 60) => {
    world.clock.advance({ seconds })
    await runJobs('transactions')
  }

  it('top up by hand only a positive amount, and return an error for any other', async () => {
    const { account, admin } = await customer()
    const refused = async (data: Json, amount: Json) =>
      expect(await world.unchanged(() => topUp(admin, account, data))).toFailWith(400, 'validation error', {
        amount,
      })
    await refused({}, { required: { message: 'Field is required but missing' } })
    for (const amount of [0, -5]) {
      const minimum = { message: 'Amount must be greater than 0', target: 0, value: amount }
      await refused({ amount }, { minimum })
    }
    const type = { message: 'Value did not match type(s): number', target: 'number', value: 'x' }
    await refused({ amount: 'x' }, { type })
    const decimals = { message: 'Money has at most 4 decimals', target: 4, value: 1.00001 }
    await refused({ amount: 1.00001 }, { decimals })
    expect(bookkeeper.calls).toEqual([])
  })

  it('with the built-in bookkeeper give a credit without a charge', async () => {
    const { account } = await customer('default')
    const { status, data } = await topUp(world.ross, account, { amount: 25 })
    expect(status).toBe(200)
    expect(data).toEqual({
      ledger: {
        id: expect.stringMatching(/^202601-[0-9a-f]{32}$/),
        account: { id: account.id, name: account.name },
        source: { service: 'payments', id: expect.any(String) },
        usage: { type: 'topup', quantity: 1, unit: 'payment' },
        amount: 25,
        description: 'Manual top-up',
        period: { start: gregorian(world.clock.now()) },
        executor: { trigger: 'manual', module: 'topup' },
        audit: { available_units: 0 },
        created: gregorian(world.clock.now()),
        created_ms: expect.any(Number),
      },
    })
    expect(await total(account)).toBe(25)
    expect(await transactions(account)).toEqual([])
  })

  it('give no credit without a payment, unless the operator allows it', async () => {
    const { account, admin } = await customer('default')
    const own = () => topUp(admin, account, { amount: 99_999_999_999 })
    const refusal = {
      message: 'no billing provider can charge this account. Ask the reseller to add credit',
      reason: 'topup_without_gateway',
    }
    expect(await world.unchanged(own)).toFailWith(403, 'forbidden', refusal)
    const below = await world.account(account)
    const ofParent = () => topUp(admin, below, { amount: 1 })
    expect(await world.unchanged(ofParent)).toFailWith(403, 'forbidden', refusal)
    const ofReseller = () => topUp(world.ross, world.reseller, { amount: 1 })
    expect(await world.unchanged(ofReseller)).toFailWith(403, 'forbidden', refusal)
    for (const who of [world.ross, world.operator])
      expect((await topUp(who, account, { amount: 2 })).status).toBe(200)
    expect((await topUp(world.operator, world.reseller, { amount: 1 })).status).toBe(200)
    await world.operator.patch('/v2/system_configs/services', {
      default: { own_topup_without_gateway: true },
    })
    expect((await topUp(admin, account, { amount: 3 })).status).toBe(200)
    await world.configure('services', { own_topup_without_gateway: false })
    expect(await total(account)).toBe(7)
  })

  it('charge by a signed call, and book what was paid', async () => {
    const { account, admin } = await customer()
    const { status, data } = await topUp(admin, account, { amount: 25.5 })
    expect(status).toBe(200)
    expect(data).toEqual({
      transaction: {
        id: expect.stringMatching(/^202601-[0-9a-f]{32}$/),
        account: { id: account.id, name: account.name },
        amount: 25.5,
        currency: 'USD',
        type: 'sale',
        status: 'completed',
        description: 'Manual top-up',
        executor: { trigger: 'manual', module: 'topup' },
        bookkeeper: {
          id: 'default_bookkeeper',
          type: 'http',
          vendor_id: world.reseller.id,
          results: [{ status: 'succeeded', id: expect.stringMatching(/^m-/) }],
        },
        audit: expect.objectContaining({
          authentication: expect.objectContaining({ account_id: account.id }),
        }),
        ledger_id: data.ledger.id,
        created: gregorian(world.clock.now()),
        created_ms: world.clock.now() + 62_167_219_200_000,
      },
      ledger: expect.objectContaining({
        source: { service: 'payments', id: data.transaction.id },
        amount: 25.5,
        description: 'Manual top-up',
      }),
    })
    const [call] = bookkeeper.calls
    expect(call?.body).toEqual({
      operation: 'charge',
      idempotency_key: `${account.id}/${data.transaction.id}`,
      account_id: account.id,
      amount: '25.5',
      amount_units: 255_000,
      currency: 'USD',
      reference: data.transaction.id,
      description: 'Manual top-up',
    })
    expect(call?.headers).toMatchObject({
      authorization: 'Bearer of-the-operator',
      'content-type': 'application/json',
      'idempotency-key': call?.body.idempotency_key,
    })
    expect(await total(account)).toBe(25.5)
    expect(await transactions(account)).toEqual([
      {
        id: data.transaction.id,
        amount: 25.5,
        currency: 'USD',
        status: 'completed',
        executor: { trigger: 'manual', module: 'topup' },
        description: 'Manual top-up',
        ledger_id: data.ledger.id,
        bookkeeper: { type: 'http', status: 'succeeded' },
        created: gregorian(world.clock.now()),
        created_ms: world.clock.now() + 62_167_219_200_000,
      },
    ])
  })

  it('tell a refusal with its reason, and book nothing', async () => {
    const { account, admin } = await customer()
    bookkeeper.state.manner = 'declines'
    const answer = await topUp(admin, account, { amount: 5 })
    expect(answer).toFailWith(
      402,
      'insufficient_funds',
      expect.objectContaining({
        message: 'The payment was refused, and nothing was booked: Not enough money',
        amount: 5,
        status: 'failed',
        bookkeeper: expect.objectContaining({
          results: [
            {
              status: 'declined',
              reason: 'insufficient_funds',
              message: 'Not enough money',
              retryable: true,
            },
          ],
        }),
      }),
    )
    expect(await total(account)).toBe(0)
    const [row] = await transactions(account)
    expect(row).toMatchObject({
      status: 'failed',
      bookkeeper: { status: 'declined', reason: 'insufficient_funds', message: 'Not enough money' },
    })
  })

  it('take an answer that is lost on the way for what it is, once', async () => {
    const { account, admin } = await customer()
    let lost = 2
    bookkeeper.state.manner = ({ body }) => (body.operation === 'charge' && lost-- > 0 ? 'mute' : 'works')
    expect((await topUp(admin, account, { amount: 5 })).data.transaction.status).toBe('completed')
    expect(bookkeeper.calls).toHaveLength(3)
    expect(new Set(bookkeeper.calls.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    expect(chargesOf(account)).toHaveLength(1)
    expect(await total(account)).toBe(5)
  })

  it('are pending while their result is unknown, and are settled later', async () => {
    const { account, admin } = await customer()
    for (const manner of ['mute', 'deaf', 'hangs', 'breaks'] as const) {
      const before = await total(account)
      bookkeeper.state.manner = manner
      const answer = await topUp(admin, account, { amount: 5 })
      expect(answer.status).toBe(202)
      expect(answer.data.transaction.status).toBe('pending')
      expect(answer.data.transaction.bookkeeper.results).toEqual([
        { status: 'unknown', reason: expect.any(String) },
      ])
      expect(answer.data.ledger).toBeUndefined()
      await later()
      expect(await total(account)).toBe(before)
      bookkeeper.state.manner = 'works'
      await later()
      expect(await total(account)).toBe(before + 5)
      const read = await world.ross.get(`${account.path}/transactions/${answer.data.transaction.id}`)
      expect(read.data.status).toBe('completed')
    }
    expect(chargesOf(account)).toHaveLength(4)
    await later()
    expect(await total(account)).toBe(20)
    expect(await payments(account)).toHaveLength(4)
  })

  it('give the first answer again under the same key', async () => {
    const { account, admin } = await customer()
    const headers = { 'idempotency-key': `top-up-${engine}` }
    const first = await topUp(admin, account, { amount: 5 }, headers)
    const again = await topUp(admin, account, { amount: 5 }, headers)
    expect(again.text).toBe(first.text)
    expect(await total(account)).toBe(5)
  })

  it('of a sale are for the vendor of the bookkeeper and the operator', async () => {
    const { account, admin } = await customer()
    const sell = (who: Person) => move(who, account, 'sale', { amount: 5 })
    for (const who of [admin, world.rex])
      expect(await world.unchanged(() => sell(who))).toFailWith(403, 'forbidden')
    for (const who of [world.ross, world.operator]) expect((await sell(who)).status).toBe(201)
    for (const who of [world.ross, admin]) {
      const other = await who.put(`${account.path}/transactions/elsewhere`, { amount: 5 })
      expect(other).toFailWith(403, 'forbidden')
    }
    expect(await total(account)).toBe(10)
  })

  it('need an amount', async () => {
    const { account } = await customer()
    for (const kind of ['sale', 'refund'] as const) {
      const sell = (data: Json) => world.unchanged(() => move(world.ross, account, kind, data))
      expect(await sell({})).toFailWith(400, 'validation error', {
        amount: { required: { message: 'Amount is required' } },
      })
      for (const amount of [0, -1])
        expect(await sell({ amount })).toFailWith(400, 'validation error', {
          amount: { minimum: { message: 'Amount must be greater than 0', target: 0, value: amount } },
        })
    }
  })

  it('cannot be moved by a bookkeeper that only keeps a balance, or that there is not', async () => {
    for (const type of ['default', 'iou']) {
      const { account } = await customer(type)
      for (const kind of ['sale', 'refund'] as const)
        expect(await world.unchanged(() => move(world.ross, account, kind, { amount: 5 }))).toFailWith(
          500,
          'invalid_bookkeeper',
        )
    }
  })

  it('keep their description and metadata', async () => {
    const { account } = await customer()
    const data = { amount: 2.675, description: 'Setup', order_id: 'A-1', metadata: { desk: 7 } }
    const { data: sold } = await move(world.ross, account, 'sale', data)
    expect(sold).toMatchObject({ ...data, executor: { trigger: 'manual', module: 'transactions' } })
    const { text } = await world.ross.get(`${account.path}/transactions?accept=csv`)
    const [header = '', line = ''] = text.trim().split('\r\n')
    const cell = (name: string) => line.split(',')[header.split(',').indexOf(name)]
    expect(cell('metadata_desk')).toBe('7')
    expect(cell('amount')).toBe('2.675')
  })

  it('give no more back than a sale has left', async () => {
    const { account } = await customer()
    const { data: sold } = await move(world.ross, account, 'sale', { amount: 10 })
    const refund = (amount: number, transaction_id?: string) =>
      move(world.ross, account, 'refund', { amount, ...(transaction_id ? { transaction_id } : {}) })
    const { data: first } = await refund(4)
    expect(first).toMatchObject({ type: 'refund', amount: -4, status: 'completed', refund_of: sold.id })
    expect(bookkeeper.calls.at(-1)?.body).toMatchObject({
      operation: 'refund',
      amount_units: 40_000,
      reference: sold.bookkeeper.results[0].id,
    })
    const tooMuch = await world.unchanged(() => refund(6.5, sold.id))
    expect(tooMuch).toFailWith(400, 'validation error', {
      amount: { maximum: { message: 'No sale has this amount left to refund', target: 6, value: 6.5 } },
    })
    const many = await Promise.all(Array.from({ length: 8 }, () => refund(1.5)))
    expect(many.filter(({ status }) => status === 201)).toHaveLength(4)
    expect(await total(account)).toBe(0)
    expect((await refund(1, 'f'.repeat(39))).status).toBe(404)
    const rows = await transactions(account)
    expect(rows.map(({ amount }) => amount).filter((amount) => amount === -1.5)).toHaveLength(4)
  })

  it('leave a sale as it was when a refund is refused', async () => {
    const { account } = await customer()
    await move(world.ross, account, 'sale', { amount: 10 })
    bookkeeper.state.manner = 'declines'
    expect((await move(world.ross, account, 'refund', { amount: 10 })).status).toBe(402)
    bookkeeper.state.manner = 'works'
    expect((await move(world.ross, account, 'refund', { amount: 10 })).status).toBe(201)
    expect(await total(account)).toBe(0)
  })

  it('go to the billing system of the vendor where it has one', async () => {
    const own = await startBookkeeper('secret of the reseller')
    const { vendors: _, ...common } = { vendors: {}, ...bookkeeper.settings }
    const settings = { ...own.settings, authorization_header: 'Bearer of-the-reseller' }
    const set = await world.operator.post('/v2/system_configs/services.http_sync', {
      default: { ...common, vendors: { [world.reseller.id]: settings } },
    })
    expect(set.status).toBe(200)
    const { account, admin } = await customer()
    expect((await topUp(admin, account, { amount: 5 })).status).toBe(200)
    expect(own.calls.map(({ headers }) => headers.authorization)).toEqual(['Bearer of-the-reseller'])
    expect(chargesOf(account)).toEqual([])
    await world.operator.post('/v2/system_configs/services.http_sync', { default: common })
    await own.close()
    const [logged] = await world.server.store.all(
      "SELECT concat(after_doc, changes) AS told FROM audit_log WHERE record_id = 'services.http_sync' AND concat(after_doc, changes) LIKE '%vendors%'",
    )
    const text = String(logged?.told)
    expect(text).toContain(own.settings.http_url)
    for (const secret of ['Bearer', 'secret of the reseller', 'signing-secret'])
      expect(text).not.toContain(secret)
  })

  it('are an account’s own', async () => {
    const { account } = await customer()
    const { data } = await move(world.ross, account, 'sale', { amount: 10 })
    const place = `transactions/${data.id}`
    expect((await world.rex.get(`${world.rival.path}/${place}`)).status).toBe(404)
    expect((await world.rex.get(`${account.path}/${place}`)).status).toBe(403)
  })

  it('are found by their ids only', async () => {
    const { account } = await customer()
    for (const id of ['foo', '202601-', `202601-${'a'.repeat(32)}`])
      expect(await world.ross.get(`${account.path}/transactions/${id}`)).toFailWith(404, 'bad_identifier', {
        message: 'bad identifier',
        cause: id,
      })
  })

  it('tell older clients what they ask', async () => {
    const { account, admin } = await customer('default')
    await topUp(world.ross, account, { amount: 7.25 })
    expect((await admin.get(`${account.path}/transactions/current_balance`)).data).toEqual({ balance: 7.25 })
    expect((await admin.get(`${account.path}/transactions/monthly_recurring`)).data).toEqual([])
    expect(await admin.get(`${account.path}/transactions/subscriptions`)).toFailWith(404, 'bad_identifier', {
      message: 'bad identifier',
      cause: 'subscriptions',
      details: 'the account has no services',
    })
  })

  it('are reported by email', async () => {
    const { account, admin } = await customer()
    await world.operator.patch(admin.path, { email: 'payer@acme.test' })
    await topUp(admin, account, { amount: 5 })
    bookkeeper.state.manner = 'declines'
    await topUp(admin, account, { amount: 6 })
    await world.deliverMail()
    const letters = await world.server.store.all(
      'SELECT notice, recipient FROM mail_attempts WHERE account_id = $1 ORDER BY letter_id',
      [account.id],
    )
    expect(letters).toEqual([
      { notice: 'transaction', recipient: 'payer@acme.test' },
      { notice: 'transaction_failed', recipient: 'payer@acme.test' },
    ])
  })
})
