// Requests to SIP edges that respond, and to edges that do not.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDevices } from '../../src/areas/voice/devices/operations.ts'
import { createQuickcalls } from '../../src/areas/voice/quickcalls/operations.ts'
import { callWishesIn } from '../../src/areas/voice/quickcalls/rules.ts'
import { failure, mediaSwitchMissing } from '../../src/lib/failure.ts'
import type { Json } from '../../src/lib/json.ts'
import { createSettings } from '../../src/settings/settings.ts'
import type { Store } from '../../src/storage/store.ts'
import { createMediaSwitch, type MediaSwitch } from '../../src/switch/kamailio/kamailio.ts'
import type { Phone } from '../../src/switch/media-switch.ts'
import { type SipPhone, startSipPhone } from '../support/phones/sip-phone.ts'
import { eventually } from '../support/run/eventually.ts'
import { type EdgeServer, startEdgeServer } from '../support/servers/edge-server.ts'
import { lacks } from '../support/servers/installed.ts'
import { type Kamailio, startKamailio } from '../support/servers/kamailio.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const author = { requestId: 'test' }
const noSwitch = [501, 'no media switch is configured', { message: 'no media switch is configured' }] as const

/** A switch that records the requests it gets. */
const createRecorder = ({ records }: Store) => {
  const told: unknown[] = []
  const names = (phones: readonly Phone[]) => phones.map(({ username, realm }) => `${username}@${realm}`)
  const mediaSwitch: MediaSwitch = {
    ...createMediaSwitch({ settings: createSettings(records, 'test'), outgoing: undefined as never }),
    notify: async (phone, notice) => {
      told.push(['notify', ...names([phone]), notice])
      return 1
    },
    startQuickcall: async (call) => {
      told.push(['call', call.number, ...names(call.phones)])
      return { ended: Promise.resolve({ hangup_cause: 'NORMAL_CLEARING' }) }
    },
  }
  return { mediaSwitch, take: () => told.splice(0) }
}

describeAnyEngine('a media switch', (engine) => {
  const world = useWorld(engine)

  const equipped = async () => {
    const { store, areas } = world.server
    const { mediaSwitch, take } = createRecorder(store)
    const mobileNumbers = areas.phoneNumbers.mobile
    const devices = createDevices({
      store,
      mediaSwitch,
      mobileNumbers,
      hostNames: areas.accounts.hostNames,
      destinations: areas.resources.destinations,
    })
    const made = await world.account()
    const account = await world.server.areas.accounts.get(made.id)
    const owner = (await world.user(made)).id
    const sip = { username: 'desk', password: 'first-secret' }
    const device = await devices.create(
      { author, account },
      {
        name: 'Desk',
        enabled: true,
        sip,
        owner_id: owner,
      },
    )
    return { devices, account, device, owner, taken: take, mediaSwitch, realm: account.doc.realm }
  }

  it('gets requests to synchronize, to notify and to call', async () => {
    const { devices, account, device, owner, taken, mediaSwitch, realm } = await equipped()
    const phone = `desk@${realm}`
    await devices.sync(account, [device], 'reboot')
    await devices.trySync(account, await devices.ownedBy(account, owner), 'reload')
    const ownWords = { check_sync_event: 'resync', check_sync_reboot: '', check_sync_reload: 'now=1' }
    const other = await devices.replace({ author, account }, device, { ...device.doc, provision: ownWords })
    await devices.sync(account, [other], 'reboot')
    await devices.sync(account, [other], 'reload')
    await devices.notify(account, device, { event: 'message-summary' })
    const quickcalls = createQuickcalls({ settings: undefined as never, devices, mediaSwitch })
    const silent = await devices.create({ author, account }, { name: 'Off', enabled: false })
    const wishes = callWishesIn('+1 (415) 555-0100', () => undefined)
    const { ended } = await quickcalls.start(account, [device, silent], wishes)
    expect(await ended).toEqual({ hangup_cause: 'NORMAL_CLEARING' })
    expect(taken()).toEqual([
      ['notify', phone, { event: 'check-sync;reboot=true' }],
      ['notify', phone, { event: 'check-sync;reboot=false' }],
      ['notify', phone, { event: 'resync' }],
      ['notify', phone, { event: 'resync;now=1' }],
      ['notify', phone, { event: 'message-summary' }],
      ['call', '+14155550100', phone],
    ])
  })

  it('that fails does not undo a change', async () => {
    const { devices, account, device, mediaSwitch } = await equipped()
    mediaSwitch.notify = () => Promise.reject(failure(mediaSwitchMissing, {}))
    await devices.trySync(account, [device], 'reload')
    await expect(devices.sync(account, [device], 'reload')).rejects.toMatchObject({
      kind: { name: 'no_media_switch' },
    })
    mediaSwitch.notify = async () => 0
    await devices.trySync(account, [device], 'reload')
    await expect(devices.sync(account, [device], 'reload')).rejects.toMatchObject({
      kind: { name: 'phone_unregistered' },
    })
  })
})

