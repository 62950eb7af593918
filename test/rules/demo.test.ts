// The generated data of the demo company, without a server.
import { inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHistory } from '../../demo/api-client.ts'
import { type CallingCompany, legsByHour, legsOf, weightOf } from '../../demo/calls.ts'
import { drawPicture } from '../../demo/picture.ts'
import { createRandom, splitBy } from '../../demo/random.ts'

import { unixOfGregorian } from '../../src/lib/gregorian.ts'

const end = Date.UTC(2026, 5, 15, 9, 20)
const days = 14
const start = end - days * 86_400_000

const company = (calls: number, until = end): CallingCompany => ({
  accountId: 'a'.repeat(32),
  resellerId: 'b'.repeat(32),
  realm: 'sip.test',
  timezone: 'Europe/Berlin',
  tongue: 'de',
  volume: 'office',
  calls,
  until,
  numbers: ['+493023125001'],
  lines: [1, 2, 3].map((place) => ({
    deviceId: `${place}`.repeat(32),
    ownerId: undefined,
    name: `Phone ${place}`,
    extension: `10${place}`,
    username: `phone-${place}`,
    agent: 'Phone',
  })),
})

const legsFor = (companies: readonly CallingCompany[], legs: number) => {
  const chance = createRandom(1)
  const seconds = Math.floor(end / 1000)
  return legsByHour(companies, start, days, legs).flatMap(({ at, company: whose, count }) =>
    whose ? legsOf(whose, { at, count, end: seconds }, chance) : [],
  )
}

describe('chance', () => {
  it('comes out the same every time, and differs with its seed', () => {
    const draws = (seed: number) => {
      const chance = createRandom(seed)
      return Array.from({ length: 20 }, () => chance.whole(1, 1000))
    }
    expect(draws(7)).toEqual(draws(7))
    expect(draws(7)).not.toEqual(draws(8))
    expect(Math.min(...draws(7))).toBeGreaterThanOrEqual(1)
  })

  it('splits a number by weights without losing one', () => {
    const weights = fc.array(fc.double({ min: 0.01, max: 100, noNaN: true }), { minLength: 1, maxLength: 50 })
    fc.assert(
      fc.property(weights, fc.nat(100_000), (some, total) => {
        const parts = splitBy(some, total)
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(total)
        expect(Math.min(...parts)).toBeGreaterThanOrEqual(0)
      }),
    )
  })
})

describe('the calls of the demo', () => {
  it('have exactly the requested number of legs, each leg once, and end by the end of the period', () => {
    const legs = legsFor([company(3), company(1)], 997)
    expect(legs).toHaveLength(997)
    expect(new Set(legs.map(({ call_id }) => call_id)).size).toBe(997)
    const ends = legs.map(({ timestamp = 0 }) => unixOfGregorian(timestamp) * 1000)
    expect(Math.max(...ends)).toBeLessThanOrEqual(end)
    expect(Math.min(...ends)).toBeGreaterThanOrEqual(start - 7_300_000)
  })

  it('end with the company, and keep its hours', () => {
    const closed = end - 5 * 86_400_000
    const legs = legsFor([company(1, closed)], 200)
    for (const { timestamp = 0 } of legs)
      expect(unixOfGregorian(timestamp) * 1000).toBeLessThanOrEqual(closed + 3_700_000)
    expect(weightOf('office', 'Europe/Berlin', Date.UTC(2026, 5, 15, 1))).toBe(0)
    expect(weightOf('office', 'Europe/Berlin', Date.UTC(2026, 5, 15, 8))).toBeGreaterThan(5)
  })

  it('are the same the next time', () => {
    expect(legsFor([company(2)], 100)).toEqual(legsFor([company(2)], 100))
  })
})

describe('the past', () => {
  it('goes forward only, and not beyond the end', () => {
    const past = createHistory(end, 2)
    past.goTo(past.daysAgo(1))
    past.goTo(past.daysAgo(2))
    expect(past.now()).toBe(past.daysAgo(1))
    past.pass(10 * 86_400_000)
    expect(past.now()).toBe(end)
  })
})

describe('the logo', () => {
  it('is a picture of the requested size', () => {
    const png = Buffer.from(drawPicture(320, 80, [0, 0, 0]))
    expect(png.subarray(1, 4).toString()).toBe('PNG')
    const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
    const dataLength = png.readUInt32BE(33)
    expect(inflateSync(png.subarray(41, 41 + dataLength))).toHaveLength(height * (1 + width * 4))
  })
})
