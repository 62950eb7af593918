// The name servers that the server asks about a domain: the configured ones. If there are none, those that the
// domain names, but no internal ones.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDns } from '../../src/dns/dns.ts'
import { systemServers } from '../../src/dns/exchange.ts'
import { createMetrics } from '../../src/lib/metrics.ts'
import { isPrivateAddress, namesHost } from '../../src/lib/private-address.ts'
import { createCalls } from '../../src/outgoing/calls.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'

const patience = { nextServerMs: 40, lookUpMs: 60_000 }
const manner = () => ({ tcp: false, signal: AbortSignal.timeout(60_000) })

let recursive: DnsServer
let authority: DnsServer

beforeEach(async () => {
  recursive = await startDnsServer()
  authority = await startDnsServer()
})

afterEach(async () => {
  await Promise.all([recursive.close(), authority.close()])
})

const dnsWith = (allowed: string[], servers: string[] = []) =>
  createDns({
    calls: createCalls({ metrics: createMetrics() }),
    servers,
    allowedPrivateHosts: async () => allowed,
    machineServers: () => [recursive],
    patience,
    authorityPort: authority.port,
  })

const delegate = (domain: string) =>
  recursive.set(
    { type: 'NS', name: domain, data: 'ns1.brand.test' },
    { type: 'NS', name: domain, data: 'ns2.brand.test' },
    { type: 'A', name: 'ns1.brand.test', data: '127.0.0.1' },
    { type: 'A', name: 'ns2.brand.test', data: '10.0.0.1' },
  )

const ours = () => ({ host: '127.0.0.1', port: authority.port })

describe('without configured name servers the server', () => {
  it('asks those of the machine', async () => {
    expect(systemServers().length).toBeGreaterThan(0)
    recursive.set({ type: 'A', name: 'a.test', data: '203.0.113.1' })
    expect(await dnsWith([]).lookUp({ name: 'a.test', type: 'A' }, manner())).toEqual(['203.0.113.1'])
  })

  it('finds the name servers of a domain, or of the one above it', async () => {
    delegate('brand.test')
    const dns = dnsWith(['127.0.0.1'])
    expect(await dns.authoritiesOf('brand.test', manner())).toEqual([ours()])
    expect(await dns.authoritiesOf('a.b.brand.test', manner())).toEqual([ours()])
    expect(recursive.asked.map(({ name, type }) => `${type} ${name}`)).not.toContain('NS test')
  })

  it('asks no name server inside of private networks, unless it is allowed', async () => {
    delegate('brand.test')
    expect(await dnsWith([]).authoritiesOf('brand.test', manner())).toEqual([])
    expect(await dnsWith(['ns1.brand.test']).authoritiesOf('brand.test', manner())).toEqual([ours()])
    expect(await dnsWith(['10.0.0.0/8', '127.0.0.0/8']).authoritiesOf('brand.test', manner())).toEqual([
      ours(),
      { host: '10.0.0.1', port: authority.port },
    ])
  })

  it('finds none where there are none, and none if no server responds', async () => {
    const dns = dnsWith([])
    expect(await dns.authoritiesOf('nobody.test', manner())).toEqual([])
    expect(await dns.authoritiesOf('localhost', manner())).toEqual([])
    recursive.behave({ silent: true })
    const hurried = { tcp: false, signal: AbortSignal.timeout(100) }
    expect(await dns.authoritiesOf('brand.test', hurried)).toEqual([])
  })
})

it('with configured name servers the server asks no others', async () => {
  delegate('brand.test')
  const dns = dnsWith(['127.0.0.1'], [authority.text])
  expect(await dns.authoritiesOf('brand.test', manner())).toEqual([])
  authority.set({ type: 'A', name: 'a.test', data: '203.0.113.1' })
  expect(await dns.lookUp({ name: 'a.test', type: 'A' }, manner())).toEqual(['203.0.113.1'])
  expect(recursive.asked).toEqual([])
})

describe('addresses', () => {
  it.each([
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '0.0.0.0'],
    ...['255.255.255.255', '224.0.0.1', '::1', '::', 'fe80::1', 'fd00::1', '::ffff:10.0.0.1', '2002:a00:1::'],
    ...['64:ff9b::7f00:1', '::127.0.0.1', 'no address', ''],
  ])('%s is private', (address) => {
    expect(isPrivateAddress(address)).toBe(true)
  })

  it.each(['203.0.114.1', '8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '64:ff9b::808:808'])(
    '%s is not',
    (address) => {
      expect(isPrivateAddress(address)).toBe(false)
    },
  )

  it('are allowed by name, by address and by network', () => {
    const list = ['dns.internal', '10.1.0.0/16', '192.168.0.7']
    expect(namesHost(list, 'DNS.internal', '127.0.0.1')).toBe(true)
    expect(namesHost(list, 'x', '10.1.2.3')).toBe(true)
    expect(namesHost(list, 'x', '192.168.0.7')).toBe(true)
    expect(namesHost(list, 'x', '10.2.2.3')).toBe(false)
    expect(namesHost([], 'x', '10.2.2.3')).toBe(false)
  })
})
