import { BlockList, isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Address,
  type Cidr,
  formatAddress,
  isInCidr,
  parseAddress,
  parseCidr,
  parseNetwork,
} from '../../src/lib/cidr.ts'

const address = (text: string) => parseAddress(text) as Address
const cidr = (text: string) => parseCidr(text) as Cidr

const unmapped = () => fc.ipV6().filter((text) => parseAddress(text)?.family === 6)

const sameFamily = fc.oneof(
  fc.record({ network: fc.ipV4(), other: fc.ipV4(), bits: fc.constant(32) }),
  fc.record({ network: unmapped(), other: unmapped(), bits: fc.constant(128) }),
)

describe('parseAddress', () => {
  it.each([
    '',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '1.2.3.256',
    '1.2.3.4/32',
    ' 1.2.3.4',
    '1.2.3.4 ',
    '0x7f.0.0.1',
    '2130706433',
    ':::',
    '1::2::3',
    'fe80::1%eth0',
    '12345::',
    '1:2:3:4:5:6:7',
    'localhost',
    '１.2.3.4',
  ])('refuses %j', (text) => expect(parseAddress(text)).toBeUndefined())

  it('reads what node reads, apart from zones', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4Extended(), fc.ipV4(), fc.ipV6(), fc.string()), (text) => {
        expect(parseAddress(text) !== undefined).toBe(isIP(text) !== 0 && !text.includes('%'))
      }),
    )
  })

  it('takes an IPv4 address written as IPv6 for the IPv4 address', () => {
    for (const text of ['::ffff:10.1.2.3', '::FFFF:a01:203', '0:0:0:0:0:ffff:10.1.2.3']) {
      expect(parseAddress(text)).toEqual({ family: 4, bytes: [10, 1, 2, 3] })
    }
    expect(address('::ffff:0:10.1.2.3').family).toBe(6)
  })
})

describe('formatAddress', () => {
  it.each([
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['::1', '::1'],
    ['1::', '1::'],
    ['1:0:2:0:0:3:0:0', '1:0:2::3:0:0'],
    ['10:0:0:0:2:0:0:0', '10::2:0:0:0'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['2001:db8:0:0:1:0:0:a0', '2001:db8::1:0:0:a0'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
  ])('spells %s as %s', (given, expected) => expect(formatAddress(address(given))).toBe(expected))

  it('gives every address one spelling that reads back', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const once = formatAddress(address(text))
        expect(address(once)).toEqual(address(text))
        expect(formatAddress(address(once))).toBe(once)
      }),
    )
  })
})

describe('parseCidr', () => {
  it.each([
    '10.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/8 ',
    '10.0.0.0/+8',
    '10.0.0.0/8/8',
    '10.0.0.0/255.0.0.0',
    '10.0.0/8',
    '010.0.0.0/8',
    '::/129',
    '::/1e1',
    'fe80::%1/10',
    '/8',
    '10.0.0.0/8\n',
  ])('refuses %j', (text) => expect(parseCidr(text)).toBeUndefined())

  it('reads the part of ::ffff:0:0/96 as IPv4', () => {
    expect(cidr('::ffff:10.0.0.0/104')).toEqual({ family: 4, bytes: [10, 0, 0, 0], prefixLength: 8 })
    expect(cidr('::/0').family).toBe(6)
  })

  it('accepts a bare address only as a network of one', () => {
    expect(parseNetwork('10.0.0.1')).toEqual(cidr('10.0.0.1/32'))
    expect(parseNetwork('::1')).toEqual(cidr('::1/128'))
    expect(parseNetwork('::ffff:10.0.0.1')).toEqual(cidr('10.0.0.1/32'))
    expect(parseNetwork('10.0.0.0/8')).toEqual(cidr('10.0.0.0/8'))
    expect(parseNetwork('10.0.0.0/99')).toBeUndefined()
    expect(parseNetwork('proxy')).toBeUndefined()
  })
})

describe('isInCidr', () => {
  it('agrees with the block list of node', () => {
    fc.assert(
      fc.property(sameFamily, fc.nat(128), ({ network, other, bits }, prefix) => {
        const length = Math.min(prefix, bits)
        const family = bits === 32 ? 'ipv4' : 'ipv6'
        const list = new BlockList()
        list.addSubnet(network, length, family)
        expect(isInCidr(address(other), cidr(`${network}/${length}`))).toBe(list.check(other, family))
        expect(isInCidr(address(network), cidr(`${network}/${length}`))).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('holds exactly the addresses that share the prefix', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.integer({ min: 1, max: 32 }), fc.nat(31), (text, length, bit) => {
        const flipped = address(text).bytes.map((byte, index) =>
          index === bit >> 3 ? byte ^ (128 >> (bit & 7)) : byte,
        )
        expect(isInCidr({ family: 4, bytes: flipped }, cidr(`${text}/${length}`))).toBe(bit >= length)
      }),
    )
  })

  it('does not mix families', () => {
    expect(isInCidr(address('10.0.0.1'), cidr('::/0'))).toBe(false)
    expect(isInCidr(address('::1'), cidr('0.0.0.0/0'))).toBe(false)
    expect(isInCidr(address('255.255.255.255'), cidr('0.0.0.0/0'))).toBe(true)
  })
})
