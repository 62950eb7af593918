// biome-ignore-all lint/suspicious/noTemplateCurlyInString: FreeSWITCH writes so what it looks up
// What FreeSWITCH reads of routes and users: a table of calls, and that no text of a customer means anything to it.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { actionsFor, type Bringer, callDocument } from '../../src/areas/voice/freeswitch/dialplan.rules.ts'
import { userDocument } from '../../src/areas/voice/freeswitch/directory.rules.ts'
import { shownText } from '../../src/areas/voice/freeswitch/texts.rules.ts'
import type { RouteAnswer } from '../../src/areas/voice/routing/schema.ts'
import { actionsIn, hasOrders, legsIn, readXml } from '../support/phones/switch-documents.ts'

type Target = RouteAnswer['targets'][number]

const accountId = 'a'.repeat(32)

const route = (fields: Partial<RouteAnswer>): RouteAnswer => ({
  decision: 'ring',
  account_id: accountId,
  number: '100',
  targets: [],
  caller_id: { name: 'Ann', number: '101' },
  limits: {},
  variables: {},
  left_out: [],
  ...fields,
})

const phone = (username: string, fields: Partial<Target> = {}): Target => ({
  type: 'device',
  device_id: 'd'.repeat(32),
  username,
  realm: 'acme.test',
  delay_s: 0,
  timeout_s: 20,
  ...fields,
})

const gateway = (resource: string, fields: Partial<Target> = {}): Target => ({
  type: 'gateway',
  resource_id: resource,
  uri: `sip:${resource}.test:5070;transport=tcp`,
  number: '14155550100',
  delay_s: 0,
  timeout_s: 120,
  progress_timeout_s: 10,
  failover_codes: [500, 503, 486],
  ...fields,
})

const begin = [
  ['set', `accountcode=${accountId}`],
  ['set', `ecallmgr_Account-ID=${accountId}`],
]
const named = [
  ['set', 'effective_caller_id_name=Ann'],
  ['set', 'effective_caller_id_number=101'],
]
const hangUp = ['set', 'hangup_after_bridge=true']
const goOn = (when: string) => ['set', `continue_on_fail=${when}`]
const within = (seconds: number) => ['set', `call_timeout=${seconds}`]
const sold = `ecallmgr_Account-ID=${accountId},ecallmgr_Authorizing-Type=resource`

const actions = (fields: Partial<RouteAnswer>, from: Bringer = 'account') => actionsFor(route(fields), from)

/** What is done behind the beginning that all calls have. */
const dialled = (fields: Partial<RouteAnswer>) => {
  const all = actions(fields)
  expect(all.slice(0, 5)).toEqual([...begin, ...named, hangUp])
  return all.slice(5)
}

