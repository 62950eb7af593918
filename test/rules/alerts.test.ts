import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lowBalance, tokenRows } from '../../src/areas/events/alerts/generated.rules.ts'
import {
  isOnlyFor,
  keyFor,
  keysFor,
  keysOf,
  keyText,
  type Reader,
} from '../../src/areas/events/alerts/rules.ts'
import type { Alert } from '../../src/areas/events/alerts/schema.ts'

const idOf = (digit: string) => digit.repeat(32)
const [acme, rival, reseller, ada] = [idOf('a'), idOf('b'), idOf('c'), idOf('d')]

const adaOfAcme: Reader = {
  accountId: acme,
  above: [idOf('e'), reseller],
  isReseller: false,
  isAdmin: true,
  userId: ada,
}

const alertTo = (...to: Alert['to']): Alert => ({ title: 'T', message: 'M', from: [], to })

const sees = (reader: Reader, alert: Alert) =>
  keyFor(alert, new Set(keysFor(reader).map(keyText))) !== undefined

describe('a recipient', () => {
  it('is the same in both spellings', () => {
    const audience = fc.constantFrom('users', 'admins')
    const group = fc.constantFrom('all', 'resellers', acme, rival)
    fc.assert(
      fc.property(group, audience, (type, value) => {
        expect(keysOf({ type: value, value: type }).map(keyText)).toEqual(
          keysOf({ type, value }).map(keyText),
        )
      }),
    )
  })

  it.each([
    ['a type that does not exist', { type: 'friends', value: 'all' }],
    ['a group of no account', { type: 'descendants', value: 'all' }],
    ['an account without a group', { type: acme, value: 'friends' }],
    ['accounts below one without a group', { type: 'descendants', value: [acme, 'friends'] }],
    ['two ids in a row', { type: 'all', value: [acme, 'users'] }],
  ])('that is %s matches no reader', (_title, recipient) => {
    expect(keysOf(recipient)).toEqual([])
  })
})

describe('who reads an alert', () => {
  it('sees as an admin all that a plain user of the account sees', () => {
    const type = fc.constantFrom('all', 'resellers', acme, rival)
    const value = fc.constantFrom('all', 'users', 'admins', ada)
    fc.assert(
      fc.property(type, value, fc.boolean(), (of, whom, isReseller) => {
        const alert = alertTo({ type: of, value: whom })
        const reader = { ...adaOfAcme, isReseller }
        if (sees({ ...reader, isAdmin: false }, alert)) expect(sees(reader, alert)).toBe(true)
        if (of === rival) expect(sees(reader, alert)).toBe(false)
      }),
    )
  })

  it('is below an account, or is not', () => {
    const below = (id: string) => alertTo({ type: 'descendants', value: [id, 'users'] })
    expect([reseller, acme, rival].map((id) => sees(adaOfAcme, below(id)))).toEqual([true, false, false])
  })

  it('is in the account alone when the alert names no recipient outside of it', () => {
    expect(isOnlyFor(alertTo({ type: acme, value: 'all' }, { type: acme, value: ada }), acme)).toBe(true)
    expect(isOnlyFor(alertTo({ type: acme, value: 'all' }, { type: rival, value: 'all' }), acme)).toBe(false)
    expect(isOnlyFor(alertTo({ type: 'user', value: acme }, { type: 'admins', value: acme }), acme)).toBe(
      true,
    )
    expect(isOnlyFor(alertTo({ type: 'all', value: 'all' }), acme)).toBe(false)
  })
})

describe('a balance is low', () => {
  it.each([
    ['below the threshold of the account', 49_900, 50_000, undefined, 50_000],
    ['not at the threshold of the account', 50_000, 50_000, undefined, undefined],
    ['at zero when the account has no threshold', 0, undefined, undefined, 0],
    ['not above nothing', 1, undefined, undefined, undefined],
    ['at what may be owed when it is paid later', 100_000, undefined, 100_000, 100_000],
    ['not above that', 100_001, undefined, 100_000, undefined],
  ])('%s', (_title, balance, threshold, postpay, expected) => {
    expect(lowBalance({ accountId: acme, balance, threshold, postpay })).toBe(expected)
  })
})

describe('a payment method', () => {
  const now = 63_934_785_600
  const at = (days: number) => tokenRows(acme, { id: 'card', expiration: now + days * 86_400 }, now)

  it('is about to expire sixty days before it does', () => {
    expect([59, 60, 61, -1].map((days) => at(days).length)).toEqual([1, 1, 0, 1])
    expect(tokenRows(acme, { id: 'card' }, now)).toEqual([])
  })
})
