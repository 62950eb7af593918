import { afterAll, beforeAll, expect, it } from 'vitest'
import { failure, tooManyRequests } from '../../src/lib/failure.ts'
import type { Write } from '../../src/storage/db.ts'
import {
  createSignInBuckets,
  type SignInBucket,
  type SignInBuckets,
} from '../../src/storage/sign-in-buckets.ts'
import { createStore } from '../../src/storage/store.ts'
import { createTestClock } from '../support/run/clock.ts'
import { describeEngines, openTestDatabase, type TestDatabase } from '../support/servers/databases.ts'
import { createFaults } from '../support/servers/faulty-database.ts'
import { openNotes } from '../support/world/notes.ts'

const bucketOf = (key: string) => ({ key, size: 10, millisecondsPerToken: 1000 })
const refusal = () => failure(tooManyRequests, { retryAfterSeconds: 1 })

describeEngines('a bucket of all processes', (engine) => {
  const clock = createTestClock()
  let database: TestDatabase
  let buckets: SignInBuckets

  beforeAll(async () => {
    database = await openTestDatabase(engine)
    buckets = createSignInBuckets(createStore(database.db, clock))
  })

  afterAll(() => database.close())

  it('holds no more than its size, also when tokens that it has refilled in between are given back', async () => {
    const bucket = bucketOf('given back')
    await buckets.take([bucket], 6, refusal)
    clock.advance({ seconds: 4 })
    await buckets.giveBack([bucket], 6)
    expect(await buckets.left(bucket)).toBe(10)
    await buckets.take([bucket], 10, refusal)
    await expect(buckets.take([bucket], 1, refusal)).rejects.toMatchObject({
      kind: { name: 'too_many_requests' },
    })
  })

  it('holds no more than its size some time after all of it was given back', async () => {
    const bucket = bucketOf('given back at once')
    await buckets.take([bucket], 9, refusal)
    await buckets.giveBack([bucket], 9)
    clock.advance({ seconds: 5 })
    expect(await buckets.left(bucket)).toBe(10)
    await buckets.take([bucket], 10, refusal)
    await expect(buckets.take([bucket], 1, refusal)).rejects.toMatchObject({
      kind: { name: 'too_many_requests' },
    })
  })

  it('is drawn from by all that wait at a moment with one write, of which some may be refused', async () => {
    const writes: Write[] = []
    const faults = createFaults()
    faults.state.onWrite = (write) => void writes.push(write)
    const watched = createSignInBuckets(createStore(faults.over(database.db), clock))
    const [narrow, wide] = [bucketOf('narrow'), { ...bucketOf('wide'), size: 20 }]
    const take = (buckets: SignInBucket[], tokens: number) => watched.take(buckets, tokens, refusal)
    const outcomes = await Promise.allSettled([
      take([narrow, wide], 6),
      take([narrow, wide], 5),
      take([wide], 9),
      take([narrow], 4),
      take([narrow], 1),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'rejected',
    ])
    expect(writes.map(({ statements }) => statements.length)).toEqual([2])
    expect(await watched.left(narrow)).toBe(0)
    expect(await watched.left(wide)).toBe(5)
  })

  it('uses the size that each request brings, also for requests that wait together', async () => {
    const small = { ...bucketOf('of changed settings'), size: 5 }
    const large = { ...small, size: 20 }
    await buckets.take([small], 3, refusal)
    const outcomes = await Promise.allSettled([
      buckets.take([small], 4, refusal),
      buckets.take([large], 10, refusal),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    expect(await buckets.left(large)).toBe(7)
  })

  it('says the same to all that wait together when the store fails, and lets them pass while it is away', async () => {
    const faults = createFaults()
    const own = createSignInBuckets(createStore(faults.over(database.db), clock))
    const bucket = bucketOf('of a store that fails')
    const drawing = () => [
      own.take([bucket], 1, refusal),
      own.take([bucketOf('another of it')], 1, refusal),
      own.giveBack([bucket], 1),
      own.giveBack([bucketOf('another of it')], 1),
      own.spend(bucket, undefined),
      own.spend(bucketOf('another of it'), bucket),
    ]
    const fault = new Error('a fault of the store')
    faults.state.onWrite = () => Promise.reject(fault)
    const failed = await Promise.allSettled(drawing())
    expect(failed).toEqual(failed.map(() => ({ status: 'rejected', reason: fault })))
    faults.state.onWrite = () => 'refused'
    expect(await Promise.all(drawing())).toEqual(failed.map(() => undefined))
    faults.mend()
    expect(await own.left(bucket)).toBe(10)
    await Promise.all(drawing())
  })

  it.runIf(engine === 'postgres')(
    'shares no transaction with other writes, which it would hold up',
    async () => {
      const notes = openNotes(database.db, clock)
      const batches: number[] = []
      database.db.onBatch(({ writes }) => batches.push(writes))
      const add = (title: string) => notes.add('a', { title })
      const take = () => buckets.take([bucketOf('hot')], 1, refusal)
      await Promise.all([add('1'), add('2'), take(), add('3'), take(), take()])
      expect(batches.toSorted()).toEqual([1, 3])
    },
  )
})
