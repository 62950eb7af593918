import { expect, it } from 'vitest'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import type { Json } from '../../src/lib/json.ts'
import { eventually } from '../support/run/eventually.ts'
import { mailsTo } from '../support/servers/outbox.ts'
import { storedCdrs } from '../support/world/stored-cdrs.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

// 2026-01-05T12:00:00Z, the tests' own time.
const now = 63_934_833_600
const noRecords = { accepted: 0, duplicates: 0, ignored: 0, rejected: [], rejected_total: 0 }
const noRefusals = { told: 0, repeated: 0, unknown: 0, rejected: [] }

describeEngines('what an edge reports', (engine) => {
  const world = useWorld(engine)
  let made = 0

  const report = (data: Json, by = world.operator) => by.post('/v2/edge/reports', data)

  const place = async () => {
    const account = await world.account(world.reseller)
    const device = await world.device(account, { sip: { username: 'bob' } })
    return { account, device, realm: account.realm }
  }

  const legOf = (account: TestAccount): Json => {
    made += 1
    return {
      call_id: `edge-leg-${made}`,
      timestamp: now - made,
      duration_seconds: 30,
      custom_channel_vars: { account_id: account.id },
    }
  }

  const refusalOf = (realm: string, more: Json = {}): Json => ({
    realm,
    username: 'bob',
    address: '192.0.2.7',
    user_agent: 'Snom 370',
    method: 'REGISTER',
    reason: 'wrong_password',
    sip_code: 403,
    at: now,
    ...more,
  })

  const told = async (account: TestAccount, count: number) => {
    const { operator } = world
    const query = { type: 'sip.refused' }
    const list = async () => (await operator.get(`${account.path}/events`, { query })).data as Json[]
    return eventually(list, ({ length }) => length >= count)
  }

  it('of calls are call records, each stored once however often it is sent', async () => {
    const { account } = await place()
    const records = [legOf(account), legOf(account), { call_id: 'nobody-s' }]
    const reason = 'custom_channel_vars.account_id: is missing'
    const refused = { rejected: [{ line: 3, reason }], rejected_total: 1 }
    expect(await report({ records })).toSucceedWith({
      records: { ...noRecords, ...refused, accepted: 2 },
      refusals: noRefusals,
    })
    expect(await report({ records })).toSucceedWith({
      records: { ...noRecords, ...refused, duplicates: 2 },
      refusals: noRefusals,
    })
    const stored = await storedCdrs(world.server.store)
    const ids = stored.map(({ call_id: id }) => id).filter((id) => records.some((one) => one.call_id === id))
    expect(ids.toSorted()).toEqual([records[0]?.call_id, records[1]?.call_id].toSorted())
  })

  it('of calls that have one Call-ID are records of each of them', async () => {
    const { account } = await place()
    const [first, second] = [legOf(account), legOf(account)]
    const call_id = `shared-${account.id}`
    const record = (leg: Json, key: string) => ({
      ...leg,
      call_id,
      other_leg_call_id: `${call_id}.b`,
      interaction_id: `${now - 100}-${key}`,
      channel_created_time: (now - 62_167_219_200 - 100) * 1_000_000,
    })
    const records = [record(first, 'aaaaaaaa'), record(second, 'bbbbbbbb')]
    expect(await report({ records })).toSucceedWith({
      records: { ...noRecords, accepted: 2 },
      refusals: noRefusals,
    })
    expect(await report({ records })).toSucceedWith({
      records: { ...noRecords, duplicates: 2 },
      refusals: noRefusals,
    })
    const wrong = { ...record(legOf(account), 'cccccccc'), call_direction: 'sideways' }
    const { data: withWrong } = await report({ records: [wrong, ...records] })
    expect(withWrong.records).toMatchObject({ accepted: 0, duplicates: 2, rejected_total: 1 })
    const { data } = await world.operator.get(`${account.path}/cdrs`, {
      query: { paginate: 'false', created_from: now - 86_400, created_to: now },
    })
    const created = (now - 62_167_219_200 - 100) * 1_000_000
    expect((data as Json[]).map(({ call_id: id }) => id).toSorted()).toEqual([
      call_id,
      `${call_id}-bbbbbbbb-${created}`,
    ])
  })

  it('of refusals is an event for the account of the phone, with sender, reason and count', async () => {
    const { account, device, realm } = await place()
    const refusal = refusalOf(realm.toUpperCase())
    const refusals = [refusal, { ...refusal, at: now + 1 }, refusalOf(realm, { username: 'nobody' })]
    expect(await report({ refusals })).toSucceedWith({
      records: noRecords,
      refusals: { ...noRefusals, told: 2, repeated: 1 },
    })
    const events = await told(account, 2)
    expect(events.map(({ type, record, after }) => ({ type, record, after }))).toEqual([
      {
        type: 'sip.refused',
        record: { kind: 'device', id: device.id },
        after: { ...refusal, id: device.id, at: now + 1, count: 2 },
      },
      {
        type: 'sip.refused',
        record: { kind: 'account', id: account.id },
        after: { ...refusalOf(realm, { username: 'nobody' }), id: account.id, count: 1 },
      },
    ])
  })

  it('of refusals is one event a minute for each reason, however often the edge sends it', async () => {
    const { account, realm } = await place()
    const send = async (more: Json = {}) =>
      (await report({ refusals: [refusalOf(realm, more)] })).data.refusals
    expect(await send()).toEqual({ ...noRefusals, told: 1 })
    expect(await send()).toEqual({ ...noRefusals, repeated: 1 })
    expect(await send({ reason: 'over_packet_limit', sip_code: 429 })).toEqual({ ...noRefusals, told: 1 })
    world.clock.advance({ seconds: 61 })
    expect(await send()).toEqual({ ...noRefusals, told: 1 })
    expect((await told(account, 3)).map(({ after }) => (after as Json).reason)).toEqual([
      'wrong_password',
      'over_packet_limit',
      'wrong_password',
    ])
  })

  it('of refusals is still accepted when some realms are unknown and some entries are invalid', async () => {
    const { account, realm } = await place()
    const refusals = [
      refusalOf('nobody.test'),
      { ...refusalOf(realm), reason: 'Wrong Password!' },
      'nonsense',
      { ...refusalOf(realm), sip_code: 200 },
      refusalOf(realm),
    ]
    expect((await report({ refusals })).data.refusals).toEqual({
      told: 1,
      repeated: 0,
      unknown: 1,
      rejected: [
        { line: 2, reason: expect.stringMatching(/^reason: /) },
        { line: 3, reason: expect.any(String) },
        { line: 4, reason: expect.stringMatching(/^sip_code: /) },
      ],
    })
    expect(await told(account, 1)).toHaveLength(1)
  })

  it.each([
    ['id', 'a\0b'],
    ['account_id', 'a\0b'],
    ['id', '\ud800'],
    ['id', Number.MAX_SAFE_INTEGER],
    ['account_id', null],
  ])('ends the other running calls if the %s of one is %j', async (field, value) => {
    const { account } = await place()
    expect(await world.operator.post(`${account.path}/limits`, { outbound_trunks: 1 })).toSucceed()
    const begin = async (id: string) => {
      const call = { id, account_id: account.id, call_id: id, direction: 'outbound', number: '+14155550199' }
      return (await world.operator.post('/v2/edge/calls', { calls: [call] })).data.calls[0].allowed
    }
    expect(await begin('first')).toBe(true)
    const running = { id: 'first', account_id: account.id }
    const records = [{ ...legOf(account), reservations: [{ ...running, [field]: value }, running] }]
    expect(await report({ records })).toSucceedWith({
      records: { ...noRecords, accepted: 1 },
      refusals: noRefusals,
    })
    expect(await begin('second')).toBe(true)
  })

  const texts = ['realm', 'username', 'address', 'user_agent', 'method', 'number', 'reason', 'module']
  it.each([
    ...texts.flatMap((field) => ['a\0b', '\ud800'].map((value) => [field, value] as const)),
    ...['at', 'sip_code'].flatMap((field) =>
      [Number.MAX_SAFE_INTEGER, -1].map((value) => [field, value] as const),
    ),
  ])('of refusals holds nothing up if the %s of one is %j', async (field, value) => {
    const { account, realm } = await place()
    const refusals = [{ ...refusalOf(realm), [field]: value }, refusalOf(realm)]
    expect((await report({ refusals })).data.refusals).toEqual({
      ...noRefusals,
      told: 1,
      rejected: [{ line: 1, reason: expect.stringMatching(`^${field}: `) }],
    })
    expect(await told(account, 1)).toHaveLength(1)
  })

  it('is taken from the operator alone', async () => {
    const { account, realm } = await place()
    const data = { records: [legOf(account)], refusals: [refusalOf(realm)] }
    const before = await world.snapshot()
    expect(await report(data, world.ross)).toFailWith(403, 'forbidden')
    expect(await report({ records: {} })).toBreak({ records: ['type'] })
    expect(await report({ refusals: 'none' })).toBreak({ refusals: ['type'] })
    expect(await world.snapshot()).toEqual(before)
  })

  const emergencyOf = (account: TestAccount, more: Json = {}) => ({
    account_id: account.id,
    call_id: 'emergency-1',
    number: '911',
    caller_id_number: '+14155550199',
    address: '192.0.2.7',
    at: now,
    ...more,
  })

  const emergencyAlertsOf = async (account: TestAccount, by = world.operator) =>
    ((await by.get(`${account.path}/alerts`)).data as Json[]).filter(
      ({ category }) => category === 'emergency_call',
    )

  it.each([
    ['at', Number.MAX_SAFE_INTEGER],
    ['at', -1],
    ['call_id', '\ud800'],
    ['account_id', 'a\0b'],
    ['device_id', 'a\0b'],
  ])('of emergency calls holds nothing up if the %s of one is %j', async (field, value) => {
    const { account } = await place()
    const emergencies = [{ ...emergencyOf(account), [field]: value }, emergencyOf(account)]
    expect((await report({ emergencies })).data.emergencies).toEqual({
      told: 1,
      rejected: [{ line: 1, reason: expect.stringMatching(`^${field}: `) }],
    })
    expect(await emergencyAlertsOf(account)).toHaveLength(1)
  })

  it('of emergency calls is one event and one alert for each call, however often it is sent', async () => {
    const { account, device } = await place()
    const emergency = { ...emergencyOf(account), device_id: device.id }
    const { number: _, ...incomplete } = emergency
    const emergencies = [emergency, emergency, incomplete, { ...emergency, account_id: 'f'.repeat(32) }]
    expect(await report({ emergencies })).toSucceedWith({
      records: noRecords,
      refusals: noRefusals,
      emergencies: {
        told: 2,
        rejected: [
          { line: 3, reason: 'number: Field is required but missing' },
          { line: 4, reason: 'account_id: unknown account' },
        ],
      },
    })
    const { data } = await world.operator.get(`${account.path}/events`, { query: { type: 'call.emergency' } })
    const { account_id: __, device_id: ___, ...facts } = emergency
    expect((data as Json[]).map(({ record, after }) => ({ record, after }))).toEqual([
      { record: { kind: 'device', id: device.id }, after: { ...facts, id: device.id } },
    ])
    expect(await emergencyAlertsOf(account)).toHaveLength(1)
  })

  it('of many emergency calls is an event for each, and one alert and mail for each device and hour', async () => {
    const { account, device } = await place()
    const other = await world.device(account, { sip: { username: 'eve' } })
    const email = `${account.id}@emergency.test`
    await world.admin(account, { email })
    const of = (device_id: string, at: number) => {
      made += 1
      return emergencyOf(account, { device_id, at, call_id: `emergency-call-${made}` })
    }
    const counts = async () => {
      await world.deliverMail()
      const query = { type: 'call.emergency' }
      const { data } = await world.operator.get(`${account.path}/events`, { query })
      const mails = await mailsTo(world.place.dataDir, email)
      return {
        events: (data as Json[]).length,
        alerts: (await emergencyAlertsOf(account)).length,
        mails: mails.filter((text) => text.includes('Subject: Emergency call')).length,
      }
    }
    const calls = [0, 1, 3599].map((seconds) => of(device.id, now + seconds))
    expect(await report({ emergencies: calls.slice(0, 1) })).toSucceed()
    expect(await counts()).toEqual({ events: 1, alerts: 1, mails: 1 })
    expect(await report({ emergencies: calls.slice(1) })).toSucceed()
    expect(await counts()).toEqual({ events: 3, alerts: 1, mails: 1 })
    expect(await report({ emergencies: [of(other.id, now + 2)] })).toSucceed()
    expect(await counts()).toEqual({ events: 4, alerts: 2, mails: 2 })
    expect(await report({ emergencies: [of(device.id, now + 3600)] })).toSucceed()
    expect(await counts()).toEqual({ events: 5, alerts: 3, mails: 3 })
  })

  it('of an emergency call, sent again at any time and twice at once, is no second event and alert', async () => {
    const { account, device } = await place()
    const admin = await world.admin(account)
    const emergencies = [{ ...emergencyOf(account), device_id: device.id }]
    const send = () => report({ emergencies })
    for (const answer of await Promise.all([send(), send()])) expect(answer).toSucceed()
    const [alert, ...others] = await emergencyAlertsOf(account, admin)
    expect(others).toEqual([])
    expect(await admin.delete(`${account.path}/alerts/${alert?.id}`)).toSucceed()
    world.clock.advance({ hours: 2 })
    for (const answer of await world.unchanged(() => Promise.all([send(), send()])))
      expect(answer).toSucceed()
    const next = { ...emergencyOf(account), call_id: 'another', at: gregorianNow(world.clock) + 40 * 86_400 }
    expect(await report({ emergencies: [next] })).toSucceed()
    for (const answer of await world.unchanged(() => Promise.all([send(), send()])))
      expect(answer).toSucceed()
    const query = { type: 'call.emergency' }
    const { data } = await world.operator.get(`${account.path}/events`, { query })
    expect((data as Json[]).map(({ after }) => (after as Json).call_id)).toEqual(['emergency-1', 'another'])
  })

  it('of emergency calls keep the call ids of the account for one to two months', async () => {
    const { account } = await place()
    const dayHours = 24
    const claims = async () => {
      const sql = "SELECT value FROM claims WHERE account_id = $1 AND name = 'emergency_call' ORDER BY value"
      const rows = await world.server.store.all(sql, [account.id])
      return rows.map(({ value }) => String(value).split('/')[1])
    }
    const send = async (call_id: string) =>
      expect(
        await report({ emergencies: [emergencyOf(account, { call_id, at: gregorianNow(world.clock) })] }),
      ).toSucceed()
    await send('first')
    world.clock.advance({ hours: 31 * dayHours })
    await send('second')
    expect(await claims()).toEqual(['first', 'second'])
    world.clock.advance({ hours: 62 * dayHours })
    await send('third')
    expect(await claims()).toEqual(['third'])
  })

  it('of emergency calls of different accounts with the same call id is an event of each', async () => {
    const accounts = [(await place()).account, (await place()).account]
    expect(await report({ emergencies: accounts.map((account) => emergencyOf(account)) })).toSucceed()
    for (const { path } of accounts) {
      const { data } = await world.operator.get(`${path}/events`, { query: { type: 'call.emergency' } })
      expect(data).toHaveLength(1)
    }
  })

  it('of an emergency call alerts the account and its reseller apart for a week, and each may remove theirs', async () => {
    const { account } = await place()
    const admin = await world.admin(account)
    const ofReseller = async () =>
      (await emergencyAlertsOf(world.reseller, world.ross)).filter((alert) =>
        JSON.stringify(alert.from).includes(account.id),
      )
    expect(await report({ emergencies: [emergencyOf(account)] })).toSucceed()
    const [own, ...others] = await emergencyAlertsOf(account, admin)
    expect(others).toEqual([])
    const week = 7 * 86_400
    expect(own).toMatchObject({ expiration_date: gregorianNow(world.clock) + week, level: 'critical' })
    expect(await ofReseller()).toHaveLength(1)
    expect(await admin.delete(`${account.path}/alerts/${own?.id}`)).toSucceed()
    expect(await emergencyAlertsOf(account)).toEqual([])
    expect(await ofReseller()).toHaveLength(1)
    world.clock.advance({ seconds: week })
    expect(await ofReseller()).toEqual([])
  })
})
