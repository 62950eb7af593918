// Calls through Debian's Kamailio with the shipped configuration: phones, packets and records are real, and a fake server routes
// the calls.
import { createHash, randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  headerOf,
  headersOf,
  outcomeOf,
  type SipMessage,
  tagIn,
  uriIn,
} from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import { realm, useSipTown } from '../support/phones/sip-town.ts'
import { eventually } from '../support/run/eventually.ts'
import { lacksKamailio } from '../support/servers/sip-edge.ts'
import { accountId, deviceOf } from '../support/servers/sip-server.ts'

const secondNow = () => Math.floor(Date.now() / 1000)

describe.skipIf(lacksKamailio)(`a call through an edge${lacksKamailio}`, () => {
  const town = useSipTown({ SERVER_REST_S: 1 })

  afterEach(() => expect(town.edge.complaints()).toEqual([]))

  /** Two phones, a number that rings the second, and a call between them that has been answered. */
  const answeredCall = async (more: Record<string, unknown> = {}) => {
    const [ada, bob] = [await town.newPhone('ada'), await town.newPhone('bob')]
    const number = town.newNumber()
    town.server.rings(number, [bob.username], realm, more)
    const callId = `${randomUUID()}@phone`
    const calling = ada.phone.call(number, { callId })
    const invite = await bob.phone.comesIn('INVITE')
    bob.phone.answer(invite, { status: 180, phrase: 'Ringing' }, 'bobs')
    bob.phone.answer(invite, {}, 'bobs')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    await bob.phone.comesIn('ACK')
    return { ada, bob, number, callId, invite, final }
  }

  it('rings a registered device, is answered, ends, and leaves the records of both legs', async () => {
    const owner = 'b'.repeat(32)
    const { ada, bob, number, callId, final } = await answeredCall({
      caller_id: { name: 'Ada Palmer', number: '+14155550100' },
      variables: { owner_id: owner, callflow_id: 'c'.repeat(32) },
    })
    expect(outcomeOf(await ada.phone.within(final, 'BYE'))).toBe('200 OK')
    await bob.phone.comesIn('BYE')
    const [a, b] = await town.server.records(callId)
    const common = {
      interaction_id: expect.stringMatching(/^6\d{10}-[0-9a-f]{8}$/),
      duration_seconds: expect.any(Number),
      billing_seconds: expect.any(Number),
      ringing_seconds: expect.any(Number),
      channel_created_time: expect.any(Number),
      timestamp: expect.any(Number),
      hangup_cause: 'NORMAL_CLEARING',
      hangup_code: 'sip:200',
      caller_id_name: 'Ada Palmer',
      caller_id_number: '+14155550100',
      callee_id_number: number,
      digits_dialed: number,
      to_uri: `${number}@${realm}`,
      from_tag: tagIn(headerOf(final, 'from')),
      to_tag: 'bobs',
      app_name: 'kamailio',
      switch_hostname: hostname(),
    }
    expect(a).toEqual({
      ...common,
      call_id: callId,
      other_leg_call_id: `${callId}.b`,
      call_direction: 'inbound',
      disposition: 'recv_bye',
      from: `${ada.username}@${realm}`,
      from_uri: `${ada.username}@${realm}`,
      to: `${number}@${realm}`,
      request: `${number}@${realm}`,
      user_agent: 'Tester 1.0',
      custom_channel_vars: {
        account_id: accountId,
        owner_id: owner,
        callflow_id: 'c'.repeat(32),
        authorizing_id: deviceOf(ada.username),
        authorizing_type: 'device',
      },
    })
    expect(b).toEqual({
      ...common,
      call_id: `${callId}.b`,
      other_leg_call_id: callId,
      call_direction: 'outbound',
      disposition: 'send_bye',
      from: `+14155550100@${realm}`,
      from_uri: `+14155550100@${realm}`,
      to: `${bob.username}@${realm}`,
      request: `${bob.username}@${realm}`,
      custom_channel_vars: {
        account_id: accountId,
        authorizing_id: deviceOf(bob.username),
        authorizing_type: 'device',
      },
    })
    expect(b.interaction_id).toBe(a.interaction_id)
  })

  it('leaves nothing of its targets in memory, however it ends', async () => {
    const sizes = async () => {
      const { body } = await town.edge.rpc('htable.stats')
      const tables: { name: string; all: number }[] = body.result
      return Object.fromEntries(tables.map(({ name, all }) => [name, all]))
    }
    const { ada, bob, final, number } = await answeredCall()
    expect((await sizes()).legs).toBe(0)
    expect(outcomeOf(await ada.phone.within(final, 'BYE'))).toBe('200 OK')
    const declined = ada.phone.call(number)
    const invite = await bob.phone.comesIn('INVITE', 2)
    expect((await sizes()).legs).toBeGreaterThan(0)
    bob.phone.answer(invite, { status: 603, phrase: 'Decline' }, 'bobs')
    expect((await declined).status).toBe(603)
    const [refused, callId] = [town.newNumber(), `${randomUUID()}@phone`]
    town.server.rings(refused, [], realm)
    expect((await ada.phone.call(refused, { callId })).status).toBe(480)
    await town.server.records(callId, 1)
    await eventually(sizes, ({ legs }) => legs === 0)
  })

  it('shows the caller as the server decides, and hides the addresses and names of phones', async () => {
    const { invite, ada, final } = await answeredCall({ caller_id: { name: 'Ada "A"', number: '200' } })
    expect(headerOf(invite, 'from')).toMatch(/^"Ada A" ?<sip:200@acme\.test>;tag=/)
    expect(uriIn(headerOf(invite, 'contact'))).not.toContain(String(ada.phone.port))
    expect(headersOf(invite, 'record-route').join()).not.toContain(String(ada.phone.port))
    expect(headersOf(invite, 'via').join()).not.toContain(String(ada.phone.port))
    await ada.phone.within(final, 'BYE')
  })

  it('is refused as the server decides, and both the refusal and the record give the reason', async () => {
    const { phone: ada } = await town.newPhone('ada')
    const number = town.newNumber()
    const callId = `${randomUUID()}@phone`
    const refusal = { sip_code: 402, sip_reason: 'Payment Required', reason: 'no_credit' }
    town.server.rings(number, [], realm, { decision: 'refuse', ...refusal })
    expect(outcomeOf(await ada.call(number, { callId }))).toBe('402 Payment Required')
    const [record] = await town.server.records(callId, 1)
    expect(record).toMatchObject({
      call_id: callId,
      billing_seconds: 0,
      hangup_cause: 'CALL_REJECTED',
      hangup_code: 'sip:402',
    })
    const [told] = await town.server.refusals('no_credit')
    expect(told).toMatchObject({ method: 'INVITE', number, sip_code: 402, realm, address: '127.0.0.1' })
  })

  it('ends as busy, as unanswered and as taken back, each under its cause', async () => {
    const { phone: ada } = await town.newPhone('ada')
    const bob = await town.newPhone('bob')
    const [number, callId] = [town.newNumber(), `${randomUUID()}@phone`]
    town.server.rings(number, [bob.username], realm)
    const calling = ada.call(number, { callId })
    bob.phone.answer(await bob.phone.comesIn('INVITE'), { status: 486, phrase: 'Busy Here' }, 'bobs')
    expect((await calling).status).toBe(486)
    expect((await town.server.records(callId)).map((one) => one.hangup_cause)).toEqual([
      'USER_BUSY',
      'USER_BUSY',
    ])

    const cancelled = `${randomUUID()}@phone`
    const ringing = ada.call(number, { callId: cancelled })
    const invite = await bob.phone.comesIn('INVITE', 2)
    bob.phone.answer(invite, { status: 180, phrase: 'Ringing' }, 'bobs2')
    await eventually(
      () =>
        ada.received.some(
          ({ status, headers }) => status === 180 && headers.some(([, v]) => v === cancelled),
        ),
      (rings) => rings,
    )
    ada.cancel()
    await bob.phone.comesIn('CANCEL')
    bob.phone.answer(invite, { status: 487, phrase: 'Request Terminated' }, 'bobs2')
    expect((await ringing).status).toBe(487)
    const causes = (await town.server.records(cancelled)).map((one) => one.hangup_cause)
    expect(causes).toEqual(['ORIGINATOR_CANCEL', 'ORIGINATOR_CANCEL'])
  })

  it('rings devices together, and the next ones when their time has come', async () => {
    const { phone: ada } = await town.newPhone('ada')
    const [bob, eve, max] = [
      await town.newPhone('bob'),
      await town.newPhone('eve'),
      await town.newPhone('max'),
    ]
    const number = town.newNumber()
    const target = (username: string, delay_s: number, timeout_s: number) => ({
      type: 'device',
      device_id: deviceOf(username),
      username,
      realm,
      delay_s,
      timeout_s,
    })
    const targets = [target(bob.username, 0, 4), target(eve.username, 0, 4), target(max.username, 4, 20)]
    town.server.rings(number, [], realm, { targets })
    const began = performance.now()
    const calling = ada.call(number)
    const [first, second] = await Promise.all([bob.phone.comesIn('INVITE'), eve.phone.comesIn('INVITE')])
    bob.phone.answer(first, { status: 180, phrase: 'Ringing' }, 'bobs')
    eve.phone.answer(second, { status: 180, phrase: 'Ringing' }, 'eves')
    // On a busy machine his time may have come. The edge counts whole seconds.
    const rung = max.phone.received.filter(({ method }) => method === 'INVITE')
    if (performance.now() - began < 3000) expect(rung).toEqual([])
    await Promise.all([bob.phone.comesIn('CANCEL'), eve.phone.comesIn('CANCEL')])
    bob.phone.answer(first, { status: 487, phrase: 'Request Terminated' }, 'bobs')
    eve.phone.answer(second, { status: 487, phrase: 'Request Terminated' }, 'eves')
    max.phone.answer(await max.phone.comesIn('INVITE'), {}, 'maxs')
    const final = await calling
    expect(final.status).toBe(200)
    await ada.within(final, 'BYE')
  })

  it('rings another device while the first ones ring, which are not called again', async () => {
    const { phone: ada } = await town.newPhone('ada')
    const names = ['bob', 'eve', 'max'] as const
    const made = await Promise.all(names.map((name) => town.newPhone(name)))
    const [bob, eve, max] = made.map(({ phone }) => phone) as [Phone, Phone, Phone]
    const number = town.newNumber()
    const delays = [0, 1, 2]
    const targets = made.map(({ username }, turn) => ({
      type: 'device',
      device_id: deviceOf(username),
      username,
      realm,
      delay_s: delays[turn],
      timeout_s: 20,
    }))
    town.server.rings(number, [], realm, { targets })
    const callId = `${randomUUID()}@phone`
    const calling = ada.call(number, { callId })
    for (const [turn, phone] of [bob, eve, max].entries())
      phone.answer(await phone.comesIn('INVITE'), { status: 180, phrase: 'Ringing' }, `tag${turn}`)
    const ringing = () => [bob, eve, max].map(({ received }) => received.map(({ method }) => method))
    expect(ringing()).toEqual([
      ['', '', 'INVITE'],
      ['', '', 'INVITE'],
      ['', '', 'INVITE'],
    ])
    max.answer(await max.comesIn('INVITE'), {}, 'tag2')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    for (const [turn, phone] of [bob, eve].entries()) {
      await phone.comesIn('CANCEL')
      phone.answer(await phone.comesIn('INVITE'), { status: 487, phrase: 'Request Terminated' }, `tag${turn}`)
    }
    expect(outcomeOf(await ada.within(final, 'BYE'))).toBe('200 OK')
    await max.comesIn('BYE')
    const [caller, called, ...more] = await town.server.records(callId)
    expect(more).toEqual([])
    expect([caller.hangup_cause, called.hangup_cause]).toEqual(['NORMAL_CLEARING', 'NORMAL_CLEARING'])
    expect(called.custom_channel_vars.authorizing_id).toBe(deviceOf(made[2]?.username ?? ''))
  })

  it('rings another device also if the server has said later than that whom the call rings', async () => {
    const { phone: ada } = await town.newPhone('ada')
    const made = [await town.newPhone('bob'), await town.newPhone('eve')]
    const number = town.newNumber()
    const targets = made.map(({ username }, turn) => ({
      type: 'device',
      device_id: deviceOf(username),
      username,
      realm,
      delay_s: turn,
      timeout_s: 60,
    }))
    town.server.rings(number, [], realm, { targets })
    town.server.routesTake(4000)
    onTestFinished(() => town.server.routesTake(0))
    const calling = ada.call(number)
    const [bob, eve] = made.map(({ phone }) => phone) as [Phone, Phone]
    const invite = await bob.comesIn('INVITE')
    bob.answer(invite, { status: 180, phrase: 'Ringing' }, 'bobs')
    eve.answer(await eve.comesIn('INVITE'), {}, 'eves')
    await bob.comesIn('CANCEL')
    bob.answer(invite, { status: 487, phrase: 'Request Terminated' }, 'bobs')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(outcomeOf(await ada.within(final, 'BYE'))).toBe('200 OK')
  })

  it('lets all devices ring until the time of the last one is over', async () => {
    const { phone: ada } = await town.newPhone('ada')
    const made = [await town.newPhone('bob'), await town.newPhone('eve')]
    const number = town.newNumber()
    const targets = made.map(({ username }, turn) => ({
      type: 'device',
      device_id: deviceOf(username),
      username,
      realm,
      delay_s: 4 * turn,
      timeout_s: 6,
    }))
    town.server.rings(number, [], realm, { targets })
    const began = performance.now()
    const calling = ada.call(number)
    const ends = made.map(async ({ phone }) => {
      const invite = await phone.comesIn('INVITE')
      phone.answer(invite, { status: 180, phrase: 'Ringing' }, 'tag')
      await phone.comesIn('CANCEL')
      const seconds = (performance.now() - began) / 1000
      phone.answer(invite, { status: 487, phrase: 'Request Terminated' }, 'tag')
      return seconds
    })
    const [first = 0, second = 0] = await Promise.all(ends)
    expect((await calling).status).toBe(408)
    expect(first).toBeGreaterThan(8)
    expect(second).toBeLessThan(first + 2)
  })

  it('rings the next device at once when all before it have declined, and only once', async () => {
    const { phone: ada } = await town.newPhone('ada')
    const [bob, eve] = [await town.newPhone('bob'), await town.newPhone('eve')]
    const number = town.newNumber()
    const targets = [bob, eve].map(({ username }, turn) => ({
      type: 'device',
      device_id: deviceOf(username),
      username,
      realm,
      delay_s: turn,
      timeout_s: 20,
    }))
    town.server.rings(number, [], realm, { targets })
    const calling = ada.call(number)
    bob.phone.answer(await bob.phone.comesIn('INVITE'), { status: 486, phrase: 'Busy Here' }, 'bobs')
    const invite = await eve.phone.comesIn('INVITE')
    eve.phone.answer(invite, { status: 180, phrase: 'Ringing' }, 'eves')
    // The second in which she would have joined is over.
    const began = secondNow()
    await eventually(secondNow, (second) => second > began + 2)
    expect(eve.phone.received.filter(({ method }) => method === 'INVITE')).toEqual([invite])
    eve.phone.answer(invite, {}, 'eves')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(outcomeOf(await ada.within(final, 'BYE'))).toBe('200 OK')
  })

  it('rings again when its caller tries again under the same Call-ID', async () => {
    const [ada, bob] = [await town.newPhone('ada'), await town.newPhone('bob')]
    const number = town.newNumber()
    town.server.rings(number, [bob.username], realm)
    const callId = `${randomUUID()}@phone`
    const first = ada.phone.call(number, { callId })
    bob.phone.answer(await bob.phone.comesIn('INVITE'), { status: 486, phrase: 'Busy Here' }, 'bobs')
    expect((await first).status).toBe(486)
    const second = ada.phone.call(number, { callId })
    bob.phone.answer(await bob.phone.comesIn('INVITE', 2), {}, 'bobs2')
    const final = await second
    expect(outcomeOf(final)).toBe('200 OK')
    expect(outcomeOf(await ada.phone.within(final, 'BYE'))).toBe('200 OK')
  })

  it('has its records if the edge ends it, whatever tags phones of another call with its Call-ID had', async () => {
    const [ada, bob, eve] = [
      await town.newPhone('ada'),
      await town.newPhone('bob'),
      await town.newPhone('eve'),
    ]
    const [group, number] = [town.newNumber(), town.newNumber()]
    town.server.rings(group, [bob.username, eve.username], realm)
    town.server.rings(number, [bob.username], realm)
    // Kamailio loses a BYE in some calls only.
    for (let turn = 0; turn < 12; turn += 1) {
      const callId = `${randomUUID()}@phone`
      const first = ada.phone.call(group, { callId })
      const invites = await Promise.all([
        bob.phone.comesIn('INVITE', 2 * turn + 1),
        eve.phone.comesIn('INVITE', turn + 1),
      ])
      bob.phone.answer(invites[0], {}, `bobs${turn}`)
      eve.phone.answer(invites[1], {}, `eves${turn}`)
      const answered = await first
      const surplus = tagIn(headerOf(answered, 'to')) === `bobs${turn}` ? `eves${turn}` : `bobs${turn}`
      await (surplus === `bobs${turn}` ? bob : eve).phone.comesIn('BYE')
      expect(outcomeOf(await ada.phone.within(answered, 'BYE'))).toBe('200 OK')
      const second = ada.phone.call(number, { callId, fromTag: surplus })
      bob.phone.answer(await bob.phone.comesIn('INVITE', 2 * turn + 2), {}, `more${turn}`)
      expect(outcomeOf(await second)).toBe('200 OK')
      const { body } = await town.edge.rpc('dlg.dlg_list', [callId, surplus])
      await town.edge.rpc('dlg.end_dlg', [body.result.h_entry, body.result.h_id])
      expect(await town.server.records(callId, 4)).toHaveLength(4)
    }
  })

  it('stays with the first of several phones that answer at once, and ends for the others', async () => {
    const { phone: ada } = await town.newPhone('ada')
    const called = [await town.newPhone('bob'), await town.newPhone('eve'), await town.newPhone('max')]
    const phones = called.map(({ phone }) => phone)
    const number = town.newNumber()
    town.server.rings(
      number,
      called.map(({ username }) => username),
      realm,
    )
    const callId = `${randomUUID()}@phone`
    const calling = ada.call(number, { callId })
    const invites = await Promise.all(phones.map((phone) => phone.comesIn('INVITE')))
    for (const [turn, phone] of phones.entries()) phone.answer(invites[turn] as SipMessage, {}, `tag${turn}`)
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    const first = Number(tagIn(headerOf(final, 'to'))?.slice(3))
    await Promise.all(phones.map((phone) => phone.comesIn('ACK')))
    const others = phones.filter((_, turn) => turn !== first)
    const byes = await Promise.all(others.map((phone) => phone.comesIn('BYE')))
    expect(byes.map((bye) => [headerOf(bye, 'cseq'), headerOf(bye, 'call-id')])).toEqual([
      ['3 BYE', callId],
      ['3 BYE', callId],
    ])
    expect(phones[first]?.received.filter(({ method }) => method === 'BYE')).toEqual([])
    expect(outcomeOf(await ada.within(final, 'BYE'))).toBe('200 OK')
    await phones[first]?.comesIn('BYE')
    const answers = ada.received.filter((one) => one.status === 200 && headerOf(one, 'cseq') === '2 INVITE')
    expect(new Set(answers.map((one) => tagIn(headerOf(one, 'to')))).size).toBe(1)
    const [a, b, ...more] = await town.server.records(callId)
    expect(more).toEqual([])
    expect([a.disposition, b.disposition]).toEqual(['recv_bye', 'send_bye'])
    expect(b.custom_channel_vars.authorizing_id).toBe(deviceOf(called[first]?.username ?? ''))
  })

  it('goes to the next carrier after a code that allows it, and signs in there with a digest', async () => {
    const { phone: ada } = await town.newPhone('ada')
    const [broken, good] = [await town.newPhone('broken'), await town.newPhone('good')]
    const number = town.newNumber()
    const gateway = (phone: Phone, more: Record<string, unknown> = {}) => ({
      type: 'gateway',
      resource_id: 'd'.repeat(32),
      uri: `sip:127.0.0.1:${phone.port}`,
      number: '0014155550123',
      delay_s: 0,
      timeout_s: 20,
      progress_timeout_s: 5,
      failover_codes: [503],
      ...more,
    })
    const ha1 = createHash('md5').update('acme:carrier.example:carrier-word').digest('hex')
    town.server.rings(number, [], realm, {
      decision: 'offnet',
      caller_id: { number: '+14155550100' },
      targets: [
        gateway(broken.phone),
        gateway(good.phone, { username: 'acme', realm: 'carrier.example', ha1, resource_id: 'e'.repeat(32) }),
      ],
    })
    const callId = `${randomUUID()}@phone`
    const calling = ada.call(number, { callId })
    broken.phone.answer(await broken.phone.comesIn('INVITE'), { status: 503, phrase: 'Full' }, 'x')
    const asked = await good.phone.comesIn('INVITE')
    expect(asked.uri).toBe(`sip:0014155550123@127.0.0.1:${good.phone.port}`)
    expect(headerOf(asked, 'p-asserted-identity')).toBe(`<sip:+14155550100@${realm}>`)
    const challenge = 'Digest realm="carrier.example", nonce="abc", algorithm=MD5'
    good.phone.answer(
      asked,
      { status: 407, phrase: 'Who', headers: [['Proxy-Authenticate', challenge]] },
      'y',
    )
    const signed = await good.phone.comesIn('INVITE', 2)
    const md5 = (text: string) => createHash('md5').update(text).digest('hex')
    const proof = md5(`${ha1}:abc:${md5(`INVITE:${signed.uri}`)}`)
    expect(headerOf(signed, 'proxy-authorization')).toContain(`response="${proof}"`)
    good.phone.answer(signed, {}, 'y')
    const final = await calling
    expect(final.status).toBe(200)
    await good.phone.comesIn('ACK')
    expect((await ada.within(final, 'BYE')).status).toBe(200)
    const [, b] = await town.server.records(callId)
    expect(b.custom_channel_vars).toEqual({
      account_id: accountId,
      authorizing_type: 'resource',
      resource_id: 'e'.repeat(32),
      resource_type: 'offnet-termination',
    })
  })

  it('comes in from an address that the server knows, without a password, and from no other', async () => {
    const bob = await town.newPhone('bob')
    const [known, unknown] = [town.newNumber(), town.newNumber()]
    for (const number of [known, unknown]) town.server.rings(number, [bob.username], realm)
    town.server.carriers.set(known, { allowed: true, resource_id: 'f'.repeat(32), reason: 'carrier' })
    const carrier = await openPhone({
      edgePort: town.edge.port,
      realm: 'carrier.invalid',
      username: '+49301234',
    })
    town.keep(carrier)
    const calling = carrier.call(known)
    bob.phone.answer(await bob.phone.comesIn('INVITE'), {}, 'bobs')
    const final = await calling
    expect(final.status).toBe(200)
    expect((await carrier.within(final, 'BYE')).status).toBe(200)
    expect((await carrier.call(unknown)).status).toBe(407)
  })

  it('is one too many where the account has as many as it may, but for emergencies', async () => {
    const limits = { limits: { calls: 1 }, account_id: '9'.repeat(32) }
    const { ada, final } = await answeredCall(limits)
    const { phone: max } = await town.newPhone('max')
    const bob = await town.newPhone('bob')
    const [number, emergency] = [town.newNumber(), town.newNumber()]
    town.server.rings(number, [bob.username], realm, limits)
    town.server.rings(emergency, [bob.username], realm, { ...limits, emergency: true })
    expect(outcomeOf(await max.call(number))).toBe('486 Busy Here')
    const calling = max.call(emergency)
    bob.phone.answer(await bob.phone.comesIn('INVITE'), {}, 'bobs')
    const answered = await calling
    expect(answered.status).toBe(200)
    await max.within(answered, 'BYE')
    await ada.phone.within(final, 'BYE')
    const again = max.call(number)
    bob.phone.answer(await bob.phone.comesIn('INVITE', 2), {}, 'bobs2')
    const last = await again
    expect(last.status).toBe(200)
    await max.within(last, 'BYE')
  })

  it('carries requests of a known call both ways, and none of an unknown one', async () => {
    const { ada, bob, invite, final } = await answeredCall()
    expect((await ada.phone.within(final, 'INFO')).status).toBe(405)
    const stranger = await town.newPhone('max')
    const forged = await stranger.phone.request({
      method: 'BYE',
      uri: `sip:victim@127.0.0.1:${bob.phone.port}`,
      to: '<sip:victim@acme.test>;tag=made-up',
      headers: [['Route', `<sip:127.0.0.1:${town.edge.port};lr>`]],
    })
    expect(outcomeOf(forged)).toBe('481 Call Does Not Exist')
    expect(bob.phone.received.filter(({ method }) => method === 'BYE')).toEqual([])
    expect((await bob.phone.withinAnswered(invite, 'BYE', 'bobs')).status).toBe(200)
    await ada.phone.comesIn('BYE')
  })

  it('is reported once, also when the receiver was away and the edge has crashed in between', async () => {
    const { ada, callId, final } = await answeredCall()
    town.server.goAway()
    expect((await ada.phone.within(final, 'BYE')).status).toBe(200)
    await eventually(
      () => town.edge.kept('SELECT body FROM reports').filter(({ body }) => String(body).includes(callId)),
      (rows) => rows.length === 2,
    )
    await town.edge.stop('SIGKILL')
    town.server.comeBack()
    await town.edge.start()
    expect((await town.server.records(callId)).map((one) => one.call_direction)).toEqual([
      'inbound',
      'outbound',
    ])
    await eventually(
      () => town.edge.kept('SELECT id FROM reports'),
      (rows) => rows.length === 0,
    )
    expect(await town.server.records(callId)).toHaveLength(2)
  })

  it('ends with its records when the edge has crashed in the midst of it', async () => {
    const { ada, callId, final } = await answeredCall()
    await town.edge.stop('SIGKILL')
    await town.edge.start()
    expect((await ada.phone.within(final, 'BYE')).status).toBe(200)
    const records = await town.server.records(callId)
    expect(records.map((one) => [one.call_direction, one.hangup_cause])).toEqual([
      ['inbound', 'NORMAL_CLEARING'],
      ['outbound', 'NORMAL_CLEARING'],
    ])
  })
})
