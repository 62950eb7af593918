// Carriers with a host name: DNS determines the source addresses of their calls.
import { afterAll, beforeEach, expect, it } from 'vitest'
import { createCarrierHosts } from '../../src/areas/voice/resources/hosts.operations.ts'
import { DnsFault } from '../../src/dns/exchange.ts'
import type { Json } from '../../src/lib/json.ts'
import { eventually } from '../support/run/eventually.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

it('an address that was found counts while another question about its name fails, which is soon asked again', async () => {
  let seconds = 0
  let asked = 0
  let isBroken = true
  const hosts = createCarrierHosts({
    clock: { now: () => seconds * 1000 },
    dns: {
      async find({ type }) {
        asked += 1
        if (type === 'A') return { records: ['198.51.100.9'], ttlSeconds: 86_400 }
        if (isBroken) throw new DnsFault('silent', 'no answer')
        return { records: [], ttlSeconds: undefined }
      },
    },
  })
  const host = { host: 'carrier.test', service: '_sip._udp.carrier.test', port: undefined }
  const found = new Map([[host, ['198.51.100.9']]])
  const at = async (second: number) => {
    seconds = second
    return [await hosts.of([host]), asked]
  }
  expect(await at(0)).toEqual([{ addresses: found, isWhole: false }, 3])
  expect(await at(4)).toEqual([{ addresses: found, isWhole: false }, 3])
  isBroken = false
  expect(await at(5)).toEqual([{ addresses: found, isWhole: true }, 6])
  expect(await at(3604)).toEqual([{ addresses: found, isWhole: true }, 6])
  expect(await at(3605)).toEqual([{ addresses: found, isWhole: true }, 9])
})

describeAnyEngine('carriers that are named by a host', (engine) => {
  let dns: DnsServer
  const world = useWorld(engine, undefined, async () => {
    dns = await startDnsServer()
    return { dnsServers: [dns.text] }
  })
  let made = 0

  beforeEach(() => {
    dns.behave({})
    dns.asked.length = 0
  })

  afterAll(() => dns.close())

  const newHost = () => {
    made += 1
    return `carrier${made}.test`
  }

  const leadsTo = (name: string, data: string, ttl = 300) => dns.set({ type: 'A', name, data, ttl })

  const make = async (path: string, gateway: Json) => {
    const fields = { name: 'Carrier', gateways: [gateway], rules: ['.'] }
    const answer = await world.operator.put(`${path}/resources`, fields)
    expect(answer, answer.text).toSucceed()
    return { id: String(answer.data.id), path: `${path}/resources/${answer.data.id}` }
  }

  const ask = async (address: string, more: Record<string, string> = {}) => {
    const answer = await world.operator.get('/v2/edge/carrier', { query: { address, ...more } })
    expect(answer.headers['cache-control']).toBe(`private, max-age=${answer.data.max_age_s}`)
    return answer.data
  }

  const stranger = { allowed: false, reason: 'unknown_address', max_age_s: 60 }
  const unsure = { ...stranger, max_age_s: 5 }

  it('are recognised by the addresses of the host for the TTL that DNS returns', async () => {
    const host = newHost()
    leadsTo(host, '198.51.100.20')
    dns.set({ type: 'AAAA', name: host, data: '2001:db8:5::20', ttl: 600 })
    const { id, path } = await make('/v2', { server: host, port: 5060 })
    const known = { allowed: true, resource_id: id, reason: 'carrier', max_age_s: 60 }
    expect(await ask('198.51.100.20')).toEqual(known)
    expect(await ask('2001:db8:5:0::20')).toEqual(known)
    expect(await ask('198.51.100.21')).toEqual(stranger)
    expect(dns.asked.map(({ name, type }) => `${name} ${type}`).sort()).toEqual([`${host} A`, `${host} AAAA`])
    leadsTo(host, '198.51.100.21')
    expect(await ask('198.51.100.21')).toEqual(stranger)
    world.clock.advance({ seconds: 301 })
    expect(await ask('198.51.100.21')).toEqual(known)
    expect(await ask('198.51.100.20')).toEqual(stranger)
    await world.operator.delete(path)
    expect(await ask('198.51.100.21')).toEqual(stranger)
  })

  it('are known by the hosts that records of their service name, where they say no port', async () => {
    const host = newHost()
    dns.set({
      type: 'SRV',
      name: `_sip._udp.${host}`,
      ttl: 300,
      data: { priority: 1, weight: 1, port: 5060, target: `a.${host}` },
    })
    leadsTo(`a.${host}`, '198.51.100.30')
    const { id, path } = await make('/v2', { server: host })
    expect(await ask('198.51.100.30')).toMatchObject({ allowed: true, resource_id: id })
    await world.operator.patch(path, { gateways: [{ server: host, port: 5060 }] })
    expect(await ask('198.51.100.30')).toEqual(stranger)
    await world.operator.delete(path)
  })

  it('are unknown while a look-up fails or is slow, and the server soon repeats the look-up', async () => {
    const host = newHost()
    leadsTo(host, '198.51.100.40', 60)
    const { id, path } = await make('/v2', { server: host, port: 5060 })
    dns.behave({ code: 2 })
    expect(await ask('198.51.100.40')).toEqual(unsure)
    dns.behave({ silent: true })
    world.clock.advance({ seconds: 6 })
    expect(await ask('198.51.100.40')).toEqual(unsure)
    dns.behave({})
    const known = { allowed: true, resource_id: id, reason: 'carrier', max_age_s: 60 }
    const asked = () => {
      // The second query of the slow look-up may have timed out: it is retried after a pause.
      world.clock.advance({ seconds: 6 })
      return ask('198.51.100.40')
    }
    expect(await eventually(asked, ({ allowed }) => allowed === true)).toEqual(known)
    dns.behave({ code: 2 })
    world.clock.advance({ seconds: 61 })
    expect(await ask('198.51.100.40')).toEqual(unsure)
    await world.operator.delete(path)
  })

  it('call a customer for its own numbers alone, and never from inside the networks of the operator', async () => {
    const account = await world.account(world.reseller)
    const number = '+14155550177'
    await world.operator.put(`${account.path}/phone_numbers/${encodeURIComponent(number)}`, {})
    const [host, inside] = [newHost(), newHost()]
    leadsTo(host, '198.51.100.50')
    leadsTo(inside, '10.0.0.1')
    const { id } = await make(account.path, { server: host, port: 5070, force_port: true })
    await make(account.path, { server: inside, port: 5060 })
    expect(await ask('198.51.100.50', { port: '5070' })).toEqual(stranger)
    expect(await ask('198.51.100.50', { number })).toEqual(stranger)
    expect(await ask('198.51.100.50', { number, port: '5070' })).toEqual({
      allowed: true,
      resource_id: id,
      account_id: account.id,
      reason: 'carrier_of_account',
      max_age_s: 60,
    })
    expect(await ask('10.0.0.1', { number })).toEqual(stranger)
  })

  it('of the system are not taken for the server of a trunk', async () => {
    const account = await world.account(world.reseller)
    const address = '198.51.100.60'
    const servers = [{ auth: { auth_method: 'IP', ip: address } }]
    expect(await world.operator.put(`${account.path}/connectivity`, { servers })).toSucceed()
    const edge = async () =>
      (await world.operator.get('/v2/edge', { query: { realm: 'x.test', address } })).data
    expect((await edge()).method).toBe('ip')
    const host = newHost()
    leadsTo(host, address)
    const { path } = await make('/v2', { server: host, port: 5060, force_port: true })
    expect((await edge()).method).toBeUndefined()
    await world.operator.delete(path)
  })
})
