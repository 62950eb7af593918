// Where calls go: a table of cases. A small telephone system is described, and what the decision wants to know is looked
// up there.
import { describe, expect, it } from 'vitest'
import { effectiveLimits, noWishes } from '../../src/areas/billing/limits/rules.ts'
import type { Limits } from '../../src/areas/billing/limits/schema.ts'
import { compileNumbering } from '../../src/areas/numbers/phone-numbers/numbering.ts'
import type { CallflowQuery } from '../../src/areas/voice/routing/call.rules.ts'
import { isNumberAllowed } from '../../src/areas/voice/routing/callers.rules.ts'
import { type FactTable, factName, type Want } from '../../src/areas/voice/routing/facts.ts'
import { decideRoute } from '../../src/areas/voice/routing/rules.ts'
import type { RouteAnswer } from '../../src/areas/voice/routing/schema.ts'
import type { Json } from '../../src/lib/json.ts'
import type { OperatorLimits } from '../../src/lib/limit-shapes.ts'
import { compilePattern } from '../../src/lib/pattern.ts'
import { type SipPlace, sipAddress } from '../../src/lib/sip-host.ts'

type Docs = Readonly<Record<string, Json>>

/** One account, `acme`, next to `rival`. Names are ids. */
interface Town {
  /** The document of the account `acme`. */
  account?: Json
  users?: Docs
  devices?: Docs
  groups?: Docs
  callflows?: Docs
  isDisabled?: boolean
  /** The reseller of the account is `rival`. */
  isResold?: boolean
  rival?: { callflows: Docs; devices: Docs; isTold?: boolean; isDisabled?: boolean }
  numbers?: Readonly<Record<string, { accountId: string; isInService?: boolean; mustLeave?: boolean }>>
  wishes?: Limits
  operator?: OperatorLimits
  funds?: Partial<FactTable['funds']>
  gateways?: number
  /** By the numbers whose calls they take. */
  trunks?: Readonly<Record<string, FactTable['trunk']>>
  /** Forbidden hosts. */
  forbidden?: readonly string[]
}

const rules = { numbering: compileNumbering({}), flatRate: { classifiers: ['did_us'] } }

const gateway = (index: number, number: string) => ({
  resource_id: `carrier${index}`,
  uri: `sip:carrier${index}.test`,
  number,
  type: 'gateway',
  progress_timeout_s: 6,
  failover_codes: [503],
})

const signedIn = (doc: Json) => Object.keys((doc.hotdesk as { users?: Docs })?.users ?? {})

const placeOf = (town: Town, accountId: string) =>
  accountId === 'rival' ? { users: {}, groups: {}, ...town.rival } : town

const listed = (callflows: Docs, number: string) =>
  Object.entries(callflows).find(([, { numbers = [] }]) => (numbers as string[]).includes(number))

const found = <T>(id: string, docs: Readonly<Record<string, T>> | undefined) => {
  const doc = docs?.[id]
  return doc && { id, doc }
}

const patternedIn = (callflows: Docs) =>
  Object.entries(callflows).flatMap(([id, { patterns = [] }]) => {
    const compiled = (patterns as string[]).flatMap((text) => compilePattern(text).pattern ?? [])
    return compiled.length > 0 ? [{ id, patterns: compiled }] : []
  })

const reaching = (devices: Docs, userId: string) =>
  Object.entries(devices)
    .filter(([, doc]) => {
      const guests = signedIn(doc)
      return guests.length > 0 ? guests.includes(userId) : doc.owner_id === userId
    })
    .map(([id]) => id)

const accountIn = (town: Town, id: string) => {
  if (id !== 'acme' && (id !== 'rival' || !town.rival)) return undefined
  const { account = {}, rival } = town
  const isAcme = id === 'acme'
  const doc = { name: id, realm: `${id}.test`, ...(isAcme ? account : {}) }
  const isDisabled = (isAcme ? town.isDisabled : rival?.isDisabled) ?? false
  return { id, doc, isDisabled, isTold: isAcme || rival?.isTold !== false }
}

const look = (town: Town, { what, accountId, key }: Want): unknown => {
  const { users, devices = {}, groups, callflows = {} } = placeOf(town, accountId)
  switch (what) {
    case 'account':
      return accountIn(town, accountId)
    case 'user':
      return found(key, users)
    case 'device':
      return devices[key] && { ...found(key, devices), accountId }
    case 'devicesOf':
      return reaching(devices, key)
    case 'group':
      return found(key, groups)
    case 'callflow':
      return found(key, callflows)
    case 'callflowOf': {
      const [id, doc] = listed(callflows, key) ?? []
      return id && { id, doc }
    }
    case 'patterned':
      return patternedIn(callflows)
    case 'numberOwner': {
      const owner = town.numbers?.[key]
      return owner && { isInService: true, mustLeave: false, ...owner }
    }
    case 'limits':
      return effectiveLimits({ ...noWishes, ...town.wishes }, town.operator ?? {}, () => 0)
    case 'allowedCallerIds':
      if (accountId === 'rival') return { numbers: ['+4930*'] }
      return { numbers: town.operator?.caller_ids ?? [], ...(town.isResold ? { resellerId: 'rival' } : {}) }
    case 'callbackNumber':
      return Object.entries(town.numbers ?? {}).find(
        ([, { accountId: owner, isInService = true }]) => owner === accountId && isInService,
      )?.[0]
    case 'funds':
      return { balance: 100_000, overdraft: 0, ...town.funds }
    case 'destination': {
      const place = JSON.parse(key) as SipPlace
      return town.forbidden?.includes(place.host) ? undefined : { uri: sipAddress(place) }
    }
    case 'trunk':
      return town.trunks?.[key]
    case 'gateways': {
      const { number } = JSON.parse(key) as { number: string }
      return Array.from({ length: town.gateways ?? 1 }, (_, index) => gateway(index + 1, number))
    }
  }
}

const answerOf = (town: Town, asked: Partial<CallflowQuery>): RouteAnswer => {
  const question = { accountId: 'acme', from: 'account', number: '100', ...asked } as CallflowQuery
  const known = new Map<string, FactTable[keyof FactTable] | undefined>()
  for (let round = 0; round < 50; round += 1) {
    const decided = decideRoute(question, known, rules)
    if ('answer' in decided) return decided.answer
    expect(decided.wants.filter((want) => known.has(factName(want)))).toEqual([])
    for (const want of decided.wants) known.set(factName(want), look(town, want) as FactTable['user'])
  }
  throw new Error('the decision never has enough')
}

/** A target in a word: whom, from when, for how long. */
const wordOf = (target: RouteAnswer['targets'][number]) => {
  const { type, device_id, resource_id, number, uri, server, delay_s, timeout_s } = target
  if (type === 'trunk') return `${server}:${number}@${uri} ${delay_s}+${timeout_s}`
  return `${type === 'device' ? device_id : `${resource_id}:${number}`} ${delay_s}+${timeout_s}`
}

