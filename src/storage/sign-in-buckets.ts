import { datastoreConflict, type Failure, failure, isOutage } from '../lib/failure.ts'
import { createBatcher } from '../lib/gathering.ts'
import type { Statement } from './db.ts'
import { expireRows } from './expire-rows.ts'
import { isConflict, type Store } from './store.ts'
import { integer, type RowOf, shape } from './table.ts'

/** A bucket with a constant refill rate. */
export interface SignInBucket {
  key: string
  /** Tokens. */
  size: number
  millisecondsPerToken: number
  /** An unused bucket counts as full after this time. */
  inactivityMilliseconds?: number
}

interface Draw {
  buckets: readonly SignInBucket[]
  tokens: number
}

interface Spend {
  own: SignInBucket
  everybody: SignInBucket | undefined
}

/** The sum of several draws, in milliseconds of refilling. */
interface Sum {
  bucket: SignInBucket
  cost: number
  /** Largest deficit before the draws at which each succeeds. */
  mostMissing: number
}

const bucketRow = shape({ fullAt: integer(), voidAt: integer() })

// A row contains the time when its bucket is full, so nothing is refilled and old rows mean nothing. A refund makes it full before `void_at`.
const baseSql = `CASE WHEN sign_in_buckets.void_at > $3 AND sign_in_buckets.full_at > $3
  THEN sign_in_buckets.full_at ELSE $3 END`
const setSql = `full_at = ${baseSql} + $4,
  void_at = CASE WHEN ${baseSql} + $4 < $5 THEN ${baseSql} + $4 ELSE $5 END`
const insertSql = (values: string) =>
  `INSERT INTO sign_in_buckets (bucket, full_at, void_at) ${values} ON CONFLICT (bucket) DO UPDATE SET ${setSql}`

const missingOf = (row: RowOf<typeof bucketRow> | undefined, now: number) =>
  row && row.voidAt > now ? Math.max(0, row.fullAt - now) : 0

const never = 2 ** 52

const maxTogether = 64
// Another process succeeded in each lost one.
const maxRaces = 100

const costOf = ({ millisecondsPerToken }: SignInBucket, tokens: number) =>
  Math.ceil(tokens * millisecondsPerToken)

type Sums = Map<string, Sum>

const sumWith = (sums: Sums, bucket: SignInBucket, tokens: number): Sum => {
  const before = sums.get(bucket.key)
  const cost = (before?.cost ?? 0) + costOf(bucket, tokens)
  const mostMissing = costOf(bucket, bucket.size) - cost
  return { bucket, cost, mostMissing: Math.min(mostMissing, before?.mostMissing ?? mostMissing) }
}

const note = (sums: Sums, sum: Sum) => void sums.set(sum.bucket.key, sum)

/** The draws that succeed in their order, and their sums. */
const grant = (takes: readonly Draw[], missing: (key: string) => number) => {
  const sums: Sums = new Map()
  const granted = new Set<Draw>()
  for (const take of takes) {
    const drawn = take.buckets.map((bucket) => sumWith(sums, bucket, take.tokens))
    if (drawn.some(({ bucket, mostMissing }) => missing(bucket.key) > mostMissing)) continue
    granted.add(take)
    for (const sum of drawn) note(sums, sum)
  }
  return { granted, sums }
}

/** All processes lock rows in the same order. */
const inOrder = <T extends { bucket: SignInBucket }>(list: Iterable<T>) =>
  [...list].sort((a, b) => (a.bucket.key < b.bucket.key ? -1 : a.bucket.key > b.bucket.key ? 1 : 0))

const valuesOf = ({ bucket, cost }: Pick<Sum, 'bucket' | 'cost'>, now: number) => {
  const rests = now + Math.min(bucket.inactivityMilliseconds ?? never, never - now)
  return [bucket.key, now + cost, now, cost, rests, Math.min(now + cost, rests)]
}

const taking = (sum: Sum, now: number): Statement => ({
  sql: `${insertSql('VALUES ($1, $2, $6)')} WHERE ${baseSql} <= $7`,
  params: [...valuesOf(sum, now), now + sum.mostMissing],
  expect: { rows: 1, orElse: () => failure(datastoreConflict, {}) },
})

const spending = (sum: Sum, now: number): Statement => ({
  sql: insertSql('VALUES ($1, $2, $6)'),
  params: valuesOf(sum, now),
})

const givingBack = ({ bucket, cost }: Sum, now: number): Statement => ({
  sql: `UPDATE sign_in_buckets SET full_at = CASE WHEN full_at - $2 < $3 THEN $3 ELSE full_at - $2 END
    WHERE bucket = $1`,
  params: [bucket.key, cost, now],
})

