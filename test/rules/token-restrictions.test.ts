import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isAllowedByRestrictions,
  matchesArguments,
  type RestrictedRequest,
} from '../../src/areas/accounts/token-restrictions/rules.ts'
import { TokenRestrictions } from '../../src/areas/accounts/token-restrictions/schema.ts'
import { createValidation } from '../../src/http/request/validation.ts'

const ask = (restrictions: unknown, request: Partial<RestrictedRequest> = {}) =>
  isAllowedByRestrictions({
    restrictions,
    authMethod: 'cb_user_auth',
    privLevel: 'user',
    endpoint: 'users',
    endpointArguments: [],
    method: 'GET',
    accountId: 'own',
    authAccountId: 'own',
    isDescendant: false,
    ...request,
  })

const everything = [{ rules: { '#': ['_'] } }]
const forUser = (endpoints: unknown) => ({ cb_user_auth: { user: endpoints } })
const forUsers = (...elements: unknown[]) => forUser({ users: elements })

describe('which section applies', () => {
  it('none: nothing is restricted', () => {
    for (const restrictions of [undefined, {}, { cb_api_auth: { _: {} } }, { cb_user_auth: { admin: {} } }]) {
      expect(ask(restrictions)).toBe(true)
    }
  })

  it('the exact method, privilege level and endpoint before the catch-all', () => {
    const nothing = {}
    expect(ask({ cb_user_auth: { user: nothing, _: { _: everything } } })).toBe(false)
    expect(ask({ cb_user_auth: { _: { users: everything } }, _: { user: nothing } })).toBe(true)
    expect(ask({ _: { _: { _: everything } } })).toBe(true)
    expect(ask({ _: { _: { users: [], _: everything } } })).toBe(false)
    expect(ask(forUser({ devices: everything }))).toBe(false)
  })

  it('that of admins for tokens without a user', () => {
    const restrictions = { _: { admin: { _: everything }, _: {} } }
    expect(ask(restrictions, { authMethod: 'cb_api_auth', privLevel: undefined })).toBe(true)
    expect(ask(restrictions)).toBe(false)
  })
})

describe('which accounts an element covers', () => {
  const own = {}
  const below = { accountId: 'below', isDescendant: true }
  const foreign = { accountId: 'foreign' }
  const noAccount = { accountId: undefined }

  it.each([
    [undefined, [true, true, true, true]],
    [['_'], [true, true, true, true]],
    [['{AUTH_ACCOUNT_ID}'], [true, false, false, false]],
    [['{DESCENDANT_ACCOUNT_ID}'], [false, true, false, false]],
    [
      ['own', 'foreign'],
      [true, false, true, false],
    ],
    [[], [false, false, false, false]],
    ['_', [false, false, false, false]],
  ] as const)('with %j', (allowed, expected) => {
    const element = { ...(allowed && { allowed_accounts: allowed }), rules: { '#': ['_'] } }
    const answers = [own, below, foreign, noAccount].map((request) => ask(forUsers(element), request))
    expect(answers).toEqual(expected)
  })

  it('and the first that covers it decides alone', () => {
    const readOnly = { allowed_accounts: ['{AUTH_ACCOUNT_ID}'], rules: { '#': ['GET'] } }
    const restrictions = forUsers(readOnly, { rules: { '#': ['_'] } })
    expect(ask(restrictions, { method: 'DELETE' })).toBe(false)
    expect(ask(restrictions, { method: 'DELETE', ...below })).toBe(true)
  })
})