const brief = (town: Town, asked: Partial<CallflowQuery> = {}) => {
  const { decision, targets, reason } = answerOf(town, asked)
  return [decision, ...(reason === undefined ? [] : [reason]), ...targets.map(wordOf)].join(' | ')
}

const phone = (fields: Json = {}): Json => ({
  name: 'Phone',
  sip: { username: 'x' },
  enabled: true,
  ...fields,
})
const user = (fields: Json = {}): Json => ({ first_name: 'Ann', last_name: 'Acme', ...fields })
const rings = (module: string, id: string, data: Json = {}, next?: Json): Json => ({
  module,
  data: { id, ...data },
  children: next ? { _: next } : {},
})
const flow = (first: Json, fields: Json = { numbers: ['100'] }) => ({ patterns: [], ...fields, flow: first })
const out: Json = { module: 'resources', data: {}, children: {} }
const forward = (number: string, fields: Json = {}): Json => ({
  enabled: true,
  number,
  require_keypress: false,
  ...fields,
})

const ann = { users: { ann: user() } }
const desk = { devices: { desk: phone({ owner_id: 'ann' }), soft: phone({ owner_id: 'ann' }) } }
const toAnn: Docs = { f100: flow(rings('user', 'ann')) }
const home: Town = { ...ann, ...desk, callflows: toAnn }
const toWorld: Docs = { out: flow(out, { numbers: ['no_match'] }) }
const world: Town = { ...ann, ...desk, callflows: toWorld }
const us = '+14155550100'

describe('a call rings', () => {
  const cases: [title: string, town: Town, expected: string, asked?: Partial<CallflowQuery>][] = [
    ['all phones of a user together', home, 'ring | desk 0+20 | soft 0+20'],
    [
      'one phone, as long as its step says',
      { ...desk, callflows: { f: flow(rings('device', 'desk', { timeout: '7', delay: 2 })) } },
      'ring | desk 2+7',
    ],
    [
      'the next target when no phone takes the call, in order',
      {
        ...ann,
        ...desk,
        devices: { ...desk.devices, spare: phone(), last: phone() },
        callflows: {
          f: flow(rings('device', 'desk', { timeout: 5 }, rings('user', 'ann', {}, rings('device', 'last')))),
        },
      },
      'ring | desk 0+5 | desk 5+20 | soft 5+20 | last 25+20',
    ],
    ['no phone of a user without phones', { ...ann, callflows: toAnn }, 'refuse | no_devices'],
    ['no phone of a user that does not exist', { callflows: toAnn }, 'refuse | no_devices'],
    [
      'the phone at which a user has signed in, not the owner of that phone',
      {
        users: { ann: user(), bob: user() },
        devices: {
          desk: phone({ owner_id: 'ann' }),
          guest: phone({ owner_id: 'bob', hotdesk: { users: { ann: {} } } }),
        },
        callflows: { a: flow(rings('user', 'ann')), b: flow(rings('user', 'bob'), { numbers: ['200'] }) },
      },
      'ring | desk 0+20 | guest 0+20',
    ],
    ['not the phone that calls', home, 'ring | soft 0+20', { deviceId: 'desk' }],
    [
      'not what is switched off',
      {
        ...home,
        devices: { desk: phone({ owner_id: 'ann', enabled: false }), soft: phone({ owner_id: 'ann' }) },
      },
      'ring | soft 0+20',
    ],
    [
      'no phone of a user who is switched off, without naming the reason',
      { ...home, users: { ann: user({ enabled: false }) } },
      'refuse | no_devices',
    ],
    [
      'no phone that never registers',
      { ...home, devices: { desk: phone({ owner_id: 'ann', device_type: 'landline' }) } },
      'refuse | no_devices',
    ],
    [
      'no phone of a user with do not disturb',
      { ...home, users: { ann: user({ do_not_disturb: { enabled: true } }) } },
      'refuse | do_not_disturb',
    ],
    [
      'only the phone that may be disturbed',
      {
        ...home,
        devices: {
          desk: phone({ owner_id: 'ann', do_not_disturb: { enabled: true } }),
          soft: phone({ owner_id: 'ann' }),
        },
      },
      'ring | soft 0+20',
    ],
    [
      'no phone while the account has do not disturb',
      { ...home, account: { do_not_disturb: { enabled: true } } },
      'refuse | do_not_disturb',
    ],
    [
      'what another callflow rings',
      { ...home, callflows: { ...toAnn, g: flow(rings('callflow', 'f100'), { numbers: ['200'] }) } },
      'ring | desk 0+20 | soft 0+20',
      { number: '200' },
    ],
    [
      'no phone in callflows that lead to each other',
      {
        callflows: { a: flow(rings('callflow', 'b')), b: flow(rings('callflow', 'a'), { numbers: ['200'] }) },
      },
      'refuse | no_devices',
    ],
    ['who dialled with spaces', home, 'ring | desk 0+20 | soft 0+20', { number: ' 10 0 ' }],
    ['no phone at a number that is in no callflow', home, 'refuse | unknown_number', { number: '300' }],
  ]

  it.each(cases)('%s', (_title, town, expected, asked) => expect(brief(town, asked)).toBe(expected))
})

describe('a group rings', () => {
  const three = { a: phone(), b: phone(), c: phone() }
  const member = (id: string, fields: Json = {}) => ({ endpoint_type: 'device', id, ...fields })
  const group = (endpoints: Json[], data: Json = {}): Town => ({
    devices: three,
    callflows: { f: flow({ module: 'ring_group', data: { endpoints, ...data }, children: {} }) },
  })
  const members = [
    member('a', { timeout: 10 }),
    member('b', { delay: 5, weight: 9 }),
    member('c', { timeout: 3 }),
  ]
  const nested = (groups: Docs): Town => ({
    ...ann,
    devices: { ...three, desk: phone({ owner_id: 'ann' }) },
    groups,
    callflows: {
      f: flow({
        module: 'ring_group',
        data: { endpoints: [{ endpoint_type: 'group', id: 'g', delay: 1, timeout: 15 }] },
        children: {},
      }),
    },
  })

  it.each([
    ['its members with their delays and times', group(members), 'ring | a 0+10 | c 0+3 | b 5+20'],
    ['them one after the other', group(members, { strategy: 'single' }), 'ring | a 0+10 | b 10+20 | c 30+3'],
    [
      'them by weight, one after the other',
      group(members, { strategy: 'weighted_random' }),
      'ring | b 0+20 | a 20+10 | c 30+3',
    ],
    ['them again', group([member('a', { timeout: 4 })], { repeats: 3 }), 'ring | a 0+4 | a 4+4 | a 8+4'],
    [
      'those of groups in it, no longer than it rings',
      nested({
        g: { endpoints: { a: { type: 'device', timeout: 40 }, h: { type: 'group', delay: 2 } } },
        h: { endpoints: { ann: { type: 'user', timeout: 5 } } },
      }),
      'ring | a 1+15 | desk 3+5',
    ],
    [
      'no phone twice through groups that hold each other',
      nested({
        g: { endpoints: { h: { type: 'group' }, a: { type: 'device' } } },
        h: { endpoints: { g: { type: 'group' } } },
      }),
      'ring | a 1+15',
    ],
    ['no phone without members', group([]), 'refuse | no_devices'],
    ['no phone of a group that does not exist', nested({}), 'refuse | no_devices'],
  ])('%s', (_title, town, expected) => expect(brief(town)).toBe(expected))
})