describe('a call', () => {
  it('rings phones of one time together, each for as long as it may', () => {
    const targets = [phone('desk'), phone('soft', { delay_s: 5, timeout_s: 15 })]
    expect(dialled({ targets })).toEqual([
      within(20),
      goOn('false'),
      ['bridge', '[leg_timeout=20]user/desk@acme.test,[leg_delay_start=5,leg_timeout=15]user/soft@acme.test'],
    ])
  })

  it('rings others when those before have rung out, and ends as the flow says', () => {
    const targets = [phone('desk'), phone('soft', { delay_s: 20, timeout_s: 15 })]
    const otherwise = { reason: 'response', sip_code: 486, sip_reason: 'Gone ${home}' }
    expect(dialled({ targets, otherwise })).toEqual([
      within(20),
      goOn('true'),
      ['bridge', '[leg_timeout=20]user/desk@acme.test'],
      within(15),
      goOn('true'),
      ['bridge', '[leg_timeout=15]user/soft@acme.test'],
      ['respond', '486 Gone home'],
    ])
  })

  it('tries gateways one after the other, each after codes of the one before', () => {
    const targets = [
      gateway('one'),
      gateway('two', { delay_s: 10, ha1: 'f'.repeat(32), username: 'we', codecs: ['PCMU', 'G729', 'x,y'] }),
      gateway('three', {
        delay_s: 20,
        proxy: 'sip:proxy.test;transport=tls',
        headers: { 'X-Plan': 'Gold 1', 'X-Bad': '${env}' },
      }),
    ]
    const causes = 'PROGRESS_TIMEOUT,GATEWAY_DOWN,INVALID_GATEWAY,NORMAL_TEMPORARY_FAILURE,USER_BUSY'
    const timing = 'leg_timeout=120,leg_progress_timeout=10'
    expect(dialled({ decision: 'offnet', targets })).toEqual([
      within(120),
      goOn(causes),
      [
        'bridge',
        `[${timing},${sold},ecallmgr_Resource-ID=one]sofia/external/sip:14155550100@one.test:5070;transport=tcp`,
      ],
      within(120),
      goOn(causes),
      [
        'bridge',
        `[${timing},absolute_codec_string=^^:PCMU:G729,${sold},ecallmgr_Resource-ID=two]sofia/gateway/two-two.test/14155550100`,
      ],
      within(120),
      goOn('false'),
      [
        'bridge',
        `[${timing},sip_h_X-Plan=Gold 1,${sold},ecallmgr_Resource-ID=three]sofia/external/sip:14155550100@three.test:5070;transport=tcp;fs_path=sip%3Aproxy.test%3Btransport%3Dtls`,
      ],
    ])
  })

  it('continues with its flow whatever the carriers answer', () => {
    const targets = [gateway('one'), gateway('two', { delay_s: 10 }), phone('desk', { delay_s: 130 })]
    const follows = dialled({ targets }).filter(([, data]) => data.startsWith('continue_on_fail'))
    expect(follows).toEqual([goOn('true'), goOn('true'), goOn('false')])
  })

  it('rings only the first gateway together with phones, and shows it the caller ID of that gateway', () => {
    const forwarded = { caller_id: { number: '+14155550111', privacy: 'full' } }
    const targets = [phone('desk'), gateway('one', forwarded), gateway('two', { delay_s: 10, ...forwarded })]
    const [, , [, text] = []] = dialled({ targets })
    expect(legsIn(text ?? '')).toEqual([
      { variables: { leg_timeout: '20' }, endpoint: 'user/desk@acme.test' },
      {
        variables: {
          leg_timeout: '120',
          leg_progress_timeout: '10',
          origination_caller_id_number: '+14155550111',
          origination_privacy: 'hide_name:hide_number',
          'ecallmgr_Account-ID': accountId,
          'ecallmgr_Authorizing-Type': 'resource',
          'ecallmgr_Resource-ID': 'one',
        },
        endpoint: 'sofia/external/sip:14155550100@one.test:5070;transport=tcp',
      },
    ])
  })

  it('reaches phones and servers that do not register, and servers that do, with their own number', () => {
    const trunk: Target = {
      type: 'trunk',
      trunk_id: 't',
      server: 'PBX',
      number: '5550100',
      delay_s: 0,
      timeout_s: 30,
    }
    const contact = '${sofia_contact(*/pbx@acme.test)}'
    const targets = [
      phone('door', { uri: 'sip:door@192.0.2.7' }),
      { ...trunk, uri: 'sip:[2001:db8::1]:5080' },
      { ...trunk, username: 'pbx', realm: 'acme.test' },
    ]
    expect(dialled({ targets })[2]?.[1].split(',[')).toEqual([
      '[leg_timeout=20]sofia/internal/sip:door@192.0.2.7',
      `leg_timeout=30,ecallmgr_Account-ID=${accountId}]sofia/internal/sip:5550100@[2001:db8::1]:5080`,
      `leg_timeout=30,ecallmgr_Account-ID=${accountId}]\${regex(${contact}|^[^@]+(.*)|sofia/internal/sip:5550100%1)}`,
    ])
  })

  it('is counted at the switch, and refused to carriers in another way', () => {
    const fields = { limits: { calls: 5, carrier_calls: 2 }, targets: [gateway('one')] }
    const counted = (from: Bringer) =>
      actions(fields, from).filter(([application]) => application === 'limit')
    expect(counted('account')).toEqual([
      ['limit', `hash crosspoint ${accountId}.calls 5 !USER_BUSY`],
      ['limit', `hash crosspoint ${accountId}.carrier_calls 2 !USER_BUSY`],
    ])
    expect(counted('carrier')[0]).toEqual([
      'limit',
      `hash crosspoint ${accountId}.calls 5 !NORMAL_TEMPORARY_FAILURE`,
    ])
    const within = actions({ ...fields, targets: [phone('desk')] })
    expect(within.filter(([application]) => application === 'limit')).toHaveLength(1)
  })

  it('shows no caller ID of the directory when the call has none or a private one', () => {
    expect(actions({ caller_id: {}, targets: [phone('desk')] }).slice(2, 4)).toEqual([
      ['unset', 'effective_caller_id_name'],
      ['unset', 'effective_caller_id_number'],
    ])
    expect(
      actions({ caller_id: { number: '+14155550100', privacy: 'full' }, targets: [phone('desk')] }).slice(
        2,
        5,
      ),
    ).toEqual([
      ['set', 'effective_caller_id_name=+14155550100'],
      ['set', 'effective_caller_id_number=+14155550100'],
      ['privacy', 'full'],
    ])
  })

  it('is refused with the code and the reason of the route, and its record gets the owner', () => {
    const refusal = { decision: 'refuse' as const, sip_code: 402, sip_reason: 'Payment Required' }
    const variables = { owner_id: 'o', classification: 'did_us', strange: '${x}' }
    expect(actions({ ...refusal, variables })).toEqual([
      ...begin,
      ['set', 'ecallmgr_Owner-ID=o'],
      ['set', 'ecallmgr_Classification=did_us'],
      ['respond', '402 Payment Required'],
    ])
  })

  it('without a target that can be dialled is refused', () => {
    expect(dialled({ targets: [phone('a,b'), phone('a', { realm: '${x}' })] })).toEqual([
      ['respond', '480 Temporarily Unavailable'],
    ])
  })
})

