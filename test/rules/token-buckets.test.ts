import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type BucketSettings,
  bucketColumns,
  bucketKey,
  bucketSettingsOf,
  costOf,
  createTokenBuckets,
  type ExtraCost,
} from '../../src/http/throttle/token-buckets.ts'
import { createSharedMemory, openSharedRows } from '../../src/lib/shared-rows.ts'

const standard = bucketSettingsOf(undefined, 'crossbar')

const shared = (rows: number) => openSharedRows(createSharedMemory(rows, bucketColumns), bucketColumns)

const places = {
  'in the memory of a thread': () => undefined,
  'in memory that threads share': () => shared(1000),
}

const bucketsOf = (rows: ReturnType<typeof shared> | undefined) => (start: number) => {
  const clock = { time: start, now: () => clock.time }
  return { clock, buckets: createTokenBuckets({ clock, shared: rows }) }
}

const passes = (count: number, consume: () => { allowed: boolean }) =>
  Array.from({ length: count }, consume).filter((charge) => charge.allowed).length

describe.each(Object.entries(places))('a bucket %s', (_name, rows) => {
  const bucketsAt = (start: number) => bucketsOf(rows())(start)

  it('is full at first use, lets 100 requests pass and after a second ten more', () => {
    const { clock, buckets } = bucketsAt(5_000)
    const one = () => buckets.consume('a', 1, standard)
    expect(one()).toEqual({ allowed: true, consumed: 1, remaining: 99, retryAfterSeconds: 0 })
    expect(passes(200, one)).toBe(99)
    expect(one()).toEqual({ allowed: false, consumed: 0, remaining: 0, retryAfterSeconds: 1 })
    expect(buckets.consume('b', 1, standard).allowed).toBe(true)
    clock.time += 999
    expect(one().allowed).toBe(false)
    clock.time += 1
    expect(passes(20, one)).toBe(10)
  })

  it('takes nothing from a request that it refuses', () => {
    const { buckets } = bucketsAt(0)
    expect(buckets.consume('a', 101, standard)).toMatchObject({ allowed: false, consumed: 0, remaining: 100 })
    expect(buckets.consume('a', 100, standard)).toMatchObject({ allowed: true, remaining: 0 })
  })

  it('lets two logins pass and is empty after the third', () => {
    const { clock, buckets } = bucketsAt(0)
    const login = () => buckets.consumeUntil('a', 35, standard)
    expect([login(), login()].map((charge) => [charge.allowed, charge.remaining])).toEqual([
      [true, 65],
      [true, 30],
    ])
    expect(login()).toEqual({ allowed: false, consumed: 35, remaining: 0, retryAfterSeconds: 4 })
    clock.time += 3000
    expect(login().allowed).toBe(false)
    clock.time += 4000
    expect(login()).toMatchObject({ allowed: true, remaining: 5 })
  })

  it('always lets free requests pass', () => {
    const { buckets } = bucketsAt(0)
    buckets.consume('a', 100, standard)
    for (const tokens of [0, -1]) {
      expect(buckets.consume('a', tokens, standard)).toEqual({
        allowed: true,
        consumed: 0,
        remaining: 0,
        retryAfterSeconds: 0,
      })
      expect(buckets.consumeUntil('a', tokens, standard).allowed).toBe(true)
    }
  })

  it('is full again after more than the time of inactivity', () => {
    const daily = bucketSettingsOf({ default: { tokens_fill_time: 'day' } }, 'crossbar')
    const { clock, buckets } = bucketsAt(0)
    buckets.consume('a', 100, daily)
    clock.time += 600_000
    expect(buckets.consume('a', 1, daily)).toMatchObject({ allowed: false, retryAfterSeconds: 601 })
    clock.time += 600_001
    expect(buckets.consume('a', 1, daily)).toMatchObject({ allowed: true, remaining: 99 })
  })

  it('follows settings that change between requests', () => {
    const { clock, buckets } = bucketsAt(0)
    const small: BucketSettings = { ...standard, maxTokens: 5 }
    buckets.consume('a', 1, standard)
    expect(buckets.consume('a', 1, small).remaining).toBe(4)
    clock.time += 1000
    expect(buckets.consume('a', 1, standard).remaining).toBe(13)
    const perMinute: BucketSettings = { ...standard, fillMilliseconds: 60_000 }
    buckets.consume('a', 13, perMinute)
    expect(buckets.consume('a', 1, perMinute).retryAfterSeconds).toBe(60)
  })

  it('survives a clock that is set back', () => {
    const { clock, buckets } = bucketsAt(1e12)
    buckets.consume('a', 100, standard)
    clock.time -= 1e9
    expect(buckets.consume('a', 1, standard)).toMatchObject({ allowed: false, retryAfterSeconds: 1 })
    clock.time += 1000
    expect(buckets.consume('a', 10, standard).allowed).toBe(true)
  })

  const step = fc.record({
    wait: fc.oneof(fc.nat(3000), fc.nat(700_000)),
    tokens: fc.integer({ min: -1, max: 120 }),
    empties: fc.boolean(),
  })

  it('never overflows, never goes below zero, and keeps its promise of retryAfterSeconds', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1 }), fc.integer({ min: 1, max: 100 }), (steps, maxTokens) => {
        const { clock, buckets } = bucketsAt(0)
        const settings = { ...standard, maxTokens }
        for (const { wait, tokens, empties } of steps) {
          clock.time += wait
          const charge = empties
            ? buckets.consumeUntil('a', tokens, settings)
            : buckets.consume('a', tokens, settings)
          expect(charge.remaining).toBeGreaterThanOrEqual(0)
          expect(charge.remaining).toBeLessThanOrEqual(maxTokens)
          if (charge.allowed || tokens > maxTokens) continue
          clock.time += charge.retryAfterSeconds * 1000
          expect(buckets.consume('a', tokens, settings).allowed).toBe(true)
        }
      }),
    )
  })

  it('pays out no more than it held and was filled with', () => {
    const lively = fc.record({ wait: fc.nat(2500), tokens: fc.integer({ min: 1, max: 40 }) })
    fc.assert(
      fc.property(fc.array(lively), (steps) => {
        const { clock, buckets } = bucketsAt(0)
        let paid = 0
        for (const { wait, tokens } of steps) {
          clock.time += wait
          paid += buckets.consume('a', tokens, standard).consumed
        }
        expect(paid).toBeLessThanOrEqual(100 + 10 * Math.floor(clock.time / 1000))
      }),
    )
  })
})

