// DNS look-ups with a real name server, which misbehaves if a test requires it.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { encode, RECURSION_AVAILABLE } from 'dns-packet'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DnsFault, parseServer } from '../../src/dns/exchange.ts'
import type { LookedUpType } from '../../src/dns/records.ts'
import { createResolver, type LookUp } from '../../src/dns/resolver.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'

const patience = { nextServerMs: 40, lookUpMs: 60_000 }
// For tests that count queries: a busy machine must not make a server look silent.
const unhurried = { nextServerMs: 30_000, lookUpMs: 60_000 }

let one: DnsServer
let two: DnsServer

beforeEach(async () => {
  one = await startDnsServer()
  two = await startDnsServer()
})

afterEach(async () => {
  await Promise.all([one.close(), two.close()])
})

const manner = (tcp = false) => ({ tcp, signal: AbortSignal.timeout(60_000) })

const lookUpAt = (servers: readonly { host: string; port: number }[], question: LookUp, tcp?: boolean) =>
  createResolver(() => servers, patience).lookUp(question, manner(tcp))

const address = { type: 'A', name: 'portal.acme.test', data: '203.0.113.7', ttl: 60 } as const
const question = { name: 'portal.acme.test', type: 'A' } as const

const faultOf = (asking: Promise<unknown>) =>
  asking.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof DnsFault) return `${error.kind}: ${error.message}`
      throw error
    },
  )

describe('a name server that answers', () => {
  it('is asked by UDP, each time from another port and with another id', async () => {
    one.set(address)
    for (let times = 0; times < 8; times += 1) {
      expect(await lookUpAt([one], question)).toEqual(['203.0.113.7'])
    }
    expect(new Set(one.asked.map(({ transport }) => transport))).toEqual(new Set(['udp']))
    expect(new Set(one.asked.map(({ id }) => id)).size).toBeGreaterThan(5)
    expect(new Set(one.asked.map(({ port }) => port)).size).toBeGreaterThan(5)
  })

  const forms: [LookedUpType, string[]][] = [
    ['A', ['203.0.113.7', '203.0.113.8']],
    ['AAAA', ['2001:db8::7']],
    ['CNAME', ['Vendor.example']],
    ['MX', ['mx1.example', 'mx2.example']],
    ['SRV', ['10 20 5060 Sip.example']],
    ['NAPTR', ['10 100 "S" "SIP+D2U" "" _sip._udp.acme.test', '20 100 "U" "E2U+SIP" "!^.*$!sip:a@b!" .']],
    ['NS', ['ns1.example']],
    ['TXT', ['v=spf1 -all', `v=DKIM1; p=${'x'.repeat(300)}`]],
  ]

  it.each(forms)('gives the texts of %s records', async (type, texts) => {
    const name = 'all.acme.test'
    one.set(
      { type: 'A', name, data: '203.0.113.7' },
      { type: 'A', name, data: '203.0.113.8' },
      { type: 'AAAA', name, data: '2001:db8:0:0::7' },
      { type: 'CNAME', name, data: 'Vendor.example' },
      { type: 'MX', name, data: { preference: 20, exchange: 'mx2.example' } },
      { type: 'MX', name, data: { preference: 10, exchange: 'mx1.example.' } },
      { type: 'SRV', name, data: { priority: 10, weight: 20, port: 5060, target: 'Sip.example' } },
      {
        type: 'NAPTR',
        name,
        data: {
          order: 10,
          preference: 100,
          flags: 's',
          services: 'sip+d2u',
          regexp: '',
          replacement: '_sip._udp.acme.test',
        },
      },
      {
        type: 'NAPTR',
        name,
        data: {
          order: 20,
          preference: 100,
          flags: 'u',
          services: 'E2U+sip',
          regexp: '!^.*$!sip:a@b!',
          replacement: '.',
        },
      },
      { type: 'NS', name, data: 'ns1.example' },
      { type: 'TXT', name, data: ['v=spf1 ', '-all'] },
      { type: 'TXT', name, data: [`v=DKIM1; p=${'x'.repeat(200)}`, 'x'.repeat(100)] },
    )
    expect(await lookUpAt([one], { name, type })).toEqual(texts)
    expect(await lookUpAt([one], { name, type }, true)).toEqual(texts)
  })

  it('is asked once more by TCP when the answer did not fit', async () => {
    one.set(address)
    one.behave({ truncates: true })
    const resolver = createResolver(() => [one], unhurried)
    expect(await resolver.lookUp(question, manner())).toEqual(['203.0.113.7'])
    expect(one.asked.map(({ transport }) => transport)).toEqual(['udp', 'tcp'])
  })

  it('is asked by TCP alone where that is wanted', async () => {
    one.set(address)
    const resolver = createResolver(() => [one], unhurried)
    expect(await resolver.lookUp(question, manner(true))).toEqual(['203.0.113.7'])
    expect(one.asked.map(({ transport }) => transport)).toEqual(['tcp'])
  })

  it('is asked for the name behind an alias that it does not follow itself', async () => {
    one.set({ type: 'CNAME', name: 'portal.acme.test', data: 'ui.vendor.test' })
    two.set({ type: 'A', name: 'ui.vendor.test', data: '203.0.113.9' })
    const resolver = createResolver(() => [two], patience)
    const authorities = [one]
    expect(await resolver.lookUp(question, { ...manner(), authorities })).toEqual([])
    one.set({ type: 'A', name: 'ui.vendor.test', data: '203.0.113.9' })
    expect(await lookUpAt([one], question)).toEqual(['203.0.113.9'])
  })

  it('does not lead around in circles', async () => {
    one.set({ type: 'CNAME', name: 'a.test', data: 'b.test' })
    two.set({ type: 'CNAME', name: 'b.test', data: 'a.test' })
    expect(await lookUpAt([one], { name: 'a.test', type: 'A' })).toEqual([])
  })

  it('has no records for a name that does not exist, and none of another type', async () => {
    one.set(address)
    expect(await lookUpAt([one], { ...question, name: 'nothing.acme.test' })).toEqual([])
    expect(await lookUpAt([one], { ...question, type: 'TXT' })).toEqual([])
  })
})

