// Random histories of several processes that draw from the same buckets, compared with a model of buckets.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { failure, isFailure, tooManyRequests } from '../../src/lib/failure.ts'
import {
  createSignInBuckets,
  type SignInBucket,
  type SignInBuckets,
} from '../../src/storage/sign-in-buckets.ts'
import { createStore, type Store } from '../../src/storage/store.ts'
import { createTestClock } from '../support/run/clock.ts'
import { countOf } from '../support/run/run-length.ts'
import { describeEngines, openTestDatabase, type TestDatabase } from '../support/servers/databases.ts'

const processes = 3

const networks: SignInBucket[] = [
  { key: 'network b', size: 10, millisecondsPerToken: 1000 },
  { key: 'network c', size: 7, millisecondsPerToken: 333.3, inactivityMilliseconds: 2000 },
  { key: 'network a', size: 10, millisecondsPerToken: 1000, inactivityMilliseconds: 4000 },
]
/** That of all networks holds less than they do together. */
const site: SignInBucket = { key: 'network aa', size: 16, millisecondsPerToken: 400 }
const owns: SignInBucket[] = ['own b', 'own a'].map((key) => ({ key, size: 4, millisecondsPerToken: 700 }))
const everybody: SignInBucket = { key: 'everybody', size: 6, millisecondsPerToken: 700 }

/** Some have only their own, as IPv4 has; some also that of the site. */
const bucketsOf = ({ network, isInSite }: { network: number; isInSite: boolean }) => {
  const own = networks[network] as SignInBucket
  return isInSite ? [own, site] : [own]
}

interface Call {
  /** Which process is asked. */
  by: number
}

interface Draw extends Call {
  network: number
  isInSite: boolean
  tokens: number
}

interface Spend extends Call {
  own: number
}

/** What happens at one moment. */
type Deed =
  | { take: Draw[] }
  | { giveBack: Draw[] }
  /** Wrong passwords for an account, and of which own bucket they come from a network that is known. */
  | { spend: Spend[]; known: number }
  | { take: Draw[]; meanwhile: Draw[] }

const by = fc.nat(processes - 1)

const draws: fc.Arbitrary<Draw[]> = fc.array(
  fc.record({
    by,
    network: fc.nat(networks.length - 1),
    isInSite: fc.boolean(),
    tokens: fc.integer({ min: 1, max: 5 }),
  }),
  { minLength: 1, maxLength: 12 },
)

const spends: fc.Arbitrary<Spend[]> = fc.array(fc.record({ by, own: fc.nat(owns.length - 1) }), {
  minLength: 1,
  maxLength: 8,
})

const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ take: draws }) },
  { weight: 1, arbitrary: fc.record({ giveBack: draws }) },
  { weight: 1, arbitrary: fc.record({ spend: spends, known: fc.nat(owns.length) }) },
  { weight: 1, arbitrary: fc.record({ take: draws, meanwhile: draws }) },
)

const moment = fc.record({
  pauseMilliseconds: fc.constantFrom(0, 0, 1, 400, 1500, 9000),
  /** All of it by this process, so that it has an order; undefined: by the processes of the steps. */
  allBy: fc.option(by, { nil: undefined }),
  deed,
})

interface Row {
  fullAt: number
  voidAt: number
}

const costOf = (bucket: SignInBucket, tokens: number) => Math.ceil(tokens * bucket.millisecondsPerToken)

/** Nothing is missing in a bucket whose row is void, even before the moment at which it would have been full. */
const missingOf = (row: Row | undefined, now: number) =>
  row && row.voidAt > now ? Math.max(0, row.fullAt - now) : 0

/** One process that does one thing after the other. */
const createModel = (now: () => number) => {
  const rows = new Map<string, Row>()
  const missing = ({ key }: SignInBucket) => missingOf(rows.get(key), now())
  const holds = (bucket: SignInBucket, tokens: number) =>
    missing(bucket) + costOf(bucket, tokens) <= costOf(bucket, bucket.size)
  const draw = (bucket: SignInBucket, tokens: number) => {
    const fullAt = now() + missing(bucket) + costOf(bucket, tokens)
    const { inactivityMilliseconds: rest = Number.POSITIVE_INFINITY } = bucket
    rows.set(bucket.key, { fullAt, voidAt: Math.min(fullAt, now() + rest) })
  }
  return {
    rows,
    missing,
    holds,
    draw,
    take(buckets: readonly SignInBucket[], tokens: number) {
      const isGranted = buckets.every((bucket) => holds(bucket, tokens))
      if (isGranted) for (const bucket of buckets) draw(bucket, tokens)
      return isGranted
    },
    giveBack(buckets: readonly SignInBucket[], tokens: number) {
      for (const bucket of buckets) {
        const row = rows.get(bucket.key)
        if (row) row.fullAt = Math.max(now(), row.fullAt - costOf(bucket, tokens))
      }
    },
    spend(own: SignInBucket, all: SignInBucket | undefined) {
      const hadOne = holds(own, 1)
      draw(own, 1)
      if (all && hadOne) draw(all, 1)
    },
  }
}

