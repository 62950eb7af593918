import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Cursor, PageRequest } from '../../src/http/response/listing.ts'
import { openTimeWindow, timeListing, timeWindow } from '../../src/http/response/time-window.ts'
import { Failure, isFailure, validationError } from '../../src/lib/failure.ts'
import { monthOf, timeKey } from '../../src/lib/time-key.ts'

const day = 86_400
const maximum = 31 * day + 3600
const windowOf = (query: string) => timeWindow(new URLSearchParams(query), 100 * day, maximum)

const rulesBrokenBy = (query: string) => {
  try {
    windowOf(query)
    return undefined
  } catch (error) {
    if (!isFailure(error, validationError)) throw error
    return Object.entries(error.details.problems).map(([path, rules]) => [path, Object.keys(rules)])
  }
}

describe('a window of time', () => {
  it('is the newest 31 days and an hour unless told', () => {
    expect(windowOf('')).toEqual({ from: 100 * day - maximum, to: 100 * day })
    expect(windowOf(`created_to=${50 * day}`)).toEqual({ from: 50 * day - maximum, to: 50 * day })
    expect(windowOf(`created_from=${90 * day}`)).toEqual({ from: 90 * day, to: 100 * day })
  })

  it('may be as wide as the maximum, no wider, and not reversed', () => {
    expect(windowOf(`created_from=0&created_to=${maximum}`)).toEqual({ from: 0, to: maximum })
    expect(rulesBrokenBy(`created_from=0&created_to=${maximum + 1}`)).toEqual([
      ['created_from', ['date_range']],
    ])
    expect(rulesBrokenBy('created_from=2&created_to=1')).toEqual([['created_from', ['date_range']]])
    expect(rulesBrokenBy('created_from=0')).toEqual([['created_from', ['date_range']]])
  })

  it('may be of any width where nothing is longest, and is the usual one unless told', () => {
    const open = (query: string) => openTimeWindow(new URLSearchParams(query), 100 * day, maximum)
    expect(open('created_from=0')).toEqual({ from: 0, to: 100 * day })
    expect(open(`created_to=${50 * day}`)).toEqual({ from: 50 * day - maximum, to: 50 * day })
    expect(() => open('created_from=2&created_to=1')).toThrow()
  })

  it('is refused in terms of what was sent', () => {
    const told = (query: string) => {
      try {
        return windowOf(query)
      } catch (error) {
        if (!isFailure(error, validationError)) throw error
        return error.details.problems.created_from?.date_range?.message
      }
    }
    expect(told(`created_from=${101 * day}`)).toBe(
      `created_from ${101 * day} is later than now, ${100 * day}`,
    )
    expect(told('created_from=1')).toBe(
      `created_from is more than ${maximum} seconds ago: also send created_to, at most ${maximum} seconds later`,
    )
    expect(told('created_from=2&created_to=1')).toBe('created_from 2 is later than created_to 1')
    expect(told(`created_from=0&created_to=${maximum + 1}`)).toBe(
      `created_from and created_to are more than ${maximum} seconds apart`,
    )
  })

  it('has its bounds rounded, and blanks around them do not count', () => {
    const at = 90 * day
    for (const [text, from] of [
      [`${at}.4`, at],
      [`${at}.5`, at + 1],
      [`${at}.999`, at + 1],
      [`+${at}`, at],
      [` ${at}%20`, at],
      ['7.776e6', at],
      ['7.7760004E%2B06', at],
      ['', 100 * day - maximum],
    ] as const)
      expect(windowOf(`created_from=${text}`), text).toEqual({ from, to: 100 * day })
  })

  it('is refused with the name of a bound that is no time', () => {
    for (const text of [
      '%20',
      '%09%20',
      'yesterday',
      '-1',
      '1.',
      '.5',
      '1e99',
      '1e-9',
      '0x10',
      '1 2',
      'NaN',
      '9'.repeat(40),
    ])
      for (const name of ['created_from', 'created_to'])
        expect(rulesBrokenBy(`${name}=${text}`), text).toEqual([[name, ['type']]])
  })

  it('is refused as a failure of the API', () => {
    expect(() => windowOf('created_to=x')).toThrow(Failure)
  })
})

const collectionOf = (times: readonly number[]) => {
  const records = times
    .map((time, index) => ({ sortKey: timeKey(time), id: String(index).padStart(4, '0') }))
    .sort((a, b) => (a.sortKey + a.id < b.sortKey + b.id ? -1 : 1))
  const place = ({ sortKey, id }: { sortKey: string; id: string }) => `${sortKey}/${id}`
  return {
    rows: async ({ after, limit, descending }: PageRequest) => {
      const ordered = descending ? [...records].reverse() : records
      const start = after ? `${after[0]}/${after[1]}` : undefined
      const rest = ordered.filter(
        (record) => !start || (descending ? place(record) < start : place(record) > start),
      )
      return rest.slice(0, limit)
    },
  }
}

const walkPages = async (
  times: readonly number[],
  window: { from: number; to: number },
  request: PageRequest,
) => {
  const listing = timeListing(collectionOf(times) as never, { accountId: 'a' }, window)
  const found: string[] = []
  let after = request.after
  for (;;) {
    const items = (await listing.page(after ? { ...request, after } : request)) as {
      sortKey: string
      id: string
    }[]
    found.push(...items.map(({ sortKey }) => sortKey))
    const last = items.at(-1)
    if (!last || items.length < request.limit) return found
    after = [last.sortKey, last.id]
  }
}

describe('a list within a window', () => {
  const times = fc.array(fc.nat(40), { maxLength: 30 })
  const facts = fc.record({
    from: fc.nat(40),
    width: fc.nat(40),
    limit: fc.integer({ min: 1, max: 5 }),
    descending: fc.boolean(),
  })

  it('holds every record of the window once, in order, however it is paged', async () => {
    await fc.assert(
      fc.asyncProperty(times, facts, async (all, { from, width, limit, descending }) => {
        const window = { from, to: from + width }
        const inside = all
          .filter((time) => time >= window.from && time <= window.to)
          .map(timeKey)
          .sort()
        const expected = descending ? inside.reverse() : inside
        expect(await walkPages(all, window, { limit, descending, long: false, whole: false })).toEqual(
          expected,
        )
      }),
    )
  })

  it('begins at the edge of the window when a start key is outside of it', async () => {
    const beyond: Record<string, Cursor> = { true: ['999999999999999', ''], false: ['', ''] }
    for (const descending of [true, false]) {
      const request = {
        limit: 1,
        descending,
        long: false,
        whole: false,
        after: beyond[String(descending)] as Cursor,
      }
      const found = await walkPages([1, 5, 6, 9], { from: 5, to: 6 }, request)
      expect(found.sort()).toEqual([timeKey(5), timeKey(6)])
    }
  })
})

it('names a month by its year and number', () => {
  expect(monthOf(Date.UTC(2026, 10, 30, 23, 59))).toBe('202611')
})
