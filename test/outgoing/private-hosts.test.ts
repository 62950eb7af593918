import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createMetrics } from '../../src/lib/metrics.ts'
import { createCalls } from '../../src/outgoing/calls.ts'
import { createOutgoing, type Outgoing, type OutgoingCall } from '../../src/outgoing/client.ts'
import { createTestLog } from '../support/run/log.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'

// Every address of 127/8 is this machine's. Here 127.0.0.1 may be called, and 127.0.0.2 may not.
const allowed = '127.0.0.1'
const forbidden = '127.0.0.2'

let dns: DnsServer
/** At which address it was called, and with what path. */
let reached: string[] = []
let port = 0

const server = createServer((request, response) => {
  reached.push(`${request.socket.localAddress}${request.url}`)
  if (request.url === '/redirect')
    return void response.writeHead(302, { location: `http://${forbidden}:${port}/inside` }).end()
  if (request.url === '/compressed')
    return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(5000)))
  response.end('{}')
})

beforeAll(async () => {
  dns = await startDnsServer()
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})

afterAll(async () => {
  await dns.close()
  server.closeAllConnections()
  server.close()
})

beforeEach(() => {
  reached = []
  dns.clear()
})

const { log } = createTestLog()

/** Calls that are looked up at the test's own name server. */
const outgoingWith = (allowedHosts: readonly string[]): Outgoing => {
  const resolver = new Resolver()
  resolver.setServers([`${dns.host}:${dns.port}`])
  return createOutgoing({
    log,
    calls: createCalls({ metrics: createMetrics() }),
    allowedPrivateHosts: async () => allowedHosts,
    lookUpAll: async (host) => (await resolver.resolve4(host)).map((address) => ({ address, family: 4 })),
  })
}

const callTo = (url: string, more: Partial<OutgoingCall> = {}): OutgoingCall => ({
  purpose: 'webhook',
  method: 'GET',
  url,
  timeoutMs: 10_000,
  maxBytes: 1000,
  ...more,
})

const faultOf = (calling: Promise<unknown>) =>
  calling.then(
    () => 'none',
    (error: { fault?: string }) => error.fault,
  )

const record = (name: string, ...addresses: string[]) =>
  dns.set(...addresses.map((data) => ({ type: 'A' as const, name, data, ttl: 0 })))

