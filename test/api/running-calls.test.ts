import { expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

// 2026-01-05T12:00:00Z, the tests' own time.
const now = 63_934_833_600
const number = '+14155550199'

describeEngines('calls over carriers that edges name', (engine) => {
  const world = useWorld(engine)
  let made = 0

  const callOf = (account: TestAccount, more: Json = {}): Json => {
    made += 1
    return {
      id: `1:${made}:${account.id}`,
      account_id: account.id,
      call_id: `running-${made}`,
      direction: 'outbound',
      number,
      ...more,
    }
  }

  const name = async (...calls: Json[]): Promise<Json[]> => {
    const answer = await world.operator.post('/v2/edge/calls', { calls })
    expect(answer).toSucceed()
    return answer.data.calls
  }

  /** Asks whether a call may begin: how it is paid for, or why it may not. */
  const begin = async (call: Json) => {
    const [{ allowed, account_billing, trunk, reason } = {}] = await name(call)
    return allowed ? (trunk ?? account_billing) : reason
  }

  /** The call is over: the server receives its record. */
  const end = async (call: Json) => {
    const record = {
      call_id: call.call_id,
      timestamp: now,
      custom_channel_vars: { account_id: call.account_id },
      reservations: [call],
    }
    expect(await world.operator.post('/v2/edge/reports', { records: [record] })).toSucceed()
  }

  const rated = async (more: Json = {}) => {
    const rate = { prefix: '1415', rate_cost: 0.02, rate_minimum: 60, rate_increment: 60, ...more }
    expect(await world.operator.put('/v2/rates', rate)).toSucceed()
  }

  /** An account with credit, in dollars. */
  const accountWith = async (credit: number, limits: Json = {}) => {
    const account = await world.account(world.reseller)
    if (credit > 0) await world.credit(account, credit)
    if (Object.keys(limits).length > 0)
      expect(await world.operator.post(`${account.path}/limits`, limits)).toSucceed()
    return account
  }

  it('reserve credit, however many begin at once, until they end', async () => {
    await rated()
    const account = await accountWith(0.55)
    const calls = Array.from({ length: 6 }, () => callOf(account))
    const answers = await Promise.all(calls.map((call) => name(call)))
    const allowed = answers.flat().filter((answer) => answer.allowed)
    expect(allowed.map(({ account_billing: billing }) => billing)).toEqual(Array(3).fill('per_minute'))
    const refused = answers.flat().filter((answer) => !answer.allowed)
    expect(refused.map(({ reason }) => reason)).toEqual(Array(3).fill('no_credit'))
    await end(calls.find(({ id }) => id === allowed[0]?.id) as Json)
    expect(await begin(callOf(account))).toBe('per_minute')
    expect(await begin(callOf(account))).toBe('no_credit')
  })

  it('that are asked about again have the answer that they had, and reserve nothing more', async () => {
    const account = await accountWith(0, { outbound_trunks: 1 })
    const call = callOf(account)
    expect([await begin(call), await begin(call)]).toEqual(['outbound_trunks', 'outbound_trunks'])
    expect(await begin(callOf(account))).toBe('limit_reached')
    await end(call)
    expect(await begin(callOf(account))).toBe('outbound_trunks')
  })

  it('take trunks in both directions, and count together as calls over carriers', async () => {
    const account = await accountWith(0, {
      inbound_trunks: 1,
      outbound_trunks: 1,
      twoway_trunks: 2,
      resource_consuming_calls: 3,
    })
    const arriving = () => callOf(account, { direction: 'inbound' })
    expect(await begin(arriving())).toBe('inbound_trunks')
    expect(await begin(arriving())).toBe('twoway_trunks')
    const last = callOf(account)
    expect(await begin(last)).toBe('outbound_trunks')
    expect(await begin(callOf(account))).toBe('limit_reached')
    await end(last)
    expect(await begin(arriving())).toBe('twoway_trunks')
    expect(await begin(callOf(account, { number: '+442079460000' }))).toBe('limit_reached')
  })

  it('from carriers need credit where the account is prepaid and has no trunks', async () => {
    const arriving = (account: TestAccount) => callOf(account, { direction: 'inbound' })
    const [free, prepaid] = [await accountWith(0), await accountWith(0)]
    await world.prepay(prepaid)
    expect(await begin(arriving(free))).toBe('per_minute')
    expect(await begin(arriving(prepaid))).toBe('no_credit')
    await world.credit(prepaid, 0.51)
    expect(await begin(arriving(prepaid))).toBe('per_minute')
  })

  it('last as long as the credit, which is reported once before it is used up', async () => {
    await rated()
    const account = await accountWith(0.55)
    const call = callOf(account)
    const [first] = await name(call)
    // 27 minutes of 0.02 are covered; the edge counts whole seconds.
    expect(first).toEqual({ id: call.id, allowed: true, account_billing: 'per_minute', seconds: 1617 })
    const running = { ...call, account_billing: 'per_minute' }
    const [second] = await name({ ...running, elapsed_s: 20, most_s: 600 })
    expect(second?.seconds).toBe(600)
    const other = callOf(account)
    expect(await begin(other)).toBe('per_minute')
    world.clock.advance({ seconds: 40 })
    const [third] = await name({ ...running, elapsed_s: 60 })
    expect(third?.seconds).toBeLessThan(14 * 60)
    await end(other)
    const events = async () => {
      const query = { type: 'call.credit_used' }
      return (await world.operator.get(`${account.path}/events`, { query })).data as Json[]
    }
    expect(await events()).toEqual([])
    world.clock.advance({ seconds: 1605 - 60 })
    for (const elapsed_s of [1605, 1606]) await name({ ...running, elapsed_s })
    expect((await events()).map(({ type, record, after }) => ({ type, record, after }))).toEqual([
      {
        type: 'call.credit_used',
        record: { kind: 'account', id: account.id },
        after: { id: account.id, call_id: call.call_id, direction: 'outbound', seconds: 15 },
      },
    ])
    await world.credit(account, 10)
    const [renewed] = await name({ ...running, elapsed_s: 1610, most_s: 41_590 })
    expect(renewed?.seconds).toBeGreaterThan(10_000)
  })

  it('that the server does not know have begun when they are named, and keep what they take', async () => {
    const account = await accountWith(0, { outbound_trunks: 1 })
    const call = callOf(account, { account_billing: 'flat_rate', trunk: 'outbound_trunks', elapsed_s: 400 })
    expect(await name(call)).toEqual([
      { id: call.id, allowed: true, account_billing: 'flat_rate', trunk: 'outbound_trunks' },
    ])
    expect(await begin(callOf(account))).toBe('limit_reached')
    await end(call)
    expect(await name(call)).toEqual([])
    expect(await begin(callOf(account))).toBe('outbound_trunks')
  })

  it('end five minutes after their edge has named them last', async () => {
    const account = await accountWith(0, { outbound_trunks: 2 })
    const [lost, kept] = [callOf(account), callOf(account)]
    expect([await begin(lost), await begin(kept)]).toEqual(['outbound_trunks', 'outbound_trunks'])
    world.clock.advance({ seconds: 200 })
    await name({ ...kept, account_billing: 'flat_rate', trunk: 'outbound_trunks', elapsed_s: 200 })
    world.clock.advance({ seconds: 101 })
    await world.server.scheduler.runNow('running_calls')
    expect(await begin(callOf(account))).toBe('outbound_trunks')
    expect(await begin(callOf(account))).toBe('limit_reached')
  })

  it('are answered in the order of the request, whichever accounts they are of', async () => {
    const [one, other] = [await accountWith(0), await accountWith(0, { outbound_trunks: 2 })]
    const going = { account_billing: 'flat_rate', trunk: 'outbound_trunks', elapsed_s: 1 }
    const calls = [callOf(other), callOf(one), callOf(other, going), callOf(one), callOf(other)]
    const answers = await name(...calls)
    expect(answers.map(({ id }) => id)).toEqual(calls.map(({ id }) => id))
  })

  it('of accounts that are not there, and what is no call, do not begin', async () => {
    const nobody = { id: '0'.repeat(32) } as TestAccount
    expect(await world.unchanged(() => begin(callOf(nobody)))).toBe('unknown_account')
    const invalid = { id: '', allowed: false, reason: 'invalid', message: expect.any(String) }
    const answer = await world.operator.post('/v2/edge/calls', { calls: [5, null, {}] })
    expect(answer.data.calls).toEqual([invalid, invalid, invalid])
  })

  it.each([
    ['direction', 'sideways'],
    ['elapsed_s', 86_401],
    ['elapsed_s', Number.MAX_SAFE_INTEGER],
    ['elapsed_s', -1],
    ['elapsed_s', 1.5],
    ['most_s', 86_401],
    ['most_s', 0],
    ['id', 'a\0b'],
    ['call_id', 'a\0b'],
    ['number', 'a\0b'],
    ['caller_id_number', 'a\0b'],
    ['account_billing', 'a\0b'],
    ['account_id', 'a\0b'],
  ])('with an invalid %s (%j) do not begin, and other calls do, now and later', async (field, value) => {
    const account = await accountWith(0, { outbound_trunks: 3 })
    const going = {
      account_billing: 'flat_rate',
      trunk: 'outbound_trunks',
      elapsed_s: 86_400,
      most_s: 86_400,
    }
    const wrong = callOf(account, { ...going, [field]: value })
    const [before, after] = [callOf(account, going), callOf(account)]
    const paid = { allowed: true, account_billing: 'flat_rate', trunk: 'outbound_trunks' }
    expect(await name(before, wrong, after)).toEqual([
      { id: before.id, ...paid },
      { id: wrong.id, allowed: false, reason: 'invalid', message: expect.stringContaining(`${field}: `) },
      { id: after.id, ...paid },
    ])
    expect([await begin(callOf(account)), await begin(callOf(account))]).toEqual([
      'outbound_trunks',
      'limit_reached',
    ])
    for (const call of [before, after]) await end(call)
  })

  it('are refused as a whole if they are no list, or more than 200', async () => {
    const { operator, reseller } = world
    const post = (data: Json) => world.refused(() => operator.post('/v2/edge/calls', data))
    expect(await post({})).toBreak({ calls: ['required'] })
    expect(await post({ calls: 'none' })).toBreak({ calls: ['type'] })
    expect(await post({ calls: Array(201).fill(callOf(reseller)) })).toBreak({ calls: ['maxItems'] })
    const foreign = await world.refused(() =>
      world.ross.post('/v2/edge/calls', { calls: [callOf(reseller)] }),
    )
    expect(foreign.status).toBe(403)
  })
})