describe('answers of others', () => {
  it('do not count: another id, another question, no answer, no message', async () => {
    one.set(address)
    one.behave({ forges: true })
    expect(await lookUpAt([one], question)).toEqual(['203.0.113.7'])
  })

  it('do not count when they come from another address, however true they look', async () => {
    one.behave({ delayMs: 150 })
    one.set(address)
    const stranger = createSocket('udp4')
    const asking = lookUpAt([one], question)
    await expect.poll(() => one.asked.length, { interval: 5 }).toBeGreaterThan(0)
    const { port = 0, id = 0 } = one.asked[0] ?? {}
    const lie = encode({
      type: 'response',
      id,
      flags: RECURSION_AVAILABLE,
      questions: [{ ...question, class: 'IN' }],
      answers: [{ ...address, data: '203.0.113.66' }],
    })
    for (let times = 0; times < 5; times += 1) stranger.send(lie, port, '127.0.0.1')
    expect(await asking).toEqual(['203.0.113.7'])
    stranger.close()
  })

  it('do not harm, whatever bytes they are', async () => {
    one.set(address)
    one.behave({ noise: 200 })
    for (let times = 0; times < 10; times += 1) {
      expect(await lookUpAt([one], question)).toEqual(['203.0.113.7'])
    }
  })
})