describeAnyEngine('edges that do not answer as they should', (engine) => {
  const world = useWorld(engine)
  let first: EdgeServer
  let second: EdgeServer

  // The server leaves an edge alone for a while after it did not answer: each test has its own.
  beforeEach(async () => {
    first = await startEdgeServer()
    second = await startEdgeServer()
    await world.configure('switch', {
      adapter: 'kamailio',
      // Longer than a busy machine takes to answer.
      kamailio: { rpc_urls: [first.url, second.url], timeout_ms: 3000, secret: 'between-us' },
    })
  })

  afterEach(() => Promise.all([first.close(), second.close()]))

  const unreachable = (...reasons: readonly (readonly [EdgeServer, string])[]) =>
    [
      503,
      'media_switch_unreachable',
      {
        message: 'no SIP edge responded. See data.edges for each error',
        edges: reasons.map(([{ host }, reason]) => ({ host, reason })),
      },
    ] as const

  it('get requests with the secret, which no client can read', async () => {
    const phone = await world.device(world.acme, { sip: { username: 'asked' } })
    expect(await world.ada.post(`${phone.path}/sync`)).toFailWith(409, 'phone_unregistered')
    for (const edge of [first, second]) {
      expect(edge.told('ul.lookup')).toContainEqual(['location', `asked@${world.acme.realm}`])
      expect(edge.calls.at(-1)?.headers.authorization).toBe('Bearer between-us')
    }
    const { data, text } = await world.operator.get('/v2/system_configs/switch')
    expect(data.default).toMatchObject({ kamailio: { secret: '***' } })
    expect(text).not.toContain('between-us')
  })

  it('take nothing from what others say, and are named', async () => {
    const phone = await world.device(world.acme, { sip: { username: 'split' } })
    const contact = { Address: 'sip:split@192.0.2.9:5062', Expires: 60, 'Call-ID': 'a', 'Last-Modified': 1 }
    first.says('ul.lookup', (_table, place) =>
      String(place).startsWith('split@') ? { Contacts: [{ Contact: contact }] } : { Contacts: [] },
    )
    second.fallSilent()
    const list = await world.ada.get(`${world.acme.path}/registrations`)
    expect(list).toSucceed()
    expect(list.data).toMatchObject([{ username: 'split', contact_ip: '192.0.2.9', contact_port: 5062 }])
    expect(list.body.metadata).toEqual({ unreachable: [second.host] })
    const rows = await world.ada.get(`${world.acme.path}/devices`, { query: { with_status: 'true' } })
    expect(rows.body.metadata).toEqual({ unreachable: [second.host] })
    const seen = (rows.data as unknown as Json[]).map(({ id, registered }) => [id, registered])
    expect(seen).toContainEqual([phone.id, true])
    // The state at the silent edge is unknown, so it is not reported as unregistered.
    expect(seen.filter(([, registered]) => registered === false)).toEqual([])
    second.speak()
  })

  it('are a failure that names them all where none answers, within their time', async () => {
    const phone = await world.device(world.rival, { sip: { username: 'lost' } })
    first.fallSilent()
    second.hangUp()
    expect(await world.rex.post(`${phone.path}/sync`)).toFailWith(
      ...unreachable([first, 'timeout'], [second, 'unreachable']),
    )
    first.talkNonsense(200)
    second.talkNonsense(403)
    expect(await world.rex.post(`${phone.path}/sync`)).toFailWith(
      ...unreachable([first, 'malformed'], [second, 'responded with 403: check the secret']),
    )
    for (const path of ['registrations', 'registrations/count', 'channels', `devices/${phone.id}/channels`]) {
      const answer = await world.rex.get(`${world.rival.path}/${path}`)
      expect([path, answer.status, answer.body.message]).toEqual([path, 503, 'media_switch_unreachable'])
    }
    expect((await world.rex.delete(`${world.rival.path}/registrations`)).status).toBe(503)
    const { data, body } = await world.rex.get(`${world.rival.path}/devices/status`)
    expect(data).toContainEqual({ device_id: phone.id, registrable: true })
    expect(body.metadata).toEqual({ unreachable: [first.host, second.host] })
    first.speak()
    second.speak()
  })
})

