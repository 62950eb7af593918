// The caller identity between networks, at a server with an edge: a carrier sees that of a phone, and a phone
// that of a carrier's caller.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { headerOf, headersOf, outcomeOf, type SipMessage, uriIn } from '../support/phones/edge-messages.ts'
import { openPhone, type Phone } from '../support/phones/edge-phone.ts'
import {
  closeSipPlace,
  makeAccount,
  makePhone,
  openPlaceWithEdge,
  type SipPlace,
} from '../support/phones/sip-place.ts'
import { eventually } from '../support/run/eventually.ts'
import { lacksKamailio, type SipEdge } from '../support/servers/sip-edge.ts'

type Headers = readonly (readonly [string, string])[]

const outside = '+14155550199'

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A PASSporT (RFC 8588) with an attestation. */
const identityOf = (attest: string) => {
  const header = { alg: 'ES256', ppt: 'shaken', typ: 'passport', x5u: 'https://cert.example/a.pem' }
  const payload = { attest, dest: { tn: ['14155550142'] }, iat: 1_600_000_000, orig: { tn: '49301234' } }
  return `${base64url(header)}.${base64url(payload)}.c2ln;info=<https://cert.example/a.pem>;alg=ES256;ppt=shaken`
}

const claims: Headers = [
  ['P-Asserted-Identity', '"Bank" <sip:+14155550000@bank.example>'],
  ['p-preferred-identity', '<sip:+14155550000@bank.example>'],
  ['Remote-Party-ID', '<sip:+14155550000@bank.example>;party=calling'],
  ['Diversion', '<sip:+14155550000@bank.example>;reason=unconditional'],
  ['History-Info', '<sip:+14155550000@bank.example>;index=1'],
  ['P-Charge-Info', '<sip:+14155550000@bank.example>'],
  ['P-Charging-Vector', 'icid-value=1'],
  ['Identity', identityOf('A')],
  ['y', identityOf('A')],
]

const claimed = (message: SipMessage) =>
  claims.filter(([name]) => headersOf(message, name.toLowerCase()).length > 0).map(([name]) => name)

