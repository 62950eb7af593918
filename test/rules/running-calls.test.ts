// Which calls over carriers may begin, and how long they last for the credit of their account.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { effectiveLimits, noWishes } from '../../src/areas/billing/limits/rules.ts'
import type { Limits } from '../../src/areas/billing/limits/schema.ts'
import { callCost } from '../../src/areas/billing/rates/pricing.rules.ts'
import type { Funds } from '../../src/areas/voice/routing/offnet.rules.ts'
import {
  billingOf,
  creditOf,
  maxRunningSeconds,
  secondsLeft,
  trunks,
} from '../../src/areas/voice/routing/offnet.rules.ts'
import type { OperatorLimits } from '../../src/lib/limit-shapes.ts'

const limitsOf = (wishes: Limits, operator: OperatorLimits = {}) =>
  effectiveLimits({ ...noWishes, ...wishes }, operator, () => 0)

const flatRate = { classifiers: ['did_us'] }
const noMoney: Funds = { balance: 0, overdraft: 0, isPrepaid: true }

const inbound = { direction: 'inbound', classification: 'did_us' } as const
const outbound = { direction: 'outbound', classification: 'did_us' } as const

/** The outcome of calls that begin one after the other and stay in progress. */
const begun = (
  calls: readonly (typeof inbound | typeof outbound)[],
  {
    wishes = {},
    operator = {},
    funds = noMoney,
  }: { wishes?: Limits; operator?: OperatorLimits; funds?: Funds },
) => {
  const reserved: NonNullable<Funds['reserved']>[number][] = []
  return calls.map((call) => {
    const paid = billingOf(call, limitsOf(wishes, operator), { ...funds, reserved }, flatRate)
    if (typeof paid === 'string') return paid
    reserved.push({ trunk: paid.trunk, cost: 200 })
    return paid.trunk ?? paid.billing
  })
}

describe('a call over a carrier', () => {
  it('takes the trunks of its direction first, then those of both, then the spare ones', () => {
    const wishes = { inbound_trunks: 1, outbound_trunks: 1, twoway_trunks: 1, burst_trunks: 1 }
    expect(begun([inbound, inbound, inbound, inbound], { wishes })).toEqual([
      'inbound_trunks',
      'twoway_trunks',
      'burst_trunks',
      'limit_reached',
    ])
    expect(begun([outbound, inbound, outbound, inbound, outbound], { wishes })).toEqual([
      'outbound_trunks',
      'inbound_trunks',
      'twoway_trunks',
      'burst_trunks',
      'limit_reached',
    ])
  })

  it('beyond the trunks is paid by the minute, as long as credit is left for another one', () => {
    const funds = { balance: 5500, overdraft: 0, isPrepaid: true }
    const calls = Array.from({ length: 6 }, () => outbound)
    expect(begun(calls, { funds })).toEqual([
      'per_minute',
      'per_minute',
      'per_minute',
      'no_credit',
      'no_credit',
      'no_credit',
    ])
    expect(begun(calls, { funds, wishes: { outbound_trunks: 2 } })).toEqual([
      'outbound_trunks',
      'outbound_trunks',
      'per_minute',
      'limit_reached',
      'limit_reached',
      'limit_reached',
    ])
  })

  it('from a carrier needs credit only for an account that is prepaid, or has trunks for such calls', () => {
    const funds = { ...noMoney, isPrepaid: false }
    expect(begun([inbound], {})).toEqual(['no_credit'])
    expect(begun([inbound], { funds })).toEqual(['per_minute'])
    expect(begun([inbound], { funds, wishes: { outbound_trunks: 1 } })).toEqual(['per_minute'])
    expect(begun([inbound, inbound], { funds, wishes: { twoway_trunks: 1 } })).toEqual([
      'twoway_trunks',
      'limit_reached',
    ])
    expect(begun([outbound], { funds })).toEqual(['no_credit'])
  })

  it('beyond all limits begins where the limit of its direction is soft', () => {
    const operator = { soft_limit_inbound: true }
    const wishes = { resource_consuming_calls: 1 }
    expect(begun([inbound, inbound, outbound], { operator, wishes })).toEqual([
      'per_minute',
      'per_minute',
      'limit_reached',
    ])
  })

  const counts = fc.integer({ min: -1, max: 3 })

  it('never exceeds what an account has, whatever calls begin and end', () => {
    const worlds = fc.record({
      wishes: fc.record({
        inbound_trunks: counts,
        outbound_trunks: counts,
        twoway_trunks: counts,
        burst_trunks: counts,
        resource_consuming_calls: counts,
      }),
      balance: fc.integer({ min: -5000, max: 20_000 }),
      steps: fc.array(
        fc.record({
          call: fc.constantFrom(inbound, outbound, { ...outbound, classification: 'mobile' }),
          cost: fc.integer({ min: 0, max: 3000 }),
          ends: fc.option(fc.nat(10)),
        }),
        { maxLength: 30 },
      ),
    })
    fc.assert(
      fc.property(worlds, ({ wishes, balance, steps }) => {
        const limits = limitsOf(wishes)
        const most = (count: number) => (count < 0 ? Number.POSITIVE_INFINITY : count)
        const reserved: NonNullable<Funds['reserved']>[number][] = []
        for (const { call, cost, ends } of steps) {
          const funds = { balance, overdraft: 0, isPrepaid: true, reserved }
          const committed = reserved.reduce((sum, one) => sum + one.cost, 0)
          const paid = billingOf(call, limits, funds, flatRate)
          if (typeof paid !== 'string') {
            if (paid.billing === 'per_minute') expect(balance - committed - 5000).toBeGreaterThan(0)
            reserved.push({ trunk: paid.trunk, cost: paid.trunk ? 0 : cost })
          }
          expect(reserved.length).toBeLessThanOrEqual(most(limits.resource_consuming_calls))
          for (const name of trunks)
            expect(reserved.filter(({ trunk }) => trunk === name).length).toBeLessThanOrEqual(
              most(limits[name]),
            )
          if (ends !== null) reserved.splice(ends, 1)
        }
      }),
    )
  })

  it('may use what its account may owe', () => {
    const limits = limitsOf({}, { allow_postpay: true })
    expect(creditOf(limits, { balance: -100, overdraft: 500 })).toBe(400)
    expect(creditOf(limitsOf({}), { balance: -100, overdraft: 500 })).toBe(-100)
  })
})

