// Call records of Debian's Kamailio with the configuration that is shipped: whole records of calls in each direction and with each end.
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import { headerOf, outcomeOf, type SipMessage, tagIn, writeMessage } from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import { realm, useSipTown } from '../support/phones/sip-town.ts'
import { eventually } from '../support/run/eventually.ts'
import { lacksKamailio } from '../support/servers/sip-edge.ts'
import { accountId, deviceOf } from '../support/servers/sip-server.ts'

const resourceId = 'd'.repeat(32)

const gateway = (phone: Phone, more: Record<string, unknown> = {}) => ({
  type: 'gateway',
  resource_id: resourceId,
  global: true,
  uri: `sip:127.0.0.1:${phone.port}`,
  number: '0014155550123',
  delay_s: 0,
  timeout_s: 20,
  progress_timeout_s: 5,
  failover_codes: [503],
  ...more,
})

describe.skipIf(lacksKamailio)(`the records of a call at an edge${lacksKamailio}`, () => {
  const town = useSipTown()

  afterEach(() => expect(town.edge.complaints()).toEqual([]))

  /** What both legs of each call have. */
  const common = (number: string) => ({
    interaction_id: expect.stringMatching(/^6\d{10}-[0-9a-f]{8}$/),
    duration_seconds: expect.any(Number),
    billing_seconds: expect.any(Number),
    ringing_seconds: expect.any(Number),
    channel_created_time: expect.any(Number),
    timestamp: expect.any(Number),
    callee_id_number: number,
    digits_dialed: number,
    to_uri: `${number}@${realm}`,
    app_name: 'kamailio',
    switch_hostname: hostname(),
  })

  const answered = { hangup_cause: 'NORMAL_CLEARING', hangup_code: 'sip:200' }

  /** The reservation for a call over a carrier. The record of the caller ends it. */
  const reservation = (callId: string, call: { direction: string; number: string; caller: string }) => ({
    id: expect.any(String),
    account_id: accountId,
    call_id: callId,
    direction: call.direction,
    number: call.number,
    caller_id_number: call.caller,
  })

  const openCarrier = async (more: Partial<Parameters<typeof openPhone>[0]> = {}) =>
    town.keep(
      await openPhone({
        edgePort: town.edge.port,
        realm: 'carrier.invalid',
        username: '+49301234',
        userAgent: 'Carrier 1',
        ...more,
      }),
    )

  /** A call that a phone begins and that ends without an answer. */
  const attempt = async (
    targets: readonly unknown[],
    end: (ada: Phone) => Promise<unknown>,
    route: Record<string, unknown> = {},
  ) => {
    const ada = await town.newPhone('ada')
    const [number, callId] = [town.newNumber(), `${randomUUID()}@phone`]
    town.server.rings(number, [], realm, { targets, caller_id: { number: '200' }, ...route })
    const calling = ada.phone.call(number, { callId, fromTag: 'adas' })
    await end(ada.phone)
    const final = await calling
    return { ada, number, callId, final, records: await town.server.records(callId) }
  }

  const device = (username: string, more: Record<string, unknown> = {}) => ({
    type: 'device',
    device_id: deviceOf(username),
    username,
    realm,
    delay_s: 0,
    timeout_s: 20,
    ...more,
  })

  /** The records of a call of Ada to a device that did not answer. */
  const unanswered = (
    { ada, number, callId }: Awaited<ReturnType<typeof attempt>>,
    bob: string,
    [a, b]: [Record<string, unknown>, Record<string, unknown>],
  ) => [
    {
      ...common(number),
      call_id: callId,
      other_leg_call_id: `${callId}.b`,
      call_direction: 'inbound',
      billing_seconds: 0,
      from: `${ada.username}@${realm}`,
      from_uri: `${ada.username}@${realm}`,
      to: `${number}@${realm}`,
      request: `${number}@${realm}`,
      from_tag: 'adas',
      user_agent: 'Tester 1.0',
      caller_id_number: '200',
      custom_channel_vars: {
        account_id: accountId,
        authorizing_id: deviceOf(ada.username),
        authorizing_type: 'device',
      },
      ...a,
    },
    {
      ...common(number),
      call_id: `${callId}.b`,
      other_leg_call_id: callId,
      call_direction: 'outbound',
      billing_seconds: 0,
      from: `200@${realm}`,
      from_uri: `200@${realm}`,
      to: `${bob}@${realm}`,
      request: `${bob}@${realm}`,
      from_tag: 'adas',
      caller_id_number: '200',
      custom_channel_vars: {
        account_id: accountId,
        authorizing_id: deviceOf(bob),
        authorizing_type: 'device',
      },
      ...b,
    },
  ]

  it('that comes from a carrier name the carrier, and a caller who is withheld by the asserted number', async () => {
    const bob = await town.newPhone('bob')
    const [number, callId] = [town.newNumber(), `${randomUUID()}@carrier`]
    town.server.rings(number, [bob.username], realm, {
      variables: { authorizing_type: 'resource' },
      caller_id: { number: '+49301234', privacy: 'full' },
    })
    town.server.carriers.set(number, { allowed: true, resource_id: resourceId, reason: 'carrier' })
    const carrier = await openCarrier()
    const to = `<sip:${number}@${realm}>`
    const calling = carrier.call(number, { callId, to, uri: `sip:${number}@${realm}`, fromTag: 'carriers' })
    const invite = await bob.phone.comesIn('INVITE')
    bob.phone.answer(invite, { headers: [['User-Agent', 'Snom D785/10.1']] }, 'bobs')
    const final = await calling
    expect(outcomeOf(await carrier.within(final, 'BYE'))).toBe('200 OK')
    expect(await town.server.records(callId)).toEqual([
      {
        ...common(number),
        ...answered,
        call_id: callId,
        other_leg_call_id: `${callId}.b`,
        call_direction: 'inbound',
        disposition: 'recv_bye',
        from: '+49301234@carrier.invalid',
        from_uri: '+49301234@carrier.invalid',
        to: `${number}@${realm}`,
        request: `${number}@${realm}`,
        from_tag: 'carriers',
        to_tag: 'bobs',
        user_agent: 'Carrier 1',
        caller_id_number: '+49301234',
        reservations: [reservation(callId, { direction: 'inbound', number, caller: '+49301234' })],
        custom_channel_vars: {
          account_id: accountId,
          account_billing: 'per_minute',
          e164_destination: number,
          authorizing_type: 'resource',
          resource_id: resourceId,
          resource_type: 'offnet-origination',
          global_resource: true,
        },
      },
      {
        ...common(number),
        ...answered,
        call_id: `${callId}.b`,
        other_leg_call_id: callId,
        call_direction: 'outbound',
        disposition: 'send_bye',
        from: 'anonymous@anonymous.invalid',
        from_uri: 'anonymous@anonymous.invalid',
        to: `${bob.username}@${realm}`,
        request: `${bob.username}@${realm}`,
        from_tag: 'carriers',
        to_tag: 'bobs',
        user_agent: 'Snom D785/10.1',
        caller_id_number: '+49301234',
        custom_channel_vars: {
          account_id: accountId,
          authorizing_id: deviceOf(bob.username),
          authorizing_type: 'device',
        },
      },
    ])
  })

  it('that leaves over a carrier name the carrier of that leg, and show its user agent', async () => {
    const ada = await town.newPhone('ada')
    const [number, callId] = [town.newNumber(), `${randomUUID()}@phone`]
    const carrier = await openCarrier()
    town.server.rings(number, [], realm, {
      decision: 'offnet',
      caller_id: { name: 'Zoë', number: '+14155550100' },
      targets: [gateway(carrier, { global: false, from_realm: 'sip.acme.example' })],
    })
    const calling = ada.phone.call(number, { callId, fromTag: 'adas' })
    const invite = await carrier.comesIn('INVITE')
    carrier.answer(invite, { headers: [['Server', 'Softswitch | 7']] }, 'gates')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    await carrier.comesIn('ACK')
    expect(outcomeOf(await carrier.withinAnswered(invite, 'BYE', 'gates'))).toBe('200 OK')
    const shown = { caller_id_name: 'Zoë', caller_id_number: '+14155550100' }
    expect(await town.server.records(callId)).toEqual([
      {
        ...common(number),
        ...answered,
        ...shown,
        call_id: callId,
        other_leg_call_id: `${callId}.b`,
        call_direction: 'inbound',
        disposition: 'send_bye',
        from: `${ada.username}@${realm}`,
        from_uri: `${ada.username}@${realm}`,
        to: `${number}@${realm}`,
        request: `${number}@${realm}`,
        from_tag: 'adas',
        to_tag: 'gates',
        user_agent: 'Tester 1.0',
        reservations: [reservation(callId, { direction: 'outbound', number, caller: '+14155550100' })],
        custom_channel_vars: {
          account_id: accountId,
          authorizing_id: deviceOf(ada.username),
          authorizing_type: 'device',
        },
      },
      {
        ...common(number),
        ...answered,
        ...shown,
        call_id: `${callId}.b`,
        other_leg_call_id: callId,
        call_direction: 'outbound',
        disposition: 'recv_bye',
        from: '+14155550100@sip.acme.example',
        from_uri: '+14155550100@sip.acme.example',
        to: '0014155550123@127.0.0.1',
        request: '0014155550123@127.0.0.1',
        from_tag: 'adas',
        to_tag: 'gates',
        user_agent: 'Softswitch  7',
        custom_channel_vars: {
          account_id: accountId,
          authorizing_type: 'resource',
          resource_id: resourceId,
          resource_type: 'offnet-termination',
          global_resource: false,
        },
      },
    ])
  })

  it('that a phone refuses name the phone by its presence id', async () => {
    const bob = await town.newPhone('bob')
    const presence_id = `101@${realm}`
    const made = await attempt([device(bob.username, { presence_id })], async () => {
      const busy = { status: 486, phrase: 'Busy Here', headers: [['User-Agent', 'Snom']] as const }
      bob.phone.answer(await bob.phone.comesIn('INVITE'), busy, 'bobs')
    })
    const busy = { hangup_cause: 'USER_BUSY', hangup_code: 'sip:486', to_tag: 'bobs' }
    expect(made.records).toEqual(
      unanswered(made, bob.username, [
        { ...busy, disposition: 'send_refuse' },
        { ...busy, disposition: 'recv_refuse', user_agent: 'Snom', to: presence_id, presence_id },
      ]),
    )
  })

  it('that come to a module that needs media after a phone has refused say so for the leg of the caller', async () => {
    const bob = await town.newPhone('bob')
    const otherwise = {
      reason: 'needs_media_server',
      module: 'voicemail',
      sip_code: 501,
      sip_reason: 'Not Implemented',
    }
    const ends = async () => {
      const busy = { status: 486, phrase: 'Busy Here' }
      bob.phone.answer(await bob.phone.comesIn('INVITE'), busy, 'bobs')
    }
    const made = await attempt([device(bob.username)], ends, { otherwise })
    expect([outcomeOf(made.final), headerOf(made.final, 'reason'), headerOf(made.final, 'warning')]).toEqual([
      '501 Not Implemented',
      'Q.850;cause=79;text="voicemail needs a media server"',
      '399 crosspoint "The call flow needs a media server for its module voicemail"',
    ])
    const [a, b] = unanswered(made, bob.username, [
      { hangup_cause: 'SERVICE_UNAVAILABLE', hangup_code: 'sip:501', disposition: 'send_refuse' },
      { hangup_cause: 'USER_BUSY', hangup_code: 'sip:486', disposition: 'recv_refuse', to_tag: 'bobs' },
    ])
    const why = { refusal_reason: 'needs_media_server', refusal_module: 'voicemail' }
    expect(made.records).toEqual([
      { ...a, custom_channel_vars: { ...(a?.custom_channel_vars as object), ...why } },
      b,
    ])
  })

  it('that no phone answers give the code with which each leg ended', async () => {
    const bob = await town.newPhone('bob')
    const made = await attempt([device(bob.username, { timeout_s: 1 })], async () => {
      const invite = await bob.phone.comesIn('INVITE')
      bob.phone.answer(invite, { status: 180, phrase: 'Ringing' }, 'bobs')
      await bob.phone.comesIn('CANCEL')
      bob.phone.answer(invite, { status: 487, phrase: 'Request Terminated' }, 'bobs')
    })
    const late = { hangup_cause: 'NO_ANSWER', hangup_code: 'sip:408' }
    const to_tag = tagIn(made.final.headers.find(([name]) => name === 'to')?.[1])
    const [a, b] = made.records
    expect([
      { to_tag, ...a },
      { to_tag: 'bobs', ...b },
    ]).toEqual(
      unanswered(made, bob.username, [
        { ...late, disposition: 'send_refuse', to_tag: expect.any(String) },
        { ...late, disposition: 'send_cancel', to_tag: 'bobs' },
      ]),
    )
  })

  it('that the caller gives up say so', async () => {
    const bob = await town.newPhone('bob')
    const made = await attempt([device(bob.username)], async (ada) => {
      const invite = await bob.phone.comesIn('INVITE')
      bob.phone.answer(invite, { status: 180, phrase: 'Ringing' }, 'bobs')
      await eventually(
        () => ada.received.some(({ status }) => status === 180),
        (rings) => rings,
      )
      ada.cancel()
      await bob.phone.comesIn('CANCEL')
      bob.phone.answer(invite, { status: 487, phrase: 'Request Terminated' }, 'bobs')
    })
    const taken = { hangup_cause: 'ORIGINATOR_CANCEL', hangup_code: 'sip:487', to_tag: 'bobs' }
    expect(made.records).toEqual(
      unanswered(made, bob.username, [
        { ...taken, disposition: 'recv_cancel' },
        { ...taken, disposition: 'send_cancel' },
      ]),
    )
  })

  it.each([
    ['the server refuses', { decision: 'refuse', sip_code: 402, reason: 'no_credit' }, 402, 'no_credit'],
    ['rings no phone that is registered', { targets: [device('absent')] }, 480, 'nobody_there'],
    ['is one too many', { limits: { calls: 0 } }, 486, 'limit_reached'],
  ])('that %s is one record, in which nothing is missing', async (_, route, code, reason) => {
    const ada = await town.newPhone('ada')
    const [number, callId] = [town.newNumber(), `${randomUUID()}@phone`]
    town.server.rings(number, ['absent'], realm, route)
    expect((await ada.phone.call(number, { callId, fromTag: 'adas' })).status).toBe(code)
    // A later call is reported after everything of this one.
    const later = town.newNumber()
    const second = `${randomUUID()}@phone`
    town.server.rings(later, ['absent'], realm)
    await ada.phone.call(later, { callId: second })
    await town.server.records(second, 1)
    const causes: Record<number, string> = {
      402: 'CALL_REJECTED',
      480: 'NO_USER_RESPONSE',
      486: 'USER_BUSY',
    }
    expect(town.server.taken('records').filter(({ call_id }) => call_id.startsWith(callId))).toEqual([
      {
        ...common(number),
        call_id: callId,
        call_direction: 'inbound',
        billing_seconds: 0,
        disposition: 'send_refuse',
        hangup_cause: causes[code],
        hangup_code: `sip:${code}`,
        from: `${ada.username}@${realm}`,
        from_uri: `${ada.username}@${realm}`,
        to: `${number}@${realm}`,
        request: `${number}@${realm}`,
        from_tag: 'adas',
        user_agent: 'Tester 1.0',
        caller_id_number: ada.username,
        custom_channel_vars: {
          account_id: accountId,
          authorizing_id: deviceOf(ada.username),
          authorizing_type: 'device',
          refusal_reason: reason,
        },
      },
    ])
  })

  it('that consist of bytes that are not UTF-8 arrive with ? instead', async () => {
    const [number, callId] = [town.newNumber(), `${randomUUID()}@carrier`]
    town.server.rings(number, [], realm, { decision: 'refuse', sip_code: 402, reason: 'no_credit' })
    town.server.carriers.set(number, { allowed: true, resource_id: resourceId, reason: 'carrier' })
    const carrier = await openCarrier()
    const headers = [
      ['Via', `SIP/2.0/UDP 127.0.0.1:${carrier.port};branch=z9hG4bK${callId};rport`],
      ['Max-Forwards', '70'],
      ['From', '"Zo\xeb" <sip:+49301234@carrier.invalid>;tag=a\xff|b'],
      ['To', `"\xff" <sip:\xff@${realm}>`],
      ['Call-ID', callId],
      ['CSeq', '1 INVITE'],
      ['Contact', carrier.contact],
      ['User-Agent', 'Carrier \xff'],
      ['Privacy', 'id'],
      ['P-Asserted-Identity', '"\xff|" <sip:+49\xff30@carrier.test>'],
      ['Identity', 'eyJ.%%%.x;info=<a>'],
      ['Identity', `${Buffer.from('{}').toString('base64url')}.bm8ganNvbg.x;info=<a>`],
    ] as const
    carrier.send(Buffer.from(writeMessage(`INVITE sip:${number}@${realm} SIP/2.0`, headers), 'latin1'))
    const [record] = await town.server.records(callId, 1)
    expect(record).toMatchObject({
      from: '+49301234@carrier.invalid',
      to: `?@${realm}`,
      from_tag: 'a?|b',
      user_agent: 'Carrier ?',
      caller_id_name: '?|',
      caller_id_number: '+49?30',
    })
    expect(record.custom_channel_vars).not.toHaveProperty('attestation')
  })

  it('of a number that no account has is none, and of a caller without a user agent names none', async () => {
    const ada = await town.newPhone('ada')
    const [nowhere, number] = [town.newNumber(), town.newNumber()]
    town.server.routes.set(nowhere, { decision: 'refuse', sip_code: 404, reason: 'unknown_number' })
    town.server.rings(number, ['absent'], realm)
    const quiet = await openCarrier({ userAgent: '' })
    for (const one of [nowhere, number])
      town.server.carriers.set(one, { allowed: true, resource_id: resourceId, reason: 'carrier' })
    expect((await ada.phone.call(nowhere)).status).toBe(404)
    expect((await quiet.call(nowhere)).status).toBe(404)
    const callId = `${randomUUID()}@carrier`
    expect((await quiet.call(number, { callId })).status).toBe(480)
    const [record] = await town.server.records(callId, 1)
    expect(record).not.toHaveProperty('user_agent')
    const all = town.server.taken('records')
    expect(
      all.filter(({ digits_dialed }: SipMessage & { digits_dialed: string }) => digits_dialed === nowhere),
    ).toEqual([])
    expect(JSON.stringify([all, town.server.taken('refusals')])).not.toContain('<null>')
  })
})
