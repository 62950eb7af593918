import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  chooseRate,
  fieldsIn,
  generatedName,
  generatedWeight,
  hasFields,
  isRateable,
  leadingParts,
  mergedRate,
  newRate,
  type RateCandidate,
  rateCsvRow,
  rateIdentity,
  rateProblems,
  withRoutes,
} from '../../src/areas/billing/rates/rules.ts'
import type { Rate } from '../../src/areas/billing/rates/schema.ts'

const manner = {
  filter_list: ['direction', 'route_options', 'routes', 'caller_id_numbers', 'reseller'],
  sort_by_weight: true,
} as const
const asSet = { ...manner, filter_list: [...manner.filter_list] }

const candidates = fc.array(
  fc.record({
    id: fc.uuid(),
    doc: fc.record(
      {
        prefix: fc.constantFrom(1, 12, 121, 1214, 12145, 44),
        rate_cost: fc.integer({ min: 0, max: 10_000_000 }).map((units) => units / 100_000),
        weight: fc.integer({ min: 1, max: 100 }),
        direction: fc.subarray<'inbound' | 'outbound'>(['inbound', 'outbound']),
      },
      { requiredKeys: ['prefix', 'rate_cost'] },
    ),
  }),
  { maxLength: 20 },
) as fc.Arbitrary<RateCandidate[]>

const number = '+12145550100'
const digits = number.slice(1)

describe('the choice of a rate', () => {
  it('is the longest prefix, then the lowest weight, then the lowest cost, as a plain search finds it', () => {
    fc.assert(
      fc.property(candidates, fc.constantFrom('inbound', 'outbound', undefined), (all, direction) => {
        const fitting = all.filter(({ doc }) => digits.startsWith(String(doc.prefix)))
        const chosen = chooseRate(fitting, { number, direction }, asSet)
        const open = fitting.filter(
          ({ doc }) => !doc.direction?.length || !direction || doc.direction.includes(direction as 'inbound'),
        )
        if (open.length === 0) {
          expect(chosen).toBeUndefined()
          return
        }
        const longest = Math.max(...open.map(({ doc }) => doc.prefix))
        const rivals = open.filter(({ doc }) => doc.prefix === longest)
        const lightest = Math.min(...rivals.map(({ doc }) => doc.weight ?? 100))
        const light = rivals.filter(({ doc }) => (doc.weight ?? 100) === lightest)
        expect(chosen?.doc).toMatchObject({
          prefix: longest,
          rate_cost: Math.min(...light.map(({ doc }) => doc.rate_cost)),
        })
        expect(chosen?.doc.weight ?? 100).toBe(lightest)
      }),
    )
  })

  it('is the same in whatever order the rates are read', () => {
    fc.assert(
      fc.property(candidates, fc.boolean(), (all, sort_by_weight) => {
        const fitting = all.filter(({ doc }) => digits.startsWith(String(doc.prefix)))
        const choose = (rates: RateCandidate[]) =>
          chooseRate(rates, { number }, { ...asSet, sort_by_weight })?.id
        expect(choose(fitting.toReversed())).toBe(choose(fitting))
      }),
    )
  })

  it('looks at the leading parts of a number, of which there are at most 15', () => {
    expect(leadingParts('1214')).toEqual(['1', '12', '121', '1214'])
    expect(leadingParts('')).toEqual([])
    fc.assert(
      fc.property(fc.stringMatching(/^[1-9]\d{0,30}$/), (text) => {
        const parts = leadingParts(text)
        expect(parts).toHaveLength(Math.min(15, text.length))
        expect(parts.every((part) => text.startsWith(part))).toBe(true)
      }),
    )
  })

  it('is not made for what is no number to call', () => {
    expect(['+12145550100', '+442079460000', '+4930123'].map(isRateable)).toEqual([true, true, false])
    expect(['+1214555010', '+0123456789', '2145550100', '+44207946000012345'].some(isRateable)).toBe(false)
  })
})