const lacking = lacks('kamailio')

describe.skipIf(lacking)(`with Kamailio${lacking}`, () => {
  describeAnyEngine('phones', (engine) => {
    const world = useWorld(engine)
    const phones: SipPhone[] = []
    const edges: Kamailio[] = []

    beforeAll(async () => {
      edges.push(await startKamailio(), await startKamailio())
      await world.configure('switch', {
        adapter: 'kamailio',
        kamailio: { rpc_urls: edges.map(({ url }) => url), timeout_ms: 3000, secret: edge().secret },
      })
    })
    afterAll(async () => {
      for (const phone of phones) phone.close()
      await Promise.all(edges.map((one) => one.close()))
    })

    const edge = (at = 0) => edges[at] as Kamailio

    const telephone = async (account: TestAccount, username: string, at = 0) => {
      const phone = await startSipPhone({ username, realm: account.realm, server: edge(at) })
      phones.push(phone)
      expect((await phone.register()).status).toBe(200)
      return phone
    }

    const equipped = async (fields: Json = {}, at = 0) => {
      const account = await world.account(world.reseller)
      const device = await world.device(account, { sip: { username: 'desk' }, ...fields })
      return {
        account,
        device,
        admin: await world.admin(account),
        desk: await telephone(account, 'desk', at),
      }
    }

    const notices = (phone: SipPhone, count = 1) =>
      eventually(
        () => phone.requests('NOTIFY'),
        (found) => found.length >= count,
      )

    it('get a request to fetch their settings, wherever they are registered', async () => {
      for (const at of edges.keys()) {
        const { admin, device, desk } = await equipped({}, at)
        expect(await admin.post(`${device.path}/sync`)).toSucceedWith('sync request sent', 202)
        expect(await admin.post(`${device.path}/sync`, undefined, { query: { reboot: 'true' } })).toSucceed(
          202,
        )
        const found = await notices(desk, 2)
        expect(found.map((notice) => notice.value('Event'))).toEqual([
          'check-sync;reboot=false',
          'check-sync;reboot=true',
        ])
      }
    })

    it('receive the text of a NOTIFY, which cannot add a header', async () => {
      const { admin, device, desk } = await equipped()
      const body = { content_type: 'text/plain', data: 'Voice-Message: 2/1' }
      const notify = (event: string) => admin.put(device.path, { action: 'notify', data: { event, body } })
      const refused = await world.unchanged(() => notify('message-summary\r\nX-Evil: 1 !!'))
      expect(refused).toBreak({ 'data.event': ['pattern'] })
      expect(await notify('message-summary X-Evil: 1 !!')).toSucceedWith('NOTIFY sent', 202)
      const [notice] = await notices(desk)
      expect(notice?.value('Event')).toBe('message-summary X-Evil: 1')
      expect(notice?.value('X-Evil')).toBeUndefined()
      expect(notice?.body).toBe('Voice-Message: 2/1')
    })

    it('that are not registered cause an error, and nothing is sent', async () => {
      const { admin, account } = await equipped()
      const { path } = await world.device(account, { sip: { username: 'cellar' } })
      const gone = [
        409,
        'phone_unregistered',
        { message: 'the device is not registered: nothing was sent' },
      ] as const
      expect(await admin.post(`${path}/sync`)).toFailWith(...gone)
      expect(await admin.put(path, { action: 'notify', data: { event: 'x' } })).toFailWith(...gone)
      for (const call of [admin.get(`${path}/quickcall/100`), admin.post(`${path}/quickcall/100`)])
        expect(await call).toFailWith(500, 'quickcall initiation failed', {
          message: 'none of the phones is registered',
        })
    })

    it('ring first, and then the number', async () => {
      const { admin, account, device, desk } = await equipped()
      const office = await telephone(account, '100')
      const answer = await admin.post(`${device.path}/quickcall/100`)
      expect(answer).toSucceed()
      expect(answer.data).toEqual({
        hangup_cause: 'NORMAL_CLEARING',
        sip_code: 200,
        call_id: expect.stringMatching(/^quickcall-/),
        device_id: device.id,
        destination: 'answered',
      })
      const [rung] = desk.requests('INVITE')
      expect(rung?.value('From')).toContain(`"100" <sip:100@${account.realm}>`)
      expect(rung?.value('Call-Info')).toContain('answer-after=0')
      expect(desk.calls.map(({ direction, isAnswered }) => [direction, isAnswered])).toEqual([
        ['in', true],
        ['out', true],
      ])
      expect(desk.calls[0]?.isEnded).toBe(true)
      expect(office.requests('INVITE')[0]?.value('From')).toContain(`sip:desk@${account.realm}`)
      await desk.calls[1]?.hangUp()
    })

    it('show the caller id of the request, and let people answer the call', async () => {
      const { admin, device, desk } = await equipped()
      desk.takes({ status: 486, reason: 'Busy Here' })
      const query = { 'cid-name': 'Click "to" dial', 'cid-number': '555', auto_answer: 'false' }
      const answer = await admin.post(`${device.path}/quickcall/100`, undefined, { query })
      expect(answer.data).toMatchObject({ hangup_cause: 'USER_BUSY', sip_code: 486 })
      const [rung] = desk.requests('INVITE')
      expect(rung?.value('From')).toContain('"Click to dial" <sip:555@')
      expect(rung?.value('Call-Info')).toBeUndefined()
    })

    it('that do not answer ring no longer than the requested timeout', async () => {
      const { admin, device, desk } = await equipped()
      desk.takes('ring')
      const answer = await admin.post(`${device.path}/quickcall/100`, undefined, { query: { timeout: '3' } })
      expect(answer.data).toMatchObject({ hangup_cause: 'NO_ANSWER', sip_code: 487 })
      expect(desk.requests('CANCEL')).toHaveLength(1)
    })

    it('of a user ring together, and the first one that answers has the call', async () => {
      const account = await world.account(world.reseller)
      const admin = await world.admin(account)
      const user = await world.user(account)
      const own = { owner_id: user.id }
      const slow = await world.device(account, { ...own, sip: { username: 'slow' } })
      await world.device(account, { ...own, sip: { username: 'fast' } })
      const [slowPhone, fastPhone] = [await telephone(account, 'slow'), await telephone(account, 'fast', 1)]
      await telephone(account, '100', 1)
      slowPhone.takes('ring')
      const answer = await admin.post(`${user.path}/quickcall/100`)
      expect(answer.data).toMatchObject({ sip_code: 200, destination: 'answered' })
      expect(answer.data.device_id).not.toBe(slow.id)
      await eventually(
        () => slowPhone.calls[0]?.status,
        (status) => status === 487,
      )
      await fastPhone.calls[1]?.hangUp()
    })
  })
})

