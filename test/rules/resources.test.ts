import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Carrier,
  type CarrierCallQuery,
  carrierOf,
  chooseGateways,
  compileCarrier,
  failoverCodesOf,
  resourceProblems,
} from '../../src/areas/voice/resources/rules.ts'
import type { Gateway, Resource } from '../../src/areas/voice/resources/schema.ts'
import { parseAddress } from '../../src/lib/cidr.ts'

const any = '^\\+?\\d+$'

const carrier = (id: string, doc: Partial<Resource> = {}): Carrier =>
  compileCarrier(id, { name: id, gateways: [{ server: `${id}.test` }], rules: [any], ...doc })

const call = (more: Partial<CarrierCallQuery> = {}): CarrierCallQuery => ({
  number: '+14155550100',
  emergency: false,
  flags: [],
  ...more,
})

const shown = (carriers: readonly Carrier[], question = call()) =>
  chooseGateways([carriers], question).map(({ gateway, number }) => `${number}@${gateway.server}`)

describe('the carriers of a call', () => {
  const takes: [
    what: string,
    doc: Partial<Resource>,
    question: Partial<CarrierCallQuery>,
    number: string | undefined,
  ][] = [
    ['a rule that fits, without a group', { rules: ['^\\+1'] }, {}, '+14155550100'],
    ['a rule with a group', { rules: ['^\\+1(\\d{10})$'] }, {}, '4155550100'],
    ['a rule with a group that holds nothing', { rules: ['^(\\+44)?\\+1\\d+$'] }, {}, '+14155550100'],
    ['the first rule that fits', { rules: ['^\\+44(\\d+)$', '^\\+(1\\d+)$', '(0100)$'] }, {}, '14155550100'],
    ['no rule that fits', { rules: ['^\\+44'] }, {}, undefined],
    ['no rules at all', { rules: [] }, {}, undefined],
    ['switched off', { enabled: false }, {}, undefined],
    ['an emergency call elsewhere', {}, { emergency: true }, undefined],
    ['an emergency call', { emergency: true }, { number: '911', emergency: true }, '911'],
    ['an ordinary call where emergencies go, too', { emergency: true }, {}, '+14155550100'],
    ['no flags that are asked for', { flags: ['fax'] }, {}, '+14155550100'],
    ['the flags that are asked for', { flags: ['fax', 'video'] }, { flags: ['video'] }, '+14155550100'],
    ['one flag too many', { flags: ['fax'] }, { flags: ['fax', 'video'] }, undefined],
    ['flags required and none asked for', { flags: ['fax'], require_flags: true }, {}, undefined],
    [
      'flags required and asked for',
      { flags: ['fax'], require_flags: true },
      { flags: ['fax'] },
      '+14155550100',
    ],
    ['flags ignored', { ignore_flags: true, require_flags: true }, { flags: ['fax'] }, '+14155550100'],
    [
      'the caller a rule asks for',
      { cid_rules: ['^\\+1415'] },
      { callerNumber: '+14155550199' },
      '+14155550100',
    ],
    ['another caller', { cid_rules: ['^\\+1415'] }, { callerNumber: '+12125550199' }, undefined],
    ['an unknown caller', { cid_rules: ['^\\+1415'] }, {}, undefined],
    ['its class', { classifiers: { did_us: {} } }, { classification: 'did_us' }, '+14155550100'],
    ['another class', { classifiers: { did_us: {} } }, { classification: 'toll_us' }, undefined],
    ['a call without a class', { classifiers: { did_us: {} } }, {}, undefined],
    ['a class that is no own key', { classifiers: {} }, { classification: 'constructor' }, undefined],
    [
      'a class that is off',
      { classifiers: { did_us: { enabled: false } } },
      { classification: 'did_us' },
      undefined,
    ],
    [
      'a class and no rules',
      { rules: [], classifiers: { did_us: {} } },
      { classification: 'did_us' },
      '+14155550100',
    ],
    [
      'a rule of the class instead of the rules of the carrier',
      { rules: ['^\\+44'], classifiers: { did_us: { regex: '^\\+1(.*)' } } },
      { classification: 'did_us' },
      '4155550100',
    ],
    [
      'what the class puts around the number',
      {
        gateways: [{ server: 'x.test', prefix: '1', suffix: '2' }],
        classifiers: { did_us: { prefix: '9', suffix: '#' } },
      },
      { classification: 'did_us' },
      '9+14155550100#',
    ],
    [
      'a class for emergencies',
      { classifiers: { emergency: { emergency: true } } },
      { number: '911', emergency: true, classification: 'emergency' },
      '911',
    ],
    [
      'a class that is not for emergencies',
      { emergency: true, classifiers: { emergency: { emergency: false } } },
      { number: '911', emergency: true, classification: 'emergency' },
      undefined,
    ],
  ]

  it.each(takes)('with %s: %j, %j', (_what, doc, question, number) => {
    const [choice] = chooseGateways([[carrier('one', doc)]], call(question))
    expect(choice?.number).toBe(number)
  })

  const written: [Gateway['invite_format'], string, string, Partial<Gateway>?][] = [
    [undefined, '+14155550100', '+14155550100'],
    ['route', '4155550100', '4155550100'],
    ['e164', '4155550100', '+14155550100'],
    ['npan', '+14155550100', '4155550100'],
    ['npan', '+442079460000', '+442079460000'],
    ['1npan', '+14155550100', '14155550100'],
    ['strip_plus', '+442079460000', '442079460000'],
    ['username', '+14155550100', 'me', { username: 'me', prefix: '9' }],
    ['strip_plus', '+14155550100', '0011#14155550100;x=1', { prefix: '0011#', suffix: ';x=1' }],
  ]

  it.each(written)('receive the number as %s: %s becomes %s', (invite_format, number, told, more) => {
    const gateway = { server: 'x.test', ...(invite_format ? { invite_format } : {}), ...more }
    const [choice] = chooseGateways([[carrier('one', { gateways: [gateway] })]], call({ number }))
    expect(choice?.number).toBe(told)
  })

  it('are asked by owner, weight and age, each with its gateways in their order', () => {
    const two = [{ server: 'first.test' }, { server: 'off.test', enabled: false }, { server: 'second.test' }]
    const local = [carrier('d', { weight_cost: 90 })]
    const global = [
      carrier('c', { gateways: two, weight_cost: 10 }),
      carrier('b'),
      carrier('a'),
      carrier('e', { weight_cost: 80, classifiers: { did_us: { weight_cost: 1 } } }),
    ]
    const servers = chooseGateways([local, global], call({ classification: 'did_us' })).map(
      ({ gateway }) => gateway.server,
    )
    expect(servers).toEqual(['d.test', 'e.test', 'first.test', 'second.test', 'a.test', 'b.test'])
  })

  it('stand in one order, whatever order they are read in, and none that is switched off is among them', () => {
    const docs = fc.record({
      enabled: fc.boolean(),
      weight_cost: fc.integer({ min: 0, max: 3 }),
      gateways: fc.array(fc.record({ server: fc.constantFrom('x.test', 'y.test'), enabled: fc.boolean() }), {
        maxLength: 3,
      }),
    })
    const all = fc.uniqueArray(fc.tuple(fc.uuid(), docs), { selector: ([id]) => id, maxLength: 12 })
    fc.assert(
      fc.property(all, fc.infiniteStream(fc.nat()), (found, keys) => {
        const carriers = found.map(([id, doc]) => carrier(id, doc))
        const shuffled = carriers
          .map((one) => ({ one, key: keys.next().value }))
          .sort((a, b) => a.key - b.key)
          .map(({ one }) => one)
        const chosen = chooseGateways([carriers], call())
        expect(chooseGateways([shuffled], call())).toEqual(chosen)
        for (const { carrier: from, gateway } of chosen)
          expect([from.doc.enabled, gateway.enabled]).toEqual([true, true])
        const on = carriers.filter(({ doc }) => doc.enabled).flatMap(({ doc }) => doc.gateways)
        expect(chosen).toHaveLength(on.filter(({ enabled }) => enabled).length)
        const weights = chosen.map(({ carrier: { doc } }) => doc.weight_cost ?? 50)
        expect(weights).toEqual(weights.toSorted((a, b) => a - b))
      }),
    )
  })

  it('give way to the next after a code of failure, unless they set other codes', () => {
    expect(failoverCodesOf({ name: 'x', gateways: [] })).toEqual([408, 500, 502, 503, 504])
    expect(failoverCodesOf({ name: 'x', gateways: [], failover_codes: [] })).toEqual([])
    expect(failoverCodesOf({ name: 'x', gateways: [], failover_codes: [403] })).toEqual([403])
  })

  it('are all that take the call', () => {
    expect(shown([carrier('a'), carrier('b', { rules: ['^\\+44'] })])).toEqual(['+14155550100@a.test'])
    expect(chooseGateways([], call())).toEqual([])
  })
})

