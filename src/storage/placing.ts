import { chained } from '../lib/chain.ts'
import { emitEvent } from './audit-log.ts'

// The order of all that is committed, which has no gaps, and the chain of each account's entries of the audit. Whoever
// gives places has to be the only one who does: the writer of the embedded store, or who holds the lease of the feed.

/** A row of the audit log that has no place yet. */
export interface Unplaced {
  accountId: string
  action: string
  tree: string
  /** Of what it says. */
  digest: string
  /** Of what is many events: how many. */
  span: number
}

/** The end of an account's chain. */
export interface Head {
  sequence: number
  digest: string
}

export interface Placed {
  /** Of what is many events that of the last one. */
  sequence: number
  digest: string | null
  previousDigest: string | null
  /** The end of its account's chain from then on; undefined of what is no entry of the audit. */
  head: Head | undefined
}

/** The place behind the last one that was given; `head` is where the account's chain ends so far. */
export const placeOf = (row: Unplaced, last: number, head: Head | undefined): Placed => {
  const sequence = last + row.span
  if (row.action === emitEvent) return { sequence, digest: null, previousDigest: null, head: undefined }
  const previousDigest = head?.digest ?? null
  const digest = chained(row.digest, { previous: previousDigest, sequence })
  return { sequence, digest, previousDigest, head: { sequence, digest } }
}

/** Those above an account who read of what is below them by a list of their own: the topmost one sees all. */
export const middleOf = (tree: string) => (tree === '' ? [] : tree.split(' ').slice(1))

/** The newest place that was given, also when the row that had it is gone. */
export const newestPlace = `SELECT max(sequence) AS "sequence" FROM (
  SELECT sequence FROM (
    SELECT sequence FROM audit_log WHERE sequence IS NOT NULL ORDER BY sequence DESC LIMIT 1) AS newest
  UNION ALL SELECT max(sequence) FROM feed_marks) AS known`

/** How many ends of chains are remembered. */
export const maxHeads = 20_000