describe('an imported rate', () => {
  it.each([
    [{ prefix: 1214, rate_cost: 0.05 }, 35],
    [{ prefix: 1214, rate_cost: 0.05, internal_rate_cost: 0.019 }, 39],
    [{ prefix: 1, rate_cost: 5 }, 1],
    [{ prefix: 123456789012, rate_cost: 0 }, 100],
    [{ prefix: 12, rate_cost: 0.07 }, 13],
    [{ prefix: 12, rate_cost: 0.29 }, 1],
    [{ prefix: 123, rate_cost: 0.29 }, 1],
    [{ prefix: 1234, rate_cost: 0.29 }, 11],
  ])('%j has weight %s when none is given', (rate, weight) => {
    expect(generatedWeight(rate)).toBe(weight)
  })

  it('is named after direction, country and prefix', () => {
    expect(generatedName({ prefix: 1, rate_cost: 0 })).toBe('XX_1')
    expect(generatedName({ prefix: 1, rate_cost: 0, direction: ['inbound'], iso_country_code: 'US' })).toBe(
      'inbound_US_1',
    )
  })

  it('gets a route from its prefix', () => {
    expect(withRoutes({ prefix: 1214, rate_cost: 0 }).routes).toEqual(['^\\+?1214.+$'])
    expect(withRoutes({ prefix: 1, rate_cost: 0, routes: ['x'] }).routes).toEqual(['x'])
  })

  it('is read from cells as it would be written in JSON', () => {
    const cells = {
      prefix: '1214',
      rate_cost: '0.00435',
      direction: 'inbound',
      routes: '["^\\\\+1","^1"]',
      options: 'a,b',
      description: '',
      weight: undefined,
      error: 'left over',
    }
    expect(fieldsIn(cells)).toEqual({
      prefix: 1214,
      rate_cost: 0.00435,
      direction: ['inbound'],
      routes: ['^\\+1', '^1'],
      options: ['a', 'b'],
    })
  })

  it('keeps what a later row does not say; a generated weight follows the price, a given one stays', () => {
    const first = newRate({ prefix: 1214, rate_cost: 0.05, description: 'Dallas' })
    expect(first).toMatchObject({ weight: 35, rate_name: 'XX_1214', rate_increment: 60 })
    expect(mergedRate(first, { prefix: 1214, rate_cost: 0.1 })).toEqual({
      ...first,
      rate_cost: 0.1,
      weight: 30,
    })
    const weighed = { ...first, weight: 7 }
    expect(mergedRate(weighed, { prefix: 1214, rate_cost: 0.1 })).toEqual({ ...weighed, rate_cost: 0.1 })
  })

  it('is another one when it is for something else, and the same when only its price differs', () => {
    const identity = (fields: Partial<Rate>) =>
      rateIdentity({ ratedeck_id: 'ratedeck', prefix: 1, rate_cost: 0, ...fields })
    expect(identity({ rate_cost: 1, weight: 3, description: 'x' })).toBe(identity({ rate_cost: 2 }))
    expect(identity(newRate({ prefix: 1, rate_cost: 0, ratedeck_id: 'ratedeck' }))).toBe(identity({}))
    const others: Partial<Rate>[] = [
      { prefix: 12 },
      { ratedeck_id: 'other' },
      { direction: ['inbound'] },
      { carrier: 'x' },
      { account_id: 'x' },
      { rate_name: 'x' },
      { iso_country_code: 'US' },
      { routes: ['x'] },
      { options: ['x'] },
    ]
    expect(new Set([{}, ...others].map(identity)).size).toBe(others.length + 1)
  })

  it('comes back from the row that an export writes', () => {
    const texts = fc.constantFrom<string>('a', 'with "quotes"', 'a, b', '[x]')
    const rates = fc.record(
      {
        prefix: fc.integer({ min: 1, max: 99_999 }),
        rate_cost: fc.integer({ min: 0, max: 10 ** 9 }).map((value) => value / 1e5),
        weight: fc.integer({ min: 1, max: 100 }),
        direction: fc.constantFrom<'inbound' | 'outbound'>('inbound', 'outbound').map((one) => [one]),
        options: fc.array<string>(texts, { minLength: 1, maxLength: 3 }),
        routes: fc.array<string>(fc.constantFrom('^\\+1', '^49.*$'), { minLength: 1, maxLength: 2 }),
        rate_name: texts,
        description: texts,
      },
      { requiredKeys: ['prefix', 'rate_cost'] },
    )
    fc.assert(
      fc.property(rates, (fields) => {
        const rate = newRate(fields)
        const cells = Object.fromEntries(
          Object.entries(rateCsvRow(rate)).map(([key, value]) => [key, String(value)]),
        )
        expect(fieldsIn(cells)).toEqual(rate)
        expect(hasFields(rate, fieldsIn(cells))).toBe(true)
      }),
    )
  })
})

it('a rate whose price would be rounded is refused', () => {
  expect(rateProblems({ rate_cost: 0.00000001 })).toEqual({})
  expect(Object.keys(rateProblems({ rate_cost: 0.000000011, rate_surcharge: 1 / 3 }))).toEqual([
    'rate_cost',
    'rate_surcharge',
  ])
})
