import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import type { Json } from '../../src/lib/json.ts'
import { storedCdrs } from '../support/world/stored-cdrs.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

/** A body of mod_json_cdr, with the account it names. */
interface PostedLeg {
  variables: Record<string, string>
  [more: string]: unknown
}

const bodyOf = (name: string, accountId = ''): PostedLeg =>
  JSON.parse(
    readFileSync(new URL(`../data/freeswitch/${name}.json`, import.meta.url), 'utf8').replace(
      'ACCOUNT',
      accountId,
    ),
  )

// What FreeSWITCH percent-encodes.
const escaped = (text: string) =>
  text.replace(
    /[\r\n #%&+:;<=>?@[\\\]^`{|}"]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )

const withEncodedValues = (leg: PostedLeg): PostedLeg => ({
  ...leg,
  variables: Object.fromEntries(Object.entries(leg.variables).map(([name, value]) => [name, escaped(value)])),
})

describeAnyEngine('A FreeSWITCH that posts call detail records', (engine) => {
  const world = useWorld(engine)
  let made = 0

  /** The leg with an id that no other test uses. */
  const fresh = (name: string, variables: Record<string, string> = {}): PostedLeg => {
    made += 1
    const leg = bodyOf(name, world.acme.id)
    const uuid = `${String(made).padStart(8, '0')}${leg.variables.uuid?.slice(8)}`
    return { ...leg, variables: { ...leg.variables, uuid, ...variables } }
  }

  const secret = async () =>
    (await world.operator.get('/v2/system_configs/ingest')).data.default.freeswitch_secret

  interface Posting {
    type?: string
    path?: string
    tail?: string
    method?: string
  }

  const post = async (
    body: string,
    { type = 'application/json', path, tail = '', method = 'POST' }: Posting = {},
  ) => {
    const place = path ?? `/ingest/freeswitch/${await secret()}`
    const response = await fetch(`http://127.0.0.1:${world.server.port}${place}${tail}`, {
      method,
      headers: { 'content-type': type, 'user-agent': 'freeswitch-json/1.0' },
      ...(method === 'POST' ? { body } : {}),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }

  const postLeg = (leg: object, posting?: Posting) => post(JSON.stringify(leg), posting)

  const stored = async (leg: PostedLeg) =>
    (await storedCdrs(world.server.store)).find(({ call_id: id }) => id === leg.variables.uuid)

  const accepted = { status: 200, body: { status: 'accepted' } }
  const duplicate = { status: 200, body: { status: 'duplicate' } }
  const ignored = (reason: string) => ({ status: 200, body: { status: 'ignored', reason } })
  const strange = ignored('no account ID, account code, domain or address of the leg belongs to an account')

  it('has the leg stored, field by field', async () => {
    const leg = fresh('inbound')
    expect(await postLeg(leg)).toEqual(accepted)
    const { local_sdp, remote_sdp, ...cdr } = (await stored(leg)) as Json
    expect(local_sdp).toMatch(/^v=0\r\no=FreeSWITCH/)
    expect(remote_sdp).toMatch(/^v=0\r\no=- 20018/)
    expect(cdr).toEqual({
      id: `202601-${leg.variables.uuid}`,
      call_id: leg.variables.uuid,
      call_direction: 'inbound',
      channel_created_time: 1_767_600_000_250_000,
      timestamp: 63_934_819_268,
      duration_seconds: 68,
      billing_seconds: 61,
      ringing_seconds: 4,
      interaction_id: '63934819200-8d3f1a2b',
      interaction_time: 63_934_819_200,
      interaction_key: '8d3f1a2b',
      from: '+14155550123@acme.test',
      from_uri: '+14155550123@acme.test',
      from_tag: leg.variables.sip_from_tag,
      to: '+14155550199@acme.test',
      to_uri: '+14155550199@acme.test',
      to_tag: leg.variables.sip_to_tag,
      request: '+14155550199@acme.test',
      presence_id: '+14155550123@acme.test',
      user_agent: 'Yealink SIP-T46U 108.86.0.70',
      caller_id_name: 'WIRELESS CALLER',
      caller_id_number: '+14155550123',
      callee_id_name: 'Ada Admin',
      callee_id_number: '1001',
      other_leg_call_id: '7e6d5c4b-3a29-4817-a605-f4e3d2c1b0a9',
      other_leg_caller_id_name: 'WIRELESS CALLER',
      other_leg_caller_id_number: '+14155550123',
      other_leg_destination_number: '1001',
      other_leg_direction: 'outbound',
      hangup_cause: 'NORMAL_CLEARING',
      disposition: 'recv_bye',
      media_server: 'fs1.example.net',
      switch_hostname: 'fs1.example.net',
      node: '6d2f9b1c-8f0a-4c7e-9e0b-3a5f7c1d2e90',
      channel_name: 'sofia/external/+14155550123@acme.test',
      channel_state: 'CS_REPORTING',
      custom_sip_headers: { in: { 'X-Tenant': 'blue' } },
      recording_url: 'https://records.example.net/0b5c1f5e.mp3',
      e164_destination: '+14155550199',
      custom_channel_vars: {
        account_id: world.acme.id,
        account_realm: 'acme.test',
        account_billing: 'per_minute',
        reseller_billing: 'flat_rate',
        rate: 120,
        rate_increment: 6,
        rate_minimum: 30,
        rate_name: 'us_did',
        surcharge: 0,
        owner_id: '4f6e1d2c3b4a59687786a5b4c3d2e1f0',
        authorizing_type: 'resource',
        resource_id: '9c8b7a69584736251403f2e1d0c9b8a7',
        global_resource: true,
        bridge_id: '0b5c1f5e-54d1-4c29-8f0e-6a1f0c7f9a01',
        ecallmgr_node: 'ecallmgr@apps001.example.net',
        fetch_id: '51c7f24a-6cf2-4f0c-8f0a-0f7a3bfb5f11',
      },
    })
  })

  const encodings: Record<string, (json: string) => [string, string]> = {
    'plain JSON': (json) => [json, 'application/json'],
    'a form field, percent-encoded': (json) => [
      `cdr=${encodeURIComponent(json)}`,
      'application/x-www-form-urlencoded',
    ],
    'a form field as FreeSWITCH encodes it': (json) => [
      `cdr=${escaped(json)}`,
      'application/x-www-form-urlencoded',
    ],
    'a form field in base64': (json) => [
      `cdr=${Buffer.from(json).toString('base64')}`,
      'application/x-www-form-base64-encoded',
    ],
    'base64 announced as an ordinary form': (json) => [
      `cdr=${encodeURIComponent(Buffer.from(json).toString('base64'))}`,
      'application/x-www-form-urlencoded',
    ],
  }

  for (const [title, encode] of Object.entries(encodings)) {
    it(`is understood when it sends ${title}, its values percent-encoded or not`, async () => {
      const plain = fresh('unanswered')
      const encoded = fresh('unanswered')
      const [plainBody, type] = encode(JSON.stringify(plain))
      const [encodedBody] = encode(JSON.stringify(withEncodedValues(encoded)))
      expect(await post(plainBody, { type })).toEqual(accepted)
      expect(await post(encodedBody, { type })).toEqual(accepted)
      for (const leg of [plain, encoded]) {
        expect(await stored(leg)).toMatchObject({
          caller_id_name: '50% Off & More',
          caller_id_number: '1002',
          from: '1002@acme.test',
          hangup_cause: 'ORIGINATOR_CANCEL',
          hangup_code: 'sip:487',
          disposition: 'recv_cancel',
          billing_seconds: 0,
        })
      }
    })
  }

  it('has encoded values decoded once, and others not at all', async () => {
    const plain = fresh('unanswered', { effective_caller_id_name: '100%25 sure' })
    const encoded = fresh('unanswered', { effective_caller_id_name: '100%25 sure' })
    await postLeg(plain)
    await postLeg(withEncodedValues(encoded))
    expect((await stored(plain))?.caller_id_name).toBe('100%25 sure')
    expect((await stored(encoded))?.caller_id_name).toBe('100%25 sure')
  })

  it('may append its ?uuid= to whatever the address is', async () => {
    for (const tail of ['?uuid=a_1', '?a=1?uuid=a_1', '/?uuid=1', '']) {
      expect(await postLeg(fresh('fax'), { tail }), tail).toEqual(accepted)
    }
  })

  it('may repeat itself: the leg is stored once, and every answer is 2xx', async () => {
    const leg = fresh('fax')
    expect(await postLeg(leg)).toEqual(accepted)
    expect(await world.unchanged(() => postLeg(leg))).toEqual(duplicate)
    const other = fresh('fax')
    const answers = await Promise.all(Array.from({ length: 6 }, () => postLeg(other)))
    expect(answers.filter(({ body }) => body.status === 'accepted')).toHaveLength(1)
    expect(answers.filter(({ body }) => body.status === 'duplicate')).toHaveLength(5)
  })

  it('may send many legs at once: each gets its own verdict', async () => {
    const legs = Array.from({ length: 40 }, () => fresh('outbound'))
    const broken = { variables: { uuid: '' } }
    const answers = await Promise.all([...legs.map((leg) => postLeg(leg)), postLeg(broken)])
    expect(answers.slice(0, 40).every(({ body }) => body.status === 'accepted')).toBe(true)
    expect(answers[40]).toEqual(strange)
  })

  it('gets a 2xx with the reason for a leg of no account, which is not stored', async () => {
    const elsewhere = {
      domain_name: 'elsewhere.test',
      sip_from_uri: '100@192.0.2.1',
      sip_to_uri: '9011@192.0.2.10',
      sip_req_uri: '9011@192.0.2.10',
      accountcode: '100',
    }
    expect(await world.unchanged(() => postLeg(fresh('fax', elsewhere)))).toEqual(strange)
    const unknown = { 'ecallmgr_Account-ID': '0'.repeat(32) }
    expect(await world.unchanged(() => postLeg(fresh('inbound', unknown)))).toEqual(strange)
  })

  it('names the account by its id, else by account code, domain or the host of an address', async () => {
    const nowhere = {
      domain_name: '',
      sip_from_uri: '1@nowhere.test',
      sip_to_uri: '2@nowhere.test',
      sip_req_uri: '2@nowhere.test',
      presence_id: '',
    }
    const legs = {
      id: fresh('fax', { ...nowhere, domain_name: 'rival.test', 'ecallmgr_Account-ID': world.acme.id }),
      code: fresh('fax', { ...nowhere, accountcode: world.acme.id }),
      realmAsCode: fresh('fax', { ...nowhere, accountcode: 'Acme.Test' }),
      domain: fresh('fax', { ...nowhere, domain_name: 'acme.test' }),
      from: fresh('fax', { ...nowhere, sip_from_uri: 'sip:1@acme.test:5060;transport=udp' }),
      to: fresh('fax', { ...nowhere, sip_to_uri: '2@acme.test' }),
    }
    for (const [way, leg] of Object.entries(legs)) {
      expect(await postLeg(leg), way).toEqual(accepted)
      expect(await stored(leg), way).toMatchObject({ custom_channel_vars: { account_id: world.acme.id } })
    }
  })

  it('gives both legs of a bridge one interaction, whichever it sends first', async () => {
    for (const order of [
      ['bridge-a', 'bridge-b'],
      ['bridge-b', 'bridge-a'],
    ]) {
      made += 1
      const a = `aaaa${String(made).padStart(4, '0')}-8704-4f5c-9c3d-9d4c3fa02d34`
      const b = `bbbb${String(made).padStart(4, '0')}-9815-405d-8d4e-ae5d40b13e45`
      const text = (name: string) =>
        JSON.stringify(bodyOf(name))
          .replaceAll('3e8f4091-8704-4f5c-9c3d-9d4c3fa02d34', a)
          .replaceAll('4f9051a2-9815-405d-8d4e-ae5d40b13e45', b)
      for (const name of order) expect(await post(text(name))).toEqual(accepted)
      const [first, second] = (await storedCdrs(world.server.store)).filter(
        ({ call_id: id }) => id === a || id === b,
      ) as [Json, Json]
      expect(first.interaction_id).toBe(second.interaction_id)
      expect(first.other_leg_call_id).toBe(b)
      expect(second.other_leg_call_id).toBe(a)
      expect(first.channel_created_time as number).toBeLessThan(second.channel_created_time as number)
    }
  })

  it('gives both legs of a bridge one interaction when they come at the same time', async () => {
    const pairs = Array.from({ length: 10 }, (_, pair) => {
      const [a, b] = [`cccc${pair}`, `dddd${pair}`]
      const text = (name: string) =>
        JSON.stringify(bodyOf(name))
          .replaceAll('3e8f4091-8704-4f5c-9c3d-9d4c3fa02d34', a)
          .replaceAll('4f9051a2-9815-405d-8d4e-ae5d40b13e45', b)
      return { a, b, bodies: [text('bridge-b'), text('bridge-a')] }
    })
    await Promise.all(pairs.flatMap(({ bodies }) => bodies.map((body) => post(body))))
    const all = await storedCdrs(world.server.store)
    for (const { a, b } of pairs) {
      const ids = all.filter(({ call_id: id }) => id === a || id === b).map((cdr) => cdr.interaction_id)
      expect(ids).toHaveLength(2)
      expect(new Set(ids).size).toBe(1)
    }
  })

  /** Every order of some things. */
  const ordersOf = <T>(things: readonly T[]): T[][] =>
    things.length < 2
      ? [[...things]]
      : things.flatMap((thing, at) => ordersOf(things.toSpliced(at, 1)).map((rest) => [thing, ...rest]))

  it('gives the four legs of an attended transfer one interaction, in whatever order it sends them', async () => {
    const began = 1_767_601_200
    // Alice calls Bob, whose other phone rings as well; Bob calls Carol, and connects the two.
    const orders = ordersOf(['alice', 'bob', 'consulting', 'carol'] as const)
    const mark = `${began}:0:att_xfer:bob@acme.test/carol@acme.test`
    const idsOf = (round: number) => (name: string) => `${name}-${round}`
    const legOf = (uuid: string, seconds: number, variables: Record<string, string>): PostedLeg => {
      const { bridge_uuid: _, last_bridge_to: __, ...rest } = bodyOf('bridge-a', world.acme.id).variables
      const times = { start_epoch: String(began + seconds), start_uepoch: `${began + seconds}000000` }
      return { variables: { ...rest, ...times, uuid, ...variables } }
    }
    for (const [round, order] of orders.entries()) {
      const id = idsOf(round)
      const legs = {
        alice: legOf(id('alice'), 0, { bridge_uuid: id('carol'), transfer_source: mark }),
        bob: legOf(id('bob'), 2, {
          originating_leg_uuid: id('alice'),
          bridge_uuid: id('alice'),
          transfer_to: `att:${id('carol')}`,
        }),
        consulting: legOf(id('consulting'), 3, {
          bridge_uuid: id('carol'),
          endpoint_disposition: 'ATTENDED_TRANSFER',
        }),
        carol: legOf(id('carol'), 4, {
          originating_leg_uuid: id('consulting'),
          bridge_uuid: id('alice'),
          transfer_history: mark,
        }),
      }
      const ringing = legOf(id('ringing'), 1, { originating_leg_uuid: id('alice') })
      for (const leg of [ringing, ...order.map((name) => legs[name])])
        expect(await postLeg(leg)).toEqual(accepted)
    }
    const now = gregorianNow(world.clock)
    const query = { created_from: now - 86_400, created_to: now + 86_400, page_size: 400 }
    const listed = async () => (await world.operator.get(`${world.acme.path}/cdrs`, { query })).data as Json[]
    // So often that the page is kept.
    for (const _ of [1, 2, 3]) await listed()
    world.clock.advance({ seconds: 11 })
    await world.server.scheduler.runNow('joined_calls')
    const all = await storedCdrs(world.server.store)
    const interactionOf = new Map(all.map(({ id, interaction_id }) => [id, interaction_id]))
    for (const row of await listed()) expect(row.interaction_id).toBe(interactionOf.get(String(row.id)))
    for (const [round, order] of orders.entries()) {
      const names = ['alice', 'bob', 'consulting', 'carol', 'ringing'].map(idsOf(round))
      const found = all.filter(({ call_id: id }) => names.includes(id as string))
      expect(found).toHaveLength(names.length)
      expect(new Set(found.map((cdr) => cdr.interaction_id)).size, order.join()).toBe(1)
      const admin = await world.operator.get(
        `${world.acme.path}/cdrs/legs/${found[0]?.interaction_id}?ascending=true`,
      )
      expect((admin.data as unknown as Json[]).map(({ call_id: id }) => id)).toEqual(
        ['alice', 'ringing', 'bob', 'consulting', 'carol'].map(idsOf(round)),
      )
    }
    // Legs that belong to none of them, and a blind transfer, have separate interactions.
    const blind = fresh('transferred')
    await postLeg(blind)
    const [{ interaction_id: own } = {}] = [await stored(blind)]
    expect(all.map((cdr) => cdr.interaction_id)).not.toContain(own)
  })

  it('reports transfers, faxes and calls to the outside', async () => {
    const [transferred, fax, outbound] = [fresh('transferred'), fresh('fax'), fresh('outbound')]
    for (const leg of [transferred, fax, outbound]) await postLeg(leg)
    expect(await stored(transferred)).toMatchObject({
      hangup_cause: 'BLIND_TRANSFER',
      other_leg_call_id: '61b273c4-ba37-427f-8f60-c07f62d35067',
    })
    expect(await stored(fax)).toMatchObject({
      fax_result_text: 'OK',
      fax_result_code: '0',
      fax_success: '1',
      fax_ecm_used: 'on',
      fax_transferred_pages: '3',
      fax_total_pages: '3',
      fax_bad_rows: '0',
      fax_transfer_rate: '14400',
      fax_t38: true,
    })
    expect(await stored(outbound)).toMatchObject({
      call_direction: 'outbound',
      callee_id_name: 'Berlin Office',
      callee_id_number: '+493012345678',
      from_uri: '1001@acme.test',
      to: '+493012345678@carrier.example.org',
      other_leg_call_id: '2d7e3f80-76f3-4e4b-8b2c-8c3b2e9f1c23',
      other_leg_direction: 'inbound',
      // Its times were sent as texts.
      channel_created_time: 1_767_600_600_250_000,
    })
  })

  it('gets the reason why a leg is ignored', async () => {
    const lost = fresh('outbound', { hangup_cause: 'WRONG_CALL_STATE', last_bridge_hangup_cause: '' })
    const test = { ...fresh('fax'), app_log: { applications: [{ app_name: 'milliwatt' }] } }
    const bowout = fresh('outbound', { is_loopback: '1', loopback_leg: 'B', loopback_hangup_cause: 'bowout' })
    const reasons = [
      'hangup_cause: WRONG_CALL_STATE',
      'app_log: the setting ignore_apps contains milliwatt',
      'the settings of cdr ignore this application or loopback leg',
    ]
    for (const [at, leg] of [lost, test, bowout].entries()) {
      expect(await world.unchanged(() => postLeg(leg))).toEqual(ignored(reasons[at] ?? ''))
    }
  })

  it('gets a 400 with a reason that a person can act on', async () => {
    const cases: [string, string, string][] = [
      ['{"variables": ', 'application/json', 'the body is not valid JSON'],
      ['{}', 'application/json', 'there are no variables in the body'],
      ['hello', 'application/json', 'the body is neither JSON nor a form with the field cdr'],
      [
        'cdr=%%%',
        'application/x-www-form-urlencoded',
        'the field cdr is neither percent-encoded JSON nor base64',
      ],
      [
        JSON.stringify(fresh('fax', { uuid: '' })).replaceAll(/"uuid":"[^"]*"/g, '"x":""'),
        'application/json',
        'call_id: Field is required but missing',
      ],
    ]
    for (const [body, type, reason] of cases) {
      expect(await world.unchanged(() => post(body, { type }))).toEqual({
        status: 400,
        body: { status: 'rejected', reason },
      })
    }
  })

  it('finds nothing without the secret', async () => {
    const nothing = { status: 404, body: { status: 'error', reason: 'not found' } }
    for (const path of [
      '/ingest/freeswitch/',
      '/ingest/freeswitch/wrong',
      `/ingest/freeswitch/${await secret()}/x`,
    ]) {
      expect(await world.unchanged(() => postLeg(fresh('fax'), { path })), path).toEqual(nothing)
    }
  })

  it('can only post', async () => {
    expect(await post('', { method: 'GET' })).toEqual({
      status: 405,
      body: { status: 'error', reason: 'POST a call detail record' },
    })
  })

  it('is refused a body of more than 2 MB', async () => {
    expect(await post(`{"x":"${'y'.repeat(2_000_000)}"}`)).toEqual({ status: 413, body: { status: 'error' } })
  })

  it('uses a secret that only the master account can read and replace', async () => {
    const first = await secret()
    expect(first).toMatch(/^[\w-]{32}$/)
    expect((await world.ross.get('/v2/system_configs/ingest')).status).toBe(403)
    const refused = await world.operator.patch('/v2/system_configs/ingest', {
      default: { freeswitch_secret: 'short' },
    })
    expect(refused).toFailWith(400, 'validation error')
    await world.operator.patch('/v2/system_configs/ingest', {
      default: { freeswitch_secret: 'a-secret-of-my-own' },
    })
    const old = await postLeg(fresh('fax'), { path: `/ingest/freeswitch/${first}` })
    expect(old.status).toBe(404)
    expect(await postLeg(fresh('fax'), { path: '/ingest/freeswitch/a-secret-of-my-own' })).toEqual(accepted)
    const audit = await world.server.store.all<{ told: string }>(
      "SELECT concat(after_doc, changes) AS told FROM audit_log WHERE record_id = 'ingest'",
    )
    expect(audit.map(({ told }) => told).join()).not.toContain('a-secret')
  })
})
