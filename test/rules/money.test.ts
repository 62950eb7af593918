import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decimalsOf,
  divideRounded,
  dollarsOfUnits,
  dollarsText,
  microUnitsOfDollars,
  microUnitsOfUnits,
  parseDecimal,
  unitsOfDollars,
  unitsText,
} from '../../src/lib/money.ts'

/** Decimal texts of up to 15 significant digits, as a client would write them in JSON. */
const amounts = fc
  .tuple(fc.boolean(), fc.integer({ min: 0, max: 99_999_999_999 }), fc.integer({ min: 0, max: 9999 }))
  .map(([minus, whole, fraction]) => `${minus ? '-' : ''}${whole}.${String(fraction).padStart(4, '0')}`)

describe('money', () => {
  it.each([
    [0.00005, 1],
    [1.00005, 10001],
    [2.675, 26750],
    [0.00015, 2],
    [-0.00015, -2],
    [0.00014999, 1],
    [4.35, 43500],
    [1e-7, 0],
    [1e10, 100_000_000_000_000],
  ])('%s dollars are %s units', (dollars, units) => {
    expect(unitsOfDollars(dollars)).toBe(units)
  })

  it('reads the exponents that numbers print with', () => {
    expect(parseDecimal(1.5e-7)).toEqual({ digits: 15n, decimals: 8 })
    expect(parseDecimal(1e21)).toEqual({ digits: 10n ** 21n, decimals: 0 })
    expect(microUnitsOfDollars(1.25e-7)).toBe(1250n)
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, '', '.', '-', 'abc', '1,5', '0x10', ' 1', '1e9999'])(
    'takes %j for no amount',
    (text) => {
      expect(parseDecimal(text)).toBeUndefined()
    },
  )

  it('refuses to count what is no amount', () => {
    expect(() => unitsOfDollars(Number.NaN)).toThrow(RangeError)
  })

  it('counts decimals without their trailing zeros', () => {
    expect(decimalsOf('1.2500')).toBe(2)
    expect(decimalsOf('100')).toBe(0)
    expect(decimalsOf(0)).toBe(0)
    expect(decimalsOf('x')).toBeUndefined()
  })

  it('keeps a price per minute that is finer than a unit', () => {
    expect(unitsText(microUnitsOfDollars(0.00435))).toBe('43.5')
    expect(dollarsText(microUnitsOfDollars(0.00435))).toBe('0.00435')
  })

  it('reads and writes any amount of up to 15 digits as it was in JSON, through a JavaScript number', () => {
    fc.assert(
      fc.property(amounts, (text) => {
        const throughJson: number = JSON.parse(text)
        const [minus, digits] = [text.startsWith('-'), text.replace('-', '').replace('.', '')]
        const units = BigInt(digits) * (minus ? -1n : 1n)
        expect(BigInt(unitsOfDollars(throughJson))).toBe(units)
        // Zero has no sign: JSON's `-0.0000` comes back as 0.
        expect(dollarsOfUnits(units)).toBe(throughJson + 0)
      }),
    )
  })

  it('goes to text and back without loss', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), (amount) => {
        expect(microUnitsOfDollars(dollarsText(amount))).toBe(amount)
        expect(microUnitsOfUnits(unitsText(amount))).toBe(amount)
      }),
    )
  })

  it('rounds to the nearest whole, a half away from zero, and symmetrically', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }), fc.bigInt(1n, 10n ** 9n), (a, b) => {
        const quotient = divideRounded(a, b)
        const off = 2n * (a - quotient * b)
        expect(off <= b && off >= -b).toBe(true)
        if (off === b) expect(quotient).toBeLessThan(0n)
        if (off === -b) expect(quotient).toBeGreaterThan(0n)
        expect(divideRounded(-a, b)).toBe(-quotient)
      }),
    )
  })
})