describe('the callflow of a number', () => {
  const towards = (numbers: string[], patterns: string[], id: string) =>
    flow(rings('device', id), { numbers, patterns })
  const town: Town = {
    devices: { listed: phone(), short: phone(), long: phone(), rest: phone() },
    callflows: {
      listed: towards(['501', us], [], 'listed'),
      short: towards([], ['^5(\\d)'], 'short'),
      long: towards([], ['^5(\\d+)$', '^\\+1415(\\d{7})$'], 'long'),
      rest: towards(['no_match'], [], 'rest'),
    },
  }

  it.each([
    ['501', 'listed'],
    [us, 'listed'],
    ['4155550100', 'listed'],
    ['(415) 555-0100', 'listed'],
    ['502', 'long'],
    ['5x', 'rest'],
    ['5 3', 'short'],
    ['4155550199', 'long'],
    ['700', 'rest'],
    ['+442079460000', 'rest'],
  ])('%s is %s', (number, expected) => expect(brief(town, { number })).toBe(`ring | ${expected} 0+20`))

  it('is found by what the dial plans of device, user and account make of it, in this order', () => {
    const plan = (prefix: string) => ({ dial_plan: { '^(\\d{7})$': { prefix } } })
    const of = (docs: { device?: Json; user?: Json; account?: Json }): Town => ({
      ...town,
      account: docs.account ?? {},
      users: { ann: user(docs.user) },
      devices: { ...town.devices, desk: phone({ owner_id: 'ann', ...docs.device }) },
    })
    const call = { number: '5550100', deviceId: 'desk' }
    const good = plan('415')
    const bad = plan('212')
    expect(brief(of({ device: good, user: bad, account: bad }), call)).toBe('ring | listed 0+20')
    expect(brief(of({ user: good, account: bad }), call)).toBe('ring | listed 0+20')
    expect(brief(of({ account: good }), call)).toBe('ring | listed 0+20')
  })
})

describe('a flow ends', () => {
  const ending = (town: Town, asked: Partial<CallflowQuery> = {}) => {
    const { reason, module, sip_code, sip_reason, otherwise } = answerOf(town, asked)
    return otherwise ? { otherwise } : { reason, module, sip_code, sip_reason }
  }
  const says = (data: Json): Json => ({ module: 'response', data, children: {} })

  it.each([
    [
      'with what a response says',
      says({ code: 603, message: 'Not now\r\n' }),
      { reason: 'response', sip_code: 603, sip_reason: 'Not now' },
    ],
    ['busy when it has no code', says({}), { reason: 'response', sip_code: 486, sip_reason: 'Busy Here' }],
    [
      'with a refusal even where the code is a success',
      says({ code: 200 }),
      { reason: 'response', sip_code: 400, sip_reason: 'Declined' },
    ],
    [
      'where the flow hangs up',
      { module: 'hangup', data: {} },
      { reason: 'hung_up', sip_code: 603, sip_reason: 'Decline' },
    ],
    [
      'where a media server is needed',
      { module: 'menu', data: { id: 'm' } },
      { reason: 'needs_media_server', module: 'menu', sip_code: 501, sip_reason: 'Not Implemented' },
    ],
  ])('%s', (_title, first, expected) => {
    expect(ending({ callflows: { f: flow(first) } })).toEqual(expected)
  })

  it('after phones ring, and the answer has both', () => {
    const then = (next: Json): Town => ({ ...home, callflows: { f: flow(rings('user', 'ann', {}, next)) } })
    expect(ending(then({ module: 'voicemail', data: {} }))).toEqual({
      otherwise: {
        reason: 'needs_media_server',
        module: 'voicemail',
        sip_code: 501,
        sip_reason: 'Not Implemented',
      },
    })
    expect(ending(then(says({ code: 480 })))).toEqual({
      otherwise: { reason: 'response', sip_code: 480, sip_reason: 'Temporarily Unavailable' },
    })
  })
})

describe('a server that takes the calls of a number', () => {
  const number = '+14155550300'
  const other = '+14155550301'
  const server = (more: Partial<Exclude<FactTable['trunk'], 'disabled'>> = {}) => ({
    type: 'trunk' as const,
    trunk_id: 'trunk',
    server: 'pbx',
    account_id: 'acme',
    number: '4155550300',
    uri: 'sip:pbx.test',
    delay_s: 0,
    timeout_s: 20,
    ...more,
  })
  const owned = { [number]: { accountId: 'acme' }, [other]: { accountId: 'acme' } }
  const town = (trunks: NonNullable<Town['trunks']>, more: Town = {}): Town => ({
    ...home,
    numbers: owned,
    trunks,
    ...more,
  })
  const pbx = 'pbx:4155550300@sip:pbx.test 0+20'
  const inbound = { from: 'carrier' as const, number, caller: '+33100000000' }
  const there = '+14155550199'

  it.each([
    ['takes them', town({ [number]: server() }), `ring | ${pbx}`],
    [
      'has another place behind it',
      town({ [number]: server({ failover: { uri: 'sip:spare.test', user: 'desk' } }) }),
      `ring | ${pbx} | pbx:desk@sip:spare.test 20+120`,
    ],
    [
      'has the number as it was called behind it, where that place says no user',
      town({ [number]: server({ failover: { uri: 'sip:spare.test' } }) }),
      `ring | ${pbx} | pbx:${number}@sip:spare.test 20+120`,
    ],
    [
      'has a number outside behind it',
      town({ [number]: server({ failover: { number: there } }) }),
      `ring | ${pbx} | carrier1:${there} 20+120`,
    ],
    [
      'has no failover to carriers without credit',
      town({ [number]: server({ failover: { number: there } }) }, { funds: { balance: 0 } }),
      `ring | ${pbx}`,
    ],
    [
      'has a number of the account behind it',
      town({
        [number]: server({ failover: { number: other } }),
        [other]: server({ server: 'spare', number: '4155550301' }),
      }),
      `ring | ${pbx} | spare:4155550301@sip:pbx.test 20+20`,
    ],
    [
      'has itself behind it no second time',
      town({
        [number]: server({ failover: { number: other } }),
        [other]: server({ server: 'spare', number: '4155550301', failover: { number } }),
      }),
      `ring | ${pbx} | spare:4155550301@sip:pbx.test 20+20`,
    ],
    [
      'never has emergency services behind it',
      town({ [number]: server({ failover: { number: '911' } }) }),
      `ring | ${pbx}`,
    ],
  ])('%s', (_title, place, expected) => expect(brief(place, inbound)).toBe(expected))

  it('is called by a user name that is an extension without a charge, and by one that is a number with one', () => {
    const named = (user: string) =>
      answerOf(town({ [number]: server({ number: user, isRenamed: true }) }), inbound).targets[0]
    expect(named('pbx')).toMatchObject({ number: 'pbx', uri: 'sip:pbx.test' })
    expect(named('pbx')).not.toHaveProperty('account_billing')
    expect(named(other)).not.toHaveProperty('account_billing')
    expect(named(there)).toMatchObject({
      number: there,
      uri: 'sip:pbx.test',
      called: there,
      account_billing: 'per_minute',
    })
    const coming = { ...owned, [there]: { accountId: 'acme', isInService: false, mustLeave: true } }
    const trunk = server({ number: there, isRenamed: true })
    expect(answerOf(town({ [number]: trunk }, { numbers: coming }), inbound).targets[0]).toMatchObject({
      called: there,
      account_billing: 'per_minute',
    })
  })

  it('has a failover that the account pays for, and shows the external caller ID there', () => {
    const doc = { caller_id: { internal: { number: '101' }, external: { number: '+14155550111' } } }
    const numbers = { '+14155550111': { accountId: 'acme' } }
    const place = town(
      { [number]: server({ failover: { number: there } }) },
      { account: doc, numbers, callflows: { ...toAnn, ...toWorld } },
    )
    const { targets, caller_id, variables } = answerOf(place, { number, deviceId: 'desk' })
    expect(caller_id).toEqual({ number: '101', name: 'Ann Acme' })
    expect(targets[1]?.caller_id).toEqual({ number: '+14155550111' })
    expect(targets[1]).toMatchObject({ account_billing: 'per_minute', called: '+14155550199' })
    expect(variables).not.toHaveProperty('account_billing')
  })
})

