import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideAccess } from '../../src/areas/voice/access-lists/rules.ts'
import { createValidation } from '../../src/http/request/validation.ts'
import { AccessList, accessListProblems } from '../../src/lib/access-list.ts'
import { type Address, parseAddress, parseCidr } from '../../src/lib/cidr.ts'

type Order = AccessList['order']

const address = (text: string) => parseAddress(text) as Address
const list = (order: Order, cidrs: string[], more: { user_agent?: string } = {}): AccessList => ({
  order,
  cidrs,
  ...more,
})

const decide = (realmList?: AccessList, deviceList?: AccessList, from = '192.0.2.7', userAgent?: string) =>
  decideAccess({ realmList, deviceList, address: address(from), userAgent })

const inside = ['192.0.2.0/24']
const outside = ['198.51.100.0/24']
const open = list('deny,allow', [])
const shut = list('allow,deny', [])

describe('decideAccess', () => {
  it('allows when there is no list', () => {
    expect(decide()).toEqual({ allowed: true, reason: 'no_access_list' })
  })

  it.each([
    ['allow,deny', inside, true],
    ['allow,deny', outside, false],
    ['allow,deny', [], false],
    ['allow,deny', ['0.0.0.0/0'], true],
    ['deny,allow', inside, false],
    ['deny,allow', outside, true],
    ['deny,allow', [], true],
    ['deny,allow', ['0.0.0.0/0'], false],
  ] as const)('decides with the order %s and the ranges %j', (order, cidrs, allowed) => {
    const one = list(order, [...cidrs])
    expect(decide(one)).toEqual({
      allowed,
      reason: allowed ? 'allowed_by_access_lists' : 'realm_denies_address',
    })
    expect(decide(undefined, one)).toEqual({
      allowed,
      reason: allowed ? 'allowed_by_access_lists' : 'device_denies_address',
    })
  })

  it('needs both lists to allow; the device list does not replace the realm list', () => {
    expect(decide(open, open).allowed).toBe(true)
    expect(decide(shut, open)).toEqual({ allowed: false, reason: 'realm_denies_address' })
    expect(decide(open, shut)).toEqual({ allowed: false, reason: 'device_denies_address' })
    expect(decide(shut, shut).allowed).toBe(false)
  })

  it.each(['allow,deny', 'deny,allow'] as const)('asks the device list for the user agent (%s)', (order) => {
    const cidrs = order === 'allow,deny' ? inside : outside
    const device = list(order, cidrs, { user_agent: '^Yealink' })
    expect(decide(undefined, device, '192.0.2.7', 'Yealink T46').allowed).toBe(true)
    for (const agent of ['friendly-scanner', '', undefined]) {
      expect(decide(undefined, device, '192.0.2.7', agent)).toEqual({
        allowed: false,
        reason: 'device_denies_user_agent',
      })
    }
    const wrongPlace = order === 'allow,deny' ? '198.51.100.1' : '198.51.100.7'
    expect(decide(undefined, device, wrongPlace, 'Yealink T46')).toEqual({
      allowed: false,
      reason: 'device_denies_address',
    })
  })

  it('does not ask the realm list for the user agent', () => {
    expect(decide(list('allow,deny', inside, { user_agent: '^Yealink' })).allowed).toBe(true)
  })

  it('takes IPv4 written as IPv6 for IPv4, and never finds real IPv6 in a list', () => {
    expect(decide(list('allow,deny', inside), undefined, '::ffff:192.0.2.7').allowed).toBe(true)
    expect(decide(list('allow,deny', ['0.0.0.0/0']), undefined, '2001:db8::1').allowed).toBe(false)
  })

  it('turns around with the order of the list', () => {
    fc.assert(
      fc.property(
        fc.ipV4(),
        fc.array(fc.tuple(fc.ipV4(), fc.nat(32)).map((parts) => parts.join('/'))),
        (from, cidrs) => {
          const allowed = decide(list('allow,deny', cidrs), undefined, from).allowed
          expect(decide(list('deny,allow', cidrs), undefined, from).allowed).toBe(!allowed)
        },
      ),
    )
  })
})

describe('accessListProblems', () => {
  it('finds nothing wrong with a good list', () => {
    const cidrs = ['127.0.0.3/32', '10.0.0.5/8', '0.0.0.0/0']
    expect(accessListProblems({ order: 'allow,deny', cidrs, user_agent: '^(Yealink|Polycom)' })).toEqual({})
  })

  it('names every bad CIDR by its position, and a pattern that does not compile', () => {
    const cidrs = [
      '10.0.0.0/8',
      '10.0.0.0/33',
      '10.0.0.1',
      '::1/128',
      '::ffff:10.0.0.0/104',
      'lol',
      '',
      '010.0.0.0/8',
    ]
    const problems = accessListProblems({ cidrs, user_agent: '(' })
    expect(Object.keys(problems)).toEqual([
      'cidrs.1',
      'cidrs.2',
      'cidrs.3',
      'cidrs.4',
      'cidrs.5',
      'cidrs.6',
      'cidrs.7',
      'user_agent',
    ])
    expect(problems['cidrs.1']).toEqual({
      wrong_format: {
        message: 'Must be an IPv4 subnet in CIDR notation, for example 192.0.2.0/24',
        format: 'ipv4-cidr',
        value: '10.0.0.0/33',
      },
    })
    expect(problems.user_agent?.wrong_format).toMatchObject({ format: 'regex', value: '(' })
  })

  it('has nothing to say about keys that are absent', () => expect(accessListProblems({})).toEqual({}))

  it('never throws, and accepts exactly the CIDRs that decide something', () => {
    const text = fc.oneof(
      fc.string(),
      fc.tuple(fc.ipV4(), fc.nat(40)).map((parts) => parts.join('/')),
    )
    fc.assert(
      fc.property(text, fc.string(), (cidr, pattern) => {
        const problems = accessListProblems({ cidrs: [cidr], user_agent: pattern })
        const isDecisive = parseCidr(cidr)?.family === 4
        expect('cidrs.0' in problems).toBe(!isDecisive)
      }),
    )
  })
})

describe('the shape of an access list', () => {
  const validate = createValidation(AccessList)
  const broken = (data: unknown) =>
    Object.entries(validate(data).problems).map(([path, rules]) => `${path} ${Object.keys(rules)}`)

  it('asks for order and cidrs', () => {
    expect(broken({})).toEqual(['order required', 'cidrs required'])
    expect(broken({ order: 'x', cidrs: 'y' })).toEqual(['order enum', 'cidrs type'])
    expect(broken({ order: 'allow,deny', cidrs: [], user_agent: 'a'.repeat(257) })).toEqual([
      'user_agent maxLength',
    ])
  })

  it('keeps other keys', () => {
    const given = { order: 'deny,allow', cidrs: ['10.0.0.0/8'], note: 'mine' }
    expect(validate(given)).toMatchObject({ problems: {}, value: given })
  })
})
