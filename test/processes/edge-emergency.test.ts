// Emergency calls at a server with an edge: no rule of the account keeps them from a carrier.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { headerOf, outcomeOf, type SipMessage } from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import {
  closeSipPlace,
  edgeOf,
  makeAccount,
  makePhone,
  openPlaceWithEdge,
  type SipPlace,
} from '../support/phones/sip-place.ts'
import { eventually } from '../support/run/eventually.ts'
import { lacksKamailio, type SipEdge } from '../support/servers/sip-edge.ts'

const nothing = { registrations: 0, invites: 0, total_packets: 0 }

describe.skipIf(lacksKamailio)(`an emergency call at a server with an edge${lacksKamailio}`, () => {
  let place: SipPlace
  let edge: SipEdge
  let carrier: Phone
  const phones: Phone[] = []

  beforeAll(async () => {
    ;({ place, edge } = await openPlaceWithEdge())
    carrier = await openPhone({
      edgePort: edge.port,
      realm: 'carrier.test',
      username: 'gate',
      address: '127.0.0.7',
    })
    phones.push(carrier)
    const resource = {
      name: 'Emergency',
      emergency: true,
      rules: ['^(911)$'],
      gateways: [{ server: '127.0.0.7', port: carrier.port }],
    }
    expect(await place.session.admin.put('/v2/resources', resource)).toSucceed()
  })

  afterAll(() => closeSipPlace({ place, edge, phones }))

  /** An account with one phone. */
  const office = async () => {
    const account = await makeAccount(place)
    const made = await makePhone(place, edge, account, { username: 'ada' })
    phones.push(made.phone)
    const { admin } = place.session
    const put = async (path: string, data: Json) => {
      const answer = await admin.put(path, data)
      expect(answer).toSucceed()
      return String(answer.data.id)
    }
    const post = async (path: string, data: Json) => expect(await admin.post(path, data)).toSucceed()
    const patch = async (path: string, data: Json) => expect(await admin.patch(path, data)).toSucceed()
    return { account, ...made, put, post, patch }
  }

  type Office = Awaited<ReturnType<typeof office>>

  /** The INVITE of the carrier's call number `count`. */
  const inviteOf = async (callId: string, count = 1) => {
    const all = () =>
      carrier.received.filter((one) => one.method === 'INVITE' && headerOf(one, 'call-id') === callId)
    const branches = () => [...new Map(all().map((one) => [headerOf(one, 'via'), one])).values()]
    const found = await eventually(branches, ({ length }) => length >= count)
    return found[count - 1] as SipMessage
  }

  /** A call to 911 that the carrier answers and the caller ends. */
  const passes = async ({ phone }: Office) => {
    const callId = `${randomUUID()}@phone`
    const calling = phone.call('911', { callId })
    const invite = await Promise.race([
      inviteOf(callId),
      calling.then((final) => Promise.reject(new Error(outcomeOf(final)))),
    ])
    carrier.answer(invite, {}, callId.slice(0, 8))
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(outcomeOf(await phone.within(final, 'BYE'))).toBe('200 OK')
    return invite
  }

  const narrow = { order: 'allow,deny', cidrs: ['10.0.0.0/8'] }
  const here = { order: 'allow,deny', cidrs: ['127.0.0.0/8'] }

  it.each<[string, string, (office: Office) => Promise<unknown>]>([
    [
      'of a device that is disabled',
      '403 Forbidden',
      ({ device, patch }) => patch(device.path, { enabled: false }),
    ],
    [
      'of a user who is disabled',
      '403 Forbidden',
      async ({ account, device, put, patch }) => {
        const who = { first_name: 'Ada', last_name: 'Lovelace', enabled: false }
        await patch(device.path, { owner_id: await put(`${account.path}/users`, who) })
      },
    ],
    [
      'of an account that is disabled',
      '403 Forbidden',
      ({ account, patch }) => patch(account.path, { enabled: false }),
    ],
    [
      'from an address that the list of the account denies',
      '403 Forbidden',
      ({ account, post }) => post(`${account.path}/access_lists`, narrow),
    ],
    [
      'from an address that the list of the device denies',
      '403 Forbidden',
      ({ device, post }) => post(`${device.path}/access_lists`, narrow),
    ],
    [
      'of a user agent that the device does not allow',
      '403 Forbidden',
      ({ device, post }) => post(`${device.path}/access_lists`, { ...here, user_agent: '^Snom' }),
    ],
    [
      'above the packet limits of the device',
      '429 Too Many Requests',
      ({ device, post }) => post(`${device.path}/rate_limits`, { per_minute: nothing, per_second: nothing }),
    ],
    [
      'above the packet limits of the account',
      '429 Too Many Requests',
      ({ account, post }) =>
        post(`${account.path}/rate_limits`, {
          account: { per_minute: nothing, per_second: nothing },
          device: { per_minute: nothing, per_second: nothing },
        }),
    ],
    [
      'of an account that may have no call and has no credit',
      '503 Service Unavailable',
      ({ account, post }) =>
        post(`${account.path}/limits`, { calls: 0, twoway_trunks: 0, allow_prepay: false }),
    ],
  ])('passes: %s', async (_, otherwise, prepare) => {
    const made = await office()
    await prepare(made)
    expect(outcomeOf(await made.phone.call('912'))).toBe(otherwise)
    await passes(made)
  })

  it('is an event and an alert for the admins while it lasts', async () => {
    const made = await office()
    const { account, device, patch } = made
    const { admin } = place.session
    await patch(account.path, { caller_id: { emergency: { name: 'Acme', number: '+14155550199' } } })
    await passes(made)
    const [event, ...others] = await eventually(
      async () => (await admin.get(`${account.path}/events?type=call.emergency`)).data as Json[],
      ({ length }) => length > 0,
    )
    expect(others).toEqual([])
    expect(event).toMatchObject({
      type: 'call.emergency',
      record: { kind: 'device', id: device.id },
      after: {
        call_id: expect.stringMatching(/@phone$/),
        number: '911',
        caller_id_number: '+14155550199',
        address: '127.0.0.1',
        at: expect.any(Number),
      },
    })
    const { data } = await admin.get(`${account.path}/alerts`)
    const [alert] = (data as Json[]).filter(({ category }) => category === 'emergency_call')
    expect(alert).toMatchObject({
      title: 'Emergency call',
      message: `Account ${account.realm} has called the emergency number 911 from +14155550199.`,
      level: 'critical',
    })
  })

  it('carries the caller id and the registered address, and no address to a carrier that does not read it', async () => {
    const made = await office()
    const { account, patch, put } = made
    const number = '+14155550197'
    const e911 = {
      caller_name: 'Acme & Sons',
      street_address: '140 Geary St',
      extended_address: 'Floor 3',
      locality: 'San Francisco',
      region: 'CA',
      postal_code: '94108',
      latitude: '37.78',
      longitude: '-122.40',
    }
    const { admin } = place.session
    const override = { default: { local_feature_override: true } }
    expect(await admin.patch('/v2/system_configs/number_manager', override)).toSucceed()
    await put(`${account.path}/phone_numbers/${encodeURIComponent(number)}`, { e911 })
    // Without a caller id the number of the account that has an address is shown.
    await put(`${account.path}/phone_numbers/${encodeURIComponent('+14155550196')}`, {})
    expect(headerOf(await passes(made), 'p-asserted-identity')).toBe(`<sip:${number}@${account.realm}>`)
    await patch(account.path, { caller_id: { emergency: { name: 'Acme', number } } })
    const invite = await passes(made)
    expect(headerOf(invite, 'from')).toMatch(/^"Acme" ?<sip:\+14155550197@/)
    expect(headerOf(invite, 'p-asserted-identity')).toBe(`<sip:${number}@${account.realm}>`)
    expect(headerOf(invite, 'geolocation')).toBe('<cid:location@crosspoint.invalid>')
    expect(headerOf(invite, 'content-type')).toBe('multipart/mixed;boundary=crosspoint-parts')
    const [, offer, location] = invite.body.split('--crosspoint-parts')
    expect(offer).toMatch(/^\r\nContent-Type: application\/sdp\r\n\r\nv=0\r\n/)
    expect(location).toMatch(
      /^\r\nContent-Type: application\/pidf\+xml\r\nContent-ID: <location@crosspoint\.invalid>\r\n\r\n<\?xml /,
    )
    expect(location).toContain('entity="tel:+14155550197"')
    expect(location).toContain('<gml:pos>37.78 -122.40</gml:pos>')
    expect(location).toContain(
      '<ca:country>US</ca:country><ca:A1>CA</ca:A1><ca:A3>San Francisco</ca:A3><ca:RD>140 Geary St</ca:RD>' +
        '<ca:LOC>Floor 3</ca:LOC><ca:NAM>Acme &amp; Sons</ca:NAM><ca:PC>94108</ca:PC>',
    )

    const callId = `${randomUUID()}@phone`
    const calling = made.phone.call('911', { callId })
    const first = await inviteOf(callId, 1)
    carrier.answer(first, { status: 415, phrase: 'Unsupported Media Type' }, 'unread')
    const plain = await inviteOf(callId, 2)
    expect(headerOf(plain, 'content-type')).toBe('application/sdp')
    expect(headerOf(plain, 'geolocation')).toBeUndefined()
    carrier.answer(plain, {}, 'read')
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(outcomeOf(await made.phone.within(final, 'BYE'))).toBe('200 OK')
  })

  /** How often edges have asked the server about numbers until now. */
  const questions = async () => {
    const id = randomUUID()
    await place.session.admin.get('/v2/about', { headers: { 'x-request-id': id } })
    const log = await eventually(place.server.errors, (text) => text.includes(id))
    return log.split('"route":"/v2/edge/route"').length
  }

  it('needs the password of its device, and without it the server is not asked about any number', async () => {
    const { account, device, patch, phone } = await office()
    await patch(device.path, { enabled: false })
    const guess = await openPhone({
      edgePort: edge.port,
      realm: account.realm,
      username: 'ada',
      password: 'guessed',
    })
    phones.push(guess)
    const before = await questions()
    for (const number of ['911', '4711', '4712', '4713'])
      expect(outcomeOf(await guess.call(number))).toBe('403 Forbidden')
    expect(await questions()).toBe(before)
    let number = 4000
    // After the edge is notified of the changed device, it sends another request.
    await eventually(
      async () => {
        number += 1
        const asked = await questions()
        for (let call = 0; call < 2; call += 1)
          expect(outcomeOf(await phone.call(String(number)))).toBe('403 Forbidden')
        return (await questions()) - asked
      },
      (asked) => asked === 1,
    )
  })

  it('of a refused device is looked up at most EMERGENCY_QUESTIONS_PER_MINUTE times', async () => {
    const silent = await edgeOf(place, { EMERGENCY_QUESTIONS_PER_MINUTE: 0 })
    try {
      const account = await makeAccount(place)
      const { device, phone } = await makePhone(place, silent, account, { username: 'ada' })
      phones.push(phone)
      expect(await place.session.admin.patch(device.path, { enabled: false })).toSucceed()
      expect(outcomeOf(await phone.call('911'))).toBe('403 Forbidden')
    } finally {
      await silent.end()
    }
  })
})
