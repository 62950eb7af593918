// A server, its SIP edge and phones: settings of the API apply to packets, and the outcomes of packets are in
// the API. edge-refusals.test.ts has the refused packets.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { headerOf, outcomeOf } from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import {
  closeSipPlace,
  edgeOf,
  makeAccount,
  makeDevice,
  makePhone,
  openPlaceWithEdge,
  type SipPlace,
} from '../support/phones/sip-place.ts'
import { eventually } from '../support/run/eventually.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { lacksKamailio, type SipEdge } from '../support/servers/sip-edge.ts'

const secondNow = () => Math.floor(Date.now() / 1000)

describe.skipIf(lacksKamailio)(`a server with an edge${lacksKamailio}`, () => {
  let place: SipPlace
  let edge: SipEdge
  const phones: Phone[] = []

  beforeAll(async () => {
    ;({ place, edge } = await openPlaceWithEdge())
  })

  afterAll(() => closeSipPlace({ place, edge, phones }))

  type Account = Awaited<ReturnType<typeof makeAccount>>

  const registered = async (account: Account, username: string) => {
    const made = await makePhone(place, edge, account, { username })
    phones.push(made.phone)
    expect(outcomeOf(await made.phone.register())).toBe('200 OK')
    return made
  }

  /** Two registered phones, of which a number, or an extension, rings the second. */
  const office = async (dialled = '100') => {
    const account = await makeAccount(place)
    const number = `${account.path}/phone_numbers/${encodeURIComponent(dialled)}`
    if (dialled.startsWith('+')) expect(await place.session.admin.put(number, {})).toSucceed()
    const [ada, bob] = [await registered(account, 'ada'), await registered(account, 'bob')]
    const flow = { module: 'device', data: { id: bob.device.id }, children: {} }
    const callflow = await place.session.admin.put(`${account.path}/callflows`, { numbers: [dialled], flow })
    expect(callflow).toSucceed()
    return { account, ada, bob, callflowId: callflow.data.id }
  }

  /** The call records of an account, in the list and whole, as soon as there are `count`. */
  const recordsOf = async (account: Account, count: number) => {
    const { admin } = place.session
    const rows = await eventually(
      async () => (await admin.get(`${account.path}/cdrs?paginate=false`)).data as Json[],
      ({ length }) => length === count,
    )
    const records = await Promise.all(
      rows.map(async ({ id }) => (await admin.get(`${account.path}/cdrs/${id}`)).data as Json),
    )
    return { rows, records }
  }

  /** The legs of the only call of an account, whole, as soon as both are listed. */
  const legsOf = async (account: Account) => {
    const { rows, records: legs } = await recordsOf(account, 2)
    const costs = Object.fromEntries(rows.map(({ call_id, cost }) => [call_id, cost]))
    return {
      legs: ['inbound', 'outbound'].map((way) => legs.find((leg) => leg.call_direction === way)),
      costs,
    }
  }

  /** Requests of a method that a phone got for a call. A repeated one counts once. */
  const within = (phone: Phone, callId: string, method: string) => {
    const all = phone.received.filter(
      (message) => message.method === method && headerOf(message, 'call-id') === callId,
    )
    return [...new Map(all.map((message) => [headerOf(message, 'cseq'), message])).values()]
  }

  /** The first request of a method that a phone gets for a call. */
  const comesTo = async (phone: Phone, callId: string, method: string) => {
    const [first] = await eventually(
      () => within(phone, callId, method),
      ({ length }) => length > 0,
    )
    return first as ReturnType<typeof within>[number]
  }

  /** Numbers of stored call records and of duplicates. */
  const taken = async () => {
    const figures = await (await fetch(`${place.server.url}/metrics`)).text()
    const counted = (outcome: string) =>
      [
        ...figures.matchAll(new RegExp(`^crosspoint_call_records_total{.*"${outcome}".*} (\\d+)$`, 'gm')),
      ].reduce((sum, [, count]) => sum + Number(count), 0)
    return { accepted: counted('accepted'), duplicate: counted('duplicate') }
  }

  /** The edge has no pending reports. */
  const allTold = (one: SipEdge) =>
    eventually(
      () => one.kept('SELECT id FROM reports'),
      ({ length }) => length === 0,
    )

  it.each([
    ['extension', '100'],
    ['number', '+14155550142'],
  ])('carries a call by %s, and lists the records of both legs', async (_, dialled) => {
    const { account, ada, bob, callflowId } = await office(dialled)
    const callId = `${randomUUID()}@phone`
    const calling = ada.phone.call(dialled, { callId })
    const invite = await bob.phone.comesIn('INVITE')
    bob.phone.answer(invite, { status: 180, phrase: 'Ringing' }, 'bobs')
    bob.phone.answer(invite, {}, 'bobs')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    await bob.phone.comesIn('ACK')
    const said = 'PS=285,OS=45600,PR=286,OR=45760,PL=3,JI=12,LA=0,DU=5,EN=G722,DE=G722'
    expect(outcomeOf(await ada.phone.within(final, 'BYE', [['P-RTP-Stat', said]]))).toBe('200 OK')
    await bob.phone.comesIn('BYE')
    const {
      legs: [a, b],
      costs,
    } = await legsOf(account)
    expect(a).toMatchObject({
      call_id: callId,
      hangup_cause: 'NORMAL_CLEARING',
      callee_id_number: dialled,
      custom_channel_vars: { authorizing_id: ada.device.id, callflow_id: callflowId },
      media_quality: { packets_sent: 285, packets_received: 286, packets_lost: 3, jitter_ms: 12 },
    })
    expect(b).not.toHaveProperty('media_quality')
    expect(b).toMatchObject({
      other_leg_call_id: callId,
      hangup_cause: 'NORMAL_CLEARING',
      interaction_id: a?.interaction_id,
      custom_channel_vars: { authorizing_id: bob.device.id },
    })
    expect(Object.values(costs)).toEqual(['0', '0'])
  })

  /** Calls extension 100, where Bob answers. The caller hangs up, and both legs are recorded. */
  const carries = async (account: Account, phone: Phone, bob: Phone) => {
    const callId = `${randomUUID()}@phone`
    const rung = bob.received.filter(({ method }) => method === 'INVITE').length
    const calling = phone.call('100', { callId })
    bob.answer(await bob.comesIn('INVITE', rung + 1), {}, `bobs${rung}`)
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(outcomeOf(await phone.within(final, 'BYE'))).toBe('200 OK')
    const { admin } = place.session
    const [found] = await eventually(
      async () => (await admin.get(`${account.path}/cdrs?filter_call_id=${callId}`)).data as Json[],
      ({ length }) => length === 1,
    )
    return (await admin.get(`${account.path}/cdrs/${found?.id}`)).data as Json
  }

  const phoneAt = async (address: string, realm: string) => {
    const phone = await openPhone({ edgePort: edge.port, realm, username: '4930123', address })
    phones.push(phone)
    return phone
  }

  it('takes calls of devices and trunks that are known by their address, and nothing else without a password', async () => {
    const { account, bob } = await office()
    const { admin } = place.session
    const [ofDevice, ofTrunk, ofNobody] = ['127.0.0.21', '127.0.0.22', '127.0.0.23']
    const allowed = { default: { allowed_private_hosts: ['127.0.0.0/8'] } }
    expect(await admin.patch('/v2/system_configs/crossbar', allowed)).toSucceed()
    const sip = { method: 'ip', ip: ofDevice }
    const device = (await admin.put(`${account.path}/devices`, { name: 'Gate', sip })).data
    const servers = [{ server_name: 'PBX', auth: { auth_method: 'IP', ip: ofTrunk } }]
    const trunk = (await admin.put(`${account.path}/connectivity`, { servers })).data
    for (const realm of [account.realm, 'pbx.example']) {
      const byDevice = await carries(account, await phoneAt(ofDevice, realm), bob.phone)
      expect(byDevice.custom_channel_vars).toMatchObject({
        authorizing_id: device.id,
        authorizing_type: 'device',
      })
      const byTrunk = await carries(account, await phoneAt(ofTrunk, realm), bob.phone)
      expect(byTrunk.custom_channel_vars).toMatchObject({
        authorizing_id: trunk.id,
        authorizing_type: 'trunk',
      })
    }
    const known = await phoneAt(ofDevice, account.realm)
    expect(outcomeOf(await known.register())).toBe('401 Unauthorized')
    const stranger = await phoneAt(ofNobody, account.realm)
    expect((await stranger.call('100')).status).toBe(407)
    const other = await makeAccount(place)
    expect((await (await phoneAt(ofDevice, other.realm)).call('100')).status).toBe(407)
    expect(await admin.patch(`${account.path}/devices/${device.id}`, { enabled: false })).toSucceed()
    await eventually(
      async () => outcomeOf(await known.call('100')),
      (outcome) => outcome === '403 Forbidden',
    )
  })

  it('gives each of two accounts the record of its leg of a call between them', async () => {
    const [caller, called] = [await office(), await office()]
    const { admin } = place.session
    const number = '+14155550188'
    const path = `${called.account.path}/phone_numbers/${encodeURIComponent(number)}`
    expect(await admin.put(path, {})).toSucceed()
    expect(
      await admin.patch(`${called.account.path}/callflows/${called.callflowId}`, {
        numbers: ['100', number],
      }),
    ).toSucceed()
    const flow = { module: 'resources', data: {}, children: {} }
    expect(await admin.put(`${caller.account.path}/callflows`, { numbers: ['no_match'], flow })).toSucceed()
    const callId = `${randomUUID()}@phone`
    const calling = caller.ada.phone.call(number, { callId })
    called.bob.phone.answer(await called.bob.phone.comesIn('INVITE'), {}, 'bobs')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(outcomeOf(await caller.ada.phone.within(final, 'BYE'))).toBe('200 OK')
    const callsOf = async (account: Account) =>
      eventually(
        async () => (await admin.get(`${account.path}/cdrs?paginate=false`)).data as Json[],
        ({ length }) => length > 0,
      ).then((rows) => rows.map((row) => [row.call_id, row.direction]))
    expect(await callsOf(caller.account)).toEqual([[callId, 'inbound']])
    expect(await callsOf(called.account)).toEqual([[`${callId}.b`, 'outbound']])
  })

  it('charges a call over a carrier to the account, also after a forward, and a call to the route of a device', async () => {
    const { account, ada, bob } = await office()
    const { admin } = place.session
    const carrier = await openPhone({
      edgePort: edge.port,
      realm: 'carrier.test',
      username: 'gate',
      address: '127.0.0.7',
    })
    phones.push(carrier)
    const gateways = [{ server: '127.0.0.7', port: carrier.port }]
    expect(await admin.put('/v2/resources', { name: 'Ours', rules: ['^\\+1\\d{10}$'], gateways })).toSucceed()
    const rate = { prefix: '1415', rate_cost: 0.02, rate_minimum: 60, rate_name: 'bay' }
    expect(await admin.put('/v2/rates', rate)).toSucceed()
    const paid = {
      source: { service: 'payments', id: 'cash' },
      usage: { type: 'credit', quantity: 1, unit: 'payment' },
      amount: 10,
    }
    expect(await admin.put(`${account.path}/ledgers/credit`, paid)).toSucceed()
    const out = { numbers: ['no_match'], flow: { module: 'resources', data: {}, children: {} } }
    expect(await admin.put(`${account.path}/callflows`, out)).toSucceed()
    const forward = { enabled: true, number: '+14155550177', substitute: true, require_keypress: false }
    expect(await admin.patch(bob.device.path, { call_forward: forward })).toSucceed()
    const amounts: number[] = []
    // A route names another server, and a number there.
    const allowed = { default: { allowed_private_hosts: ['127.0.0.0/8'] } }
    expect(await admin.patch('/v2/system_configs/crossbar', allowed)).toSucceed()
    const pbx = await openPhone({
      edgePort: edge.port,
      realm: 'pbx.test',
      username: 'pbx',
      address: '127.0.0.8',
    })
    phones.push(pbx)
    const sip = { invite_format: 'route', route: `sip:+14155550166@127.0.0.8:${pbx.port}` }
    const far = (await admin.put(`${account.path}/devices`, { name: 'Far', sip })).data
    const flow = { module: 'device', data: { id: far.id }, children: {} }
    expect(await admin.put(`${account.path}/callflows`, { numbers: ['300'], flow })).toSucceed()
    for (const [turn, dialled] of ['+14155550177', '100', '300'].entries()) {
      const callee = dialled === '300' ? pbx : carrier
      const calling = ada.phone.call(dialled, { callId: `${turn}-${randomUUID()}@phone` })
      callee.answer(await callee.comesIn('INVITE', dialled === '100' ? 2 : 1), {}, `gates${turn}`)
      const final = await calling
      expect(outcomeOf(final)).toBe('200 OK')
      // Started seconds are free: the call must last one second longer, and one more for the clock of the edge.
      const began = secondNow()
      await eventually(secondNow, (second) => second > began + 1)
      expect(outcomeOf(await ada.phone.within(final, 'BYE'))).toBe('200 OK')
      amounts.push(
        await eventually(
          async () => (await admin.get(`${account.path}/ledgers/total`)).data.amount as number,
          (amount) => amount < (amounts.at(-1) ?? 10),
        ),
      )
    }
    expect(amounts).toEqual([9.98, 9.96, 9.94])
    // The leg that leaves the platform is rated, by the number that it was called for.
    const legs = (await admin.get(`${account.path}/cdrs?paginate=false`)).data as Json[]
    const costly = legs.filter(({ cost }) => cost !== '0')
    expect(costly.map(({ callee_id_number: number, cost }) => [number, cost])).toEqual([
      ['+14155550166', '200'],
      ['+14155550177', '200'],
      ['+14155550177', '200'],
    ])
    expect(costly.every(({ call_id: id }) => String(id).endsWith('.b'))).toBe(true)
    expect(legs).toHaveLength(6)
  })

  it('ends calls for both parties when the API asks for it, and reports their records once each', async () => {
    const { account, ada, bob } = await office()
    const { admin } = place.session
    const before = await taken()
    // The order of events depends on how fast each phone confirms the end: a single call would usually succeed.
    const callIds = Array.from({ length: 10 }, () => `${randomUUID()}@phone`)
    for (const [turn, callId] of callIds.entries()) {
      const calling = ada.phone.call('100', { callId })
      bob.phone.answer(await comesTo(bob.phone, callId, 'INVITE'), {}, `bobs${turn}`)
      expect(outcomeOf(await calling)).toBe('200 OK')
      await comesTo(bob.phone, callId, 'ACK')
      const channel = `${account.path}/channels/${encodeURIComponent(callId)}`
      expect((await admin.post(channel, { action: 'hangup' })).status).toBe(202)
      await comesTo(ada.phone, callId, 'BYE')
      // One is from the edge, and one from the server, which does not rely on the edge.
      const byes = () => within(bob.phone, callId, 'BYE').map((bye) => headerOf(bye, 'cseq'))
      await eventually(byes, ({ length }) => length === 2)
      expect(byes().sort()).toEqual(['3 BYE', '4 BYE'])
    }
    const { rows, records } = await recordsOf(account, 2 * callIds.length)
    expect(rows.map(({ call_id }) => call_id).sort()).toEqual(
      callIds.flatMap((callId) => [callId, `${callId}.b`]).sort(),
    )
    for (const { hangup_cause, disposition } of records)
      expect([hangup_cause, disposition]).toEqual(['NORMAL_CLEARING', 'send_bye'])
    await allTold(edge)
    const after = await taken()
    expect(after.accepted - before.accepted).toBe(rows.length)
    expect(after.duplicate).toBe(before.duplicate)
  })

  inFullRun(() => {
    it('keeps the records of a call whose file is held for longer than it waits', async () => {
      const { account, ada, bob } = await office()
      const callId = `${randomUUID()}@phone`
      const calling = ada.phone.call('100', { callId })
      bob.phone.answer(await bob.phone.comesIn('INVITE'), {}, 'bobs')
      expect(outcomeOf(await calling)).toBe('200 OK')
      const before = await taken()
      const release = edge.hold()
      const gone = place.session.admin.post(`${account.path}/channels/${encodeURIComponent(callId)}`, {
        action: 'hangup',
      })
      // Its first BYE leaves when it has waited long enough: the second finds the file free.
      await eventually(
        () => edge.log(),
        (log) => log.includes('reports could not be kept'),
      )
      release()
      await gone
      await Promise.all([ada.phone.comesIn('BYE'), bob.phone.comesIn('BYE')])
      const { legs } = await legsOf(account)
      expect(legs.map((leg) => leg?.call_id)).toEqual([callId, `${callId}.b`])
      await allTold(edge)
      const after = await taken()
      expect([after.accepted - before.accepted, after.duplicate]).toEqual([2, before.duplicate])
    })
  })

  it('sends BYE to both phones of calls that have lasted too long, and reports each record once', async () => {
    const brief = await edgeOf(place, { CALL_MAX_S: 3 })
    try {
      const account = await makeAccount(place)
      const { admin } = place.session
      const [ada, bob] = [
        await makePhone(place, brief, account, { username: 'ada' }),
        await makePhone(place, brief, account, { username: 'bob' }),
      ]
      phones.push(ada.phone, bob.phone)
      for (const { phone } of [ada, bob]) expect(outcomeOf(await phone.register())).toBe('200 OK')
      const flow = { module: 'device', data: { id: bob.device.id }, children: {} }
      expect(await admin.put(`${account.path}/callflows`, { numbers: ['100'], flow })).toSucceed()
      const before = await taken()
      // Whether the first phone responds before the edge sends the second BYE is up to the machine: it does in some of many calls.
      const callIds = Array.from({ length: 40 }, () => `${randomUUID()}@phone`)
      const answer = async (callId: string) => {
        const calling = ada.phone.call('100', { callId })
        bob.phone.answer(await comesTo(bob.phone, callId, 'INVITE'), {}, 'bobs')
        expect(outcomeOf(await calling)).toBe('200 OK')
      }
      // A few at once: a phone repeats no lost packet.
      for (let at = 0; at < callIds.length; at += 5)
        await Promise.all(callIds.slice(at, at + 5).map((callId) => answer(callId)))
      for (const callId of callIds) for (const { phone } of [ada, bob]) await comesTo(phone, callId, 'BYE')
      const { records } = await recordsOf(account, 2 * callIds.length)
      for (const { hangup_cause, disposition } of records)
        expect([hangup_cause, disposition]).toEqual(['NORMAL_CLEARING', 'send_bye'])
      await allTold(brief)
      const after = await taken()
      expect(after.accepted - before.accepted).toBe(2 * callIds.length)
      expect(after.duplicate).toBe(before.duplicate)
    } finally {
      await brief.end()
    }
  })

  it('asks a phone to fetch its settings again', async () => {
    const { ada, bob } = await office()
    expect((await place.session.admin.post(`${ada.device.path}/sync`, {})).status).toBe(202)
    const notify = await ada.phone.comesIn('NOTIFY')
    expect(headerOf(notify, 'event')).toBe('check-sync;reboot=false')
    expect(bob.phone.received.filter(({ method }) => method === 'NOTIFY')).toEqual([])
  })

  it('lets the server of a trunk register, and sends it the calls to its number', async () => {
    const { account, ada } = await office()
    const { admin } = place.session
    const number = '+14155550123'
    expect(await admin.put(`${account.path}/phone_numbers/${encodeURIComponent(number)}`, {})).toSucceed()
    const auth = { auth_user: 'pbx', auth_password: 'trunk-secret' }
    const servers = [{ server_name: 'PBX', auth, DIDs: { [number]: {} } }]
    expect(await admin.put(`${account.path}/connectivity`, { servers })).toSucceed()
    const pbx = await openPhone({
      edgePort: edge.port,
      realm: account.realm,
      username: 'pbx',
      password: 'trunk-secret',
    })
    phones.push(pbx)
    expect(outcomeOf(await pbx.register())).toBe('200 OK')
    const calling = ada.phone.call(number, { callId: `${randomUUID()}@phone` })
    pbx.answer(await pbx.comesIn('INVITE'), {}, 'pbxs')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(outcomeOf(await ada.phone.within(final, 'BYE'))).toBe('200 OK')
  })

  it('rings a phone for a quick call, and refers it to the number', async () => {
    const { ada, bob } = await office()
    expect((await place.session.admin.get(`${ada.device.path}/quickcall/100`)).status).toBe(202)
    const invite = await ada.phone.comesIn('INVITE')
    ada.phone.answer(invite, {}, 'adas')
    const refer = await ada.phone.comesIn('REFER')
    ada.phone.answer(refer, { status: 202, phrase: 'Accepted' }, 'adas')
    const calling = ada.phone.call('100', { callId: `${randomUUID()}@phone` })
    const rung = await bob.phone.comesIn('INVITE')
    bob.phone.answer(rung, {}, 'bobs')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(outcomeOf(await ada.phone.within(final, 'BYE'))).toBe('200 OK')
  })

  it('knows who is registered, and ends registrations with their credentials', async () => {
    const { account, ada, bob } = await office()
    const { admin } = place.session
    const states = async () => {
      const { data } = await admin.get(`${account.path}/devices/status`)
      return Object.fromEntries((data as Json[]).map((row) => [row.device_id, row.registered]))
    }
    const absent = await makeDevice(place, account, 'eve')
    expect(await states()).toEqual({ [ada.device.id]: true, [bob.device.id]: true, [absent.id]: false })
    const { data } = await admin.get(`${account.path}/devices?with_status=true`)
    const listed = (data as Json[]).map(({ id, registrable, registered }) => [id, [registrable, registered]])
    expect(Object.fromEntries(listed)).toEqual({
      [ada.device.id]: [true, true],
      [bob.device.id]: [true, true],
      [absent.id]: [true, false],
    })
    expect(await admin.patch(ada.device.path, { sip: { password: 'another-word' } })).toSucceed()
    await eventually(states, (known) => known[ada.device.id] === false)
  })
})