const pieces = fc.constantFrom(
  ']]>',
  '"',
  "'",
  '&',
  '<',
  '>',
  '&amp;',
  '${x}',
  '$${x}',
  '${system(rm -rf /)}',
  '\\',
  '\\${',
  ':_:',
  ',',
  '|',
  '[',
  ']',
  '{',
  '}',
  '^^:',
  '=',
  '\n',
  '\r\n',
  '\0',
  '\uD800',
  '\uFFFE',
  ' ',
  'x-pre-process',
  '<X-PRE-PROCESS cmd="exec"',
  '<include>',
  '<?xml',
  '<!--',
  '%24%7Bx%7D',
  ';',
  '@',
  'sip:a@b.test',
  'sip:',
  'Anna',
  'Ä',
  '100',
  '#',
  '/',
  '()',
  '~',
)
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join('')),
  pieces.map((piece) => `a${piece}b`),
)

const anyCallerId = fc.record(
  { name: hostile, number: hostile, privacy: fc.constantFrom('full', 'name', 'number') },
  { requiredKeys: [] },
)
const anyHeaders = fc.dictionary(fc.oneof(hostile, fc.constantFrom('X-One', 'X-Pre-Process')), hostile, {
  maxKeys: 3,
})
const anyTarget = fc.record(
  {
    type: fc.constantFrom('device' as const, 'gateway' as const, 'trunk' as const),
    delay_s: fc.integer({ min: 0, max: 60 }),
    timeout_s: fc.integer({ min: 1, max: 60 }),
    username: fc.oneof(hostile, fc.constant('desk')),
    realm: fc.oneof(hostile, fc.constant('acme.test')),
    uri: fc.oneof(
      hostile,
      fc.constantFrom('sip:a.test', 'sip:pre-process', 'sip:b@[::1]:5060;transport=tls'),
      hostile.map((text) => `sip:${text}@a.test`),
    ),
    number: fc.oneof(hostile, fc.constant('+14155550100')),
    resource_id: fc.oneof(hostile, fc.constantFrom('one', 'x')),
    proxy: fc.oneof(hostile, fc.constant('sip:proxy.test')),
    codecs: fc.array(hostile, { maxLength: 3 }),
    headers: anyHeaders,
    caller_id: anyCallerId,
    progress_timeout_s: fc.integer({ min: 1, max: 20 }),
    failover_codes: fc.array(fc.integer({ min: 300, max: 699 }), { maxLength: 3 }),
  },
  { requiredKeys: ['type', 'delay_s', 'timeout_s'] },
)
const anyRoute = fc.record({
  targets: fc.array(anyTarget, { maxLength: 6 }),
  caller_id: anyCallerId,
  variables: fc.dictionary(hostile, hostile, { maxKeys: 3 }),
  otherwise: fc.record({
    reason: hostile,
    sip_code: fc.integer({ min: 400, max: 699 }),
    sip_reason: hostile,
  }),
})