describe('the set of buckets', () => {
  it.each(Object.entries(places))('%s keeps those in use, however many keys come', (_name, rows) => {
    const { clock, buckets } = bucketsOf(rows())(0)
    for (let minute = 0; minute < 60; minute++) {
      clock.time += 60_000
      const charge = buckets.consume('busy', 100, { ...standard, fillTokens: 0.001 })
      expect(charge.allowed).toBe(minute === 0)
    }
  })

  it('stays within twice its capacity, forgetting the longest unused', () => {
    const clock = { now: () => 0 }
    const buckets = createTokenBuckets({ clock, capacity: 10 })
    buckets.consume('victim', 100, standard)
    for (let n = 0; n < 5; n++) buckets.consume(`key ${n}`, 1, standard)
    expect(buckets.consume('victim', 1, standard).allowed).toBe(false)
    for (let n = 0; n < 40; n++) buckets.consume(`flood ${n}`, 1, standard)
    expect(buckets.consume('victim', 1, standard).remaining).toBe(99)
  })

  it('is one for all threads that share it', () => {
    const rows = shared(1000)
    const [one, other] = [bucketsOf(rows)(0).buckets, bucketsOf(rows)(0).buckets]
    expect(one.consume('a', 60, standard).remaining).toBe(40)
    expect(other.consume('a', 60, standard)).toMatchObject({ allowed: false, remaining: 40 })
    other.giveBack('a', 30, standard)
    expect(one.consumeUntil('a', 71, standard).allowed).toBe(false)
    expect(other.consume('a', 1, standard)).toMatchObject({ allowed: false, remaining: 0 })
  })

  it('has a key for what is missing', () => {
    expect(bucketKey('192.0.2.1', 'abc')).toBe('192.0.2.1/abc')
    expect(bucketKey(undefined, undefined)).toBe('no_ip/no_account')
  })
})