describe('a device with a SIP URI as its route', () => {
  const at = (route: string, more: Town = {}): Town => ({
    devices: { desk: phone(), far: phone({ sip: { invite_format: 'route', route } }) },
    callflows: { f100: flow(rings('device', 'far')) },
    ...more,
  })
  const number = '+14155550199'
  const denied = (classification: string) => ({
    account: { call_restriction: { [classification]: { action: 'deny' } } },
  })

  it('is charged like a call to the number in the URI', () => {
    const { decision, targets, limits } = answerOf(
      at(`sip:${number}@pbx.test`, { wishes: { calls: 5, resource_consuming_calls: 3 } }),
      {},
    )
    expect({ decision, targets, limits }).toEqual({
      decision: 'ring',
      targets: [
        {
          type: 'device',
          device_id: 'far',
          realm: 'acme.test',
          uri: `sip:${number}@pbx.test`,
          called: number,
          account_billing: 'per_minute',
          delay_s: 0,
          timeout_s: 20,
        },
      ],
      limits: { calls: 5, carrier_calls: 3 },
    })
  })

  it.each<[string, Town, string]>([
    ['rings there', at('sip:desk@pbx.test'), 'ring | far 0+20'],
    ['rings at a host alone', at('sip:pbx.test'), 'ring | far 0+20'],
    [
      'does not ring at a host that is forbidden',
      at('sip:desk@carrier.test', { forbidden: ['carrier.test'] }),
      'refuse | forbidden_destination',
    ],
    [
      'does not ring without credit',
      at(`sip:${number}@pbx.test`, { funds: { balance: 0 } }),
      'refuse | no_credit',
    ],
    [
      'does not ring a user name without credit',
      at('sip:desk@pbx.test', { funds: { balance: 0 } }),
      'refuse | no_credit',
    ],
    [
      'does not ring a number that the account may not call',
      at(`sip:${number}@pbx.test`, denied('did_us')),
      'refuse | forbidden_classifier',
    ],
    ['never rings emergency services', at('sip:911@pbx.test'), 'refuse | forbidden_classifier'],
    [
      'does not ring at a URI with maddr',
      at('sip:desk@pbx.test;maddr=192.0.2.1'),
      'refuse | forbidden_destination',
    ],
    [
      'does not ring at a URI with a Route header',
      at('sip:desk@pbx.test?Route=%3Csip:x%3E'),
      'refuse | forbidden_destination',
    ],
    ['does not ring at a tel URI', at('tel:+19005550123'), 'refuse | forbidden_destination'],
  ])('%s', (_title, town, expected) => expect(brief(town)).toBe(expected))

  const pbx = (username: string) => ({ method: 'ip', ip: '192.0.2.9', username })
  const calling = (username: string, more: Town = {}) =>
    answerOf(at('', { devices: { desk: phone(), far: phone({ sip: pbx(username) }) }, ...more }), {})

  it.each([
    ['an extension', '100', {}],
    ['a number of the account', number, { numbers: { [number]: { accountId: 'acme' } } }],
    [
      'a number of the account that must leave when it is dialled',
      number,
      { numbers: { [number]: { accountId: 'acme', mustLeave: true } } },
    ],
  ])('is not charged at a fixed IP address if the user there is %s', (_title, username, more) => {
    const { targets, limits } = calling(username, more)
    expect(targets[0]).toMatchObject({ device_id: 'far', uri: `sip:${username}@192.0.2.9` })
    expect(targets[0]).not.toHaveProperty('account_billing')
    expect(limits).toEqual({})
  })

  it.each<[string, NonNullable<Town['numbers']>]>([
    ['is not of the account', {}],
    ['is of another account', { [number]: { accountId: 'rival' } }],
    [
      'the account does not have in service',
      { [number]: { accountId: 'acme', isInService: false, mustLeave: true } },
    ],
  ])('leaves the platform at a fixed IP address if the user there is a number that %s', (_title, numbers) => {
    const { targets, limits } = calling(number, {
      numbers,
      wishes: { calls: 5, resource_consuming_calls: 3 },
    })
    expect(targets[0]).toMatchObject({
      device_id: 'far',
      uri: `sip:${number}@192.0.2.9`,
      called: number,
      account_billing: 'per_minute',
    })
    expect(limits).toEqual({ calls: 5, carrier_calls: 3 })
  })
})

