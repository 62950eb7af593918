import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { allotmentFor, consumptionOf, cycleAt } from '../../src/areas/billing/limits/allotments/rules.ts'
import { gregorianOfUnix } from '../../src/lib/gregorian.ts'
import { allotmentCycles } from '../../src/lib/limit-shapes.ts'

const at = (text: string) => gregorianOfUnix(Date.parse(text) / 1000)

describe('the cycle of an allotment', () => {
  it.each([
    ['minutely', '2026-01-05T12:34:00Z', '2026-01-05T12:35:00Z'],
    ['hourly', '2026-01-05T12:00:00Z', '2026-01-05T13:00:00Z'],
    ['daily', '2026-01-05T00:00:00Z', '2026-01-06T00:00:00Z'],
    ['weekly', '2026-01-05T00:00:00Z', '2026-01-12T00:00:00Z'],
    ['monthly', '2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'],
  ] as const)('that is %s begins at %s and ends before %s', (cycle, from, to) => {
    expect(cycleAt(cycle, at('2026-01-05T12:34:56Z'))).toEqual({ from: at(from), to: at(to) })
  })

  it('of a week begins on Monday', () => {
    expect(cycleAt('weekly', at('2026-01-04T23:59:59Z')).from).toBe(at('2025-12-29T00:00:00Z'))
  })

  it('holds the moment, and is followed by the next without a gap', () => {
    const moment = fc.integer({ min: at('1970-01-01T00:00:00Z'), max: at('2200-01-01T00:00:00Z') })
    fc.assert(
      fc.property(fc.constantFrom(...allotmentCycles), moment, (cycle, now) => {
        const { from, to } = cycleAt(cycle, now)
        expect(from).toBeLessThanOrEqual(now)
        expect(now).toBeLessThan(to)
        expect(cycleAt(cycle, to).from).toBe(to)
        expect(from % 60).toBe(0)
      }),
    )
  })
})

describe('what a call uses of an allotment', () => {
  const allotment = { amount: 0, cycle: 'daily', increment: 30, minimum: 60, no_consume_time: 5 } as const

  it.each([
    [0, 0],
    [5, 0],
    [6, 60],
    [60, 60],
    [61, 90],
  ])('for %i seconds is %i', (seconds, used) => {
    expect(consumptionOf(allotment, seconds)).toBe(used)
  })

  it('is counted where the direction is named before where it is not', () => {
    const table = { did_us: allotment, inbound_did_us: allotment }
    expect(allotmentFor(table, 'inbound', 'did_us')).toBe('inbound_did_us')
    expect(allotmentFor(table, 'outbound', 'did_us')).toBe('did_us')
    expect(allotmentFor(table, 'outbound', 'tollfree_us')).toBeUndefined()
  })
})
