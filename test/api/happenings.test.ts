// The test causes each kind of business event, and finds it in the feed.
import { afterAll, beforeEach, expect, it } from 'vitest'
import { afterOf, type FeedEvent } from '../../src/events/events.ts'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import type { Json } from '../../src/lib/json.ts'
import { eventually } from '../support/run/eventually.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { allowAdditions, createNumberSource, pathOf } from '../support/world/numbers.ts'
import { credentialsOf, describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

describeAnyEngine('business events', (engine) => {
  let dns: DnsServer
  const world = useWorld(
    engine,
    async ({ configure }) => configure('whitelabel', { check_domains_hours: 1 }),
    async () => {
      dns = await startDnsServer()
      return { dnsServers: [dns.text] }
    },
  )
  afterAll(() => dns.close())
  beforeEach(() => dns.clear())

  let made = 0
  const next = () => {
    made += 1
    return String(made)
  }
  const sourceOf = (id: string) => ({ service: 'shop', id })
  const usage = { type: 'cash', quantity: 1, unit: 'note' }
  const numbers = createNumberSource()

  const read = async ({ id }: Pick<TestAccount, 'id'>, types: readonly string[]) => {
    const question = { accountId: id, below: false, after: 0, limit: 1000, types }
    const { events } = await world.server.feed.page(question)
    return events.map((event) => ({
      type: event.type,
      kind: event.kind,
      id: event.recordId,
      after: afterOf(event),
      author: event.author,
      action: event.action,
    }))
  }

  /** The events of these types that an account has, when there are as many as there should be. */
  const heard = (account: Pick<TestAccount, 'id'>, types: string | readonly string[], count = 1) =>
    eventually(
      () => read(account, [types].flat()),
      (events) => events.length >= count,
    )

  const only = async (account: Pick<TestAccount, 'id'>, type: string) => {
    const [event, ...others] = await heard(account, type)
    expect(others).toEqual([])
    return event
  }

  /** Everything that was committed until now can be read. */
  const settled = async (account: TestAccount) => {
    const mark = await world.device(account)
    await eventually(
      () => read(account, ['device.created']),
      (events) => events.some(({ id }) => id === mark.id),
    )
  }

  const customer = async () => {
    const account = await world.account(world.reseller)
    return { account, admin: await world.admin(account) }
  }

  const sold = async (plan: Json) => {
    const one = await customer()
    const { data } = await world.ross.put(`${world.reseller.path}/service_plans`, { name: 'Plan', plan })
    expect(await world.ross.post(`${one.account.path}/services`, { add: [data.id] })).toSucceed()
    return one
  }

  it('of a number have its state and its account', async () => {
    const { account } = await customer()
    await allowAdditions(world, account)
    const number = numbers()
    const path = pathOf(account, number)
    expect(await world.operator.put(path, { create_with_state: 'reserved' })).toSucceed(201)
    expect(await only(account, 'number.bought')).toMatchObject({
      kind: 'number',
      id: number,
      after: { state: 'reserved', assigned_to: account.id },
    })
    expect(await world.operator.put(`${path}/activate`, {})).toSucceed()
    expect(await only(account, 'number.state_changed')).toMatchObject({
      id: number,
      action: 'edited',
      after: { state: 'in_service' },
    })
    expect(await world.operator.delete(path)).toSucceed()
    expect(await only(account, 'number.released')).toMatchObject({ action: 'deleted', after: undefined })
    expect((await heard(account, 'number.*', 4)).map(({ type }) => type)).toEqual([
      'number.bought',
      'number.state_changed',
      'number.released',
      'number.state_changed',
    ])
  })

  it('of a number that moves from one account to another go to both', async () => {
    const [from, to] = [await customer(), await customer()]
    const number = numbers()
    await world.operator.put(pathOf(from.account, number), {})
    expect(await world.operator.put(`${pathOf(to.account, number)}/activate`, {})).toSucceed()
    await only(from.account, 'number.released')
    expect((await only(to.account, 'number.bought'))?.after).toMatchObject({ assigned_to: to.account.id })
  })

  it('of a number that is ported in come when the port is complete', async () => {
    const { account } = await customer()
    const path = pathOf(account, numbers())
    expect(await world.operator.put(`${path}/port`, {})).toSucceed(201)
    expect(await world.operator.put(`${path}/activate`, {})).toSucceed()
    await only(account, 'number.ported')
    expect(await read(account, ['number.bought'])).toEqual([])
  })

  it('of money contain the booked entry', async () => {
    const { account } = await customer()
    const book = (way: string, amount: number) =>
      world.operator.put(`${account.path}/ledgers/${way}`, {
        source: sourceOf(way),
        usage,
        amount,
        description: way,
      })
    expect(await book('credit', 12.5)).toSucceed(201)
    expect(await book('debit', 2.25)).toSucceed(201)
    const [credited, debited] = await heard(account, ['ledger.credited', 'ledger.debited'], 2)
    expect(credited).toMatchObject({
      type: 'ledger.credited',
      kind: 'ledger',
      action: 'created',
      after: { source: sourceOf('credit'), usage, amount: 12.5, description: 'credit' },
    })
    expect(debited).toMatchObject({ type: 'ledger.debited', after: { amount: -2.25 } })
    const { data } = await world.operator.get(`${account.path}/ledgers/shop/${credited?.id}`)
    expect(data).toMatchObject(JSON.parse(JSON.stringify({ ...credited?.after, audit: {} })))
  })

  it('of a low balance come once, even if the account wants no mail', async () => {
    const { account } = await customer()
    await world.credit(account, 10)
    const notifications = { low_balance: { enabled: false, threshold: 5 } }
    expect(await world.operator.patch(account.path, { notifications })).toSucceed()
    const spend = async () => {
      const body = { source: sourceOf(next()), usage, amount: 3 }
      expect(await world.operator.put(`${account.path}/ledgers/debit`, body)).toSucceed(201)
      await world.server.scheduler.runNow('low_balance')
    }
    await spend()
    expect(await read(account, ['balance.low'])).toEqual([])
    await spend()
    await spend()
    expect((await only(account, 'balance.low'))?.after).toEqual({ id: account.id, balance: 4, threshold: 5 })
  })

  it('of a reached limit come once a minute, and nothing else is written', async () => {
    const { account, admin } = await customer()
    await world.configure('quotas', { accounts: { [account.id]: { records_of_kind: { device: 1 } } } })
    await world.device(account)
    for (const _ of [1, 2, 3])
      expect(
        await world.unchanged(() => admin.put(`${account.path}/devices`, { name: 'One too many' })),
      ).toFailWith(403, 'quota_exceeded')
    const [first] = await heard(account, 'limit.reached')
    expect(first).toMatchObject({ kind: 'limit', id: 'device', after: { what: 'device', limit: 1 } })
    expect(first?.author.authUserId).toBe(admin.id)
    world.clock.advance({ seconds: 61 })
    await admin.put(`${account.path}/devices`, { name: 'One too many' })
    expect(await heard(account, 'limit.reached', 2)).toHaveLength(2)
  })

  it('of a refused and of an accepted charge go to the payer', async () => {
    const { account, admin } = await sold({ devices: { _all: { rate: 2 } } })
    for (const _ of [1, 2])
      expect((await admin.put(`${account.path}/devices`, { name: 'Phone' })).status).toBe(402)
    expect(await only(account, 'charge.refused')).toMatchObject({
      kind: 'charge',
      id: account.id,
      after: { reason: 'accept charges', data: [{ summary: { recurring: 2 } }] },
    })
    const made = await admin.put(`${account.path}/devices`, { name: 'Phone', accept_charges: true })
    expect(made).toSucceed(201)
    expect(await only(account, 'charge.accepted')).toMatchObject({
      kind: 'charge',
      after: { for: { kind: 'device', id: made.data.id }, today: 0, recurring: 2 },
    })
  })

  it('of missing credit are those of a refused charge', async () => {
    const { account, admin } = await sold({ users: { user: { rate: 1, activation_charge: 50 } } })
    await world.prepay(account)
    const body = { first_name: 'A', last_name: 'B', accept_charges: true }
    expect(await admin.put(`${account.path}/users`, body)).toFailWith(402, 'not_enough_credit')
    expect((await only(account, 'charge.refused'))?.after).toMatchObject({ reason: 'not_enough_credit' })
    await settled(account)
    expect(await read(account, ['charge.accepted'])).toEqual([])
  })

  it('of a task come at its end, and those of its writes name the task', async () => {
    const run = async (csv: string, query: string) => {
      const made = await world.operator.put(`${world.master.path}/tasks?${query}`, undefined, {
        body: Buffer.from(csv),
        headers: { 'content-type': 'text/csv' },
      })
      const { id } = made.body.metadata
      expect(await world.operator.patch(`${world.master.path}/tasks/${id}`)).toSucceed()
      return id as string
    }
    const good = await run('prefix,rate_cost\n4930,0.1\n', 'category=rates&action=import')
    const bad = await run('prefix,rate_cost\nno,0.1\n', 'category=rates&action=import')
    const events = await heard(world.master, ['task.finished', 'task.failed'], 2)
    expect(events).toHaveLength(2)
    expect(events.find(({ id }) => id === good)).toMatchObject({
      type: 'task.finished',
      kind: 'task',
      after: { status: 'success', success_count: 1 },
    })
    expect(events.find(({ id }) => id === bad)).toMatchObject({
      type: 'task.failed',
      after: { status: 'failure', failure_count: 1 },
    })
    const [rate] = await heard(world.master, 'rate.created')
    expect(rate?.author).toMatchObject({ taskId: good, authUserId: world.operator.id })
  })

  const from = (address: string) => world.client({ 'x-forwarded-for': address })

  it('of a sign-in from a new network come once for each network', async () => {
    const { account } = await customer()
    const user = await world.user(account, { password: 'walks-about' })
    const credentials = credentialsOf(user.username, 'walks-about')
    const signIn = async (address: string) =>
      expect(
        await from(address).put('/v2/user_auth', { credentials, account_realm: account.realm }),
      ).toSucceed(201)
    await signIn('198.51.100.7')
    expect(await only(account, 'sign_in.new_address')).toMatchObject({
      kind: 'user',
      id: user.id,
      after: { client_address: '198.51.100.7', network: '198.51.100.0/24', is_first: true },
      author: { authAccountId: account.id, authUserId: user.id },
    })
    await signIn('198.51.100.99')
    await signIn('203.0.113.9')
    const events = await heard(account, 'sign_in.new_address', 2)
    expect(events.map(({ after }) => [after?.network, after?.is_first])).toEqual([
      ['198.51.100.0/24', true],
      ['203.0.113.0/24', false],
    ])
    expect(await world.operator.delete(user.path)).toSucceed()
  })

  it('of too many wrong passwords come once, not for each attempt', async () => {
    const { account } = await customer()
    const guesser = from('192.0.2.66')
    const guess = () =>
      guesser.put('/v2/user_auth', {
        credentials: credentialsOf('ada', next()),
        account_realm: account.realm,
      })
    // Each derives a key: dozens take a while on a busy machine.
    await eventually(guess, ({ status }) => status === 429, 60_000)
    for (const _ of [1, 2, 3]) expect((await guess()).status).toBe(429)
    expect(await only(account, 'sign_in.refused')).toMatchObject({
      kind: 'account',
      id: account.id,
      after: { reason: 'too many wrong passwords', client_address: '192.0.2.66' },
    })
  })

  it('of an account that failed sign-ins lock come with the lock', async () => {
    await world.configure('crossbar.auth', {
      lock_account_on_failed_attempts: true,
      failed_attempts_until_lock: 2,
    })
    const { account } = await customer()
    const credentials = credentialsOf('ada', 'wrong')
    for (const _ of [1, 2])
      await from('192.0.2.9').put('/v2/user_auth', { credentials, account_realm: account.realm })
    await world.configure('crossbar.auth', { lock_account_on_failed_attempts: false })
    expect((await only(account, 'sign_in.refused'))?.after).toMatchObject({
      reason: 'too many failed sign-ins',
      client_address: '192.0.2.9',
    })
  })

  const branded = async () => {
    const { account, admin } = await customer()
    const domain = `brand${next()}.test`
    const template = { A: { 'sip.{{domain}}': { name: 'Proxy', mapping: ['203.0.113.1'] } } }
    expect(await world.operator.post('/v2/whitelabel/domains', template)).toSucceed()
    expect(await admin.put(`${account.path}/whitelabel`, { domain })).toSucceed(201)
    const host = `sip.${domain}`
    const set = (data: string) => {
      dns.clear()
      dns.set({ type: 'A', name: host, data })
    }
    const green = () =>
      eventually(
        () => read(account, ['domain_checks.created']),
        (events) => events.length === 1,
      )
    return { account, admin, domain, host, set, green }
  }

  it('of a domain that was correct and no longer is come with any look-up', async () => {
    const { account, admin, domain, host, set, green } = await branded()
    const look = () => admin.post(`${account.path}/whitelabel/domains`, {})
    set('192.0.2.1')
    expect(await look()).toSucceed()
    set('203.0.113.1')
    expect(await look()).toSucceed()
    await green()
    set('192.0.2.1')
    expect(await look()).toSucceed()
    expect(await only(account, 'domain.failed')).toMatchObject({
      kind: 'whitelabel',
      after: { domain, failed: [{ type: 'A', host, expected: ['203.0.113.1'], actual: ['192.0.2.1'] }] },
    })
    expect(await look()).toSucceed()
    await settled(account)
    await only(account, 'domain.failed')
  })

  it('of a domain also come from the checks of the server, but not while DNS does not answer', async () => {
    const { account, set, green } = await branded()
    const watch = () => world.server.scheduler.runNow('whitelabel domains')
    set('203.0.113.1')
    await watch()
    await green()
    dns.behave({ code: 2 })
    await watch()
    dns.behave({})
    await settled(account)
    expect(await read(account, ['domain.failed'])).toEqual([])
    set('192.0.2.1')
    await watch()
    await only(account, 'domain.failed')
  })

  const legOf = (account: TestAccount) => {
    const call_id = `call-${next()}`
    const at = gregorianNow(world.clock)
    return { call_id, timestamp: at, duration_seconds: 3, custom_channel_vars: { account_id: account.id } }
  }

  it('of call records come one by one, only to followers that ask for them', async () => {
    const [{ account, admin }, other] = [await customer(), await customer()]
    const legs = [legOf(account), legOf(other.account), legOf(account), legOf(account)]
    const live: FeedEvent[] = []
    const few: FeedEvent[] = []
    const ends = [
      await world.server.feed.follow({
        wants: () => true,
        hear: (events) => void live.push(...events),
        miss: () => undefined,
      }),
      await world.server.feed.follow({
        wants: ({ type }) => type !== 'cdr.created',
        hear: (events) => void few.push(...events),
        miss: () => undefined,
      }),
    ]
    expect(await world.operator.put('/v2/cdrs', legs)).toSucceed(201)
    const mine = legs.filter((leg) => leg.custom_channel_vars.account_id === account.id)
    const events = await heard(account, 'cdr.created', mine.length)
    expect(events).toMatchObject(
      mine.map((leg) => ({ kind: 'cdr', action: undefined, after: { ...leg, id: expect.any(String) } })),
    )
    for (const { id, after } of events) {
      expect(after?.id).toBe(id)
      expect((await admin.get(`${account.path}/cdrs/${id}`)).data).toEqual(after)
    }
    await settled(account)
    expect((await read(account, [])).map(({ type }) => type)).not.toContain('cdr.created')
    const page = async (after: number) =>
      await world.server.feed.page({
        accountId: account.id,
        below: false,
        after,
        limit: 2,
        types: ['cdr.*'],
      })
    const first = await page(0)
    const second = await page(first.next ?? 0)
    expect(first.events).toHaveLength(2)
    expect([...first.events, ...second.events].map(({ recordId }) => recordId)).toEqual(
      events.map(({ id }) => id),
    )
    expect(second.next).toBeUndefined()
    const all = await world.server.feed.all(0, 5000)
    expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_, at) => (all[0]?.sequence ?? 0) + at))
    await eventually(
      () => live.filter(({ type }) => type === 'cdr.created'),
      ({ length }) => length === legs.length,
    )
    const sequences = live.map(({ sequence }) => sequence)
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b))
    expect(few.map(({ type }) => type)).not.toContain('cdr.created')
    for (const end of ends) end()
  })

  it('of a raised alert go to the accounts that it names, else to the operator', async () => {
    const { account } = await customer()
    const raise = async (to: Json[]) => {
      const alert = { title: 'Mind the gap', message: 'It is wide', to }
      const body = { ...alert, from: [{ type: 'account', value: world.master.id }] }
      const made = await world.operator.put(`${world.master.path}/alerts`, body)
      expect(made).toSucceed(201)
      return made.data.id
    }
    const named = await raise([{ type: account.id, value: 'admins' }])
    expect(await only(account, 'alert.raised')).toMatchObject({
      kind: 'alert',
      id: named,
      after: { title: 'Mind the gap', message: 'It is wide' },
    })
    const forAll = await raise([{ type: 'all', value: 'all' }])
    expect(await only(world.master, 'alert.raised')).toMatchObject({ id: forAll })
  })
})