describe('forwarding', () => {
  const of = (fields: { user?: Json; desk?: Json; soft?: Json }, more: Town = {}): Town => ({
    users: { ann: user(fields.user) },
    devices: {
      desk: phone({ owner_id: 'ann', ...fields.desk }),
      soft: phone({ owner_id: 'ann', ...fields.soft }),
      bob: phone(),
    },
    callflows: {
      ...toAnn,
      bob: flow(rings('device', 'bob'), { numbers: ['200'] }),
      group: flow(
        { module: 'ring_group', data: { endpoints: [{ endpoint_type: 'user', id: 'ann' }] } },
        { numbers: ['300'] },
      ),
    },
    ...more,
  })
  const away = (fields: Json = {}) => ({ call_forward: forward('4155550199', fields) })
  const gone = 'carrier1:+14155550199'

  it.each([
    ['rings the number instead of all phones of a user', of({ user: away() }), `forward | ${gone} 0+120`],
    [
      'rings it together with the phones',
      of({ user: away({ substitute: false }) }),
      `ring | desk 0+20 | soft 0+20 | ${gone} 0+120`,
    ],
    ['of a device rings it instead of that one', of({ desk: away() }), `ring | ${gone} 0+120 | soft 0+20`],
    [
      'when unconditional holds too',
      of({ user: { call_forward: { enabled: false, unconditional: forward('200') } } }),
      'ring | bob 0+20',
    ],
    ['rings an extension', of({ user: { call_forward: forward('200') } }), 'ring | bob 0+20'],
    [
      'that asks for a key rings the number without it where it rings alone',
      of({ user: away({ require_keypress: true }) }),
      `forward | ${gone} 0+120`,
    ],
    [
      'of one of several phones that asks for a key rings that phone',
      of({ desk: away({ require_keypress: true }) }),
      'ring | desk 0+20 | soft 0+20',
    ],
    [
      'that asks for a key follows without it when no phone answers',
      of({ user: away({ require_keypress: true, failover: true }) }),
      `ring | desk 0+20 | soft 0+20 | ${gone} 20+120`,
    ],
    [
      'that asks for a key rings only the phones',
      of({ user: away({ require_keypress: undefined, substitute: false }) }),
      'ring | desk 0+20 | soft 0+20',
    ],
    [
      'follows when it is only for unanswered calls',
      of({ user: away({ failover: true }) }),
      `ring | desk 0+20 | soft 0+20 | ${gone} 20+120`,
    ],
    [
      'follows when the user does not answer or is busy',
      of({ user: { call_forward: { enabled: false, busy: forward('200'), no_answer: forward('200') } } }),
      'ring | desk 0+20 | soft 0+20 | bob 20+20',
    ],
    [
      'follows as failover',
      of({ user: { call_failover: forward('200') } }),
      'ring | desk 0+20 | soft 0+20 | bob 20+20',
    ],
    ['that leads back leads nowhere', of({ user: { call_forward: forward('100') } }), 'refuse | no_devices'],
    [
      'to nowhere leads nowhere',
      of({ user: { call_forward: forward('999999') } }),
      'refuse | unknown_number',
    ],
    [
      'to emergency services is none',
      of({ user: { call_forward: forward('911') } }),
      'refuse | forbidden_classifier',
    ],
    [
      'without a number is none',
      of({ user: { call_forward: { enabled: true, number: '' } } }),
      'ring | desk 0+20 | soft 0+20',
    ],
    [
      'is not done for a user that may not call that number',
      of({ user: { ...away(), call_restriction: { did_us: { action: 'deny' } } } }),
      'refuse | forbidden_classifier',
    ],
    ['is not done without money', of({ user: away() }, { funds: { balance: 0 } }), 'refuse | no_credit'],
    [
      'is not done for a user with do not disturb',
      of({ user: { ...away(), do_not_disturb: { enabled: true } } }),
      'refuse | do_not_disturb',
    ],
  ])('%s', (_title, town, expected) => expect(brief(town)).toBe(expected))

  it('for direct calls only is not done for those of groups', () => {
    const town = of({ user: away({ direct_calls_only: true }) })
    expect(brief(town)).toBe(`forward | ${gone} 0+120`)
    expect(brief(town, { number: '300' })).toBe('ring | desk 0+20 | soft 0+20')
    expect(brief(of({ user: away() }), { number: '300' })).toBe(`forward | ${gone} 0+120`)
  })

  it('that asks for a key leaves the phones to calls of groups, and says what it needs', () => {
    const town = of({ user: away({ require_keypress: true }) })
    expect(brief(town, { number: '300' })).toBe('ring | desk 0+20 | soft 0+20')
    const [leftOut] = answerOf(town, { number: '300' }).left_out
    expect(leftOut).toEqual({ type: 'user', id: 'ann', reason: 'needs_media_server' })
  })

  it('shows who calls, or who forwards', () => {
    const own = { caller_id: { external: { name: 'Ann', number: '+14155550111' } } }
    const caller = { deviceId: 'bob', caller: '200' }
    const account = { caller_id: { external: { name: 'Acme', number: '+14155550100' } } }
    const numbers = Object.fromEntries(
      ['+14155550100', '+14155550111'].map((one) => [one, { accountId: 'acme' }]),
    )
    const shown = (fields: Json) =>
      answerOf(of({ user: { ...own, ...away(fields) } }, { account, numbers }), caller).caller_id
    expect(shown({})).toEqual({ name: 'Acme', number: '+14155550100' })
    expect(shown({ keep_caller_id: false })).toEqual({ name: 'Ann', number: '+14155550111' })
    const carrier = { from: 'carrier', number: us, caller: '+33100000000' } as const
    const inbound = of({ user: away() }, { callflows: { f: flow(rings('user', 'ann'), { numbers: [us] }) } })
    expect(answerOf(inbound, carrier)).toMatchObject({
      caller_id: { number: '+33100000000' },
      targets: [{ type: 'gateway', asserted_number: '' }],
    })
    const numbered = { ...inbound, account, numbers: { ...numbers, [us]: { accountId: 'acme' } } }
    expect(answerOf(numbered, carrier).targets).toMatchObject([{ asserted_number: '+14155550100' }])
    expect(answerOf(of({ user: away({}) }, { account, numbers }), caller).targets[0]).not.toHaveProperty(
      'asserted_number',
    )
  })
})

