// Hosts that customers may send calls to: each field that names one, with each kind of host.
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allRoutes } from '../../src/commands/openapi.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import { seed } from '../fuzz/chance.ts'
import { eventually } from '../support/run/eventually.ts'
import { isFullRun } from '../support/run/run-length.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { type DestinationField, destinationFields } from '../support/world/destination-fields.ts'
import { allowAdditions, createNumberSource, makeNumber } from '../support/world/numbers.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

/** A fifth of the cases, drawn by the seed; all of them in `npm run test:all`. */
const drawn = <Case>(cases: readonly Case[]) =>
  isFullRun ? cases : cases.filter((_, index) => (index + seed) % 5 === 0)

describeAnyEngine('SIP destinations that customers write', (engine) => {
  let dns: DnsServer
  const world = useWorld(engine, undefined, async () => {
    dns = await startDnsServer()
    return { dnsServers: [dns.text] }
  })
  const nextNumber = createNumberSource('+1415559')
  const carrierAddress = '198.51.100.7'
  const named = (name: string, data: string) => dns.set({ type: 'A', name, data, ttl: 300 })

  const carrier = (gateways: readonly Json[], inbound_ips: readonly string[] = []) => ({
    name: 'Carrier',
    rules: ['.'],
    gateways,
    inbound_ips,
  })

  beforeAll(async () => {
    const { operator, rival, rex } = world
    await allowAdditions(world, world.acme)
    named('gate.carrier.test', '198.51.100.8')
    named('gate.rival.test', '198.51.100.9')
    named('edge.test', '198.51.100.22')
    named('portal.test', '198.51.100.23')
    const gateways = [{ server: carrierAddress }, { server: 'gate.carrier.test', enabled: false }]
    expect(await operator.put('/v2/resources', carrier(gateways, ['198.51.100.64/28']))).toSucceed()
    const ofRival = carrier([{ server: 'gate.rival.test' }], ['198.51.100.80/28'])
    expect(await rex.put(`${rival.path}/resources`, ofRival)).toSucceed()
    await world.configure('switch', {
      kamailio: { rpc_urls: ['http://198.51.100.20:8080/RPC'] },
      sip_hosts: ['edge.test', '198.51.100.21'],
    })
    await world.configure('crossbar', { public_hosts: ['portal.test'] })
    // The addresses of the names are looked up by the first question, which does not wait for all of them.
    const device = { name: 'Desk', sip: { method: 'ip', ip: '' } }
    for (const ip of ['198.51.100.8', '198.51.100.9', '198.51.100.22', '198.51.100.23'])
      await eventually(
        () => world.ada.put(`${world.acme.path}/devices`, { ...device, sip: { method: 'ip', ip } }),
        ({ status }) => status === 400,
      )
  })

  afterAll(() => dns.close())

  const ownAddress = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address

  /** Forbidden hosts, each with the reason. */
  const forbidden: readonly (readonly [string, string])[] = [
    ['carrier', carrierAddress],
    ['carrier', '198.51.100.70'],
    ['carrier', 'gate.carrier.test'],
    ['carrier', 'GATE.carrier.test.'],
    ['carrier', '198.51.100.8'],
    // NAT64 and 6to4 carry the IPv4 address of the carrier.
    ['carrier', '64:ff9b::c633:6407'],
    ['carrier', '2002:c633:6407::1'],
    ['rival', 'gate.rival.test'],
    ['rival', '198.51.100.9'],
    ['rival', '198.51.100.81'],
    ['platform', '198.51.100.20'],
    ['platform', 'edge.test'],
    ['platform', '198.51.100.21'],
    ['platform', '198.51.100.22'],
    ['platform', 'portal.test'],
    ['platform', '198.51.100.23'],
    ...(ownAddress === undefined ? [] : [['platform', ownAddress] as const]),
    ['private', '127.0.0.1'],
    ['private', '10.1.2.3'],
    ['private', '::1'],
    ['private', '::ffff:10.0.0.1'],
    ['private', 'fd00::1'],
    ['private', '169.254.169.254'],
  ]
  const words: Readonly<Record<string, string>> = {
    carrier: 'belongs to a carrier',
    rival: 'belongs to a carrier',
    platform: 'belongs to this platform',
    private: 'is in a private network',
  }
  const bracketed = (host: string) => (host.includes(':') ? `[${host}]` : host)
  const isIPv4 = (host: string) => /^[\d.]+$/.test(host)

  const takes = ({ form }: DestinationField, host: string) => {
    if (form === 'ipv4') return isIPv4(host)
    return form !== 'address' || isIPv4(host) || host.includes(':')
  }

  /** A request of an account that writes a text into a field. */
  const writing = async (field: DestinationField, account: TestAccount, text: string) => {
    const number = nextNumber()
    await makeNumber(world, account, number)
    const { numbers } = world.server.areas.phoneNumbers
    const author = { requestId: 'test' }
    const used = { author, accountId: account.id, number, usedBy: 'trunkstore' } as const
    await numbers.commit(await numbers.plan.use(numbers.view(), used))
    const path = `${account.path}/${field.place(number)}`
    const data = field.data(text, number)
    return () => (field.method === 'PUT' ? world.ada.put(path, data) : world.ada.patch(path, data))
  }
  const written = (field: DestinationField, host: string) =>
    field.form === 'uri' ? `sip:+19005550123@${bracketed(host)}` : host

  const cases = destinationFields.flatMap((field) =>
    forbidden
      .filter(([kind, host]) => takes(field, host) && !(kind === 'rival' && field.isOperatorFree))
      .map(([kind, host]) => [field.name, kind, host, field] as const),
  )

  it.each(drawn(cases))(
    '%s: rejects a %s host, %s, and nothing changes',
    async (_name, kind, host, field) => {
      const answer = await world.refused(await writing(field, world.acme, written(field, host)))
      expect(answer.status, answer.text).toBe(400)
      const [[at, problem], ...others] = Object.entries(answer.data as Json) as [[string, Json]]
      expect(others).toEqual([])
      expect(at.startsWith(field.at)).toBe(true)
      expect(Object.keys(problem)).toEqual(['forbidden'])
      expect((problem.forbidden as Json).message).toContain(words[kind])
    },
  )

  const eachField = destinationFields.map((field) => [field.name, field] as const)

  it.each(drawn(eachField))('%s: accepts a public host', async (_name, field) => {
    const host = `203.0.113.${10 + destinationFields.indexOf(field)}`
    expect(await (await writing(field, world.acme, written(field, host)))()).toSucceed()
  })

  it.each(drawn(eachField))('%s: accepts a private host that the operator allows', async (_name, field) => {
    const host = `10.8.0.${10 + destinationFields.indexOf(field)}`
    await world.configure('crossbar', { allowed_private_hosts: ['10.8.0.0/24'] })
    expect(await (await writing(field, world.acme, written(field, host)))()).toSucceed()
  })

  it('allowed networks open neither carriers nor this platform; allowed hosts open the platform and carriers of others', async () => {
    const devices = `${world.acme.path}/devices`
    const at = (host: string) => () =>
      world.ada.put(devices, { name: 'Desk', sip: { invite_format: 'route', route: `sip:x@${host}` } })
    await world.configure('crossbar', { allowed_private_hosts: ['198.51.100.0/24'] })
    for (const ip of [carrierAddress, '198.51.100.21'])
      expect(await world.refused(at(ip))).toBreak({ 'sip.route': ['forbidden'] })
    await world.configure('crossbar', { allowed_private_hosts: [carrierAddress, '198.51.100.21'] })
    expect(await world.refused(at(carrierAddress))).toBreak({ 'sip.route': ['forbidden'] })
    expect(await at('198.51.100.21')()).toSucceed()
    await world.configure('crossbar', { allowed_private_hosts: ['198.51.100.9'] })
    expect(await at('198.51.100.9')()).toSucceed()
  })

  const uris = destinationFields.filter(({ form }) => form === 'uri')

  const spoiled = uris.flatMap((field) =>
    [
      'sip:x@pbx.test;maddr=10.0.0.1',
      'sip:x@pbx.test;transport=udp;maddr=10.0.0.1',
      'sip:x@pbx.test?Route=%3Csip%3A10.0.0.1%3E',
      'sip:x@pbx.test;transport=ws',
      'sip:x@2130706433',
      'sip:x@0x7f.1',
      'sip:x@pbx.test:99999',
      'sip:a@b@pbx.test',
      'sip:x@pbx.test>;x=<sip:y@z.test',
      ...(field.name === 'device route' ? ['tel:+19005550123', 'http://pbx.test', 'pbx.test'] : []),
    ].map((text) => [field.name, text, field] as const),
  )

  it.each(drawn(spoiled))('%s: rejects what is no plain SIP URI: %s', async (_name, text, field) => {
    const answer = await world.refused(await writing(field, world.acme, text))
    expect(answer.status, answer.text).toBe(400)
    const problems = Object.entries(answer.data as Json)
    expect(problems.map(([at]) => at.startsWith(field.at))).toEqual([true])
    expect(Object.keys(problems[0]?.[1] as Json)).toEqual(['wrong_format'])
  })

  it('a record with a host from before the rules can be changed in other fields', async () => {
    const { operator, acme, ada } = world
    await world.configure('crossbar', { allowed_private_hosts: ['10.9.9.9'] })
    const sip = { invite_format: 'route', route: 'sip:x@10.9.9.9' }
    const made = await ada.put(`${acme.path}/devices`, { name: 'Desk', sip })
    expect(made).toSucceed()
    await world.configure('crossbar', { allowed_private_hosts: [] })
    const path = `${acme.path}/devices/${made.data.id}`
    expect(await ada.patch(path, { name: 'Renamed' })).toSucceed()
    const other = { sip: { route: 'sip:y@10.9.9.9' } }
    expect(await world.refused(() => operator.patch(path, other))).toBreak({ 'sip.route': ['forbidden'] })
  })

  describe('are checked again at each call', () => {
    const ringing = async (...routes: readonly string[]) => {
      const account = await world.account(world.reseller)
      await world.credit(account, 10)
      const devices = await Promise.all(
        routes.map((route) => world.device(account, { sip: { invite_format: 'route', route } })),
      )
      const endpoints = devices.map(({ id }) => ({ id, endpoint_type: 'device' }))
      const flow = { module: 'ring_group', data: { endpoints, name: 'All' }, children: {} }
      const made = await world.operator.put(`${account.path}/callflows`, { numbers: ['100'], flow })
      expect(made).toSucceed()
      const query = { realm: account.realm, number: '100' }
      const route = async () => (await world.operator.get('/v2/edge/route', { query })).data as Json
      /** The answer once the names in it are known. */
      const settled = (isSettled: (answer: Json) => boolean) => eventually(route, isSettled)
      return { devices, settled }
    }
    const rings = ({ decision }: Json) => decision === 'ring'
    const isRefused = ({ decision }: Json) => decision === 'refuse'
    const target = { called: 'desk', account_billing: 'per_minute' }
    // Longer than what is known of a name may be used.
    const later = () => world.clock.advance({ hours: 1, seconds: 1 })

    it('and targets have the address of their name now, so that the edge needs no DNS', async () => {
      named('moving.test', '203.0.113.77')
      const { settled, devices } = await ringing('sip:desk@moving.test;transport=tcp;user=phone')
      const uri = 'sip:desk@moving.test;transport=tcp'
      const expected = { ...target, device_id: devices[0]?.id, uri }
      const first = { ...expected, proxy: 'sip:203.0.113.77;transport=tcp' }
      expect((await settled(rings)).targets).toMatchObject([first])
      named('moving.test', '203.0.113.78')
      later()
      const second = { ...expected, proxy: 'sip:203.0.113.78;transport=tcp' }
      const moved = ({ targets }: Json) => JSON.stringify(targets).includes('.78;')
      expect((await settled(moved)).targets).toMatchObject([second])
    })

    it('and are skipped if their name leads to a carrier now', async () => {
      named('later.test', '203.0.113.79')
      const { settled, devices } = await ringing('sip:+14155550123@later.test')
      expect(await settled(rings)).toMatchObject({ decision: 'ring' })
      named('later.test', carrierAddress)
      later()
      expect(await settled(isRefused)).toMatchObject({
        decision: 'refuse',
        targets: [],
        reason: 'forbidden_destination',
        sip_code: 403,
        left_out: [{ type: 'device', id: devices[0]?.id, reason: 'forbidden_destination' }],
      })
    })

    it('but calls to an address continue if another account makes a carrier of it', async () => {
      const { settled } = await ringing('sip:desk@203.0.113.82')
      expect(await settled(rings)).toMatchObject({ decision: 'ring' })
      const path = `${world.rival.path}/resources`
      expect(await world.rex.put(path, carrier([{ server: '203.0.113.82' }]))).toSucceed()
      expect(await settled(rings)).toMatchObject({ decision: 'ring' })
    })

    it('and are skipped if their name has no address', async () => {
      const { settled } = await ringing('sip:desk@nowhere.test')
      expect(await settled(isRefused)).toMatchObject({ reason: 'forbidden_destination' })
    })

    it('and ring on at the address that was known last while no name server answers', async () => {
      named('steady.test', '203.0.113.80')
      const { settled } = await ringing('sip:desk@steady.test')
      expect(await settled(rings)).toMatchObject({ decision: 'ring' })
      dns.behave({ code: 2 })
      world.clock.advance({ seconds: 301 })
      expect((await settled(rings)).targets).toMatchObject([{ ...target, proxy: 'sip:203.0.113.80' }])
      dns.behave({})
    })

    it('however many devices a call rings', async () => {
      const routes = Array.from({ length: 100 }, (_, index) => `sip:desk${index}@203.0.113.81`)
      const { settled } = await ringing(...routes)
      expect((await settled(rings)).targets).toHaveLength(100)
    })
  })
})