describe('a call that the operator has not configured itself', () => {
  it.each([
    '127.0.0.1',
    '127.1',
    '0x7f.0.0.1',
    '0x7f000001',
    '2130706433',
    '017700000001',
    '0177.0.0.01',
    '0.0.0.0',
    '10.1.2.3',
    '169.254.169.254',
    '100.64.0.1',
    '[::1]',
    '[::]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:a01:203]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b::10.1.2.3]',
    '[64:ff9b:1::1]',
    '[2002:7f00:1::]',
    '[2001:0:1::1]',
    '[fe80::1]',
    '[fec0::1]',
    '[fd00::1]',
    '[ff02::1]',
  ])('does not go to %s', async (host) => {
    const asked = dns.asked.length
    const outgoing = outgoingWith([])
    expect(await faultOf(outgoing.send(callTo(`http://${host}:${port}/`)))).toBe('private')
    expect(reached).toEqual([])
    expect(dns.asked.slice(asked)).toEqual([])
  })

  it('is over at once with a host that wants to speak another protocol', async () => {
    const switching = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      )
    })
    switching.listen(0, allowed)
    await once(switching, 'listening')
    const { port: itsPort } = switching.address() as AddressInfo
    const headers = { connection: 'upgrade', upgrade: 'x' }
    for (const more of [{}, { headers }])
      expect(
        await faultOf(outgoingWith([allowed]).send(callTo(`http://${allowed}:${itsPort}/`, more))),
      ).toMatch(/^(malformed|unreachable)$/)
    switching.close()
  })

  it('names no zones: an interface is none of a caller’s business', async () => {
    expect(await faultOf(outgoingWith([]).send(callTo(`http://[fe80::1%25lo]:${port}/`)))).toBe('malformed')
  })

  it('does not go where a name leads inside', async () => {
    record('inside.test', forbidden)
    expect(await faultOf(outgoingWith([]).send(callTo(`http://inside.test:${port}/`)))).toBe('private')
    expect(reached).toEqual([])
  })

  it('goes to the checked address, whatever the name resolves to a moment later', async () => {
    const outgoing = outgoingWith([allowed])
    const faults: unknown[] = []
    const times = 12
    const before = dns.asked.length
    for (let turn = 0; turn < times; turn += 1) {
      record('rebound.test', turn % 2 === 0 ? allowed : forbidden)
      const call = faultOf(outgoing.send(callTo(`http://rebound.test:${port}/${turn}`)))
      // After the first query, the name resolves to another address.
      while (dns.asked.length === before + turn) await new Promise(setImmediate)
      record('rebound.test', turn % 2 === 0 ? forbidden : allowed)
      faults.push(await call)
    }
    expect(faults).toEqual(Array.from({ length: times }, (_, turn) => (turn % 2 === 0 ? 'none' : 'private')))
    expect(reached).toEqual([0, 2, 4, 6, 8, 10].map((turn) => `${allowed}/${turn}`))
    expect(dns.asked.length - before).toBe(times)
  })

  it('takes of several addresses those that it may go to', async () => {
    record('both.test', forbidden, allowed)
    expect(await faultOf(outgoingWith([allowed]).send(callTo(`http://both.test:${port}/`)))).toBe('none')
    expect(reached).toEqual([`${allowed}/`])
  })

  it.each([['named.test'], ['127.0.0.0/8'], ['127.0.0.2']])(
    'goes where the operator allows %s',
    async (entry) => {
      record('named.test', forbidden)
      expect(await faultOf(outgoingWith([entry]).send(callTo(`http://named.test:${port}/`)))).toBe('none')
      expect(reached).toEqual([`${forbidden}/`])
    },
  )

  it('is never sent on by a redirect', async () => {
    const answer = await outgoingWith([allowed]).send(callTo(`http://${allowed}:${port}/redirect`))
    expect([answer.status, answer.headers.get('location')]).toEqual([
      302,
      `http://${forbidden}:${port}/inside`,
    ])
    expect(reached).toEqual([`${allowed}/redirect`])
  })

  it('does not share the connections of calls that may go there', async () => {
    const outgoing = outgoingWith([])
    const url = `http://${allowed}:${port}/`
    expect(await faultOf(outgoing.send(callTo(url, { isOperators: true })))).toBe('none')
    expect(await faultOf(outgoing.send(callTo(url)))).toBe('private')
    expect(reached).toEqual([`${allowed}/`])
    outgoing.close()
  })
})

describe('an address that a user enters', () => {
  const mayCall = (host: string, allowedHosts: readonly string[] = []) =>
    outgoingWith(allowedHosts).mayCall(`http://${host}:${port}/`)

  it.each(['127.0.0.1', '0x7f.1', '10.1.2.3', '[::1]', '169.254.169.254'])('is not %s', async (host) => {
    expect(await mayCall(host)).toBe(false)
  })

  it('is checked by the addresses of its name, without a call to them', async () => {
    record('inside.test', forbidden)
    record('outside.test', '203.0.113.7')
    expect(await mayCall('inside.test')).toBe(false)
    expect(await mayCall('inside.test', [forbidden])).toBe(true)
    expect(await mayCall('outside.test')).toBe(true)
    expect(reached).toEqual([])
  })

  it('may be unknown in DNS', async () => {
    expect(await mayCall('nobody-knows.test')).toBe(true)
  })

  it('is http or https', async () => {
    expect(await outgoingWith([]).mayCall('ftp://203.0.113.7/')).toBe(false)
    expect(await outgoingWith([]).mayCall('https://203.0.113.7/')).toBe(true)
  })
})

describe('an answer', () => {
  it('is cut off if the rest is not needed', async () => {
    const call = callTo(`http://${allowed}:${port}/compressed`, { cutsOff: true })
    const answer = await outgoingWith([allowed]).send(call)
    expect([answer.status, answer.text]).toEqual([200, 'x'.repeat(1000)])
  })

  it('is bounded as it is unpacked', async () => {
    const outgoing = outgoingWith([])
    const call = callTo(`http://${allowed}:${port}/compressed`, { isOperators: true })
    expect(await faultOf(outgoing.send(call))).toBe('too_large')
    expect((await outgoing.send({ ...call, maxBytes: 5000 })).text).toBe('x'.repeat(5000))
    outgoing.close()
  })
})
