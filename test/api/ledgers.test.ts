// Money that accounts are given and that is taken from them.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { monthOf } from '../../src/lib/time-key.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const gregorian = (unixMilliseconds: number) => Math.floor(unixMilliseconds / 1000) + 62_167_219_200

describeAnyEngine('ledgers', (engine) => {
  const world = useWorld(engine)

  let entries = 0
  const entry = (amount: number, fields: Json = {}) => ({
    source: { service: 'X', id: `${++entries}` },
    usage: { type: 'cycle', quantity: 1, unit: 'Hz' },
    amount,
    ...fields,
  })

  const book = (account: TestAccount, kind: 'credit' | 'debit', data: Json, envelope: Json = {}) =>
    world.ross.put(`${account.path}/ledgers/${kind}`, undefined, {
      body: JSON.stringify({ data, ...envelope }),
    })

  const total = async (account: TestAccount) =>
    (await world.ross.get(`${account.path}/ledgers/total`)).data.amount

  const customer = () => world.account(world.reseller)

  /** Every entry's legs add up to nothing, and every balance is the sum of its account's legs. */
  const expectBalanced = async () => {
    const { all } = world.server.store
    const uneven = await all(
      'SELECT account_id, entry_id FROM ledger_postings GROUP BY account_id, entry_id HAVING sum(amount) <> 0 OR count(*) <> 2',
    )
    expect(uneven).toEqual([])
    const wrong = await all(
      `SELECT b.account_id FROM ledger_balances b WHERE units <> (
        SELECT COALESCE(sum(amount), 0) FROM ledger_entries e
          WHERE e.account_id = b.account_id AND source_service <> 'rollovers')`,
    )
    expect(wrong).toEqual([])
  }

  it('take a credit from the reseller', async () => {
    const account = await customer()
    const data = entry(2.6, { description: 'Welcome', metadata: { bonus: true } })
    const answer = await book(account, 'credit', data)
    expect(answer.status).toBe(201)
    expect(answer.data).toEqual({
      id: expect.stringMatching(new RegExp(`^${monthOf(world.clock.now())}-[0-9a-f]{32}$`)),
      source: data.source,
      usage: data.usage,
      amount: 2.6,
      description: 'Welcome',
      metadata: { bonus: true },
      period: { start: gregorian(world.clock.now()) },
      executor: { trigger: 'manual', module: 'ledgers' },
      account: { id: account.id, name: account.name },
      audit: {
        available_units: 0,
        authentication: {
          type: 'cb_user_auth',
          account_id: world.reseller.id,
          account_name: 'Reseller',
        },
        agent: {
          type: 'user',
          type_id: world.ross.id,
          account_id: world.reseller.id,
          first_name: 'Ross',
          last_name: 'Reseller',
        },
        request: {
          id: expect.any(String),
          client_ip: '127.0.0.1',
          method: 'PUT',
          path: `${account.path}/ledgers/credit`,
        },
      },
      created: gregorian(world.clock.now()),
      created_ms: world.clock.now() + 62_167_219_200_000,
    })
    expect(await total(account)).toBe(2.6)
    const read = await world.ross.get(`${account.path}/ledgers/X/${answer.data.id}`)
    expect(read.data).toEqual(answer.data)
  })

  it('print a debit with a minus', async () => {
    const account = await customer()
    await book(account, 'credit', entry(150))
    expect((await book(account, 'debit', entry(100))).data.amount).toBe(-100)
    const rows = (await world.ross.get(`${account.path}/ledgers/X`)).data as unknown as Json[]
    expect(rows.map(({ amount }) => amount).toSorted()).toEqual([-100, 150])
    expect(await total(account)).toBe(50)
  })

  it('refuse what was booked already', async () => {
    const account = await customer()
    const data = entry(5, { period: { start: 63_900_000_000 } })
    expect((await book(account, 'credit', data)).status).toBe(201)
    expect(await world.unchanged(() => book(account, 'credit', { ...data, amount: 7 }))).toFailWith(
      409,
      'datastore_conflict',
      { message: 'this entry is already booked' },
    )
    expect(await total(account)).toBe(5)
  })

  it('refuse amounts and usages that make no sense, each by its path', async () => {
    const account = await customer()
    const { usage: _, ...withoutUsage } = entry(1)
    const usage = { type: 'cycle', quantity: 1.5, unit: 'Hz' }
    const bad: [Json, string, string][] = [
      [entry(0), 'amount', 'minimum'],
      [entry(-1), 'amount', 'minimum'],
      [entry(0.00001), 'amount', 'decimals'],
      [withoutUsage, 'usage', 'required'],
      [entry(1, { usage }), 'usage.quantity', 'type'],
    ]
    for (const [data, path, rule] of bad) {
      const answer = await world.unchanged(() => book(account, 'credit', data))
      expect(answer.status).toBe(400)
      expect(Object.keys((answer.data[path] ?? {}) as Json)).toEqual([rule])
    }
  })

  it('are not the account’s own to write', async () => {
    const write = () => world.ada.put(`${world.acme.path}/ledgers/credit`, entry(1))
    expect(await world.unchanged(write)).toFailWith(403, 'forbidden')
  })

  it('let a booking move the reseller’s ledger too, both or neither', async () => {
    const account = await customer()
    const both = await book(account, 'credit', entry(10), { impact_reseller: true })
    expect(both.data).toMatchObject({
      [account.id]: { available_dollars: 10, is_reseller: false },
      [world.reseller.id]: { is_reseller: true },
    })
    const before = await world.operator.get(`${world.reseller.path}/ledgers/total`)
    await book(account, 'credit', entry(100_000))
    await world.prepay(world.reseller)
    const tooMuch = await world.unchanged(() =>
      book(account, 'debit', entry(100_000), { impact_reseller: true }),
    )
    expect(tooMuch).toFailWith(402, 'not_enough_credit', {
      message: 'the account does not have enough credit to perform the operation',
      missing: expect.any(Number),
    })
    await world.operator.post(`${world.reseller.path}/limits/operator`, {})
    expect((await world.operator.get(`${world.reseller.path}/ledgers/total`)).data).toEqual(before.data)
  })

  it('give a CSV for people who keep books', async () => {
    const account = await customer()
    await book(account, 'credit', entry(1))
    await book(account, 'credit', entry(2, { metadata: { bonus: 'yes' } }))
    const { text } = await world.ross.get(`${account.path}/ledgers/X?accept=csv&ascending=true`)
    const [header, ...lines] = text.trim().split('\r\n')
    expect(header?.split(',')).toEqual(
      expect.arrayContaining(['Source ID', 'Source Service', 'Usage Quantity', 'Amount', 'metadata_bonus']),
    )
    expect(lines).toHaveLength(2)
  })

  it('do not show an entry under another source', async () => {
    const account = await customer()
    const { id } = (await book(account, 'credit', entry(1))).data
    expect(await world.ross.get(`${account.path}/ledgers/Y/${id}`)).toFailWith(404, 'bad_identifier', {
      message: 'bad identifier',
      cause: id,
    })
  })

  it('are summed up by month and account', async () => {
    const account = await customer()
    await book(account, 'credit', entry(3))
    await book(account, 'debit', entry(1))
    const sums = { X: { amount: 2, usage: { type: 'cycle', quantity: 2, unit: 'Hz' } } }
    expect((await world.ross.get(`${account.path}/ledgers`)).data).toEqual(sums)
    const thisMonth = monthOf(world.clock.now())
    expect((await world.ross.get(`${account.path}/ledgers/summary/${thisMonth}`)).data).toEqual({
      summary: sums,
      breakdown: [{ account: { id: account.id, name: account.name }, ledgers: sums, total: 2 }],
    })
    for (const month of ['201913', 'abc'])
      expect(await world.ross.get(`${account.path}/ledgers/summary/${month}`)).toFailWith(
        404,
        'bad_identifier',
        {
          message: 'bad identifier',
          cause: month,
        },
      )
  })

  it('take more than the available credit when an account above debits them', async () => {
    const account = await customer()
    for (const who of [world.ross, world.operator])
      expect((await who.put(`${account.path}/ledgers/debit`, entry(3))).status).toBe(201)
    expect(await total(account)).toBe(-6)
    expect((await world.operator.put(`${world.reseller.path}/ledgers/debit`, entry(1))).status).toBe(201)
    await world.operator.put(`${world.reseller.path}/ledgers/credit`, entry(1))
    await expectBalanced()
  })

  it('let exactly as many of many debits of a prepaid account’s own ledger through as there is money for', async () => {
    const reseller = await world.account()
    await world.operator.put(`${reseller.path}/reseller`, {})
    const account = await world.account(reseller)
    const admin = await world.admin(reseller)
    await world.prepay(reseller)
    await world.operator.put(`${reseller.path}/ledgers/credit`, entry(50))
    const debit = () =>
      admin.put(`${account.path}/ledgers/debit`, undefined, {
        body: JSON.stringify({ data: entry(1), impact_reseller: true }),
      })
    const debits = await Promise.all(Array.from({ length: 100 }, debit))
    expect(debits.filter(({ status }) => status === 201)).toHaveLength(50)
    expect(debits.filter(({ status }) => status === 402)).toHaveLength(50)
    expect((await admin.get(`${reseller.path}/ledgers/total`)).data).toEqual({ amount: 0 })
    expect((await admin.get(`${account.path}/ledgers/total`)).data).toEqual({ amount: -50 })
    await expectBalanced()
  })

  it('name the currency of all amounts to every user of the account and of the accounts above', async () => {
    const currencies = () =>
      Promise.all(
        [world.uli, world.ada, world.ross, world.operator].map(async (person) => {
          const { body } = await person.get(`${world.acme.path}/ledgers/total`)
          return body.metadata
        }),
      )
    expect(await currencies()).toEqual(Array.from({ length: 4 }, () => ({ currency: 'USD' })))
    await world.configure('services', { currency: 'EUR' })
    expect(await currencies()).toEqual(Array.from({ length: 4 }, () => ({ currency: 'EUR' })))
    await world.configure('services', { currency: 'USD' })
  })

  it('stay balanced and exact whatever is booked', async () => {
    const amount = fc.integer({ min: 1, max: 99_999_999 })
    const booking = fc.record({ kind: fc.constantFrom('credit' as const, 'debit' as const), amount })
    await fc.assert(
      fc.asyncProperty(fc.array(booking, { minLength: 1, maxLength: 12 }), async (bookings) => {
        const account = await customer()
        let units = 0
        for (const { kind, amount: size } of bookings) {
          const { status } = await book(account, kind, entry(size / 10_000))
          expect(status).toBe(201)
          units += kind === 'credit' ? size : -size
        }
        expect(await total(account)).toBe(units / 10_000)
        await expectBalanced()
      }),
      { numRuns: 10 },
    )
  })

  it('carry a balance into the next month, once', async () => {
    const account = await customer()
    await book(account, 'credit', entry(12.5))
    world.clock.advance({ hours: 24 * 31 })
    for (const _ of [1, 2]) await world.server.scheduler.runNow('ledger_months')
    const operator = world.clientWithToken(await world.tokenOf(world.master, world.operator.id))
    const read = async (path: string) => (await operator.get(`${account.path}/ledgers/${path}`)).data
    expect(await read('total')).toEqual({ amount: 12.5 })
    const rows = (await read('rollovers')) as unknown as Json[]
    expect(rows).toEqual([
      {
        id: '202602-ledgers_monthly_rollover',
        source: { service: 'rollovers', id: '202601' },
        usage: { type: 'month', quantity: 1, unit: 'month' },
        amount: 12.5,
        description: 'Balance of 202601',
        audit: { available_units: 125_000 },
        created: gregorian(world.clock.now()),
        created_ms: world.clock.now() + 62_167_219_200_000,
      },
    ])
    await operator.put(`${account.path}/ledgers/credit`, entry(1))
    expect((await read('summary/202602')).summary).toEqual({
      X: { amount: 1, usage: { type: 'cycle', quantity: 1, unit: 'Hz' } },
      rollovers: { amount: 12.5, usage: { type: 'month', quantity: 1, unit: 'month' } },
    })
    expect((await read('summary/202601')).summary).toEqual({
      X: { amount: 12.5, usage: { type: 'cycle', quantity: 1, unit: 'Hz' } },
    })
    await expectBalanced()
  })
})
