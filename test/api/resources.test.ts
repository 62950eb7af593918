import { createHash } from 'node:crypto'
import { afterAll, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import type { Client } from '../support/world/client.ts'
import { describeAnyEngine, type TestAccount, useWorld } from '../support/world/world.ts'

const defaults = { enabled: true, weight_cost: 50, emergency: false, flags: [] }
const gatewayDefaults = { enabled: true, invite_format: 'route' }
const carrier = (fields: Json = {}) => ({
  name: 'Carrier',
  gateways: [{ server: 'carrier.test' }],
  rules: ['^\\+?\\d+$'],
  ...fields,
})
const md5 = (text: string) => createHash('md5').update(text).digest('hex')

describeAnyEngine('carriers', (engine) => {
  let dns: DnsServer
  const world = useWorld(engine, undefined, async () => {
    // It knows no name.
    dns = await startDnsServer()
    return { dnsServers: [dns.text] }
  })

  afterAll(() => dns.close())

  const make = async (path: string, fields: Json = {}, by: Client = world.operator) => {
    const answer = await by.put(path, carrier(fields))
    expect(answer.status, answer.text).toBe(201)
    return { id: String(answer.data.id), path: `${path}/${answer.data.id}` }
  }

  const targets = async (account: TestAccount, more: Json = {}) => {
    const record = await world.server.areas.accounts.get(account.id)
    const question = { number: '+14155550100', emergency: false, flags: [], ...more }
    return world.server.areas.resources.targetsFor(record, question)
  }

  const servers = async (account: TestAccount, more: Json = {}) =>
    (await targets(account, more)).map(({ uri }) => uri.replace(/^sip:/, ''))

  it('are created with the defaults of the schema, and answer with the passwords of their gateways', async () => {
    const { ada, acme } = world
    const gateway = { server: 'sip.carrier.test', username: 'acme', password: 'gateway-secret', port: 5080 }
    const made = await ada.put(`${acme.path}/resources`, carrier({ gateways: [gateway], mine: { kept: 1 } }))
    const { id } = made.data
    const record = {
      id,
      ...carrier(),
      ...defaults,
      mine: { kept: 1 },
      gateways: [{ ...gateway, ...gatewayDefaults }],
    }
    expect(made).toSucceedWith(record)
    expect(made.headers.location).toBe(`${acme.path}/resources/${id}`)
    expect(await ada.get(`${acme.path}/resources/${id}`)).toSucceedWith(record)
    expect(await ada.patch(`${acme.path}/resources/${id}`, { weight_cost: 7, mine: null })).toSucceedWith({
      ...carrier(),
      ...defaults,
      id,
      weight_cost: 7,
      gateways: [{ ...gateway, ...gatewayDefaults }],
    })
    expect(await ada.post(`${acme.path}/resources/${id}`, { name: 'Anew', gateways: [] })).toSucceedWith({
      id,
      name: 'Anew',
      gateways: [],
      ...defaults,
    })
    expect(await ada.delete(`${acme.path}/resources/${id}`)).toSucceedWith({
      id,
      name: 'Anew',
      gateways: [],
      ...defaults,
    })
    expect(await ada.get(`${acme.path}/resources/${id}`)).toFailWith(404, 'bad_identifier', {
      message: 'bad identifier',
      cause: id,
    })
  })

  it('are listed by name, without what is secret', async () => {
    const account = await world.account()
    const path = `${account.path}/resources`
    const b = await make(path, { name: 'b', flags: ['fax'], weight_cost: 3 })
    const a = await make(path, { name: 'A', enabled: false, emergency: true })
    expect(await world.operator.get(path, { query: { ascending: true } })).toSucceedWith([
      { id: a.id, name: 'A', enabled: false, emergency: true, weight_cost: 50, flags: [] },
      { id: b.id, name: 'b', enabled: true, emergency: false, weight_cost: 3, flags: ['fax'] },
    ])
  })

  it('of the whole system are for the operator alone, and stand apart from those of the master account', async () => {
    const { ada, ross, operator, master } = world
    const { id, path } = await make('/v2/resources', { name: 'Global carrier' })
    const own = await make(`${master.path}/resources`, { name: 'Master carrier' })
    for (const who of [ada, ross]) {
      const refused = await world.unchanged(async () => [
        await who.get('/v2/resources'),
        await who.put('/v2/resources', carrier()),
        await who.get(path),
        await who.patch(path, { name: 'Taken' }),
        await who.delete(path),
        await who.get('/v2/edge/carrier', { query: { address: '203.0.113.1' } }),
      ])
      for (const answer of refused) expect(answer).toFailWith(403, 'forbidden')
    }
    expect(await operator.get(`/v2/resources/${own.id}`)).toFailWith(404, 'bad_identifier')
    expect(await operator.get(`${master.path}/resources/${id}`)).toFailWith(404, 'bad_identifier')
    const row = { name: 'Global carrier', enabled: true, emergency: false, weight_cost: 50, flags: [] }
    expect(await operator.get('/v2/resources')).toSucceedWith([{ id, ...row }])
    expect(await operator.delete(path)).toMatchObject({ status: 200 })
    expect(await operator.delete(own.path)).toMatchObject({ status: 200 })
  })

  it('of an account are for its admins and those above', async () => {
    const { ada, uli, rex, ross, acme } = world
    const path = `${acme.path}/resources`
    const one = await make(path, {}, ross)
    const refused = await world.unchanged(async () => [
      await uli.get(path),
      await uli.get(one.path),
      await rex.get(one.path),
      await rex.patch(one.path, { name: 'Mine' }),
      await rex.put(path, carrier()),
      await rex.delete(one.path),
    ])
    for (const answer of refused) expect(answer).toFailWith(403, 'forbidden')
    expect((await ada.get(one.path)).status).toBe(200)
    expect((await ada.delete(one.path)).status).toBe(200)
  })

  it('are refused with everything that is wrong with them, and nothing changes', async () => {
    const { operator, acme } = world
    const path = `${acme.path}/resources`
    const { path: stored } = await make(path)
    const wrong: [Json, Record<string, string[]>][] = [
      [{ name: '' }, { name: ['minLength'] }],
      [{ gateways: [{}] }, { 'gateways.0.server': ['required'] }],
      [{ gateways: undefined }, { gateways: ['required'] }],
      [
        { rules: ['('], weight_cost: 101 },
        { 'rules.0': ['pattern'], weight_cost: ['maximum'] },
      ],
      [
        {
          gateways: [
            {
              server: 'x@y',
              port: 70_000,
              transport: 'sctp',
              prefix: '@',
              custom_sip_headers: { 'X-One': 'a\r\nVia: b' },
            },
          ],
        },
        {
          'gateways.0.port': ['maximum'],
          'gateways.0.transport': ['enum'],
          'gateways.0.prefix': ['pattern'],
          'gateways.0.custom_sip_headers.X-One': ['pattern'],
        },
      ],
      [{ gateways: [{ server: 'x@y' }] }, { 'gateways.0.server': ['wrong_format'] }],
      [{ from_uri_realm: 'x.test;user=phone' }, { from_uri_realm: ['wrong_format'] }],
      [
        { inbound_ips: ['0.0.0.0/0'], failover_codes: [200] },
        { 'inbound_ips.0': ['minimum'], 'failover_codes.0': ['minimum'] },
      ],
    ]
    for (const [fields, rules] of wrong) {
      const answers = await world.unchanged(async () => [
        await operator.put(path, carrier(fields)),
        await operator.put('/v2/resources', carrier(fields)),
        await operator.post(stored, carrier(fields)),
      ])
      for (const answer of answers) expect(answer).toBreak(rules)
    }
  })

  it('of customers lead into no network of the operator, who may say otherwise', async () => {
    const { ada, operator, acme } = world
    const path = `${acme.path}/resources`
    const inside = { gateways: [{ server: '127.0.0.1' }, { server: 'sip.test', proxy: '10.0.0.9' }] }
    const [put] = await world.unchanged(async () => [await ada.put(path, carrier(inside))])
    expect(put).toBreak({ 'gateways.0.server': ['forbidden'], 'gateways.1.proxy': ['forbidden'] })
    const one = await make(path, inside, operator)
    expect(await ada.patch(one.path, { name: 'Renamed' })).toMatchObject({ status: 200 })
    const gateways = [{ server: '::1' }, ...inside.gateways]
    expect(await ada.patch(one.path, { gateways })).toBreak({ 'gateways.0.server': ['forbidden'] })
    await world.configure('crossbar', { allowed_private_hosts: ['127.0.0.0/8', '10.0.0.9'] })
    expect(await ada.put(path, carrier(inside))).toMatchObject({ status: 201 })
    await world.configure('crossbar', { allowed_private_hosts: [] })
  })

  it('are returned to edges without a password, each in the notation of the edge', async () => {
    const account = await world.account()
    const { id } = await make(`${account.path}/resources`, {
      gateways: [
        {
          server: 'sip.carrier.test',
          port: 5080,
          transport: 'tcp',
          proxy: '2001:db8::1',
          username: 'acme',
          password: 'gateway-secret',
          realm: 'carrier',
          prefix: '00',
          invite_format: 'strip_plus',
          codecs: ['PCMA'],
          progress_timeout: 4,
          custom_sip_headers: { 'X-Customer': '7' },
        },
        { server: '203.0.113.5', username: 'u', password: 'other-secret' },
        { server: 'off.test', enabled: false },
      ],
      failover_codes: [503],
    })
    const found = await targets(account)
    expect(found).toEqual([
      {
        type: 'gateway',
        resource_id: id,
        uri: 'sip:sip.carrier.test:5080;transport=tcp',
        number: '0014155550100',
        username: 'acme',
        realm: 'carrier',
        ha1: md5('acme:carrier:gateway-secret'),
        proxy: 'sip:[2001:db8::1];transport=tcp',
        codecs: ['PCMA'],
        headers: { 'X-Customer': '7' },
        progress_timeout_s: 4,
        failover_codes: [503],
        global: false,
      },
      {
        type: 'gateway',
        resource_id: id,
        uri: 'sip:203.0.113.5',
        number: '+14155550100',
        username: 'u',
        realm: '203.0.113.5',
        ha1: md5('u:203.0.113.5:other-secret'),
        progress_timeout_s: 10,
        failover_codes: [503],
        global: false,
      },
    ])
    expect(JSON.stringify(found)).not.toContain('secret')
  })

  it('are taken from the account, then from those above it, then from the system, and follow every change', async () => {
    const parent = await world.account(world.reseller)
    const child = await world.account(parent)
    const gateway = (server: string) => ({ gateways: [{ server }] })
    expect(await servers(child)).toEqual([])
    const global = await make('/v2/resources', { ...gateway('global.test'), weight_cost: 1 })
    const ofReseller = await make(`${world.reseller.path}/resources`, gateway('reseller.test'))
    await make(`${parent.path}/resources`, gateway('parent.test'))
    const own = await make(`${child.path}/resources`, { ...gateway('own.test'), weight_cost: 99 })
    await make(`${world.rival.path}/resources`, gateway('rival.test'))
    const all = ['own.test', 'parent.test', 'reseller.test', 'global.test']
    expect(await servers(child)).toEqual(all)
    expect(await servers(parent)).toEqual(all.slice(1))
    expect((await targets(child)).map((target) => target.global)).toEqual([false, false, false, true])
    expect(await servers(child, { huntAccountId: parent.id })).toEqual(['parent.test'])
    expect(await servers(child, { huntAccountId: world.rival.id })).toEqual([])
    expect(await servers(child, { isGlobalOnly: true })).toEqual(['global.test'])
    expect(await servers(child, { emergency: true, number: '911' })).toEqual([])
    await world.operator.patch(global.path, { emergency: true })
    expect(await servers(child, { emergency: true, number: '911' })).toEqual(['global.test'])
    await world.operator.patch(ofReseller.path, { enabled: false })
    await world.operator.delete(own.path)
    expect(await servers(child)).toEqual(['parent.test', 'global.test'])
    await world.operator.post(`${child.path}/move`, { to: world.reseller.id })
    expect(await servers(child)).toEqual(['global.test'])
    await world.operator.delete(global.path)
    expect(await servers(child)).toEqual([])
  })

  it('are limited to a number that a caller would wait for', async () => {
    const account = await world.account()
    const gateways = Array.from({ length: 15 }, (_, index) => ({ server: `g${index}.test` }))
    await make(`${account.path}/resources`, { gateways })
    const { path } = await make('/v2/resources', { gateways })
    const found = await targets(account)
    expect(found.map(({ global }) => global)).toEqual(Array.from({ length: 20 }, (_, at) => at >= 15))
    await world.operator.delete(path)
  })

  it('are gone with their account', async () => {
    const account = await world.account()
    const { path } = await make(`${account.path}/resources`)
    expect(await world.operator.delete(account.path)).toMatchObject({ status: 200 })
    expect((await world.operator.get(path)).status).toBe(401)
    const left = await world.server.store.all(
      "SELECT id FROM records WHERE kind = 'resource' AND account_id = $1",
      [account.id],
    )
    expect(left).toEqual([])
  })

  it('are known by the addresses that they call from: those of customers for their own numbers alone', async () => {
    const { operator } = world
    const account = await world.account(world.reseller)
    const child = await world.account(account)
    const number = '+14155550190'
    await operator.put(`${child.path}/phone_numbers/${encodeURIComponent(number)}`, {})
    await operator.put(`${world.rival.path}/phone_numbers/${encodeURIComponent('+14155550191')}`, {})
    const global = await make('/v2/resources', { inbound_ips: ['198.51.100.0/24'] })
    const local = await make(`${account.path}/resources`, {
      gateways: [{ server: '203.0.113.77', port: 5070, force_port: true }],
      inbound_ips: ['192.0.2.0/24', '198.51.100.9'],
    })
    const ask = async (address: string, more: Record<string, string> = {}) => {
      const answer = await operator.get('/v2/edge/carrier', { query: { address, ...more } })
      expect(answer.headers['cache-control']).toBe('private, max-age=60')
      return answer.data
    }
    const ofAll = { allowed: true, resource_id: global.id, reason: 'carrier', max_age_s: 60 }
    const own = {
      allowed: true,
      resource_id: local.id,
      account_id: account.id,
      reason: 'carrier_of_account',
      max_age_s: 60,
    }
    const stranger = { allowed: false, reason: 'unknown_address', max_age_s: 60 }
    expect(await ask('198.51.100.9')).toEqual(ofAll)
    expect(await ask('198.51.100.9', { number })).toEqual(ofAll)
    expect(await ask('192.0.2.1')).toEqual(stranger)
    expect(await ask('192.0.2.1', { number })).toEqual(own)
    expect(await ask('192.0.2.1', { number: '4155550190' })).toEqual(own)
    expect(await ask('192.0.2.1', { number: '+14155550191' })).toEqual(stranger)
    expect(await ask('192.0.2.1', { number: 'nobody' })).toEqual(stranger)
    expect(await ask('203.0.113.77', { number })).toEqual(stranger)
    expect(await ask('203.0.113.77', { number, port: '5070' })).toEqual(own)
    await operator.patch(global.path, { enabled: false })
    expect(await ask('198.51.100.9')).toEqual(stranger)
    expect(await ask('198.51.100.9', { number })).toEqual(own)
    await operator.delete(global.path)
    const faulty = async (query: Record<string, string>) => operator.get('/v2/edge/carrier', { query })
    expect(await faulty({})).toBreak({ address: ['required'] })
    expect(await faulty({ address: 'x', port: '0' })).toBreak({
      address: ['wrong_format'],
      port: ['wrong_format'],
    })
  })

  it('leave no password in rows, audit, events and the refusals of others', async () => {
    const { ada, acme, server } = world
    const gateways = [{ server: 'sip.test', username: 'u', password: 'never-written' }]
    const { id, path } = await make(`${acme.path}/resources`, { gateways }, ada)
    const renewed = [{ server: 'sip.test', username: 'u', password: 'nor-this-one' }]
    expect((await ada.patch(path, { gateways: renewed })).data.gateways[0].password).toBe('nor-this-one')
    const refused = await ada.patch(path, { gateways: [{ username: 'u', password: 'nor-that-one' }] })
    expect(refused).toBreak({ 'gateways.0.server': ['required'] })
    const rows = await server.store.all('SELECT * FROM records WHERE id = $1', [id])
    const audit = await server.store.all('SELECT * FROM audit_log WHERE record_id = $1', [id])
    const events = await ada.get(`${acme.path}/events`, { query: { record_id: id } })
    const shown = await ada.get(`${path}/audit`)
    expect(rows).toHaveLength(1)
    expect(audit).toHaveLength(2)
    expect(events.data).toHaveLength(2)
    const list = await ada.get(`${acme.path}/resources`)
    for (const told of [rows, audit, events.body, shown.body, list.body, refused.body, world.logEntries])
      expect(JSON.stringify(told)).not.toMatch(/never-written|nor-this-one|nor-that-one/)
  })
})