const ours =
  /^(?:leg_(?:delay_start|timeout|progress_timeout)|origination_(?:caller_id_name|caller_id_number|privacy)|absolute_codec_string|sip_h_[A-Za-z0-9-]+|ecallmgr_(?:Account-ID|Authorizing-Type|Resource-ID|Account-Billing|E164-Destination))$/
const dialable =
  /^(?:user\/[\w.~+-]+@[\w.-]+|sofia\/(?:internal|external)\/sip:[\w.~+%*-]*@?(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::\d+)?(?:;transport=\w+)?(?:;fs_path=[\w.%-]+)?|sofia\/gateway\/[\w.-]+-(?:[\w.-]+|\[[\da-fA-F:.]+\])\/[\w.+%*-]+)$/
const contact =
  /\$\{regex\(\$\{sofia_contact\(\*\/[\w.~+-]+@[\w.-]+\)\}\|\^\[\^@\]\+\(\.\*\)\|sofia\/internal\/sip:[\w.+%*-]+%1\)\}$/

const known = /^(?:set|unset|privacy|limit|bridge|respond)$/

describe('a text of a customer', () => {
  it('adds no expansion, variable, leg or command, wherever it is in a route', () => {
    fc.assert(
      fc.property(anyRoute, (fields) => {
        const written = actionsFor(
          route({ ...fields, targets: fields.targets.toSorted((a, b) => a.delay_s - b.delay_s) }),
          'account',
        )
        const text = callDocument('crosspoint', written)
        expect(hasOrders(text)).toBe(false)
        expect(actionsIn(text)).toEqual(written)
        for (const [application, data] of written) {
          expect(application).toMatch(known)
          if (application !== 'bridge') {
            expect(data).not.toMatch(/[$\\{}[\]|<>"'`]|:_:/)
            continue
          }
          // Our own look-up of where a server is registered is the one expansion.
          const fixed = data.replace(/\$\{regex\(.*?%1\)\}/g, (found) =>
            contact.test(found) ? 'user/a@b' : found,
          )
          expect(fixed).not.toContain('$')
          for (const { variables, endpoint } of legsIn(fixed)) {
            expect(endpoint).toMatch(dialable)
            for (const name of Object.keys(variables)) expect(name).toMatch(ours)
          }
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('is no expansion and no order in a directory, whose digest and variables are as many as they were', () => {
    fc.assert(
      fc.property(
        fc.record({
          username: fc.oneof(hostile, fc.constant('desk')),
          realm: fc.oneof(hostile, fc.constant('acme.test')),
          callerId: anyCallerId,
        }),
        ({ callerId: { privacy: _, ...callerId }, ...user }) => {
          const ids = { ha1: 'f'.repeat(32), accountId, deviceId: undefined, ownerId: undefined }
          const text = userDocument({ ...user, callerId, ...ids })
          if (text === undefined) return
          expect(hasOrders(text)).toBe(false)
          const [section] = readXml(text).children
          const [domain] = section?.children ?? []
          const [person] = domain?.children ?? []
          const [params, variables] = person?.children ?? []
          expect([domain?.attributes.name, person?.attributes.id]).toEqual([user.realm, user.username])
          expect(params?.children.map(({ attributes }) => attributes.name)).toEqual([
            'a1-hash',
            'dial-string',
          ])
          for (const { attributes } of variables?.children ?? []) {
            expect(attributes.name).toMatch(
              /^(?:user_context|effective_caller_id_(?:name|number)|accountcode|ecallmgr_Account-ID)$/,
            )
            expect(attributes.value).not.toMatch(/[$\\{}[\]|<>"'`,]|:_:/)
          }
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('that is a name stays readable', () => {
    expect(shownText("Zoë O'Brien & Söhne (Büro)")).toBe('Zoë O’Brien & Söhne (Büro)')
    expect(shownText('${system(reboot)}, "x" :_: <y>')).toBe('system(reboot) x _ y')
    expect(shownText('李'.repeat(200))).toBe('李'.repeat(80))
  })
})
