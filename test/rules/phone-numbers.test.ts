import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileNumbering, countryOf } from '../../src/areas/numbers/phone-numbers/numbering.ts'
import {
  absent,
  activeFeatures,
  availableFeatures,
  callerNameOf,
  creationRefusal,
  creationStates,
  earlierHolders,
  type FeatureContext,
  isReleasable,
  mayMove,
  maySee,
  moves,
  type NumberState,
  publicFields,
  releaseOf,
  remembered,
  type StateBefore,
  type TargetState,
  tidyFields,
} from '../../src/areas/numbers/phone-numbers/rules.ts'
import { numberListProblems, numberStates } from '../../src/areas/numbers/phone-numbers/schema.ts'

const targets: readonly TargetState[] = ['in_service', 'reserved', 'available', 'aging', 'port_in']

// Row by row: who may, or nothing where it is not a transition.
const matrix: Record<StateBefore, readonly string[]> = {
  [absent]: ['creator', 'creator', 'creator', 'creator', 'creator'],
  discovery: ['authorised', 'authorised', '', '', ''],
  available: ['anyone', 'authorised', 'operator', 'operator', ''],
  aging: ['anyone', '', '', 'operator', ''],
  port_in: ['authorised', '', '', '', 'authorised'],
  reserved: ['family', 'authorised', '', '', ''],
  in_service: ['authorised', 'authorised', '', '', ''],
  released: ['', '', '', 'operator', ''],
  port_out: ['', '', '', '', ''],
  deleted: ['', '', '', '', ''],
}

describe('the states of a number', () => {
  it.each(Object.entries(matrix))('%s may become what the table says', (from, who) => {
    const row = moves[from as StateBefore]
    expect(targets.map((target) => row[target]?.who ?? '')).toEqual(who)
  })

  it('has a row for every state', () => {
    expect(Object.keys(moves).sort()).toEqual([absent, ...numberStates].sort())
  })

  it('remembers who reserved it, and asks the carrier for what was only discovered', () => {
    const all = Object.values(moves).flatMap((row) => Object.entries(row))
    expect(all.filter(([target]) => target === 'reserved').every(([, move]) => move.remember)).toBe(true)
    expect(all.filter(([, move]) => move.remember).every(([target]) => target === 'reserved')).toBe(true)
    expect(Object.values(moves.discovery).every((move) => move.order)).toBe(true)
    expect(moves.reserved.reserved?.sameOwner).toBe('refused')
    expect(moves.in_service.in_service?.sameOwner).toBe('kept')
  })

  it('determine who may create which', () => {
    const nobody = { isOperator: false, allowsAdditions: false }
    expect(creationStates({ ...nobody, isOperator: true })).toEqual([
      'aging',
      'available',
      'in_service',
      'port_in',
      'reserved',
    ])
    expect(creationStates({ ...nobody, allowsAdditions: true })).toEqual(['in_service', 'reserved'])
    expect(creationStates(nobody)).toEqual([])
    expect(creationRefusal('a', 'port_in', nobody)).toBeUndefined()
    expect(creationRefusal('a', 'in_service', nobody)).toBe('account a is not allowed to create numbers')
    expect(creationRefusal('a', 'aging', { ...nobody, allowsAdditions: true })).toBe(
      "creating number in state 'aging' is not allowed",
    )
  })

  it('allow a release where the number has an owner, or is local and not free', () => {
    const releasable = ['in_service', 'port_in', 'released', 'reserved']
    expect(numberStates.filter((state) => isReleasable(state, 'knm_other'))).toEqual(releasable)
    expect(numberStates.filter((state) => !isReleasable(state, 'knm_local'))).toEqual(['available'])
  })
})

describe('who may do what with a number', () => {
  const stranger = { isOperator: false, isAboveOwner: false, isBelowOwner: false, isAboveTarget: false }
  const held = (state: NumberState, accountId = 'owner') => ({ state, accountId })

  it('is seen when it is free, own, below, or reserved above', () => {
    expect(maySee(held('available', ''), stranger)).toBe(true)
    expect(maySee(held('in_service'), stranger)).toBe(false)
    expect(maySee(held('in_service'), { ...stranger, isAboveTarget: true })).toBe(false)
    expect(maySee(held('in_service'), { ...stranger, isBelowOwner: true })).toBe(false)
    expect(maySee(held('reserved'), { ...stranger, isBelowOwner: true })).toBe(true)
    expect(maySee(held('in_service'), { ...stranger, isAboveOwner: true })).toBe(true)
    expect(maySee(held('in_service'), { ...stranger, isOperator: true })).toBe(true)
    expect(maySee(held('aging', ''), stranger)).toBe(false)
    expect(maySee(held('aging', ''), { ...stranger, isAboveTarget: true })).toBe(true)
  })

  it('follows the table', () => {
    const standing = fc.record({
      isOperator: fc.boolean(),
      isAboveOwner: fc.boolean(),
      isBelowOwner: fc.boolean(),
      isAboveTarget: fc.boolean(),
    })
    fc.assert(
      fc.property(standing, fc.constantFrom('', 'owner'), (who, accountId) => {
        const number = held('reserved', accountId)
        const authorised = who.isOperator || (accountId === '' ? who.isAboveTarget : who.isAboveOwner)
        expect(mayMove('operator', number, who)).toBe(who.isOperator)
        expect(mayMove('authorised', number, who)).toBe(authorised)
        expect(mayMove('family', number, who)).toBe(authorised || who.isBelowOwner)
        expect(mayMove('anyone', number, who)).toBe(true)
      }),
    )
  })
})

