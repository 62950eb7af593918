import { chained } from '../lib/chain.ts'
import { integer, optional, table, text } from './table.ts'

/** What stands for the action of what is no change of a record, and therefore no entry of the audit. */
export const emitEvent = 'happened'

/** What the digest of an entry is of, as it stands in the store. */
export const auditColumns = {
  accountId: text(),
  /** The ids of those above the account, top first, with spaces between them. */
  tree: optional(text()),
  id: text(),
  /** Unix milliseconds. */
  at: integer(),
  event: optional(text()),
  action: text(),
  kind: text(),
  recordId: text(),
  author: text(),
  /** By which entries are found: the id that `actorOf` gives. */
  actorId: optional(text()),
  recordName: optional(text()),
  /** JSON text: an array of differences. */
  changes: optional(text()),
  beforeDoc: optional(text()),
  afterDoc: optional(text()),
} as const

/** Changes and what else happened, as they are added: each gets its place in the order of all, see placing.ts. */
export const auditLog = table(
  'audit_log',
  {
    ...auditColumns,
    /** Of what is many events: how many. */
    span: optional(integer()),
    /** Of a large record: the entry whose record the texts before and after are patches of, see entry-docs.ts. */
    baseId: optional(text()),
    /** Of the content, until the entry has its place in the chain of its account. */
    digest: text(),
  },
  { isPlaced: true },
)

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
