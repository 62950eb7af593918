import { afterAll, beforeAll, expect, it } from 'vitest'
import { failure } from '../../src/lib/failure.ts'
import { createSignInBuckets, type SignInBuckets } from '../../src/storage/sign-in-buckets.ts'
import { createStore } from '../../src/storage/store.ts'
import { createTestClock } from '../support/clock.ts'
import { describeEngines, openTestDatabase, type TestDatabase } from '../support/databases.ts'
import { openNotes } from '../support/notes.ts'

const bucketOf = (key: string) => ({ key, size: 10, millisecondsPerToken: 1000 })
const refusal = () => failure('too_many_requests', { retryAfterSeconds: 1 })

describeEngines('a bucket of all processes', (engine) => {
  const clock = createTestClock()
  let database: TestDatabase
  let buckets: SignInBuckets

  beforeAll(async () => {
    database = await openTestDatabase(engine)
    buckets = createSignInBuckets(createStore(database.db, clock))
  })

  afterAll(() => database.close())

  it('holds no more than its size, also when what it refilled meanwhile is given back', async () => {
    const bucket = bucketOf('given back')
    await buckets.take([bucket], 6, refusal)
    clock.advance({ seconds: 4 })
    await buckets.giveBack([bucket], 6)
    expect(await buckets.left(bucket)).toBe(10)
    await buckets.take([bucket], 10, refusal)
    await expect(buckets.take([bucket], 1, refusal)).rejects.toMatchObject({ kind: 'too_many_requests' })
  })

  it('holds no more than its size some time after all of it was given back', async () => {
    const bucket = bucketOf('given back at once')
    await buckets.take([bucket], 9, refusal)
    await buckets.giveBack([bucket], 9)
    clock.advance({ seconds: 5 })
    expect(await buckets.left(bucket)).toBe(10)
    await buckets.take([bucket], 10, refusal)
    await expect(buckets.take([bucket], 1, refusal)).rejects.toMatchObject({ kind: 'too_many_requests' })
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
      expect(batches.toSorted()).toEqual([1, 1, 1, 1, 2])
    },
  )
})