describeAnyEngine('quickcalls', (engine) => {
  const world = useWorld(engine)

  const places = async (fields: Json = {}) => {
    const { acme } = world
    const user = await world.user(acme, fields)
    const device = await world.device(acme, { owner_id: user.id, ...fields })
    return [`${device.path}/quickcall/100`, `${user.path}/quickcall/100`]
  }

  it('find no switch to carry them', async () => {
    for (const path of await places()) {
      expect(await world.ada.get(path)).toFailWith(...noSwitch)
      expect(await world.ada.post(path)).toFailWith(...noSwitch)
    }
  })

  it('are refused with everything that is wrong with them', async () => {
    const query = {
      auto_answer: 'perhaps',
      'ignore-early-media': '7',
      media: 'carrier pigeon',
      timeout: '2',
      number_filter: '^(1)(0)',
      custom_application_vars: 'text',
    }
    for (const path of await places()) {
      expect(await world.ada.get(path, { query })).toBreak({
        auto_answer: ['type'],
        'ignore-early-media': ['type'],
        media: ['enum'],
        timeout: ['minimum'],
        number_filter: ['wrong_format'],
        custom_application_vars: ['type'],
      })
      expect(await world.ada.get(path, { query: { timeout: 'soon' } })).toBreak({ timeout: ['type'] })
      expect(await world.ada.get(path.replace(/100$/, '%20(-)'))).toBreak({ number: ['invalid'] })
    }
  })

  it('of strangers are refused, unless the record or the settings invite them', async () => {
    const { anonymous } = world
    const unknown = [
      `${world.acme.path}/devices/${'0'.repeat(32)}/quickcall/1`,
      `/v2/accounts/${'0'.repeat(32)}/devices/${'0'.repeat(32)}/quickcall/1`,
    ]
    for (const path of [...(await places()), ...unknown]) {
      expect(await anonymous.get(path)).toFailWith(401, 'invalid_credentials')
      expect((await anonymous.post(path)).status).toBe(401)
    }
    for (const path of await places({ allow_anonymous_quickcalls: true })) {
      expect(await anonymous.get(path)).toFailWith(...noSwitch)
      expect(await anonymous.post(path)).toFailWith(401, 'invalid_credentials')
    }
    await world.configure('crossbar', { default_allow_anonymous_quickcalls: true })
    for (const path of await places()) expect(await anonymous.get(path)).toFailWith(...noSwitch)
    for (const path of await places({ allow_anonymous_quickcalls: false })) {
      expect(await anonymous.get(path)).toFailWith(401, 'invalid_credentials')
    }
    await world.configure('crossbar', { default_allow_anonymous_quickcalls: false })
  })

  it('are no way into an account that is not there, nor a foreign one', async () => {
    const { rex, operator } = world
    const [path = ''] = await places({ allow_anonymous_quickcalls: true })
    expect(await rex.get(path)).toFailWith(403, 'forbidden')
    const nowhere = `/v2/accounts/${'0'.repeat(32)}/devices/${'0'.repeat(32)}/quickcall/1`
    for (const caller of [rex, operator]) {
      expect(await caller.get(nowhere)).toFailWith(401, 'invalid_credentials', {
        message: 'invalid credentials',
      })
    }
    const missing = `${world.acme.path}/users/${'0'.repeat(32)}/quickcall/1`
    expect(await operator.get(missing)).toFailWith(404, 'bad_identifier')
  })

  it('are not started by HEAD, which must do nothing', async () => {
    for (const path of await places()) {
      const answer = await world.ada.head(path)
      expect(answer.status).toBe(405)
      expect(answer.headers.allow).toBe('GET, OPTIONS, POST')
    }
  })

  it('are paid twice: as a request for the device, and as a call', async () => {
    const { acme } = world
    const phone = await world.device(acme, { allow_anonymous_quickcalls: true })
    const path = `${phone.path}/quickcall/100`
    const paid = async (who: {
      get(path: string): Promise<{ body: { tokens?: { remaining: number } } }>
    }) => {
      const before = (await world.ada.get(acme.path)).body.tokens?.remaining as number
      const { body } = await who.get(path)
      return before - (body.tokens?.remaining as number)
    }
    const prices = async (token_costs: unknown) => {
      await world.configure('crossbar', { token_costs })
      return [await paid(world.ada), await paid(world.anonymous)]
    }
    const free = { accounts: 0 }
    expect(await prices({ ...free, devices: { GET: { quickcall: 7 } } })).toEqual([8, 7])
    expect(await prices({ ...free, devices: { GET: 3, quickcall: 5 } })).toEqual([8, 5])
    expect(await prices({ ...free, [acme.id]: { accounts: 0, devices: 2, quickcall: 4 } })).toEqual([6, 4])
    await world.configure('crossbar', { token_costs: 0 })
  })
})
