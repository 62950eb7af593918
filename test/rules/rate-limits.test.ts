import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  accountLimits,
  deviceLimits,
  type EffectiveLimits,
  standardSystemLimits,
  systemLimitsOf,
  unknownRealmLimits,
} from '../../src/areas/voice/rate-limits/rules.ts'
import { createValidation } from '../../src/http/request/validation.ts'
import {
  AccountRateLimits,
  accountLimitProblems,
  DeviceRateLimits,
  deviceLimitProblems,
} from '../../src/lib/packet-limits.ts'

const system = standardSystemLimits
const totals = (perMinute: number, perSecond = perMinute): DeviceRateLimits => ({
  per_minute: { total_packets: perMinute },
  per_second: { total_packets: perSecond },
})
const document = (account: DeviceRateLimits, device = totals(1)): AccountRateLimits => ({ account, device })

const adjusted = (base: EffectiveLimits, perMinute: object, perSecond: object): EffectiveLimits => ({
  per_minute: { ...base.per_minute, ...perMinute },
  per_second: { ...base.per_second, ...perSecond },
})

describe('accountLimits', () => {
  const of = (account?: AccountRateLimits, ancestors: (AccountRateLimits | undefined)[] = []) =>
    accountLimits({ account, ancestors, system })

  it('are those of the system without any document', () => {
    expect(of()).toEqual(system.account)
    expect(of(undefined, [undefined])).toEqual(system.account)
  })

  it('take the values of the account first, and the rest from the next level above that has them', () => {
    const above = document({
      per_minute: { total_packets: 9, invites: 4 },
      per_second: { total_packets: 9, invites: 2 },
    })
    const top = document({ per_minute: { registrations: 8 }, per_second: { registrations: 6 } })
    expect(of(document(totals(7, 3)), [above, undefined, top])).toEqual({
      per_minute: { total_packets: 7, invites: 4, registrations: 8 },
      per_second: { total_packets: 3, invites: 2, registrations: 6 },
    })
    expect(of({ account: { per_minute: { invites: 1 } } }, [{}])).toEqual(
      adjusted(system.account, { invites: 1 }, {}),
    )
    expect(of(document(totals(0))).per_minute.total_packets).toBe(0)
  })

  it('come from the nearest ancestor with a document when the account has none', () => {
    expect(of(undefined, [undefined, document(totals(9)), document(totals(11))])).toEqual(
      adjusted(system.account, { total_packets: 9 }, { total_packets: 9 }),
    )
  })

  it('are handed down only for counters that the ancestor limits in both periods', () => {
    const above = document({
      per_minute: { total_packets: 9, invites: 4, registrations: 3 },
      per_second: { total_packets: 8, registrations: 2 },
    })
    expect(of(undefined, [above])).toEqual(
      adjusted(
        system.account,
        { total_packets: 9, registrations: 3 },
        { total_packets: 8, registrations: 2 },
      ),
    )
  })
})

describe('deviceLimits', () => {
  it('are found at the device, then in the device section of the account, then in the system', () => {
    const account = document(totals(1), {
      per_minute: { total_packets: 50, invites: 6 },
      per_second: { total_packets: 5 },
    })
    expect(deviceLimits({ device: undefined, account: undefined, system })).toEqual(system.device)
    expect(deviceLimits({ device: undefined, account, system })).toEqual(
      adjusted(system.device, { total_packets: 50, invites: 6 }, { total_packets: 5 }),
    )
    expect(deviceLimits({ device: totals(2), account, system })).toEqual(
      adjusted(system.device, { total_packets: 2, invites: 6 }, { total_packets: 2 }),
    )
  })
})

describe('systemLimitsOf', () => {
  it('replaces what is missing or no count by the standard', () => {
    for (const configured of [
      undefined,
      null,
      'x',
      {},
      { account: [] },
      { account: { per_minute: { invites: -1, total_packets: '5' } } },
    ]) {
      expect(systemLimitsOf(configured)).toEqual(system)
    }
    expect(systemLimitsOf({ device: { per_second: { invites: 0 } } })).toEqual({
      account: system.account,
      device: adjusted(system.device, {}, { invites: 0 }),
    })
  })

  it('always gives every figure', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (configured) => {
        const figures = Object.values(systemLimitsOf(configured)).flatMap((limits) =>
          Object.values(limits).flatMap((each) => Object.values(each)),
        )
        expect(figures).toHaveLength(12)
        expect(figures.every((figure) => Number.isInteger(figure) && figure >= 0)).toBe(true)
      }),
    )
  })
})

it('unknownRealmLimits put every packet over the limit', () => {
  const none = { registrations: -1, invites: -1, total_packets: -1 }
  expect(unknownRealmLimits).toEqual({ per_minute: none, per_second: none })
})

describe('the shape of the documents', () => {
  const broken = (schema: typeof AccountRateLimits | typeof DeviceRateLimits, data: unknown) =>
    Object.entries(createValidation<typeof schema>(schema)(data).problems).map(
      ([path, rules]) => `${path} ${Object.keys(rules)}`,
    )

  it('may leave out everything', () => {
    expect(broken(AccountRateLimits, {})).toEqual([])
    expect(broken(AccountRateLimits, { device: { per_minute: {} } })).toEqual([])
    expect(broken(DeviceRateLimits, {})).toEqual([])
    expect(broken(DeviceRateLimits, { per_second: { invites: 1 } })).toEqual([])
  })

  it('may not have what only the other kind has', () => {
    expect(Object.keys(accountLimitProblems({ per_minute: {}, device: {} }, 'at.'))).toEqual([
      'at.per_minute',
    ])
    expect(Object.keys(deviceLimitProblems({ per_minute: {}, device: {} }))).toEqual(['device'])
  })

  it('counts in whole numbers from zero, and knows three counters', () => {
    const withCounter = (name: string, value: unknown) => ({
      per_minute: { total_packets: 1, [name]: value },
      per_second: { total_packets: 1 },
    })
    expect(broken(DeviceRateLimits, withCounter('invites', 0))).toEqual([])
    expect(broken(DeviceRateLimits, withCounter('invites', -1))).toEqual(['per_minute.invites minimum'])
    expect(broken(DeviceRateLimits, withCounter('invites', 1.5))).toEqual(['per_minute.invites type'])
    expect(broken(DeviceRateLimits, withCounter('foo', 1))).toEqual(['per_minute.foo additionalProperties'])
    expect(broken(DeviceRateLimits, { ...totals(1), note: 'mine' })).toEqual([])
  })
})
