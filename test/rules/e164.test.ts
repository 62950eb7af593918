import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isE164, normalizeNumber } from '../../src/lib/e164.ts'

describe('normalizeNumber', () => {
  it.each([
    ['+14155550100', '+14155550100'],
    ['4155550100', '+14155550100'],
    ['14155550100', '+14155550100'],
    ['2234567890', '+12234567890'],
    ['12234567890', '+12234567890'],
    ['1234567890', '+11234567890'],
    ['1234', '+1234'],
    ['9', '+9'],
    ['442071838750', '+442071838750'],
    ['011442071838750', '+442071838750'],
    ['00442071838750', '+442071838750'],
    ['+1 415', '+1 415'],
    ['(415) 555-0100', '(415) 555-0100'],
    ['alice', 'alice'],
    ['', ''],
    ['٤١٥٥٥٥٠١٠٠', '٤١٥٥٥٥٠١٠٠'],
    ['4155550100\n', '4155550100\n'],
  ])('makes of %j %j', (given, expected) => expect(normalizeNumber(given)).toBe(expected))

  it('changes nothing twice and never loses the digits of a national number', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\+?\d{0,20}$/), (text) => {
        const once = normalizeNumber(text)
        expect(normalizeNumber(once)).toBe(once)
      }),
    )
    fc.assert(
      fc.property(fc.stringMatching(/^[1-9]\d{9}$/), (text) => {
        expect(normalizeNumber(text)).toBe(`+1${text}`)
      }),
    )
  })
})

it('isE164 asks for a plus, a country code and at most 15 digits', () => {
  for (const text of ['+14155550100', '+442071838750', '+12', '+123456789012345'])
    expect(isE164(text)).toBe(true)
  for (const text of [
    '',
    '+',
    '4155550100',
    '+0123',
    '+1234567890123456',
    '+1a',
    '+14155550100\n',
    ' +1415',
  ]) {
    expect(isE164(text)).toBe(false)
  }
})