const sharing = (bucket: SignInBucket, own: SignInBucket, latest: number, now: number): Statement => ({
  sql: insertSql(
    'SELECT $1, $2, $6 WHERE EXISTS (SELECT 1 FROM sign_in_buckets WHERE bucket = $7 AND full_at <= $8)',
  ),
  params: [...valuesOf({ bucket, cost: costOf(bucket, 1) }, now), own.key, latest],
})

const unlessAway = async <T>(work: Promise<T>, otherwise: T) => {
  try {
    return await work
  } catch (error) {
    if (!isOutage(error)) throw error
    return otherwise
  }
}

export type SignInBuckets = ReturnType<typeof createSignInBuckets>

/**
 * Buckets of all processes, by the clock of each, for sign-ins and wrong passwords. Without the store each process counts alone.
 * Draws that wait for a commit are made together: one statement for each bucket, and one commit.
 */
export const createSignInBuckets = ({ all, writeAlone, writeUnrecorded, clock }: Store) => {
  const rowOf = async (key: string) =>
    bucketRow.first(await all(`SELECT ${bucketRow.columns} FROM sign_in_buckets WHERE bucket = $1`, [key]))

  const rowsOf = async (buckets: readonly SignInBucket[]) => {
    const keys = [...new Set(buckets.map(({ key }) => key))]
    return new Map(await Promise.all(keys.map(async (key) => [key, await rowOf(key)] as const)))
  }

  const wereTaken = async (sums: Sums, now: number) => {
    try {
      await writeAlone(inOrder(sums.values()).map((sum) => taking(sum, now)))
      return true
    } catch (error) {
      if (!isConflict(error)) throw error
      return false
    }
  }

  /** Whether each draw succeeded, as if they came one after the other. */
  const takeTogether = createBatcher(maxTogether, async (takes: readonly Draw[]) => {
    // Buckets count as full until the store contradicts, so usually nothing is read.
    let rows: Awaited<ReturnType<typeof rowsOf>> = new Map()
    for (let races = 0; races < maxRaces; races += 1) {
      const now = clock.now()
      const { granted, sums } = grant(takes, (key) => missingOf(rows.get(key), now))
      if (granted.size === 0 || (await wereTaken(sums, now))) return takes.map((take) => granted.has(take))
      // Fails again only if another process has taken something since.
      rows = await rowsOf(takes.flatMap(({ buckets }) => buckets))
    }
    throw failure(datastoreConflict, {})
  })

  const giveBackTogether = createBatcher(maxTogether, async (draws: readonly Draw[]) => {
    const sums: Sums = new Map()
    for (const { buckets, tokens } of draws)
      for (const bucket of buckets) note(sums, sumWith(sums, bucket, tokens))
    const now = clock.now()
    await writeAlone(inOrder(sums.values()).map((sum) => givingBack(sum, now)))
    return draws.map(() => undefined)
  })

  const spendTogether = createBatcher(maxTogether, async (spends: readonly Spend[]) => {
    const now = clock.now()
    const owns: Sums = new Map()
    const shares = spends.flatMap(({ own, everybody: bucket }) => {
      const sum = sumWith(owns, own, 1)
      note(owns, sum)
      return bucket ? [{ bucket, own, costUntilThen: sum.cost }] : []
    })
    /** Latest refill time of the own bucket at which it had a token for this draw. */
    const latestOf = ({ own, costUntilThen }: { own: SignInBucket; costUntilThen: number }) =>
      now + costOf(own, own.size) + (owns.get(own.key)?.cost ?? 0) - costUntilThen
    await writeAlone([
      ...inOrder(owns.values()).map((sum) => spending(sum, now)),
      ...inOrder(shares).map((share) => sharing(share.bucket, share.own, latestOf(share), now)),
    ])
    return spends.map(() => undefined)
  })

  return {
    /** Negative after overdraft. */
    async left({ key, size, millisecondsPerToken }: SignInBucket): Promise<number> {
      return size - missingOf(await rowOf(key), clock.now()) / millisecondsPerToken
    },

    /** All or none. */
    async take(buckets: readonly SignInBucket[], tokens: number, orElse: () => Failure) {
      if (!(await unlessAway(takeTogether({ buckets, tokens }), true))) throw orElse()
    },

    giveBack: (buckets: readonly SignInBucket[], tokens: number) =>
      unlessAway(giveBackTogether({ buckets, tokens }), undefined),

    /** Takes a token, also from an empty bucket; from `everybody` only if the own bucket had one. */
    spend: (own: SignInBucket, everybody: SignInBucket | undefined) =>
      unlessAway(spendTogether({ own, everybody }), undefined),

    forgetFull: (signal: AbortSignal) =>
      expireRows(
        { all, writeUnrecorded },
        { table: 'sign_in_buckets', key: ['bucket'], where: 'void_at < $1', params: [clock.now()] },
        signal,
      ),
  }
}
