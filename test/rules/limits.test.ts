import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { effectiveLimits, noWishes, pricedTrunks, trunkMoves } from '../../src/areas/billing/limits/rules.ts'

const none = () => 0
const channels = fc.integer({ min: -1, max: 50 })

describe('the trunks that hold', () => {
  const held = (wished: number, cap?: number) =>
    effectiveLimits(
      { ...noWishes, twoway_trunks: wished },
      cap === undefined ? {} : { twoway_trunks: cap },
      none,
    ).twoway_trunks

  it.each([
    ['an operator who says nothing', 7, undefined, 7],
    ['an operator who does not limit', 7, -1, 7],
    ['an operator who allows none', 7, 0, 0],
    ['an operator who allows fewer', 7, 3, 3],
    ['an operator who allows more', 7, 9, 7],
    ['a wish for all there are, and an operator who allows some', -1, 3, 3],
  ])('with %s: %i and %s give %i', (_title, wished, cap, expected) => {
    expect(held(wished, cap)).toBe(expected)
  })

  it('grow with what they are bundled with, unless there is no limit', () => {
    const operator = {
      inbound_trunks: 2,
      bundled_inbound_trunks: 'device',
      bundled_twoway_trunks: 'user',
    } as const
    const limits = effectiveLimits({ ...noWishes, inbound_trunks: 5, twoway_trunks: -1 }, operator, (type) =>
      type === 'device' ? 4 : 9,
    )
    expect(limits).toMatchObject({ inbound_trunks: 6, twoway_trunks: -1 })
  })

  it('are never more than either side says', () => {
    fc.assert(
      fc.property(channels, channels, (wished, cap) => {
        const trunks = held(wished, cap)
        if (cap >= 0) expect(trunks).toBeLessThanOrEqual(cap)
        if (wished >= 0) expect(trunks).toBeLessThanOrEqual(wished)
        expect(trunks === -1).toBe(wished === -1 && cap === -1)
      }),
    )
  })
})

describe('the calls that hold', () => {
  it('are the smaller number that limits at all', () => {
    fc.assert(
      fc.property(channels, channels, (wished, cap) => {
        const { calls } = effectiveLimits({ ...noWishes, calls: wished }, { calls: cap }, none)
        const limiting = [wished, cap].filter((limit) => limit >= 0)
        expect(calls).toBe(limiting.length > 0 ? Math.min(...limiting) : -1)
      }),
    )
  })

  it('are paid before unless one of both says no, and afterwards only if the operator says so', () => {
    const limits = effectiveLimits(noWishes, { allow_prepay: false, allow_postpay: true }, none)
    expect(limits).toMatchObject({ allow_prepay: false, allow_postpay: true, reserve_amount: 0.5 })
  })
})

describe('trunks that are paid for', () => {
  it('add up to what there is, whatever it was before', () => {
    const trunks = fc.record(Object.fromEntries(pricedTrunks.map((name) => [name, channels])))
    fc.assert(
      fc.property(fc.array(trunks), (history) => {
        const sums = new Map<string, number>()
        let before = {}
        for (const after of history) {
          for (const { item, delta } of trunkMoves(before, after))
            sums.set(item, (sums.get(item) ?? 0) + delta)
          before = after
        }
        for (const [item, sum] of sums) {
          const last = (history.at(-1) as Record<string, number>)[item] as number
          expect(sum).toBe(Math.max(0, last))
        }
      }),
    )
  })
})