describe('a call that leaves the account', () => {
  const call = { number: '4155550199', deviceId: 'desk' }
  const gone = 'carrier1:+14155550199'
  const deny = { call_restriction: { did_us: { action: 'deny' } } }
  const with_ = (fields: { user?: Json; device?: Json }, more: Town = {}): Town => ({
    ...world,
    users: { ann: user(fields.user) },
    devices: { desk: phone({ owner_id: 'ann', ...fields.device }) },
    ...more,
  })

  it.each([
    ['goes to a carrier', world, `offnet | ${gone} 0+120`],
    [
      'goes to the next one after the time that the first has',
      { ...world, gateways: 2 },
      `offnet | ${gone} 0+120 | carrier2:+14155550199 6+120`,
    ],
    ['goes nowhere without carriers', { ...world, gateways: 0 }, 'refuse | no_carrier'],
    ['goes nowhere without a callflow for it', home, 'refuse | unknown_number'],
    ['goes nowhere for a device that may not', with_({ device: deny }), 'refuse | forbidden_classifier'],
    ['goes nowhere for a user who may not', with_({ user: deny }), 'refuse | forbidden_classifier'],
    [
      'goes nowhere for an account that may not',
      { ...world, account: deny },
      'refuse | forbidden_classifier',
    ],
    [
      'goes where the next level decides and none denies',
      with_({ device: { call_restriction: { did_us: { action: 'inherit' } } } }),
      `offnet | ${gone} 0+120`,
    ],
    ['goes nowhere without money', { ...world, funds: { balance: 0 } }, 'refuse | no_credit'],
    [
      'goes nowhere with what is kept in reserve alone',
      { ...world, funds: { balance: 5000 } },
      'refuse | no_credit',
    ],
    [
      'goes with more than is kept in reserve',
      { ...world, funds: { balance: 5001 } },
      `offnet | ${gone} 0+120`,
    ],
    [
      'goes nowhere for an account that may not pay by the minute',
      { ...world, wishes: { allow_prepay: false } },
      'refuse | no_credit',
    ],
    [
      'goes out for an account that pays later',
      { ...world, funds: { balance: -1000, overdraft: 10_000 }, operator: { allow_postpay: true } },
      `offnet | ${gone} 0+120`,
    ],
    [
      'goes with a trunk',
      { ...world, funds: { balance: 0 }, wishes: { outbound_trunks: 1 } },
      `offnet | ${gone} 0+120`,
    ],
    [
      'goes with what is included',
      { ...world, funds: { balance: 0, allotment: 'did_us' } },
      `offnet | ${gone} 0+120`,
    ],
    [
      'goes out for an account without limits',
      { ...world, funds: { balance: 0 }, operator: { enabled: false } },
      `offnet | ${gone} 0+120`,
    ],
    [
      'goes nowhere for an account that may have no calls',
      { ...world, wishes: { calls: 0 } },
      'refuse | limit_reached',
    ],
    [
      'goes nowhere for an account that may have no calls over carriers',
      { ...world, wishes: { resource_consuming_calls: 0 } },
      'refuse | limit_reached',
    ],
    ['goes nowhere for a device that is not there', { ...world, devices: {} }, 'refuse | unknown_device'],
    [
      'goes nowhere for a device that is switched off',
      with_({ device: { enabled: false } }),
      'refuse | device_disabled',
    ],
    [
      'goes nowhere for a user who is switched off',
      with_({ user: { enabled: false } }),
      'refuse | user_disabled',
    ],
    [
      'goes nowhere for an account that is switched off',
      { ...world, isDisabled: true },
      'refuse | account_disabled',
    ],
    [
      'goes to a fixed number',
      {
        ...world,
        callflows: {
          o: flow({ module: 'offnet', data: { to_did: '+14155550177' } }, { numbers: ['no_match'] }),
        },
      },
      'offnet | carrier1:+14155550177 0+120',
    ],
  ])('%s', (_title, town, expected) => expect(brief(town, call)).toBe(expected))

  it('of another kind than trunks are for needs money', () => {
    const town = { ...world, funds: { balance: 0 }, wishes: { twoway_trunks: -1 } }
    expect(brief(town, call)).toBe(`offnet | ${gone} 0+120`)
    expect(brief(town, { ...call, number: '+442079460000' })).toBe('refuse | no_credit')
  })

  it.each([
    ['per_minute', {}, {}],
    [
      'flat_rate',
      { wishes: { outbound_trunks: 2, twoway_trunks: 3, calls: 9 } },
      { calls: 9, carrier_calls: 5 },
    ],
    ['flat_rate', { wishes: { twoway_trunks: -1, resource_consuming_calls: 4 } }, { carrier_calls: 4 }],
    ['allotment_did_us', { funds: { allotment: 'did_us' } }, {}],
    ['per_minute', { wishes: { calls: 9 }, operator: { enabled: false } }, {}],
  ] as const)('says that it is paid %s, and how many there may be', (billing, more, limits) => {
    const { targets, variables, limits: told } = answerOf({ ...world, ...more } as Town, call)
    expect(targets).toMatchObject([{ type: 'gateway', called: '+14155550199', account_billing: billing }])
    expect(variables).toEqual({
      authorizing_id: 'desk',
      authorizing_type: 'device',
      owner_id: 'ann',
      callflow_id: 'out',
      classification: 'did_us',
    })
    expect(told).toEqual(limits)
  })

  const id = (number: string) => ({ caller_id: { external: { name: number, number } } })
  const [one, two, three] = ['+14155550101', '+14155550102', '+14155550103']
  const numbers = Object.fromEntries([one, two, three].map((number) => [number, { accountId: 'acme' }]))
  const shown = (town: Town, asked: Partial<CallflowQuery> = {}) =>
    answerOf(town, { ...call, caller: '100', ...asked }).caller_id

  it('shows the external caller id of device, user, then account, and what of it is hidden', () => {
    const own = (fields: Parameters<typeof with_>[0], more: Town = {}) =>
      shown(with_(fields, { numbers, ...more }))
    expect(own({ device: id(one), user: id(two) }, { account: id(three) })).toEqual({
      name: one,
      number: one,
    })
    expect(own({ user: id(two) }, { account: id(three) })).toEqual({ name: two, number: two })
    expect(own({}, { account: id(three) })).toEqual({ name: three, number: three })
    const hidden = (outbound_privacy: string) => ({ caller_id_options: { outbound_privacy } })
    expect(own({ user: { ...id(two), ...hidden('full') } })).toEqual({
      name: two,
      number: two,
      privacy: 'full',
    })
    expect(own({ device: hidden('none'), user: { ...id(two), ...hidden('full') } })).toEqual({
      name: two,
      number: two,
    })
  })

  it('shows a number that the account has in service or that its operator allows, else another number of the account, else none', () => {
    const foreign = '+49301234567'
    const fields = { device: id(foreign), user: id(two) }
    expect(shown(with_(fields, { numbers }))).toEqual({ name: foreign, number: two })
    expect(shown(with_({ device: id(foreign) }, { numbers }))).toEqual({ name: foreign, number: one })
    for (const written of ['4155550102', '(415) 555-0102', '011 1 415 555 0102'])
      expect(shown(with_({ device: id(written) }, { numbers }))).toMatchObject({ number: two })
    const others = { [two]: { accountId: 'rival' }, [one]: { accountId: 'acme', isInService: false } }
    expect(shown(with_({ device: id(one), user: id(two) }, { numbers: others }))).toEqual({ privacy: 'full' })
    for (const allowed of [foreign, '+4930*', '*'])
      expect(shown(with_(fields, { numbers, operator: { caller_ids: [allowed] } }))).toMatchObject({
        number: foreign,
      })
    for (const allowed of ['+4930123456', '+4931*'])
      expect(shown(with_(fields, { numbers, operator: { caller_ids: [allowed] } }))).toMatchObject({
        number: two,
      })
  })

  it('shows an allowed number in E.164, however it is written, and no text that is not a phone number', () => {
    const shownOf = (written: string, allowed: string) => {
      const operator = { caller_ids: [allowed] }
      return shown(with_({ device: id(written), user: id(two) }, { numbers, operator })).number
    }
    for (const allowed of ['+4930123*', '*'])
      for (const written of ['0049301234567', '+49 30 1234567', '011 49 30 1234567'])
        expect(shownOf(written, allowed)).toBe('+49301234567')
    const wrong = [
      '+4930123@evil.example',
      '+4930123 " <sip:911@x>',
      '+4930123*',
      '+4930123abc',
      '+493012345678901234',
      '911',
      'anonymous',
      '"><sip:a@b>',
    ]
    for (const allowed of ['+4930123*', '*'])
      for (const written of wrong) expect([written, shownOf(written, allowed)]).toEqual([written, two])
    // An operator may set numbering rules that take longer numbers and others without a plus.
    for (const number of ['+4930123456789012', '49301234567', ''])
      expect([number, isNumberAllowed(number, ['*', '+4930123*', number])]).toEqual([number, false])
    expect(shown(with_({ device: id('anonymous') }, { operator: { caller_ids: ['*'] } }))).toEqual({
      privacy: 'full',
    })
  })

  it('shows no number that a reseller allows and may not show itself', () => {
    const resold = (number: string) =>
      shown(with_({ device: id(number) }, { numbers, isResold: true, operator: { caller_ids: ['*'] } }))
    expect(resold('+49301234567')).toMatchObject({ number: '+49301234567' })
    expect(resold('+49401234567')).toMatchObject({ number: one })
  })

  it('hides a caller who does not want to be shown, inside and outside', () => {
    expect(shown(with_({ user: id(two) }, { numbers }), { isWithheld: true })).toEqual({
      name: two,
      number: two,
      privacy: 'full',
    })
    expect(answerOf(home, { deviceId: 'desk', caller: '101', isWithheld: true }).caller_id).toEqual({
      name: 'Ann Acme',
      number: '101',
      privacy: 'full',
    })
    const asked = {
      from: 'carrier',
      number: us,
      caller: '+33100000000',
      callerName: 'Zoë',
      isWithheld: true,
    } as const
    const inbound: Town = { ...home, callflows: { f: flow(rings('user', 'ann'), { numbers: [us] }) } }
    expect(answerOf(inbound, asked).caller_id).toEqual({
      name: 'Zoë',
      number: '+33100000000',
      privacy: 'full',
    })
  })

  it('shows the realm of the account as the domain, or what the call flow wants', () => {
    const realmOf = (data: Json) =>
      answerOf({ ...world, callflows: { f: flow({ ...out, data }, { numbers: ['no_match'] }) } }, call)
        .targets[0]?.from_realm
    expect(realmOf({})).toBe('acme.test')
    expect(realmOf({ from_uri_realm: 'sip.acme.example' })).toBe('sip.acme.example')
    expect(realmOf({ from_uri_realm: '2001:db8::1' })).toBe('[2001:db8::1]')
    expect(realmOf({ from_uri_realm: 'not a host' })).toBe('acme.test')
  })
})

