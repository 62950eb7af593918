// Alerts that callers create, and alerts that follow from the state of an account.
import { afterEach, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { ChangeSet } from '../../src/storage/change-set.ts'
import { mailsTo, textOf } from '../support/servers/outbox.ts'
import { nowOf } from '../support/world/legs.ts'
import { describeEngines, type Person, type TestAccount, useWorld } from '../support/world/world.ts'

const day = 86_400

describeEngines('alerts', (engine) => {
  const world = useWorld(engine)

  const alertsOf = ({ path }: TestAccount) => `${path}/alerts`

  const from = () => [{ type: 'account', value: world.master.id }]

  let made = 0
  const alertTo = (to: Json[], fields: Json = {}) => {
    made += 1
    return { title: `Alert ${made}`, message: 'Mind the gap', from: from(), to, ...fields }
  }

  const raised: string[] = []
  const raise = async (to: Json[], fields: Json = {}) => {
    const answer = await world.operator.put(alertsOf(world.master), alertTo(to, fields))
    expect(answer.status).toBe(201)
    raised.push(answer.data.id)
    return answer.data as Json & { id: string }
  }

  // Those to all would show in the lists of other tests.
  afterEach(async () => {
    for (const id of raised.splice(0)) await world.operator.delete(`${alertsOf(world.master)}/${id}`)
  })

  const rowsFor = async (who: Pick<Person, 'get'>, account: TestAccount) => {
    const answer = await who.get(alertsOf(account))
    expect(answer.status).toBe(200)
    return answer.data as unknown as Json[]
  }

  const sees = async (who: Pick<Person, 'get'>, account: TestAccount, { id }: { id: string }) =>
    (await rowsFor(who, account)).some((row) => row.id === id)

  it('are made by admins of the operator alone', async () => {
    const body = alertTo([{ type: 'all', value: 'all' }])
    for (const by of [world.ross, world.ada, world.uli]) {
      const answer = await world.unchanged(() => by.put(alertsOf(world.acme), body))
      expect(answer).toFailWith(403, 'forbidden')
    }
  })

  it('need a title, a message, a sender and a recipient', async () => {
    const { title: _, ...untitled } = alertTo([{ type: 'all', value: 'all' }])
    const answer = await world.unchanged(() => world.operator.put(alertsOf(world.master), untitled))
    expect(answer.status).toBe(400)
    expect(Object.keys(answer.data.title as object)).toEqual(['required'])
    const empty = await world.unchanged(() => world.operator.put(alertsOf(world.master), {}))
    expect(Object.keys(empty.data).toSorted()).toEqual(['from', 'message', 'title', 'to'])
    const nobody = alertTo([
      { type: 'all', value: 'all' },
      { type: 'friends', value: 'all' },
    ])
    expect(await world.unchanged(() => world.operator.put(alertsOf(world.master), nobody))).toFailWith(
      400,
      'validation error',
      {
        'to.1': {
          enum: {
            message:
              'Unknown recipient. Use the type `all`, `resellers` or an account id with the value `users` or `admins`, an account id with a user id, or `descendants` with [account id, `users` or `admins`]',
            value: ['friends', 'all'],
          },
        },
      },
    )
  })

  it('are created neither by a request nor by the server while they are switched off', async () => {
    const { account, admin } = await customer()
    await world.configure('alerts', { enabled: false })
    const body = alertTo([{ type: 'all', value: 'all' }])
    expect(await world.unchanged(() => world.operator.put(alertsOf(world.master), body))).toFailWith(
      400,
      'disabled',
      { message: 'entity disabled' },
    )
    expect(await rowsFor(admin, account)).toEqual([])
    await world.configure('alerts', { enabled: true })
    expect((await rowsFor(admin, account)).length).toBeGreaterThan(0)
  })

  it('show in rows that are flat and hold the same again under value', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const to = [{ type: account.id, value: 'admins' }]
    const sent = alertTo(to, { category: 'notice', metadata: { name: 'x' }, unheard_of: 1 })
    const answer = await world.operator.put(alertsOf(account), sent)
    const { unheard_of: _, ...kept } = sent as Json
    expect(answer.data).toEqual({ id: answer.data.id, ...kept, level: 'info' })
    const flat = {
      id: answer.data.id,
      title: sent.title,
      message: 'Mind the gap',
      category: 'notice',
      level: 'info',
      metadata: { name: 'x' },
      from: from(),
      created: nowOf(world),
    }
    expect(await rowsFor(admin, account)).toEqual([
      { ...flat, key: [account.id, 'admins'], value: flat, clearable: true },
    ])
    expect((await admin.get(`${alertsOf(account)}/${answer.data.id}`)).data).toEqual(answer.data)
  })

  it('to the admins of an account are seen by them, and by no plain user and no other account', async () => {
    const alert = await raise([{ type: world.acme.id, value: 'admins' }])
    expect(await sees(world.ada, world.acme, alert)).toBe(true)
    expect(await sees(world.uli, world.acme, alert)).toBe(false)
    expect(await sees(world.rex, world.rival, alert)).toBe(false)
    expect(await sees(world.acmeKey as unknown as Person, world.acme, alert)).toBe(true)
    expect(await sees(world.ross, world.acme, alert)).toBe(true)
    expect(await sees(world.ross, world.reseller, alert)).toBe(false)
    for (const [who, account] of [
      [world.uli, world.acme],
      [world.rex, world.rival],
    ] as const) {
      const path = `${alertsOf(account)}/${alert.id}`
      const missing = { message: 'bad identifier', cause: alert.id }
      expect(await who.get(path)).toFailWith(404, 'bad_identifier', missing)
      expect(await world.unchanged(() => who.delete(path))).toFailWith(404, 'bad_identifier', missing)
    }
  })

  it('name their recipients in either order', async () => {
    const { ada, uli, rex, ross } = world
    const people: [Person, TestAccount][] = [
      [ada, world.acme],
      [uli, world.acme],
      [rex, world.rival],
      [ross, world.reseller],
    ]
    const expected: [Json, boolean[]][] = [
      [{ type: 'all', value: 'all' }, [true, true, true, true]],
      [{ type: 'users', value: 'all' }, [true, true, true, true]],
      [{ type: 'all', value: 'admins' }, [true, false, true, true]],
      [{ type: 'admins', value: 'all' }, [true, false, true, true]],
      [{ type: world.acme.id, value: 'users' }, [true, true, false, false]],
      [{ type: 'user', value: world.acme.id }, [true, true, false, false]],
      [{ type: 'admins', value: world.acme.id }, [true, false, false, false]],
      [{ type: world.acme.id, value: uli.id }, [false, true, false, false]],
      [{ type: 'user', value: uli.id }, [false, true, false, false]],
      [{ type: 'resellers', value: 'all' }, [false, false, false, true]],
      [{ type: 'resellers', value: 'admins' }, [false, false, false, true]],
      [{ type: 'admins', value: 'resellers' }, [false, false, false, true]],
      [{ type: 'resellers', value: world.reseller.id }, [false, false, false, true]],
      [{ type: 'descendants', value: [world.reseller.id, 'all'] }, [true, true, true, false]],
      [{ type: 'descendants', value: [world.reseller.id, 'admins'] }, [true, false, true, false]],
      [{ type: 'descendants', value: [world.acme.id, 'all'] }, [false, false, false, false]],
    ]
    for (const [recipient, seen] of expected) {
      const alert = await raise([recipient])
      const found = []
      for (const [who, account] of people) found.push(await sees(who, account, alert))
      expect([recipient, found]).toEqual([recipient, seen])
    }
  })

  it('are listed once for a user who matches several recipients', async () => {
    const alert = await raise([
      { type: 'all', value: 'all' },
      { type: world.acme.id, value: 'admins' },
      { type: world.acme.id, value: world.ada.id },
    ])
    const rows = (await rowsFor(world.ada, world.acme)).filter(({ id }) => id === alert.id)
    expect(rows.map(({ key }) => key)).toEqual([['all', 'users']])
  })

  it('end when they say, and are gone soon after', async () => {
    const alert = await raise([{ type: world.acme.id, value: 'all' }], {
      expiration_date: nowOf(world) + 60,
    })
    const stays = await raise([{ type: world.acme.id, value: 'all' }])
    expect(await sees(world.ada, world.acme, alert)).toBe(true)
    world.clock.advance({ minutes: 1 })
    expect(await sees(world.ada, world.acme, alert)).toBe(false)
    expect((await world.ada.get(`${alertsOf(world.acme)}/${alert.id}`)).status).toBe(404)
    await world.server.scheduler.runNow('alerts')
    const { all } = world.server.store
    const left = await all("SELECT id FROM records WHERE kind = 'alert' AND id IN ($1, $2)", [
      alert.id,
      stays.id,
    ])
    expect(left).toEqual([{ id: stays.id }])
    expect(await all("SELECT value FROM claims WHERE name = 'alert' AND record_id = $1", [alert.id])).toEqual(
      [],
    )
  })

  it('of an account are deleted by its admins for all its users', async () => {
    const alert = await raise([{ type: world.acme.id, value: 'all' }])
    const answer = await world.ada.delete(`${alertsOf(world.acme)}/${alert.id}`)
    expect(answer.status).toBe(200)
    expect(answer.data).toEqual(alert)
    expect(await sees(world.uli, world.acme, alert)).toBe(false)
    expect((await world.ada.get(`${alertsOf(world.acme)}/${alert.id}`)).status).toBe(404)
  })

  it('are hidden by others from themselves alone', async () => {
    const account = await world.account(world.reseller)
    const [admin, user, other] = [
      await world.admin(account),
      await world.user(account),
      await world.user(account),
    ]
    const ofAccount = await raise([{ type: account.id, value: 'all' }])
    expect((await user.delete(`${alertsOf(account)}/${ofAccount.id}`)).status).toBe(200)
    expect(await sees(user, account, ofAccount)).toBe(false)
    expect((await user.get(`${alertsOf(account)}/${ofAccount.id}`)).status).toBe(404)
    expect(await sees(other, account, ofAccount)).toBe(true)
    const ofAll = await raise([{ type: 'all', value: 'all' }])
    expect((await admin.delete(`${alertsOf(account)}/${ofAll.id}`)).status).toBe(200)
    expect(await sees(admin, account, ofAll)).toBe(false)
    expect(await sees(world.ada, world.acme, ofAll)).toBe(true)
    expect((await world.operator.delete(`${alertsOf(world.master)}/${ofAll.id}`)).status).toBe(200)
    expect(await sees(world.ada, world.acme, ofAll)).toBe(false)
  })

  it('that are hidden are forgotten with the user', async () => {
    const account = await world.account(world.reseller)
    const user = await world.user(account)
    const alert = await raise([{ type: account.id, value: 'all' }])
    await user.delete(`${alertsOf(account)}/${alert.id}`)
    const hidden = () =>
      world.server.store.all("SELECT id FROM records WHERE kind = 'hidden_alerts' AND id = $1", [user.id])
    expect(await hidden()).toHaveLength(1)
    expect((await world.operator.delete(user.path)).status).toBe(200)
    expect(await hidden()).toEqual([])
  })

  it('to the admins of an account are mailed to them', async () => {
    const account = await world.account(world.reseller)
    await world.admin(account, { email: 'boss@gap.test' })
    await raise([{ type: account.id, value: 'admins' }], { title: 'Works tonight', category: 'works' })
    await world.deliverMail()
    const mails = await mailsTo(world.place.dataDir, 'boss@gap.test')
    const [mail, ...others] = mails.filter((text) => text.includes('Subject: Works tonight'))
    expect(textOf(mail ?? '')).toContain('Mind the gap')
    expect(others).toEqual([])
  })

  /** An account with a plan, so that alerts about money apply to it. */
  const customer = async (fields: Json = {}) => {
    const account = await world.account(world.reseller, fields)
    const admin = await world.admin(account, { email: `${account.id}@customer.test` })
    const plan = { name: 'Plan', plan: {}, ...(fields.plan as Json | undefined) }
    const { data } = await world.operator.put(`${world.reseller.path}/service_plans`, plan)
    expect(await world.ross.post(`${account.path}/services`, { add: [data.id] })).toSucceed()
    return { account, admin }
  }

  let entries = 0
  const book = async (account: TestAccount, kind: 'credit' | 'debit', amount: number) => {
    entries += 1
    const answer = await world.operator.put(`${account.path}/ledgers/${kind}`, {
      source: { service: 'X', id: `${entries}` },
      usage: { type: 'cycle', quantity: 1, unit: 'Hz' },
      amount,
    })
    expect(answer.status).toBe(201)
  }

  const categoriesOf = async (who: Person, account: TestAccount) =>
    (await rowsFor(who, account)).filter(({ clearable }) => !clearable).map(({ category }) => category)

  it('report a balance below the threshold of the account for as long as it is below', async () => {
    const { account, admin } = await customer({ notifications: { low_balance: { threshold: 5 } } })
    await book(account, 'credit', 4.99)
    const flat = {
      id: account.id,
      title: 'Balance below threshold',
      message: 'Please add credit to your account to avoid service interruption.',
      category: 'low_balance',
      metadata: { available: 4.99, threshold: 5 },
      from: [{ type: 'account', value: account.id }],
    }
    const row = { ...flat, key: [account.id, 'users'], value: flat, clearable: false }
    expect((await rowsFor(admin, account)).find(({ category }) => category === 'low_balance')).toEqual(row)
    await book(account, 'credit', 0.01)
    expect(await categoriesOf(admin, account)).not.toContain('low_balance')
    await book(account, 'debit', 1)
    expect(await categoriesOf(admin, account)).toContain('low_balance')
  })

  it('tell without a threshold that nothing is left, or that of the top-up', async () => {
    const { account, admin } = await customer()
    const low = async () =>
      (await rowsFor(admin, account)).find(({ category }) => category === 'low_balance')?.metadata
    expect(await low()).toEqual({ available: 0, threshold: 0 })
    await book(account, 'credit', 0.01)
    expect(await low()).toBeUndefined()
    await world.ross.patch(account.path, { topup: { threshold: 2 } })
    expect(await low()).toEqual({ available: 0.01, threshold: 2 })
    await world.ross.patch(account.path, { topup: null })
    await world.ross.post(`${account.path}/limits/operator`, { allow_postpay: true, max_postpay_amount: 1 })
    expect(await low()).toEqual({ available: 0.01, threshold: 1 })
  })

  it('tell nothing about money to an account without plans', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    await world.ross.post(`${account.path}/limits/operator`, { allow_postpay: true, max_postpay_amount: 5 })
    await book(account, 'debit', 3)
    expect(await categoriesOf(admin, account)).toEqual([])
  })

  const payWith = async (account: TestAccount, expiration: number | undefined) => {
    const { books } = world.server.areas.services
    const before = await books.services.find(account.id)
    const token = {
      id: 'card-1',
      bookkeeper: { type: 'default', vendor_id: world.reseller.id },
      default: true,
      created: 1,
      modified: 1,
      ...(expiration === undefined ? {} : { expiration }),
      metadata: { last_four: '4242' },
    }
    const set = new ChangeSet({ requestId: 'test' })
    books.services.put(set, account.id, before, { ...before?.doc, payment_tokens: { [token.id]: token } })
    await world.server.store.commit(set)
    return token
  }

  it('report that no payment token is set, or that it soon expires', async () => {
    const { account, admin } = await customer()
    await book(account, 'credit', 10)
    const money = async () =>
      (await rowsFor(admin, account)).filter(({ clearable }) => !clearable).map(({ value }) => value)
    expect(await money()).toEqual([
      {
        id: account.id,
        title: 'No payment token configured',
        message: 'Please add a payment token to avoid service interruption.',
        category: 'no_payment_token',
        metadata: {},
        from: [{ type: 'account', value: account.id }],
      },
    ])
    await payWith(account, nowOf(world) + 61 * day)
    expect(await money()).toEqual([])
    const token = await payWith(account, nowOf(world) + 59 * day)
    expect(await money()).toEqual([
      {
        id: 'card-1',
        title: 'Payment method expired or about to expire',
        message: 'Please update your payment tokens to avoid service interruption.',
        category: 'expired_payment_token',
        metadata: token,
        from: [{ type: 'account', value: account.id }],
      },
    ])
    await payWith(account, undefined)
    expect(await money()).toEqual([])
  })

  it('tell that the account has lost its good name, until it has it back', async () => {
    const { account, admin } = await customer()
    await book(account, 'credit', 10)
    await payWith(account, undefined)
    const standing = (isGood: boolean) =>
      world.operator.post(`${account.path}/services/status`, { in_good_standing: isGood, reason: 'card' })
    await standing(false)
    expect(await categoriesOf(admin, account)).toEqual(['not_good_standing'])
    await standing(true)
    expect(await categoriesOf(admin, account)).toEqual([])
  })

  it('tell of numbers on their way, until they have arrived', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const number = '+14155550177'
    const path = `${account.path}/phone_numbers/${encodeURIComponent(number)}`
    const made = await world.operator.put(path, { create_with_state: 'port_in' })
    expect(made.status).toBe(201)
    const rows = await rowsFor(admin, account)
    expect(rows.filter(({ clearable }) => !clearable).map(({ value }) => value)).toEqual([
      {
        id: number,
        title: 'Port request requires action',
        message: `The number ${number} is being ported in: complete the port, or release the number.`,
        category: 'port_action_required',
        metadata: { name: number, state: 'port_in' },
        from: [{ type: 'account', value: account.id }],
      },
    ])
    await world.configure('crossbar.alerts', { check_port_requests: false })
    expect(await categoriesOf(admin, account)).toEqual([])
    await world.configure('crossbar.alerts', { check_port_requests: true })
    expect((await world.operator.put(`${path}/activate`, {})).status).toBeLessThan(300)
    expect(await categoriesOf(admin, account)).toEqual([])
  })

  it('that the server makes cannot be cleared or read one by one', async () => {
    const { account, admin } = await customer()
    const path = `${alertsOf(account)}/${account.id}`
    expect(await categoriesOf(admin, account)).toContain('low_balance')
    expect(await world.unchanged(() => admin.delete(path))).toFailWith(403, 'forbidden', {
      message: 'this alert cannot be cleared: it ends with its cause',
      cause: account.id,
    })
    expect(await categoriesOf(admin, account)).toContain('low_balance')
    expect(await admin.get(path)).toFailWith(404, 'bad_identifier')
    expect(await admin.delete(`${alertsOf(account)}/nothing`)).toFailWith(404, 'bad_identifier')
  })

  it('are made and shown as the operator has switched them', async () => {
    const { account, admin } = await customer()
    const alert = await raise([{ type: account.id, value: 'all' }])
    const with_ = async (checks: Json) => {
      await world.configure('crossbar.alerts', checks)
      const rows = await rowsFor(admin, account)
      for (const key of Object.keys(checks)) await world.configure('crossbar.alerts', { [key]: true })
      return rows.filter(({ id, clearable }) => id === alert.id || !clearable).map(({ category }) => category)
    }
    expect(await with_({})).toEqual(['low_balance', 'no_payment_token', undefined])
    expect(await with_({ check_financials: false })).toEqual([undefined])
    expect(await with_({ check_low_balance: false })).toEqual(['no_payment_token', undefined])
    expect(await with_({ check_payment_token: false })).toEqual(['low_balance', undefined])
    expect(await with_({ check_system_alerts: false })).toEqual(['low_balance', 'no_payment_token'])
  })

  const mailsAbout = async ({ id }: TestAccount) => {
    await world.server.scheduler.runNow('low_balance')
    await world.deliverMail()
    return (await mailsTo(world.place.dataDir, `${id}@customer.test`)).filter((mail) =>
      mail.includes('Subject: The balance of'),
    )
  }

  it('about a low balance are mailed to accounts that want it, at five dollars unless they say so', async () => {
    const { account } = await customer()
    await book(account, 'credit', 6)
    await book(account, 'debit', 1)
    expect(await mailsAbout(account)).toHaveLength(0)
    await world.ross.patch(account.path, { notifications: { low_balance: { enabled: true } } })
    expect(await mailsAbout(account)).toHaveLength(1)
    expect(
      await world.server.store.all('SELECT 1 AS one FROM balance_watch WHERE account_id = $1', [account.id]),
    ).toHaveLength(1)
    await world.ross.patch(account.path, { notifications: { low_balance: { enabled: false } } })
    await world.server.scheduler.runNow('low_balance')
    expect(
      await world.server.store.all('SELECT 1 AS one FROM balance_watch WHERE account_id = $1', [account.id]),
    ).toEqual([])
  })

  /** Past the API: tokens do not live for days. */
  const move = async ({ id }: TestAccount, dollars: number) => {
    const { ledgers, services } = world.server.areas
    const account = await services.books.account(id)
    if (!account) throw new Error('there is no such account')
    const set = new ChangeSet({ requestId: 'test' })
    entries += 1
    ledgers.post(set, account, {
      source: { service: 'X', id: `${entries}` },
      usage: { type: 'cycle', quantity: 1, unit: 'Hz' },
      amount: dollars * 10_000,
      identity: ['test', entries],
      details: {},
    })
    await world.server.store.commit(set)
  }

  it('about a low balance are mailed once, and once a day while it lasts', async () => {
    const { account } = await customer()
    await book(account, 'credit', 8)
    // A change of these settings triggers a check of the balance.
    const notifications = { low_balance: { enabled: true, threshold: 5 } }
    expect(await world.ross.patch(account.path, { notifications })).toSucceed()
    expect(await mailsAbout(account)).toHaveLength(0)
    await book(account, 'debit', 4)
    const [mail, ...more] = await mailsAbout(account)
    expect(more).toEqual([])
    expect(textOf(mail ?? '')).toContain('is $4.00')
    await move(account, -1)
    world.clock.advance({ hours: 23 })
    expect(await mailsAbout(account)).toHaveLength(1)
    world.clock.advance({ hours: 1 })
    expect(await mailsAbout(account)).toHaveLength(2)
    await move(account, 10)
    expect(await mailsAbout(account)).toHaveLength(2)
    await move(account, -9)
    expect(await mailsAbout(account)).toHaveLength(3)
  })
})