describe('the carrier of an address', () => {
  const known = (address: string, doc: Partial<Resource>, port?: number) => {
    const parsed = parseAddress(address)
    return parsed && carrierOf([carrier('one', { gateways: [], ...doc })], { address: parsed, port })?.id
  }

  const belongs: [address: string, doc: Partial<Resource>, port: number | undefined, isKnown: boolean][] = [
    ['203.0.113.7', { gateways: [{ server: '203.0.113.7' }] }, undefined, true],
    ['203.0.113.8', { gateways: [{ server: '203.0.113.7' }] }, undefined, false],
    ['203.0.113.7', { gateways: [{ server: '203.0.113.7', enabled: false }] }, undefined, false],
    ['203.0.113.7', { gateways: [{ server: '203.0.113.7' }], enabled: false }, undefined, false],
    ['203.0.113.7', { inbound_ips: ['203.0.113.0/24'], enabled: false }, undefined, false],
    ['203.0.113.7', { inbound_ips: ['203.0.113.0/29'] }, 9999, true],
    ['::ffff:203.0.113.7', { inbound_ips: ['203.0.113.7'] }, undefined, true],
    ['2001:db8::7', { inbound_ips: ['2001:db8::/32'] }, undefined, true],
    ['2001:db8::7', { gateways: [{ server: '2001:DB8:0::7' }] }, undefined, true],
    ['203.0.113.7', { gateways: [{ server: 'carrier.test' }] }, undefined, false],
    ['203.0.113.7', { gateways: [{ server: '203.0.113.7', port: 5080, force_port: true }] }, 5080, true],
    ['203.0.113.7', { gateways: [{ server: '203.0.113.7', port: 5080, force_port: true }] }, 5060, false],
    [
      '203.0.113.7',
      { gateways: [{ server: '203.0.113.7', port: 5080, force_port: true }] },
      undefined,
      false,
    ],
    ['203.0.113.7', { gateways: [{ server: '203.0.113.7', force_port: true }] }, 5060, true],
  ]

  it.each(belongs)('%s, %j, port %s: %s', (address, doc, port, isKnown) => {
    expect(known(address, doc, port)).toBe(isKnown ? 'one' : undefined)
  })
})