describe('a call to emergency services', () => {
  const call = { number: '911', deviceId: 'desk' }
  const deny = { emergency: { action: 'deny' } }

  it.each([
    ['without a callflow', home],
    ['without money', { ...home, funds: { balance: 0 }, wishes: { calls: 0, allow_prepay: false } }],
    ['of an account that may call no number', { ...home, account: { call_restriction: deny } }],
    ['of an account that is switched off', { ...home, isDisabled: true }],
    ['of a user who is switched off', { ...home, users: { ann: user({ enabled: false }) } }],
    ['of a device that is switched off', { ...home, devices: { desk: phone({ enabled: false }) } }],
    ['of a device that is not there', { ...home, devices: {} }],
    [
      'although a callflow lists the number',
      { ...home, callflows: { x: flow(rings('user', 'ann'), { numbers: ['911'] }) } },
    ],
  ] as const)('goes out %s', (_title, town) => {
    const answer = answerOf(town as Town, call)
    expect(answer).toMatchObject({ decision: 'offnet', emergency: true, number: '911', limits: {} })
    expect(answer.targets.map(wordOf)).toEqual(['carrier1:911 0+120'])
  })

  it('shows the emergency caller id, else the external one, and hides nothing', () => {
    const options = { caller_id_options: { outbound_privacy: 'full' } }
    const [emergency, external] = ['(415) 555-0109', '+1 415 555 0108']
    const caller_id = { emergency: { number: emergency }, external: { name: 'E', number: external } }
    const shown = (account: Json) =>
      answerOf({ ...home, account: { ...options, ...account } }, call).caller_id
    expect(shown({ caller_id })).toEqual({ name: 'E', number: '+14155550109' })
    for (const wrong of ['911', 'anonymous', '+14155550109@evil.example', '+14155550109" <sip:911@x>'])
      expect(shown({ caller_id: { ...caller_id, emergency: { number: wrong } } })).toEqual({
        name: 'E',
        number: '+14155550108',
      })
    expect(shown({ caller_id: { emergency: { number: '101' } } })).toEqual({})
    expect(answerOf({ ...home, account: { caller_id } }, { ...call, isWithheld: true }).caller_id).toEqual({
      name: 'E',
      number: '+14155550109',
    })
    const own = { numbers: { [us]: { accountId: 'acme' } } }
    expect(answerOf({ ...home, ...own, account: { ...options, caller_id } }, call).caller_id).toEqual({
      name: 'E',
      number: us,
    })
  })

  it('is refused where no carrier takes it', () => {
    expect(answerOf({ ...home, gateways: 0 }, call)).toMatchObject({
      decision: 'refuse',
      reason: 'no_carrier',
      sip_code: 503,
      emergency: true,
    })
  })
})

describe('a number of another account', () => {
  const theirs = { [us]: { accountId: 'rival' }, '+14155550111': { accountId: 'acme' } }
  const rival = {
    callflows: { r: flow(rings('device', 'far'), { numbers: [us] }) },
    devices: { far: phone() },
  }
  const town: Town = {
    ...world,
    rival,
    numbers: theirs,
    funds: { balance: 0 },
    account: { caller_id: { external: { number: '+14155550111' } } },
  }
  const call = { number: us, deviceId: 'desk', caller: '100' }

  it('is called here, for nothing, as from outside', () => {
    expect(answerOf(town, call)).toMatchObject({
      decision: 'ring',
      account_id: 'acme',
      caller_id: { number: '+14155550111' },
      targets: [{ device_id: 'far', realm: 'rival.test', account_id: 'rival' }],
    })
  })

  it.each([
    [
      'leaves the platform when it is to',
      { ...town, funds: {}, numbers: { [us]: { accountId: 'rival', mustLeave: true } } },
      `offnet | carrier1:${us} 0+120`,
    ],
    [
      'leaves the platform when the caller may not know of that account',
      { ...town, funds: {}, rival: { ...rival, isTold: false } },
      `offnet | carrier1:${us} 0+120`,
    ],
    [
      'goes nowhere when nothing lists it there, whatever that account does with other calls',
      { ...town, rival: { ...rival, callflows: { r: flow(out, { numbers: ['no_match'] }) } } },
      'refuse | unknown_number',
    ],
    [
      'goes nowhere when that account is switched off',
      { ...town, rival: { ...rival, isDisabled: true } },
      'refuse | no_devices',
    ],
    [
      'is not called by an account that may not',
      { ...town, account: { call_restriction: { did_us: { action: 'deny' } } } },
      'refuse | forbidden_classifier',
    ],
    [
      'goes nowhere in a circle',
      {
        ...town,
        numbers: { ...theirs, '+14155550122': { accountId: 'acme' } },
        callflows: {
          ...toWorld,
          own: flow({ module: 'resources', data: { to_did: us } }, { numbers: ['+14155550122'] }),
        },
        rival: {
          ...rival,
          callflows: {
            r: flow({ module: 'resources', data: { to_did: '+14155550122' } }, { numbers: [us] }),
          },
        },
      },
      'refuse | no_devices',
    ],
  ] as [string, Town, string][])('%s', (_title, place, expected) => expect(brief(place, call)).toBe(expected))
})