describe('a released number', () => {
  const settings = {
    released_state: 'available',
    should_age: false,
    should_permanently_delete: false,
  } as const

  it('goes back, leaves, ages or waits', () => {
    expect(releaseOf('knm_local', ['b', 'a'], settings)).toEqual({
      outcome: 'returned',
      accountId: 'b',
      history: ['b', 'a'],
    })
    expect(releaseOf('knm_local', [], settings)).toEqual({ outcome: 'freed', state: 'available' })
    expect(releaseOf('knm_mdn', [], settings)).toEqual({ outcome: 'removed' })
    expect(releaseOf('knm_other', [], settings)).toEqual({ outcome: 'freed', state: 'available' })
    expect(releaseOf('knm_other', [], { ...settings, should_age: true })).toEqual({
      outcome: 'freed',
      state: 'aging',
    })
    expect(releaseOf('knm_other', [], { ...settings, should_age: true, released_state: 'released' })).toEqual(
      {
        outcome: 'freed',
        state: 'released',
      },
    )
    expect(releaseOf('knm_other', [], { ...settings, should_permanently_delete: true })).toEqual({
      outcome: 'removed',
    })
  })

  it('knows who had it before', () => {
    expect(remembered(['a'], 'b')).toEqual(['b', 'a'])
    expect(remembered(['a'], 'a')).toEqual(['a'])
    expect(earlierHolders(['c', 'b', 'a'], 'c')).toEqual(['b', 'a'])
    expect(earlierHolders(['b', 'a'], 'c')).toEqual(['b', 'a'])
    expect(earlierHolders(['c'], 'c')).toEqual([])
    expect(earlierHolders([], 'c')).toEqual([])
  })
})

describe('the form of a number', () => {
  const standard = compileNumbering({})

  it.each([
    ['4155550100', '+14155550100'],
    ['14155550100', '+14155550100'],
    ['+14155550100', '+14155550100'],
    ['0114420794600', '+4420794600'],
    ['00442079460000', '+442079460000'],
    ['442079460000', '+442079460000'],
    ['123', '+123'],
    ['123_&', '123_&'],
  ])('%s is %s', (text, number) => {
    expect(standard.normalize(text)).toBe(number)
  })

  it.each(['+14155550100', '+442079460000', '+493012345', '+883510012345678'])(
    '%s may be in the inventory',
    (number) => {
      expect(standard.isReconcilable(number)).toBe(true)
    },
  )

  it.each([
    '+1415555010',
    '+141555501000',
    '+4930',
    '+0123456789',
    '4155550100',
    '+1415555010a',
    '',
    '+4412345678901234',
  ])('%s may not', (number) => {
    expect(standard.isReconcilable(number)).toBe(false)
  })

  it.each([
    ['+18005550100', 'tollfree_us'],
    ['+18885550100', 'tollfree_us'],
    ['+18335550100', 'tollfree_us'],
    ['+19005550100', 'toll_us'],
    ['911', 'emergency'],
    ['988', 'emergency'],
    ['+12425550100', 'caribbean'],
    ['+14155550100', 'did_us'],
    ['+442079460000', 'international'],
    ['+1', 'unknown'],
    ['anything', 'unknown'],
  ])('%s is %s', (number, name) => {
    expect(standard.classOf(number)).toBe(name)
  })

  it.each([
    ['+14155550100', 'US'],
    ['+14165550100', 'CA'],
    ['+12425550100', 'BS'],
    ['+442079460000', 'GB'],
    ['+441534123456', 'JE'],
    ['+883510012345678', ''],
  ])('%s is in %s', (number, country) => {
    expect(countryOf(number)).toBe(country)
  })

  it('follows converters and classifiers in their order, and skips those that cannot be read', () => {
    const own = compileNumbering({
      e164_converters: {
        '(': {},
        '^0(\\d+)$': { prefix: '+49', suffix: '0' },
        '^(1)(\\d{3})$': { prefix: '+9' },
      },
      classifiers: { broken: { regex: '(' }, first: { regex: '^\\+49' }, second: { regex: '^\\+4' } },
      reconcile_regex: '^\\+\\d{3,}$',
    })
    expect(own.normalize('0301')).toBe('+493010')
    expect(own.normalize('1234')).toBe('+9234')
    expect(own.normalize('4155550100')).toBe('4155550100')
    expect(own.normalize('+0301')).toBe('+0301')
    expect(own.classOf('+4930')).toBe('first')
    expect(own.classOf('+4130')).toBe('second')
    expect(own.classOf('+1')).toBeUndefined()
    expect(own.isReconcilable('+123')).toBe(true)
    expect(own.isReconcilable(`+${'1'.repeat(40)}`)).toBe(false)
  })

  it('normalises once: a normalised number stays as it is', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\+?\d{1,20}$/), (text) => {
        const number = standard.normalize(text)
        expect(standard.normalize(number)).toBe(number)
      }),
    )
  })
})

