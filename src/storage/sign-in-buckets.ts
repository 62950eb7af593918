import { type Failure, isOutage } from '../lib/failure.ts'
import type { Statement } from './db.ts'
import { forgetRows } from './forgetting.ts'
import type { Store } from './store.ts'
import { integer, shape } from './table.ts'

/** A bucket that refills at an even pace. */
export interface SignInBucket {
  key: string
  /** Tokens. */
  size: number
  millisecondsPerToken: number
  /** Unused for so long it counts as full. */
  inactivityMilliseconds?: number
}

const held = shape({ fullAt: integer(), voidAt: integer() })

// A row says when its bucket is full again: so nothing has to be refilled, and rows of the past are none.
// It may be full before it is void: when something was given back.
const baseSql = `CASE WHEN sign_in_buckets.void_at > $3 AND sign_in_buckets.full_at > $3
  THEN sign_in_buckets.full_at ELSE $3 END`
const setSql = `full_at = ${baseSql} + $4,
  void_at = CASE WHEN ${baseSql} + $4 < $5 THEN ${baseSql} + $4 ELSE $5 END`
const insertSql = (values: string) =>
  `INSERT INTO sign_in_buckets (bucket, full_at, void_at) ${values} ON CONFLICT (bucket) DO UPDATE SET ${setSql}`

// Far enough away: a bucket that never rests.
const never = 2 ** 52

export type SignInBuckets = ReturnType<typeof createSignInBuckets>

/**
 * Buckets that all processes of a store draw from, by the clock of each: for sign-ins and wrong passwords, of which
 * several processes must not allow more than one. While the store takes no writes, each process counts by itself alone.
 */
export const createSignInBuckets = ({ all, writeAlone, writeUnrecorded, clock }: Store) => {
  const costOf = ({ millisecondsPerToken }: SignInBucket, tokens: number) =>
    Math.ceil(tokens * millisecondsPerToken)

  /** Values in the order in which the statements number them. */
  const valuesOf = (bucket: SignInBucket, tokens: number) => {
    const now = clock.now()
    const cost = costOf(bucket, tokens)
    const rests = now + Math.min(bucket.inactivityMilliseconds ?? never, never - now)
    return [bucket.key, now + cost, now, cost, rests, Math.min(now + cost, rests)]
  }

  const taking = (bucket: SignInBucket, tokens: number, orElse: () => Failure): Statement => ({
    sql: `${insertSql('VALUES ($1, $2, $6)')} WHERE ${baseSql} + $4 <= $7`,
    params: [...valuesOf(bucket, tokens), clock.now() + costOf(bucket, bucket.size)],
    expect: { rows: 1, orElse },
  })

  const spending = (bucket: SignInBucket, tokens: number): Statement => ({
    sql: insertSql('VALUES ($1, $2, $6)'),
    params: valuesOf(bucket, tokens),
  })

  const givingBack = (bucket: SignInBucket, tokens: number): Statement => ({
    // Nobody gets more than a full bucket.
    sql: `UPDATE sign_in_buckets SET full_at = CASE WHEN full_at - $2 < $3 THEN $3 ELSE full_at - $2 END
      WHERE bucket = $1`,
    params: [bucket.key, costOf(bucket, tokens), clock.now()],
  })

  const unlessAway = async (statements: readonly Statement[]) => {
    try {
      await writeAlone(statements)
    } catch (error) {
      if (!isOutage(error)) throw error
    }
  }

  return {
    /** What is left, in tokens; below zero when more was spent than there was. */
    async left({ key, size, millisecondsPerToken }: SignInBucket): Promise<number> {
      const now = clock.now()
      const rows = await all(`SELECT ${held.columns} FROM sign_in_buckets WHERE bucket = $1`, [key])
      const found = held.first(rows)
      if (!found || found.voidAt <= now) return size
      return size - Math.max(0, found.fullAt - now) / millisecondsPerToken
    },

    /** Takes so many tokens out of each of these, or fails and takes none. */
    take: (buckets: readonly SignInBucket[], tokens: number, orElse: () => Failure) =>
      unlessAway(buckets.map((bucket) => taking(bucket, tokens, orElse))),

    giveBack: (buckets: readonly SignInBucket[], tokens: number) =>
      unlessAway(buckets.map((bucket) => givingBack(bucket, tokens))),

    /** Takes a token, whether it is there or not; out of `all` as well, as long as the own bucket had one. */
    async spend(own: SignInBucket, everybody: SignInBucket | undefined) {
      const statements = [spending(own, 1)]
      if (everybody) {
        const latest = clock.now() + costOf(own, own.size)
        statements.push({
          sql: insertSql(
            'SELECT $1, $2, $6 WHERE EXISTS (SELECT 1 FROM sign_in_buckets WHERE bucket = $7 AND full_at <= $8)',
          ),
          params: [...valuesOf(everybody, 1), own.key, latest],
        })
      }
      await unlessAway(statements)
    },

    forgetFull: (signal: AbortSignal) =>
      forgetRows(
        { all, writeUnrecorded },
        { table: 'sign_in_buckets', key: ['bucket'], where: 'void_at < $1', params: [clock.now()] },
        signal,
      ),
  }
}