/** Fields that may name a destination. */
const suspicious =
  /(?:^|\.)(?:\w*_)?(?:uri|url|host|hosts|server|proxy|route|sip|ip|address|forward|invite|realm|contact)s?$/i

const textPaths = (schema: unknown, path = ''): string[] => {
  if (!isObject(schema)) return []
  const inner = (key: string) => (path === '' ? key : `${path}.${key}`)
  const isText = [schema.type].flat().includes('string')
  return [
    ...(isText ? [path] : []),
    ...Object.entries((schema.properties ?? {}) as Json).flatMap(([key, one]) => textPaths(one, inner(key))),
    ...Object.values((schema.patternProperties ?? {}) as Json).flatMap((one) => textPaths(one, inner('*'))),
    ...textPaths(schema.additionalProperties, inner('*')),
    ...textPaths(schema.items, inner('*')),
    ...((schema.anyOf ?? []) as unknown[]).flatMap((one) => textPaths(one, path)),
  ]
}

it('all request fields that are named like a destination are listed here', () => {
  const found = allRoutes().flatMap(({ spec }) => {
    const { body } = spec
    if (!body) return []
    const title = 'title' in body ? String(body.title) : spec.summary
    return textPaths(body)
      .filter((path) => suspicious.test(path))
      .map((path) => `${title}: ${path}`)
  })
  expect([...new Set(found)].sort()).toMatchInlineSnapshot(`
    [
      "Account: call_recording.account.any.any.url",
      "Account: call_recording.account.any.offnet.url",
      "Account: call_recording.account.any.onnet.url",
      "Account: call_recording.account.inbound.any.url",
      "Account: call_recording.account.inbound.offnet.url",
      "Account: call_recording.account.inbound.onnet.url",
      "Account: call_recording.account.outbound.any.url",
      "Account: call_recording.account.outbound.offnet.url",
      "Account: call_recording.account.outbound.onnet.url",
      "Account: call_recording.endpoint.any.any.url",
      "Account: call_recording.endpoint.any.offnet.url",
      "Account: call_recording.endpoint.any.onnet.url",
      "Account: call_recording.endpoint.inbound.any.url",
      "Account: call_recording.endpoint.inbound.offnet.url",
      "Account: call_recording.endpoint.inbound.onnet.url",
      "Account: call_recording.endpoint.outbound.any.url",
      "Account: call_recording.endpoint.outbound.offnet.url",
      "Account: call_recording.endpoint.outbound.onnet.url",
      "Account: caller_id.asserted.realm",
      "Account: realm",
      "Collection of phone numbers: e911.extended_address",
      "Collection of phone numbers: e911.street_address",
      "Collection of phone numbers: failover.sip",
      "Collection of phone numbers: porting.billing_extended_address",
      "Collection of phone numbers: porting.billing_street_address",
      "Collection of phone numbers: porting.customer_contact",
      "Connectivity: account.auth_realm",
      "Connectivity: servers.*.DIDs.*.failover.sip",
      "Connectivity: servers.*.auth.ip",
      "Connectivity: servers.*.options.failover.sip",
      "Connectivity: servers.*.options.ip",
      "Device: call_recording.any.any.url",
      "Device: call_recording.any.offnet.url",
      "Device: call_recording.any.onnet.url",
      "Device: call_recording.inbound.any.url",
      "Device: call_recording.inbound.offnet.url",
      "Device: call_recording.inbound.onnet.url",
      "Device: call_recording.outbound.any.url",
      "Device: call_recording.outbound.offnet.url",
      "Device: call_recording.outbound.onnet.url",
      "Device: caller_id.asserted.realm",
      "Device: mac_address",
      "Device: sip.forward",
      "Device: sip.ip",
      "Device: sip.proxy",
      "Device: sip.realm",
      "Device: sip.route",
      "Device: sip.static_invite",
      "Device: sip.static_route",
      "Password recovery: account_realm",
      "Password recovery: realm",
      "Password recovery: ui_url",
      "Phone number: e911.extended_address",
      "Phone number: e911.street_address",
      "Phone number: failover.sip",
      "Phone number: porting.billing_extended_address",
      "Phone number: porting.billing_street_address",
      "Phone number: porting.customer_contact",
      "Question of FreeSWITCH: ip",
      "Question of FreeSWITCH: variable_sip_from_host",
      "Reports of an edge: emergencies.*.address",
      "Reports of an edge: refusals.*.address",
      "Reports of an edge: refusals.*.realm",
      "Resource: from_uri_realm",
      "Resource: gateways.*.proxy",
      "Resource: gateways.*.realm",
      "Resource: gateways.*.server",
      "User sign-in: account_realm",
      "User sign-in: realm",
      "User: addresses.vcard.*.address",
      "User: call_recording.any.any.url",
      "User: call_recording.any.offnet.url",
      "User: call_recording.any.onnet.url",
      "User: call_recording.inbound.any.url",
      "User: call_recording.inbound.offnet.url",
      "User: call_recording.inbound.onnet.url",
      "User: call_recording.outbound.any.url",
      "User: call_recording.outbound.offnet.url",
      "User: call_recording.outbound.onnet.url",
      "User: caller_id.asserted.realm",
      "User: profile.addresses.*.address",
      "Webhook: uri",
      "Whitelabel settings: fake_api_url",
    ]
  `)
})