describe('the features of a number', () => {
  const context: FeatureContext = {
    isOperator: false,
    accountId: 'owner',
    state: 'in_service',
    usedBy: '',
    isLocal: false,
    ownAllowed: [],
    ownDenied: [],
    allowed: undefined,
    denied: undefined,
    localOverride: false,
    carriesSms: false,
    carriesMms: false,
  }
  const external = ['cnam', 'e911', 'inbound_cnam', 'outbound_cnam', 'port']
  const own = ['force_outbound', 'prepend', 'ringback']

  it.each<[string, Partial<FeatureContext>, string[]]>([
    ['of a carrier', {}, [...external, ...own].sort()],
    ['without an owner', { accountId: '' }, own],
    ['local', { isLocal: true }, own],
    ['local, overridden', { isLocal: true, localOverride: true }, [...external, ...own].sort()],
    ['of a trunk', { isLocal: true, usedBy: 'trunkstore' }, ['failover', ...own]],
    ['for the operator', { isLocal: true, isOperator: true }, ['carrier_name', ...own]],
    ['allowed by the reseller', { allowed: ['vitelity_e911', 'prepend'] }, ['e911', 'prepend']],
    [
      'denied by the reseller',
      { isLocal: true, denied: ['prepend'] },
      [...external, 'force_outbound', 'ringback'].sort(),
    ],
    [
      'with lists on the number',
      { ownAllowed: ['failover', 'cnam'], ownDenied: ['cnam'], allowed: [] },
      ['failover'],
    ],
    ['with messages', { carriesSms: true, carriesMms: true }, [...external, ...own, 'mms', 'sms'].sort()],
    ['with messages, reserved', { carriesSms: true, state: 'reserved' }, [...external, ...own].sort()],
  ])('%s', (_what, more, features) => {
    expect(availableFeatures({ ...context, ...more })).toEqual(features)
  })

  it('are on in the states that they are for', () => {
    const doc = {
      cnam: { display_name: 'A', inbound_lookup: true },
      e911: { locality: 'X' },
      prepend: { enabled: true },
      failover: { sip: 'sip:a' },
      force_outbound: false,
      ringback: { early: 'm' },
      sms: { enabled: true },
      mms: { enabled: false },
      port: { comments: [] },
    }
    const available = [...external, ...own, 'failover', 'sms', 'mms']
    const on = (state: NumberState) =>
      Object.keys(activeFeatures(doc, { state, isLocal: false, available })).sort()
    expect(on('in_service')).toEqual([
      'e911',
      'failover',
      'force_outbound',
      'inbound_cnam',
      'outbound_cnam',
      'prepend',
      'ringback',
      'sms',
    ])
    expect(on('reserved')).toEqual(['e911', 'inbound_cnam', 'outbound_cnam'])
    expect(on('port_in')).toEqual(['e911', 'inbound_cnam', 'outbound_cnam', 'port'])
    for (const state of ['available', 'aging', 'released', 'discovery', 'deleted', 'port_out'] as const)
      expect(on(state)).toEqual([])
    expect(activeFeatures({}, { state: 'available', isLocal: true, available: [] })).toEqual({ local: {} })
  })

  it('take texts for booleans where old clients send them', () => {
    expect(tidyFields({ force_outbound: 'true', a: 1 })).toEqual({ force_outbound: true, a: 1 })
    expect(tidyFields({ force_outbound: 'maybe' })).toEqual({})
    expect(tidyFields({ force_outbound: 1 })).toEqual({})
  })

  it('name the caller after the account', () => {
    expect(callerNameOf('Acme')).toBe('Acme')
    expect(callerNameOf('AB')).toBe('AB ')
    expect(callerNameOf(undefined)).toBe('Valued Customer')
    expect(callerNameOf('')).toBe('Valued Customer')
  })
})

describe('what clients send', () => {
  it('is kept but for what is the server’s', () => {
    const sent = {
      id: 'x',
      state: 'y',
      used_by: 'z',
      features: [],
      create_with_state: 's',
      carrier_name: 'c',
      mobile: 1,
    }
    expect(publicFields({ ...sent, my: 1 }, {})).toEqual({ mobile: 1, my: 1 })
    expect(publicFields({ ...sent, features_allowed: [], features_denied: [] }, { mobile: 2 })).toEqual({
      mobile: 2,
    })
  })

  it('names different numbers', () => {
    expect(numberListProblems(['4155550100', '4155550101'])).toEqual({})
    expect(Object.keys(numberListProblems(['4155550100', '14155550100']).numbers ?? {})).toEqual([
      'uniqueItems',
    ])
  })
})