describe.skipIf(lacksKamailio)(`the identity of a caller at a server with an edge${lacksKamailio}`, () => {
  let place: SipPlace
  let edge: SipEdge
  let carrier: Phone
  let resource: string
  let calls = 0
  const phones: Phone[] = []

  const put = async (path: string, data: Json) => {
    const answer = await place.session.admin.put(path, data)
    expect(answer).toSucceed()
    return String(answer.data.id)
  }
  const patch = async (path: string, data: Json) =>
    expect(await place.session.admin.patch(path, data)).toSucceed()
  const post = async (path: string, data: Json) =>
    expect(await place.session.admin.post(path, data)).toSucceed()

  const openCarrier = async (more: Partial<Parameters<typeof openPhone>[0]> = {}) => {
    const facts = { edgePort: edge.port, realm: 'carrier.test', username: '+49301234', address: '127.0.0.7' }
    const opened = await openPhone({ ...facts, ...more })
    phones.push(opened)
    return opened
  }

  beforeAll(async () => {
    ;({ place, edge } = await openPlaceWithEdge())
    carrier = await openCarrier()
    const gateways = [{ server: '127.0.0.7', port: carrier.port }]
    resource = await put('/v2/resources', { name: 'Ours', rules: ['^\\+1\\d{10}$'], gateways })
    await put('/v2/rates', { prefix: '1415', rate_cost: 0.02, rate_minimum: 60, rate_name: 'bay' })
  })

  afterAll(() => closeSipPlace({ place, edge, phones }))

  const numberPath = (account: { path: string }, number: string) =>
    `${account.path}/phone_numbers/${encodeURIComponent(number)}`

  /** An account with a registered phone, these numbers, and credit to call out. */
  const office = async (numbers: readonly string[] = []) => {
    const account = await makeAccount(place)
    for (const number of numbers) await put(numberPath(account, number), {})
    const made = await makePhone(place, edge, account, { username: 'ada' })
    phones.push(made.phone)
    expect(outcomeOf(await made.phone.register())).toBe('200 OK')
    await put(`${account.path}/ledgers/credit`, {
      source: { service: 'payments', id: 'cash' },
      usage: { type: 'credit', quantity: 1, unit: 'payment' },
      amount: 10,
    })
    const flow = { module: 'resources', data: {}, children: {} }
    const callflow = await put(`${account.path}/callflows`, { numbers: ['no_match'], flow })
    return { account, callflow: `${account.path}/callflows/${callflow}`, ...made }
  }

  type Office = Awaited<ReturnType<typeof office>>

  /** The INVITE of a call to outside, as the carrier gets it. */
  const sentOut = async ({ phone }: Office, headers: Headers = []) => {
    const callId = `${randomUUID()}@phone`
    const calling = phone.call(outside, { callId, headers })
    calls += 1
    const invite = await carrier.comesIn('INVITE', calls)
    carrier.answer(invite, {}, `gates${calls}`)
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    expect(outcomeOf(await phone.within(final, 'BYE'))).toBe('200 OK')
    return { invite, callId }
  }

  const shownIn = ({ invite }: { invite: SipMessage }) => ({
    from: headerOf(invite, 'from')?.split(';')[0]?.replace('" <', '"<'),
    asserted: headersOf(invite, 'p-asserted-identity'),
    privacy: headersOf(invite, 'privacy'),
    claims: claimed(invite).filter((name) => name !== 'P-Asserted-Identity'),
  })

  const as = (number: string, domain: string, name = '') => ({
    from: `"${name}"<sip:${number}@${domain}>`,
    asserted: [`<sip:${number}@${domain}>`],
    privacy: [],
    claims: [],
  })

  it('is a number of the account, never what the phone or a record of it states', async () => {
    const [first, second] = ['+14155550101', '+14155550102']
    const made = await office([first, second])
    const { account, device } = made
    expect(shownIn(await sentOut(made, claims))).toEqual(as(first, account.realm))
    await patch(account.path, { caller_id: { external: { name: 'Acme', number: second } } })
    expect(shownIn(await sentOut(made, claims))).toEqual(as(second, account.realm, 'Acme'))
    // Not a number of the account: the next one that is.
    await patch(device.path, { caller_id: { external: { name: 'Ada', number: '+14155550000' } } })
    expect(shownIn(await sentOut(made, claims))).toEqual(as(second, account.realm, 'Ada'))
  })

  it('is a number that the operator allows the account to show, or a number in a block', async () => {
    const made = await office(['+14155550103'])
    const { account } = made
    const limits = { caller_ids: ['+49301235', '+493099*'] }
    await post(`${account.path}/limits/operator`, limits)
    for (const number of ['+49301235', '+49309977']) {
      await patch(account.path, { caller_id: { external: { number } } })
      expect(shownIn(await sentOut(made))).toEqual(as(number, account.realm))
    }
    await patch(account.path, { caller_id: { external: { number: '+49301234' } } })
    expect(shownIn(await sentOut(made))).toEqual(as('+14155550103', account.realm))
  })

  it('is hidden if the account has no number that it may show, or if the phone wants it', async () => {
    const anonymous = {
      from: '"Anonymous"<sip:anonymous@anonymous.invalid>',
      privacy: ['id'],
      claims: [],
    }
    expect(shownIn(await sentOut(await office()))).toEqual({ ...anonymous, asserted: [] })
    const made = await office(['+14155550104'])
    expect(shownIn(await sentOut(made, [['Privacy', 'id']]))).toEqual({
      ...anonymous,
      asserted: [`<sip:+14155550104@${made.account.realm}>`],
    })
  })

  it('has the domain that the carrier, or the call flow, wants to be shown', async () => {
    const number = '+14155550105'
    const made = await office([number])
    await patch(`/v2/resources/${resource}`, { from_uri_realm: 'sip.acme.example' })
    expect(shownIn(await sentOut(made))).toEqual(as(number, 'sip.acme.example'))
    const flow = { module: 'resources', data: { from_uri_realm: 'flow.example' }, children: {} }
    await patch(made.callflow, { flow })
    expect(shownIn(await sentOut(made))).toEqual(as(number, 'flow.example'))
    await patch(`/v2/resources/${resource}`, { from_uri_realm: null })
  })

  it('is not stated by a phone within a call or in a response either', async () => {
    const made = await office(['+14155550106'])
    const calling = made.phone.call(outside)
    calls += 1
    const invite = await carrier.comesIn('INVITE', calls)
    carrier.answer(invite, {}, `gates${calls}`)
    const final = await calling
    expect(outcomeOf(await made.phone.within(final, 'UPDATE', claims))).toBe('200 OK')
    expect(claimed(await carrier.comesIn('UPDATE'))).toEqual([])
    expect(outcomeOf(await made.phone.within(final, 'BYE'))).toBe('200 OK')

    const number = '+14155550107'
    const { phone } = await inbound(number)
    const caller = await openCarrier()
    const answering = caller.call(number)
    const rung = await phone.comesIn('INVITE')
    phone.answer(rung, { headers: claims }, 'adas')
    const answered = await answering
    expect(outcomeOf(answered)).toBe('200 OK')
    expect(claimed(answered)).toEqual([])
    expect(outcomeOf(await caller.within(answered, 'BYE'))).toBe('200 OK')
  })

  /** An account whose number rings its phone. */
  const inbound = async (number: string) => {
    const made = await office([number])
    const flow = { module: 'device', data: { id: made.device.id }, children: {} }
    await put(`${made.account.path}/callflows`, { numbers: [number], flow })
    return made
  }

  /** A call of a carrier to a number: the INVITE that the phone gets, and the record of the caller's leg. */
  const arrives = async (
    { account, phone }: Office,
    number: string,
    from: Partial<Parameters<typeof openPhone>[0]>,
    headers: Headers,
  ) => {
    const caller = await openCarrier(from)
    const callId = `${randomUUID()}@carrier`
    const rung = phone.received.filter(({ method }) => method === 'INVITE').length
    const calling = caller.call(number, { callId, headers })
    const invite = await phone.comesIn('INVITE', rung + 1)
    phone.answer(invite, {}, `adas${rung}`)
    const final = await calling
    expect(outcomeOf(final)).toBe('200 OK')
    const changed = phone.received.filter(({ method }) => method === 'UPDATE').length
    expect(outcomeOf(await caller.within(final, 'UPDATE', claims.slice(0, 3)))).toBe('200 OK')
    expect(claimed(await phone.comesIn('UPDATE', changed + 1))).toEqual([])
    expect(outcomeOf(await caller.within(final, 'BYE'))).toBe('200 OK')
    const { admin } = place.session
    const [row] = await eventually(
      async () => (await admin.get(`${account.path}/cdrs?filter_call_id=${callId}`)).data as Json[],
      ({ length }) => length === 1,
    )
    const record = (await admin.get(`${account.path}/cdrs/${row?.id}`)).data as Json
    return { invite, row, record }
  }

  it('of a carrier reaches the phone with its name, its diversions and its signature, and the record', async () => {
    const number = '+14155550108'
    const made = await inbound(number)
    const kept: Headers = [
      ['Diversion', '<sip:+14155550000@bank.example>;reason=unconditional'],
      ['History-Info', '<sip:+14155550000@bank.example>;index=1'],
      ['P-Charge-Info', '<sip:+14155550000@bank.example>'],
      ['Identity', identityOf('B')],
    ]
    const { invite, row, record } = await arrives(made, number, { displayName: 'Zoë Müller' }, kept)
    expect(headerOf(invite, 'from')).toMatch(/^"Zoë Müller" ?<sip:\+49301234@/)
    expect(claimed(invite)).toEqual(kept.map(([name]) => name))
    for (const [name, value] of kept) expect(headersOf(invite, name.toLowerCase())).toEqual([value])
    expect(record).toMatchObject({ caller_id_name: 'Zoë Müller', caller_id_number: '+49301234' })
    expect(record.custom_channel_vars).toMatchObject({
      account_id: made.account.id,
      authorizing_type: 'resource',
      callflow_id: expect.any(String),
      resource_id: resource,
      resource_type: 'offnet-origination',
      global_resource: true,
      attestation: 'B',
    })
    expect(row).toMatchObject({ dialed_number: number, calling_from: '+49301234' })
  })

  it('of a call that the account forwards is the caller, asserted and diverted by the account', async () => {
    const number = '+14155550112'
    const { account, device } = await inbound(number)
    const forward = { enabled: true, number: outside, substitute: true, require_keypress: false }
    await patch(device.path, { call_forward: forward })
    const caller = await openCarrier({ displayName: 'Zoë' })
    const own = `<sip:${number}@${account.realm}>`
    for (const earlier of [[], ['<sip:+14155550000@bank.example>;reason=unconditional']]) {
      const headers = earlier.map((value) => ['Diversion', value] as const)
      const calling = caller.call(number, { headers })
      calls += 1
      const invite = await carrier.comesIn('INVITE', calls)
      carrier.answer(invite, {}, `gates${calls}`)
      const final = await calling
      expect(outcomeOf(final)).toBe('200 OK')
      expect(outcomeOf(await caller.within(final, 'BYE'))).toBe('200 OK')
      expect(headerOf(invite, 'from')).toMatch(/^"Zoë" ?<sip:\+49301234@/)
      expect(headersOf(invite, 'p-asserted-identity')).toEqual([own])
      expect(headersOf(invite, 'diversion')).toEqual([`${own};reason=unknown`, ...earlier])
    }
  })

  it.each<[string, Partial<Parameters<typeof openPhone>[0]>, Headers]>([
    ['in Privacy', { displayName: 'Zoë' }, [['Privacy', 'id']]],
    ['in From', { username: 'anonymous', realm: 'anonymous.invalid', displayName: 'Anonymous' }, []],
  ])(
    'of a carrier that is withheld %s is hidden from the phone and asserted in the record',
    async (_, from, more) => {
      const number = more.length > 0 ? '+14155550109' : '+14155550110'
      const made = await inbound(number)
      const asserted: Headers = [
        ['P-Asserted-Identity', '"Zoe" <sip:+49305678@carrier.test>'],
        ['Identity', identityOf('A')],
      ]
      const { invite, record } = await arrives(made, number, from, [...asserted, ...more])
      expect(headerOf(invite, 'from')).toMatch(/^"Anonymous" ?<sip:anonymous@anonymous\.invalid>/)
      expect(headersOf(invite, 'privacy')).toEqual(['id'])
      expect(claimed(invite)).toEqual([])
      expect(JSON.stringify(invite)).not.toMatch(/49305678|Zo/)
      expect(uriIn(headerOf(invite, 'contact'))).not.toContain('49')
      expect(record).toMatchObject({
        caller_id_name: 'Zoe',
        caller_id_number: '+49305678',
        custom_channel_vars: { attestation: 'A' },
      })
    },
  )

  it('of a call to a module that needs media gets 501, and the record and the log name the module', async () => {
    const number = '+14155550111'
    const { account, phone } = await office([number])
    const flow = { module: 'menu', data: { id: 'a'.repeat(32) }, children: {} }
    await put(`${account.path}/callflows`, { numbers: [number, '700'], flow })
    const callId = `${randomUUID()}@phone`
    const final = await phone.call('700', { callId })
    expect([outcomeOf(final), headerOf(final, 'reason'), headerOf(final, 'warning')]).toEqual([
      '501 Not Implemented',
      'Q.850;cause=79;text="menu needs a media server"',
      '399 crosspoint "The call flow needs a media server for its module menu"',
    ])
    const { admin } = place.session
    const [row, ...more] = await eventually(
      async () => (await admin.get(`${account.path}/cdrs?filter_call_id=${callId}`)).data as Json[],
      ({ length }) => length > 0,
    )
    expect(more).toEqual([])
    const { data } = await admin.get(`${account.path}/cdrs/${row?.id}`)
    expect(data).toMatchObject({
      hangup_code: 'sip:501',
      disposition: 'send_refuse',
      custom_channel_vars: { refusal_reason: 'needs_media_server', refusal_module: 'menu' },
    })
    expect(edge.log()).toMatch(
      new RegExp(
        `call ${callId} of account ${account.id} to 700: the module menu of the call flow needs a media server`,
      ),
    )
    const [event] = await eventually(
      async () => (await admin.get(`${account.path}/events?type=sip.refused`)).data as Json[],
      ({ length }) => length > 0,
    )
    expect(event?.after).toMatchObject({ reason: 'needs_media_server', module: 'menu', sip_code: 501 })
  })
})