describe('the time that running calls have left', () => {
  const terms = fc.record({
    elapsed: fc.integer({ min: 1, max: 4000 }),
    rateUnitsPerMinute: fc.integer({ min: 0, max: 5000 }),
    increment: fc.integer({ min: 1, max: 90 }),
    minimum: fc.integer({ min: 0, max: 120 }),
    surcharge: fc.integer({ min: 0, max: 500 }),
    noChargeTime: fc.integer({ min: 0, max: 10 }),
  })
  const runs = fc.array(terms, { minLength: 1, maxLength: 6 })

  const callsOf = (all: readonly (typeof terms extends fc.Arbitrary<infer T> ? T : never)[]) =>
    all.map(({ elapsed, ...price }) => ({
      elapsed,
      costOf: (seconds: number) => callCost({ ...price, seconds }).cost,
    }))

  it('is what the credit pays for, increment by increment', () => {
    const costOf = (seconds: number) => Math.ceil(seconds / 60) * 200
    expect(secondsLeft([{ elapsed: 1, costOf }], 5500)).toEqual([27 * 60 - 1])
    expect(
      secondsLeft(
        [
          { elapsed: 1, costOf },
          { elapsed: 31, costOf },
        ],
        900,
      ),
    ).toEqual([119, 89])
    expect(secondsLeft([{ elapsed: 61, costOf }], 100)).toEqual([59])
    expect(secondsLeft([{ elapsed: 1, costOf: () => 0 }], 0)).toEqual([maxRunningSeconds])
    expect(secondsLeft([], 0)).toEqual([])
  })

  it('never lets calls cost more than the credit, beyond the increments that have begun', () => {
    fc.assert(
      fc.property(runs, fc.integer({ min: -5000, max: 50_000 }), (all, credit) => {
        const calls = callsOf(all)
        const left = secondsLeft(calls, credit)
        const costs = (seconds: (index: number) => number) =>
          calls.reduce((sum, { elapsed, costOf }, index) => sum + costOf(elapsed + seconds(index)), 0)
        expect(costs((index) => left[index] ?? 0)).toBeLessThanOrEqual(
          Math.max(
            credit,
            costs(() => 0),
          ),
        )
      }),
    )
  })

  it('ends only when another increment would cost too much', () => {
    fc.assert(
      fc.property(runs, fc.integer({ min: 0, max: 50_000 }), (all, credit) => {
        const calls = callsOf(all)
        const first = Math.min(...secondsLeft(calls, credit))
        if (first === maxRunningSeconds) return
        const cost = calls.reduce((sum, { elapsed, costOf }) => sum + costOf(elapsed + first + 1), 0)
        expect(cost).toBeGreaterThan(credit)
      }),
    )
  })
})
