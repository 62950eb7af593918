import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { e164Prefix, nationalPrefix } from '../../src/areas/numbers/phone-numbers/dial-code.ts'
import {
  citiesOf,
  localityColumns,
  localityIn,
  localityPlacesIn,
  prefixesOf,
} from '../../src/areas/numbers/phone-numbers/localities/rules.ts'
import { joinOffers } from '../../src/areas/numbers/phone-numbers/search/rules.ts'

describe('the beginning of a number', () => {
  it.each([
    ['415', 'US', '+1415'],
    ['1415', 'US', '+1415'],
    ['+1415', 'DE', '+1415'],
    ['30', 'DE', '+4930'],
    ['20', 'gb', '+4420'],
    ['416', 'CA', '+1416'],
    ['30', 'XX', undefined],
    ['30', '', undefined],
  ])('%s of %s is %s', (text, country, prefix) => {
    expect(e164Prefix(text, country)).toBe(prefix)
  })

  it('is found again behind the code of its country', () => {
    const digits = fc.stringMatching(/^[2-9][0-9]{1,8}$/)
    fc.assert(
      fc.property(digits, fc.constantFrom('US', 'CA', 'DE', 'GB', 'IN'), (text, country) => {
        expect(nationalPrefix(e164Prefix(text, country) as string, country)).toBe(text)
      }),
    )
  })
})

describe('a line of localities', () => {
  const places = localityPlacesIn(localityColumns)
  if (typeof places === 'string') throw new Error(places)

  it('is a locality, or a reason why it is none, for any text', () => {
    const cell = fc.option(fc.string(), { nil: undefined })
    fc.assert(
      fc.property(fc.array(cell, { minLength: 7, maxLength: 9 }), (cells) => {
        const read = localityIn(cells, places)
        if (typeof read !== 'string') expect(read.prefix).toMatch(/^\+[1-9]\d{0,14}$/)
      }),
    )
  })

  it('may have its columns in any order', () => {
    const header = localityColumns.toReversed()
    const line = ['-122.4', '37.7', '722', 'SNFC', 'San Francisco', 'CA', 'us', ' 415 ']
    expect(localityIn(line, localityPlacesIn(header) as typeof places)).toEqual({
      prefix: '+1415',
      country: 'US',
      region: 'CA',
      city: 'San Francisco',
      rateCenter: 'SNFC',
      lata: '722',
      latitude: '37.7',
      longitude: '-122.4',
    })
  })
})

describe('prefixes', () => {
  it('of a number are tried from the longest on', () => {
    expect(prefixesOf('+14155550100', [3, 8, 5, 20])).toEqual(['+1415555', '+1415', '+14'])
  })

  it('of cities are listed once, and cities of one name by region', () => {
    const row = (city: string, region: string, prefix: string) => ({ city, region, prefix, country: 'US' })
    expect(
      citiesOf([
        row('Springfield', 'IL', '+1217241'),
        row('Springfield', 'IL', '+1217242'),
        row('Springfield', 'MO', '+1417202'),
        row('__proto__', 'CA', '+1415'),
      ]),
    ).toEqual(
      Object.fromEntries([
        ['Springfield, IL', { state: 'IL', prefixes: ['217'] }],
        ['Springfield, MO', { state: 'MO', prefixes: ['417'] }],
        ['__proto__', { state: 'CA', prefixes: ['415'] }],
      ]),
    )
  })
})

describe('the answers of several carriers', () => {
  const offers = fc.array(
    fc.record({
      number: fc.stringMatching(/^\+1415555[0-9]{2}$/),
      state: fc.constantFrom('available' as const, 'discovery' as const),
      carrier: fc.constantFrom('knm_local' as const, 'knm_other' as const),
    }),
  )

  it('become one list in order, each number once, from the first who has it', () => {
    fc.assert(
      fc.property(fc.array(offers), (answers) => {
        const joined = joinOffers(answers)
        const numbers = joined.map(({ number }) => number)
        expect(numbers).toEqual([...new Set(answers.flat().map(({ number }) => number))].sort())
        for (const offer of joined)
          expect(offer).toBe(answers.flat().find(({ number }) => number === offer.number))
      }),
    )
  })
})