describe('name servers in trouble', () => {
  it('are skipped: if one is silent, the next one is asked', async () => {
    one.behave({ silent: true })
    two.set(address)
    expect(await lookUpAt([one, two], question)).toEqual(['203.0.113.7'])
  })

  it('are skipped at once when they cannot be reached', async () => {
    const dead = await startDnsServer()
    await dead.close()
    two.set(address)
    // Longer than a test may take.
    const resolver = createResolver(() => [dead, two], { nextServerMs: 400_000, lookUpMs: 800_000 })
    expect(await resolver.lookUp(question, manner())).toEqual(['203.0.113.7'])
  })

  it('are asked again when a datagram was lost', async () => {
    one.set(address)
    one.behave({ losing: 1 })
    expect(await lookUpAt([one], question)).toEqual(['203.0.113.7'])
    expect(one.asked.length).toBeGreaterThan(1)
  })

  it('are listened to however slow they are', async () => {
    one.behave({ silent: true })
    two.set(address)
    two.behave({ delayMs: 400 })
    expect(await lookUpAt([one, two], question)).toEqual(['203.0.113.7'])
  })

  it('give no answer: silence is reported when the time limit is reached', async () => {
    one.behave({ silent: true })
    const resolver = createResolver(() => [one], { nextServerMs: 20, lookUpMs: 200 })
    expect(await faultOf(resolver.lookUp(question, manner()))).toBe('silent: no name server answered in time')
    expect(await faultOf(resolver.lookUp(question, manner(true)))).toBe(
      'silent: no name server answered in time',
    )
  })

  it('give no answer: their error code is reported, also if another one is silent', async () => {
    one.behave({ code: 2 })
    two.behave({ silent: true })
    expect(await faultOf(lookUpAt([one], question))).toBe('refused: the name server answered SERVFAIL')
    const resolver = createResolver(() => [one, two], { nextServerMs: 20, lookUpMs: 2000 })
    expect(await faultOf(resolver.lookUp(question, manner()))).toBe(
      'refused: the name server answered SERVFAIL',
    )
    one.behave({ code: 5 })
    expect(await faultOf(lookUpAt([one], question, true))).toBe('refused: the name server answered REFUSED')
  })

  it('give no answer: no server listens', async () => {
    const dead = await startDnsServer()
    await dead.close()
    const told = 'unreachable: the name server cannot be reached'
    expect(await faultOf(lookUpAt([dead], question))).toBe(told)
    expect(await faultOf(lookUpAt([dead], question, true))).toBe(told)
    expect(await faultOf(lookUpAt([{ host: 'no-such-host.invalid', port: 53 }], question))).toBe(told)
  })

  it.each([
    ['nothing', [], 'unreachable: the name server cannot be reached'],
    ['half a message', [0, 40, 1, 2, 3], 'unreachable: the name server cannot be reached'],
    ['no message', [0, 3, 1, 2, 3], 'malformed: the name server sent an invalid response'],
    ['an empty message', [0, 0], 'malformed: the name server sent an invalid response'],
  ])('give no answer: %s comes by TCP', async (_what, bytes, told) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.end(Buffer.from(bytes))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await faultOf(lookUpAt([{ host: '127.0.0.1', port }], question, true))).toBe(told)
    server.close()
  })

  it('are not asked for what is no name', async () => {
    for (const name of ['', '.', 'a..b', `${'x'.repeat(64)}.test`, 'a b.test', 'ä.test', 'x.'.repeat(130)]) {
      expect(await faultOf(lookUpAt([one], { name, type: 'A' }))).toBe(
        'no_name: this is not a valid DNS name',
      )
    }
    expect(one.asked).toEqual([])
  })

  it('are given up when the asker gives up', async () => {
    one.behave({ silent: true })
    const resolver = createResolver(() => [one], { nextServerMs: 20, lookUpMs: 60_000 })
    const asking = resolver.lookUp(question, { tcp: false, signal: AbortSignal.timeout(60) })
    expect(await faultOf(asking)).toBe('silent: no name server answered in time')
    const gone = { tcp: true, signal: AbortSignal.abort() }
    expect(await faultOf(resolver.lookUp(question, gone))).toBe('silent: no name server answered in time')
  })

  it('leave no look-up behind, many at a time', async () => {
    one.set(address)
    const resolver = createResolver(() => [one], patience)
    const all = Array.from({ length: 300 }, () => resolver.lookUp(question, manner()))
    expect(new Set((await Promise.all(all)).flat())).toEqual(new Set(['203.0.113.7']))
  })
})

describe('authorities of a name', () => {
  it('are asked first, and believed when they are authorities', async () => {
    one.set({ ...address, data: '203.0.113.1' })
    two.set({ ...address, data: '203.0.113.2' })
    const resolver = createResolver(() => [two], patience)
    const asking = { ...manner(), authorities: [one] }
    expect(await resolver.lookUp(question, asking)).toEqual(['203.0.113.1'])
    one.behave({ lame: true })
    expect(await resolver.lookUp(question, asking)).toEqual(['203.0.113.2'])
    one.behave({ code: 5 })
    expect(await resolver.lookUp(question, asking)).toEqual(['203.0.113.2'])
    one.behave({ silent: true })
    // Half of the time of a look-up is for authorities: the silent one takes it.
    const hurried = createResolver(() => [two], { nextServerMs: 40, lookUpMs: 4000 })
    expect(await hurried.lookUp(question, asking)).toEqual(['203.0.113.2'])
  })
})

describe('the list of servers', () => {
  it('is read with and without ports', () => {
    expect(parseServer('192.0.2.1')).toEqual({ host: '192.0.2.1', port: 53 })
    expect(parseServer('192.0.2.1:5353')).toEqual({ host: '192.0.2.1', port: 5353 })
    expect(parseServer('dns.internal:54')).toEqual({ host: 'dns.internal', port: 54 })
    expect(parseServer('2001:db8::1')).toEqual({ host: '2001:db8::1', port: 53 })
    expect(parseServer('[2001:db8::1]')).toEqual({ host: '2001:db8::1', port: 53 })
    expect(parseServer('[2001:db8::1]:5353')).toEqual({ host: '2001:db8::1', port: 5353 })
  })
})
