import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { clientAddress } from '../../src/http/transport/client-address.ts'
import { type Cidr, parseNetwork } from '../../src/lib/cidr.ts'

const trustedProxies = ['127.0.0.1', '10.0.0.0/8', '2001:db8::/32'].map((text) => parseNetwork(text) as Cidr)
const ask = (peer: string | undefined, forwardedFor?: string, checkProxies = true) =>
  clientAddress({ peer, forwardedFor, trustedProxies, checkProxies })

describe('clientAddress', () => {
  it.each([
    ['the peer without a header', '192.0.2.1', undefined, '192.0.2.1'],
    ['the peer of a dual-stack socket', '::ffff:192.0.2.1', undefined, '192.0.2.1'],
    ['the peer with a zone', 'fe80::1%eth0', undefined, 'fe80::1'],
    ['one spelling of an IPv6 peer', '2001:0DB9:0::1', undefined, '2001:db9::1'],
    ['nothing without a peer', undefined, '192.0.2.1', undefined],
    ['the peer when it is not trusted', '192.0.2.1', '198.51.100.7', '192.0.2.1'],
    ['what a trusted peer forwards', '127.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['what a trusted dual-stack peer forwards', '::ffff:127.0.0.1', '198.51.100.7', '198.51.100.7'],
    [
      'the last of a chain, which the client may have begun',
      '127.0.0.1',
      '1.1.1.1, 198.51.100.7',
      '198.51.100.7',
    ],
    ['the hop before the trusted ones', '127.0.0.1', '1.1.1.1, 198.51.100.7, 10.1.1.1', '198.51.100.7'],
    ['the outermost when all are trusted', '127.0.0.1', '10.0.0.9, 10.1.1.1', '10.0.0.9'],
    ['a hop with a port', '127.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
    ['an IPv6 hop with brackets and port', '127.0.0.1', '[2001:DB9::7]:4711', '2001:db9::7'],
    ['a hop between empty ones', '127.0.0.1', ' , 198.51.100.7 ,, ', '198.51.100.7'],
    ['the peer when the header is garbage', '127.0.0.1', 'unknown', '127.0.0.1'],
    ['the peer when the header is empty', '127.0.0.1', '', '127.0.0.1'],
    ['nothing left of garbage', '127.0.0.1', '1.1.1.1, <script>, 10.1.1.1', '10.1.1.1'],
  ])('is %s', (_, peer, forwardedFor, expected) => expect(ask(peer, forwardedFor)).toBe(expected))

  it('believes every peer when the check is off', () => {
    expect(ask('192.0.2.1', '1.1.1.1, 198.51.100.7', false)).toBe('198.51.100.7')
    expect(ask('192.0.2.1', undefined, false)).toBe('192.0.2.1')
  })

  it('cannot be chosen by a client, whatever it sends', () => {
    fc.assert(
      fc.property(fc.string(), fc.boolean(), (sent, isBehindProxy) => {
        const client = '198.51.100.7'
        const seen = isBehindProxy ? ask('127.0.0.1', `${sent}, ${client}`) : ask(client, sent)
        expect(seen).toBe(client)
      }),
    )
  })
})