describe('what is wrong with a resource', () => {
  const wrong: [Partial<Resource>, Record<string, string[]>][] = [
    [{ rules: ['^(', '(?=x)', 'fine'] }, { 'rules.0': ['pattern'], 'rules.1': ['pattern'] }],
    [{ cid_rules: ['a{1000}{1000}'] }, { 'cid_rules.0': ['pattern'] }],
    [{ classifiers: { did_us: { regex: '[' } } }, { 'classifiers.did_us.regex': ['pattern'] }],
    [{ inbound_ips: ['203.0.113.0/24', '10.0.0.0/33'] }, { 'inbound_ips.1': ['wrong_format'] }],
    [
      { inbound_ips: ['0.0.0.0/0', '::/0', 'x.test'] },
      {
        'inbound_ips.0': ['minimum'],
        'inbound_ips.1': ['minimum'],
        'inbound_ips.2': ['wrong_format'],
      },
    ],
    [
      { gateways: [{ server: 'x.test' }, { server: 'x.test', password: 'p' }] },
      { 'gateways.1.username': ['required'] },
    ],
    [
      { gateways: [{ server: 'x.test', invite_format: 'username' }] },
      { 'gateways.0.username': ['required'] },
    ],
    [
      { gateways: [{ server: 'x.test', custom_sip_headers: { 'X-Fine': '1', Route: '<sip:evil>' } }] },
      { 'gateways.0.custom_sip_headers.Route': ['forbidden'] },
    ],
    ...[
      'a b',
      'x.test;transport=tcp',
      'me@x.test',
      'x.test:5060',
      '-x.test',
      '1.2.3',
      '0x7f.1',
      '[::1]',
      '',
    ].map((server): [Partial<Resource>, Record<string, string[]>] => [
      { gateways: [{ server, proxy: 'fine.test' }] },
      { 'gateways.0.server': ['wrong_format'] },
    ]),
    [{ gateways: [{ server: 'x.test', proxy: 'a,b' }] }, { 'gateways.0.proxy': ['wrong_format'] }],
    [{ gateways: [{ server: '203.0.113.7' }, { server: '2001:db8::1' }, { server: 'sip-1.x_y.test' }] }, {}],
  ]

  it.each(wrong)('%j: %j', (doc, rules) => {
    const found = Object.entries(resourceProblems(doc)).map(([path, problems]) => [
      path,
      Object.keys(problems),
    ])
    expect(Object.fromEntries(found)).toEqual(rules)
  })
})
