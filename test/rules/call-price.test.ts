import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  baseCost,
  baseCostDollars,
  callCost,
  type PricedCall,
} from '../../src/areas/billing/rates/pricing.rules.ts'

type Case = [PricedCall, number, number]

const cases: Case[] = [
  [{ seconds: 20, rateUnitsPerMinute: 120, increment: 6, minimum: 30 }, 30, 60],
  [{ seconds: 31, rateUnitsPerMinute: 120, increment: 6, minimum: 30 }, 36, 72],
  [{ seconds: 95, rateUnitsPerMinute: 120, increment: 6, minimum: 30, surcharge: 50 }, 96, 242],
  [{ seconds: 61, rateUnitsPerMinute: 120, increment: 60, minimum: 60 }, 120, 240],
  [{ seconds: 3, rateUnitsPerMinute: 120, minimum: 60, surcharge: 100, noChargeTime: 5 }, 0, 0],
  [{ seconds: 6, rateUnitsPerMinute: 120, minimum: 60, surcharge: 100, noChargeTime: 5 }, 60, 220],
  [{ seconds: 61, rateUnitsPerMinute: 100, increment: 60, minimum: 60, discountPercentage: 15 }, 120, 170],
  [{ seconds: 7, rateUnitsPerMinute: 33, increment: 6, minimum: 6 }, 12, 6],
  [{ seconds: 0, rateUnitsPerMinute: 120, surcharge: 50 }, 0, 0],
  [{ seconds: -4, rateUnitsPerMinute: 120 }, 0, 0],
  [{ seconds: 5, rateUnitsPerMinute: 120, noChargeTime: 5 }, 0, 0],
  [{ seconds: 61, rateUnitsPerMinute: 120, increment: 0 }, 120, 240],
  [{ seconds: 7, rateUnitsPerMinute: 120, increment: 6, minimum: 0, surcharge: 1 }, 12, 25],
  [{ seconds: 120, rateUnitsPerMinute: '43.5' }, 120, 87],
  [{ seconds: 60, rateUnitsPerMinute: 43.5 }, 60, 43],
  [{ seconds: 60, rateUnitsPerMinute: 1000, discountPercentage: 12.5 }, 60, 875],
  [{ seconds: 60, rateUnitsPerMinute: 7, discountPercentage: 50 }, 60, 4],
]

const calls = fc.record({
  seconds: fc.integer({ min: 0, max: 100_000 }),
  rateUnitsPerMinute: fc.integer({ min: 0, max: 1_000_000 }),
  increment: fc.integer({ min: 0, max: 120 }),
  minimum: fc.integer({ min: 0, max: 600 }),
  surcharge: fc.integer({ min: 0, max: 100_000 }),
  noChargeTime: fc.integer({ min: 0, max: 30 }),
  discountPercentage: fc.integer({ min: 0, max: 100 }),
})

describe('the cost of a call', () => {
  it.each(cases)('%j: %s seconds, %s units', (call, chargedSeconds, cost) => {
    expect(callCost(call)).toEqual({ cost, chargedSeconds })
  })

  it('never falls when a call gets longer', () => {
    fc.assert(
      fc.property(calls, fc.integer({ min: 0, max: 1000 }), (call, more) => {
        const longer = callCost({ ...call, seconds: call.seconds + more })
        expect(longer.cost).toBeGreaterThanOrEqual(callCost(call).cost)
        expect(longer.chargedSeconds).toBeGreaterThanOrEqual(callCost(call).chargedSeconds)
      }),
    )
  })

  it('is never below zero, whatever is taken off', () => {
    fc.assert(
      fc.property(calls, fc.integer({ min: 101, max: 100_000 }), (call, discountPercentage) => {
        expect(callCost({ ...call, discountPercentage }).cost).toBe(0)
      }),
    )
  })

  it('pays at least the seconds of the call, once it pays at all', () => {
    fc.assert(
      fc.property(calls, (call) => {
        const { chargedSeconds } = callCost(call)
        const isFree = call.seconds <= call.noChargeTime
        expect(chargedSeconds === 0).toBe(isFree || call.seconds === 0)
        if (chargedSeconds > 0) expect(chargedSeconds).toBeGreaterThanOrEqual(call.seconds)
      }),
    )
  })

  it('is a fraction of a unit below the exact sum, never more and never above', () => {
    fc.assert(
      fc.property(calls, (call) => {
        const whole = { ...call, discountPercentage: 0, noChargeTime: 0, seconds: call.seconds + 1 }
        const { minimum } = call
        const increment = call.increment || 60
        const beyond = Math.max(0, Math.ceil((whole.seconds - minimum) / increment) * increment)
        const sixtieths = call.surcharge * 60 + call.rateUnitsPerMinute * (minimum + beyond)
        expect(callCost(whole).cost).toBe(Math.floor(sixtieths / 60))
      }),
    )
  })

  it('has a base of the whole minutes of the minimum, and the surcharge', () => {
    expect(baseCost({ rateUnitsPerMinute: 120, minimum: 90 })).toBe(120_000_000n)
    expect(baseCost({ rateUnitsPerMinute: 120, minimum: 30, surcharge: 50 })).toBe(50_000_000n)
    expect(baseCostDollars({ rateUnitsPerMinute: 120, minimum: 0 })).toBe(0.012)
    expect(baseCostDollars({ rateUnitsPerMinute: '43.5', surcharge: 1 })).toBe(0.00445)
  })
})