type Model = ReturnType<typeof createModel>

const refusal = () => failure(tooManyRequests, { retryAfterSeconds: 1 })

describeEngines('processes that share buckets', (engine) => {
  const clock = createTestClock()
  let database: TestDatabase
  let store: Store
  let all: SignInBuckets[]

  beforeAll(async () => {
    database = await openTestDatabase(engine)
    store = createStore(database.db, clock)
    const others = Array.from({ length: processes - 1 }, () => createStore(database.reopen(), clock))
    all = [store, ...others].map(createSignInBuckets)
  })

  afterAll(() => database.close())

  const stored = async () => {
    const rows = await store.all<{ bucket: string } & Row>(
      'SELECT bucket, full_at AS "fullAt", void_at AS "voidAt" FROM sign_in_buckets',
    )
    return new Map(rows.map(({ bucket, fullAt, voidAt }) => [bucket, { fullAt, voidAt }]))
  }

  const processOf = (call: Call) => all[call.by] as SignInBuckets

  const isTaken = async (one: Draw) => {
    try {
      await processOf(one).take(bucketsOf(one), one.tokens, refusal)
      return true
    } catch (error) {
      if (isFailure(error, tooManyRequests)) return false
      throw error
    }
  }

  const giveBack = async (draws: readonly Draw[]) => {
    await Promise.all(draws.map((one) => processOf(one).giveBack(bucketsOf(one), one.tokens)))
  }

  const takeInOrder = async (model: Model, takes: readonly Draw[]) => {
    const taken = await Promise.all(takes.map(isTaken))
    expect(taken).toEqual(takes.map((one) => model.take(bucketsOf(one), one.tokens)))
  }

  const takeSideBySide = async (model: Model, takes: readonly Draw[]) => {
    const taken = await Promise.all(takes.map(isTaken))
    const granted = takes.filter((_, index) => taken[index])
    for (const one of granted) expect(model.take(bucketsOf(one), one.tokens)).toBe(true)
    // A refused draw finds too little even when all others are done.
    const isLeftFor = (one: Draw) => bucketsOf(one).every((bucket) => model.holds(bucket, one.tokens))
    expect(takes.filter((one, index) => !taken[index] && isLeftFor(one))).toEqual([])
  }

  /** Tokens are given back before or after each of the others: only the bounds are known. */
  const takeAndGiveBack = async (model: Model, takes: readonly Draw[], given: readonly Draw[]) => {
    const [taken] = await Promise.all([Promise.all(takes.map(isTaken)), giveBack(given)])
    const granted = takes.filter((_, index) => taken[index])
    const rows = await stored()
    for (const bucket of [...networks, site]) {
      const costs = (draws: readonly Draw[]) =>
        draws
          .filter((one) => bucketsOf(one).includes(bucket))
          .reduce((sum, { tokens }) => sum + costOf(bucket, tokens), 0)
      const drawn = model.missing(bucket) + costs(granted)
      const missing = missingOf(rows.get(bucket.key), clock.now())
      expect(missing).toBeLessThanOrEqual(Math.min(drawn, costOf(bucket, bucket.size)))
      expect(missing).toBeGreaterThanOrEqual(drawn - costs(given))
    }
    for (const [key, row] of rows) model.rows.set(key, row)
  }

  const spend = async (model: Model, spends: readonly Spend[], known: number) => {
    const wrong = spends.map((one) => ({
      process: processOf(one),
      own: owns[one.own] as SignInBucket,
      strangers: one.own === known ? undefined : everybody,
    }))
    await Promise.all(wrong.map(({ process, own, strangers }) => process.spend(own, strangers)))
    for (const { own, strangers } of wrong) model.spend(own, strangers)
  }

  const perform = async (model: Model, { allBy, deed }: { allBy: number | undefined; deed: Deed }) => {
    const called = <C extends Call>(calls: readonly C[]) =>
      allBy === undefined ? calls : calls.map((call) => ({ ...call, by: allBy }))
    if ('spend' in deed) return spend(model, called(deed.spend), deed.known)
    if ('meanwhile' in deed) return takeAndGiveBack(model, called(deed.take), called(deed.meanwhile))
    if ('take' in deed) return (allBy === undefined ? takeSideBySide : takeInOrder)(model, called(deed.take))
    await giveBack(called(deed.giveBack))
    for (const one of deed.giveBack) model.giveBack(bucketsOf(one), one.tokens)
  }

  it('allow together what one would that does one thing after the other', async () => {
    const history = fc.array(moment, { minLength: 3, maxLength: 10 })
    const play = fc.asyncProperty(history, async (moments) => {
      await store.writeUnrecorded([{ sql: 'DELETE FROM sign_in_buckets', params: [] }])
      const model = createModel(clock.now)
      for (const { pauseMilliseconds, ...what } of moments) {
        clock.advance({ milliseconds: pauseMilliseconds })
        await perform(model, what)
        expect(await stored()).toEqual(model.rows)
      }
    })
    await fc.assert(play, { numRuns: countOf(15, engine === 'postgres' ? 150 : 40) })
  })
})