describe('which methods a rule allows', () => {
  it('refuses to create an account where only its own may be changed', () => {
    const restrictions = forUser({ accounts: [{ rules: { '*': ['GET', 'POST', 'PATCH'] } }] })
    const accounts = (method: string, endpointArguments: string[]) =>
      ask(restrictions, { endpoint: 'accounts', method, endpointArguments })
    expect(accounts('PATCH', ['own'])).toBe(true)
    expect(accounts('PUT', ['own'])).toBe(false)
    expect(accounts('PUT', [])).toBe(false)
    expect(accounts('GET', ['own', 'children'])).toBe(false)
  })

  it('takes the first pattern that matches, even when a later one would allow', () => {
    const restrictions = forUsers({ rules: { '/': ['GET'], ada: ['_'], '*': ['GET'], '#': ['_'] } })
    const users = (method: string, ...endpointArguments: string[]) =>
      ask(restrictions, { method, endpointArguments })
    expect(users('GET')).toBe(true)
    expect(users('PUT')).toBe(false)
    expect(users('DELETE', 'ada')).toBe(true)
    expect(users('DELETE', 'bob')).toBe(false)
    expect(users('DELETE', 'bob', 'photo')).toBe(true)
  })

  it('treats HEAD like GET', () => {
    expect(ask(forUsers({ rules: { '#': ['GET'] } }), { method: 'HEAD' })).toBe(true)
    expect(ask(forUsers({ rules: { '#': ['PUT'] } }), { method: 'HEAD' })).toBe(false)
  })

  it('denies whatever cannot be read, and never throws', () => {
    for (const elements of [
      5,
      'x',
      {},
      [5],
      [null],
      [{}],
      [{ rules: 5 }],
      [{ rules: { '#': 'GET' } }],
      [{ rules: { '#': null } }],
    ]) {
      expect(ask(forUser({ users: elements }))).toBe(false)
    }
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const restrictions of [value, { _: value }, { _: { _: value } }, forUser({ _: value })]) {
          expect(ask(restrictions)).toBeTypeOf('boolean')
        }
        expect(ask({}, { authMethod: '__proto__', endpoint: 'constructor' })).toBe(true)
      }),
    )
  })
})

describe('matchesArguments', () => {
  it.each([
    ['/', [], true],
    ['', [], true],
    ['/', ['a'], false],
    ['*', [], false],
    ['*', ['a'], true],
    ['*', ['a', 'b'], false],
    ['#', [], true],
    ['#', ['a', 'b', 'c'], true],
    ['*/*/*', ['a', 'quickcall', '+1234567890'], true],
    ['*/*/*', ['a', 'b'], false],
    ['a/#', ['a'], true],
    ['a/#', ['a', 'b', 'c'], true],
    ['a/#', ['b'], false],
    ['#/sync', ['a', 'sync'], true],
    ['#/sync', ['sync'], true],
    ['#/sync', ['sync', 'a'], false],
    ['#/a/*/#/z', ['a', 'a', 'z', 'z'], true],
    ['a*', ['ab'], false],
    ['a', ['A'], false],
    ['.', ['a'], false],
  ])('%s with %j: %s', (pattern, given, expected) => expect(matchesArguments(pattern, given)).toBe(expected))

  it('agrees with the definition', () => {
    const covers = (parts: string[], given: string[]): boolean => {
      const [part, ...rest] = parts
      if (part === undefined) return given.length === 0
      if (part === '#') return given.some((_, at) => covers(rest, given.slice(at))) || covers(rest, [])
      return given.length > 0 && (part === '*' || part === given[0]) && covers(rest, given.slice(1))
    }
    const parts = fc.array(fc.constantFrom('a', 'b', '*', '#'), { maxLength: 6 })
    const given = fc.array(fc.constantFrom('a', 'b'), { maxLength: 6 })
    fc.assert(
      fc.property(parts, given, (pattern, names) => {
        expect(matchesArguments(pattern.join('/'), names)).toBe(covers(pattern, names))
      }),
      { numRuns: 1000 },
    )
  })

  // A backtracking match would not end within the limit of a test.
  it('ends with a pattern that is made to be slow', () => {
    const names = new Array<string>(500).fill('a')
    expect(matchesArguments('#/a/'.repeat(500).concat('b'), names)).toBe(false)
  })
})

describe('the shape of the document', () => {
  const validate = createValidation(TokenRestrictions)
  const broken = (restrictions: unknown) => Object.keys(validate({ restrictions }).problems)

  it('is restrictions by method, level and endpoint, kept as sent, catch-alls too', () => {
    const given = {
      restrictions: { _: { _: { _: [{ allowed_accounts: ['_'], rules: { '/': ['GET', '_'] } }] } } },
    }
    expect(validate(given)).toMatchObject({ problems: {}, value: given })
    expect(Object.keys(validate({}).problems)).toEqual(['restrictions'])
  })

  it('names what is not well formed', () => {
    expect(broken(5)).toEqual(['restrictions'])
    expect(broken({ _: { _: { users: {} } } })).toEqual(['restrictions._._.users'])
    expect(broken({ _: { _: { users: [{}] } } })).toEqual(['restrictions._._.users.0.rules'])
    expect(broken({ _: { _: { users: [{ rules: { 'a\nb': ['FETCH'] } }] } } })).toEqual([
      'restrictions._._.users.0.rules.a\nb.0',
    ])
    expect(broken({ _: { _: { users: [{ rules: {}, allowed_accounts: [5] }] } } })).toEqual([
      'restrictions._._.users.0.allowed_accounts.0',
    ])
  })
})