describe('the price of a request', () => {
  const priced = (
    tokenCosts: unknown,
    more: { accountId?: string; endpoint?: string; extra?: ExtraCost; fallback?: number } = {},
  ) => costOf({ tokenCosts, accountId: 'A', endpoint: 'callflows', method: 'GET', fallback: 1, ...more })

  it('is the fallback without a setting, or with one that is no price', () => {
    for (const costs of [
      undefined,
      null,
      'free',
      -1,
      [],
      {},
      { callflows: -1 },
      { callflows: '5' },
      { A: null },
    ]) {
      expect(priced(costs)).toBe(1)
      expect(priced(costs, { fallback: 35 })).toBe(35)
    }
  })

  it('is free with the number 0, else at least the fallback', () => {
    expect(priced(0, { fallback: 35 })).toBe(0)
    expect(priced(5)).toBe(5)
    expect(priced(5, { fallback: 35 })).toBe(35)
    expect(priced(50, { fallback: 35 })).toBe(50)
  })

  const places = ['A.callflows.GET', 'A.callflows', 'A', 'callflows.GET', 'callflows']
  const withPrices = (prices: Record<string, number>) => {
    // A path that is also the beginning of another cannot hold a number: deeper paths are set first.
    const costs: Record<string, unknown> = {}
    for (const [path, price] of Object.entries(prices)) {
      const keys = path.split('.')
      const last = keys.pop() as string
      const place = keys.reduce<Record<string, unknown>>((at, key) => {
        at[key] ??= {}
        return at[key] as Record<string, unknown>
      }, costs)
      place[last] = price
    }
    return costs
  }

  it.each(places)('is found at %s alone, also when it is 0', (place) => {
    expect(priced(withPrices({ [place]: 7 }))).toBe(7)
    expect(priced(withPrices({ [place]: 0 }), { fallback: 35 })).toBe(0)
  })

  it.each(places)('is found at %s written with dots as one key', (place) => {
    expect(priced({ [place]: 7 })).toBe(7)
    expect(priced({ [place]: 0, callflows: 9 }, { fallback: 35 })).toBe(place === 'callflows' ? 9 : 0)
  })

  it.each([
    'A.devices.GET.quickcall',
    'A.devices.quickcall',
    'A.quickcall',
    'devices.GET.quickcall',
    'devices.quickcall',
  ])('of a call is found at %s written with dots as one key', (place) => {
    const extra = { action: 'quickcall', under: ['devices'] }
    expect(priced({ [place]: 7 }, { endpoint: 'devices', extra })).toBe(7)
  })

  it.each([
    [['A.callflows.GET', 'callflows.GET'], 1],
    [['A.callflows', 'callflows'], 1],
    [['A', 'callflows.GET'], 1],
    [['A.users', 'callflows.GET'], 2],
    [['A.callflows.POST', 'callflows'], 2],
    [['A.users', 'callflows.POST'], 3],
  ] as const)('of %j is number %i', (paths, place) => {
    const costs = withPrices(Object.fromEntries(paths.map((path, index) => [path, index + 1])))
    expect(priced(costs, { fallback: 3 })).toBe(place)
  })

  it('looks only at the endpoint without an account in the path', () => {
    const costs = withPrices({ 'A.callflows': 9, callflows: 4, undefined: 8 })
    expect(costOf({ tokenCosts: costs, endpoint: 'callflows', method: 'GET', fallback: 1 })).toBe(4)
    expect(costOf({ tokenCosts: { A: 9 }, endpoint: 'callflows', method: 'GET', fallback: 1 })).toBe(1)
  })

  it('does not fall for inherited keys', () => {
    expect(priced({}, { endpoint: 'constructor', accountId: '__proto__' })).toBe(1)
    expect(costOf({ tokenCosts: {}, endpoint: 'constructor', method: 'length', fallback: 1 })).toBe(1)
  })

  it('of a Quickcall is read under devices, or quickcall, in the order of the specification', () => {
    const quickcall = (prices: Record<string, number>) =>
      priced(withPrices(prices), {
        endpoint: 'quickcall',
        extra: { action: 'quickcall', under: ['devices', 'quickcall'] },
        fallback: 99,
      })
    const order = [
      'A.devices.GET.quickcall',
      'A.devices.quickcall',
      'A.quickcall',
      'devices.GET.quickcall',
      'devices.quickcall',
    ]
    for (const [index, path] of order.entries()) {
      expect(quickcall({ [path]: 0 })).toBe(0)
      const rest = Object.fromEntries(order.slice(index).map((later, place) => [later, place]))
      expect(quickcall(rest)).toBe(0)
    }
    expect(quickcall({ 'quickcall.GET.quickcall': 6 })).toBe(6)
    expect(quickcall({ 'A.quickcall.quickcall': 7 })).toBe(7)
    expect(quickcall({ 'devices.POST.quickcall': 7, 'A.devices.GET': 3 })).toBe(99)
  })
})

describe('bucket settings', () => {
  const of = (document: unknown) => bucketSettingsOf(document, 'crossbar')

  it('have the defaults of the specification', () => {
    const defaults = {
      maxTokens: 100,
      fillTokens: 10,
      fillMilliseconds: 1000,
      inactivityMilliseconds: 600_000,
      siteFactor: 8,
    }
    for (const document of [
      undefined,
      {},
      { default: {} },
      { default: { max_bucket_tokens: 'many', tokens_fill_time: 'toString' } },
    ]) {
      expect(of(document)).toEqual(defaults)
    }
    expect(
      of({ default: { max_bucket_tokens: -1, tokens_fill_rate: 0, inactivity_timeout_s: null } }),
    ).toEqual(defaults)
  })

  it('are read in the default section, and the size also below it', () => {
    expect(
      of({
        default: {
          max_bucket_tokens: 50,
          tokens_fill_rate: 5,
          tokens_fill_time: 'hour',
          inactivity_timeout_s: 60,
        },
      }),
    ).toEqual({
      maxTokens: 50,
      fillTokens: 5,
      fillMilliseconds: 3_600_000,
      inactivityMilliseconds: 60_000,
      siteFactor: 8,
    })
    expect(of({ default: { max_bucket_tokens: 50, default: { max_bucket_tokens: 60 } } }).maxTokens).toBe(60)
  })

  it('are overridden for the application, key by key', () => {
    const general = { max_bucket_tokens: 50, tokens_fill_rate: 5, default: { max_bucket_tokens: 60 } }
    const override = { max_bucket_tokens: 20, tokens_fill_time: 'minute' }
    const expected = {
      maxTokens: 20,
      fillTokens: 5,
      fillMilliseconds: 60_000,
      inactivityMilliseconds: 600_000,
      siteFactor: 8,
    }
    expect(of({ default: { ...general, crossbar: override } })).toEqual(expected)
    expect(of({ default: general, crossbar: override })).toEqual(expected)
    expect(of({ default: { ...general, other: override } }).maxTokens).toBe(60)
  })
})