describe('a call that a carrier brings', () => {
  const call = { from: 'carrier', number: us, caller: '+33100000000' } as const
  const inbound = (first: Json, more: Town = {}): Town => ({
    ...home,
    callflows: { f: flow(first, { numbers: [us] }), ...toWorld },
    ...more,
  })

  it('rings who the number leads to, and says who calls', () => {
    expect(answerOf(inbound(rings('user', 'ann')), call)).toEqual({
      decision: 'ring',
      account_id: 'acme',
      number: us,
      caller_id: { number: '+33100000000' },
      limits: {},
      variables: { authorizing_type: 'resource', callflow_id: 'f' },
      left_out: [],
      targets: ['desk', 'soft'].map((device_id) => ({
        type: 'device',
        device_id,
        username: 'x',
        realm: 'acme.test',
        owner_id: 'ann',
        delay_s: 0,
        timeout_s: 20,
      })),
    })
  })

  it.each([
    [
      'goes nowhere without a callflow: never to what nothing else takes',
      { ...home, callflows: toWorld },
      'refuse | unknown_number',
    ],
    ['never leaves again to the dialled number', inbound(out), 'refuse | unknown_number'],
    [
      'leaves to a fixed number, for the money of the account',
      inbound({ module: 'resources', data: { to_did: '4155550177' } }),
      'offnet | carrier1:+14155550177 0+120',
    ],
    [
      'leaves to no fixed number without money',
      inbound({ module: 'resources', data: { to_did: '4155550177' } }, { funds: { balance: 0 } }),
      'refuse | no_credit',
    ],
    [
      'rings without money',
      inbound(rings('user', 'ann'), { funds: { balance: 0 } }),
      'ring | desk 0+20 | soft 0+20',
    ],
    [
      'goes nowhere in an account that is switched off',
      inbound(rings('user', 'ann'), { isDisabled: true }),
      'refuse | account_disabled',
    ],
    [
      'goes nowhere in an account that may have no calls',
      inbound(rings('user', 'ann'), { operator: { calls: 0 } }),
      'refuse | limit_reached',
    ],
    [
      'is taken by a pattern',
      { ...home, callflows: { p: flow(rings('user', 'ann'), { numbers: [], patterns: ['^\\+1415'] }) } },
      'ring | desk 0+20 | soft 0+20',
    ],
  ] as [string, Town, string][])('%s', (_title, town, expected) => expect(brief(town, call)).toBe(expected))
})

describe('the answer for a call', () => {
  it('is everything an edge needs of a call inside the account', () => {
    const account = { caller_id: { internal: { name: 'Acme' } } }
    const devices = {
      ...desk.devices,
      trunk: phone({ sip: { method: 'ip', ip: '192.0.2.9', username: 'pbx' } }),
    }
    const town: Town = {
      ...home,
      account,
      devices,
      callflows: { f100: flow(rings('user', 'ann', {}, rings('device', 'trunk'))) },
      wishes: { calls: 5 },
    }
    expect(answerOf(town, { deviceId: 'desk', caller: '101' })).toEqual({
      decision: 'ring',
      account_id: 'acme',
      number: '100',
      caller_id: { name: 'Acme', number: '101' },
      limits: { calls: 5 },
      variables: { authorizing_id: 'desk', authorizing_type: 'device', owner_id: 'ann', callflow_id: 'f100' },
      left_out: [{ type: 'device', id: 'desk', reason: 'calls_itself' }],
      targets: [
        {
          type: 'device',
          device_id: 'soft',
          username: 'x',
          realm: 'acme.test',
          owner_id: 'ann',
          delay_s: 0,
          timeout_s: 20,
        },
        {
          type: 'device',
          device_id: 'trunk',
          username: 'pbx',
          realm: 'acme.test',
          uri: 'sip:pbx@192.0.2.9',
          delay_s: 20,
          timeout_s: 20,
        },
      ],
    })
    expect(answerOf({ ...town, account: {} }, { deviceId: 'desk', caller: '101' }).caller_id).toEqual({
      name: 'Ann Acme',
      number: '101',
    })
  })

  it('has the presence id of the device, else of its user, as an address', () => {
    const presence = (device: Json, owner: Json = {}) =>
      answerOf(
        { ...home, users: { ann: user(owner) }, devices: { desk: phone({ owner_id: 'ann', ...device }) } },
        {},
      ).targets[0]?.presence_id
    expect(presence({ presence_id: '101' }, { presence_id: '102' })).toBe('101@acme.test')
    expect(presence({}, { presence_id: '102' })).toBe('102@acme.test')
    expect(presence({ presence_id: '101@pbx.test' })).toBe('101@pbx.test')
    expect(presence({ presence_id: 'no address' }, { presence_id: '102' })).toBe('102@acme.test')
    expect(presence({ presence_id: '1@2@pbx.test' })).toBeUndefined()
  })

  it('is everything of a refusal', () => {
    expect(answerOf(home, { number: '300' })).toEqual({
      decision: 'refuse',
      account_id: 'acme',
      number: '300',
      targets: [],
      caller_id: {},
      limits: {},
      variables: {},
      left_out: [],
      reason: 'unknown_number',
      sip_code: 404,
      sip_reason: 'Not Found',
    })
  })

  it.each([
    ['no id', {}, ''],
    ['an id that is not text', { id: 5 }, ''],
    ['the id of a callflow that does not exist', { id: 'gone' }, 'gone'],
  ])('contains a step to another callflow that has %s', (_title, data, id) => {
    const town: Town = { callflows: { f: flow({ module: 'callflow', data, children: {} }) } }
    expect(answerOf(town, {}).left_out).toEqual([{ type: 'callflow', id, reason: 'not_found' }])
  })

  it('is bounded, whatever groups hold', () => {
    const ids = Array.from({ length: 150 }, (_, index) => `d${index}`)
    const endpoints = Object.fromEntries(ids.map((id) => [id, { type: 'device' }]))
    const halls = ['g0', 'g1', 'g2', 'g3', 'g4']
    const town: Town = {
      devices: Object.fromEntries(ids.map((id) => [id, phone()])),
      groups: Object.fromEntries(halls.map((id) => [id, { endpoints }])),
      callflows: {
        f: flow({
          module: 'ring_group',
          data: { endpoints: halls.map((id) => ({ endpoint_type: 'group', id })) },
        }),
      },
    }
    const { targets, left_out } = answerOf(town, {})
    expect(targets).toHaveLength(100)
    expect(left_out.filter(({ reason }) => reason === 'too_many')).toHaveLength(105)
  })
})
