import { chained } from '../lib/chain.ts'
import { integer, optional, table, text } from './table.ts'

/** The actor in feed and audit log. */
interface FeedActor {
  type: 'user' | 'api_key' | 'impersonator' | 'task' | 'system'
  id?: string
  account_id?: string
  /** The user that an impersonator acts as. */
  as?: { id?: string; account_id?: string }
}

export interface AuthorIds {
  authAccountId?: string
  authUserId?: string
  authKeyId?: string
  taskId?: string
  /** The account and user of an impersonator. */
  originalAuthAccountId?: string
  originalAuthUserId?: string
}

const person = (id: string | undefined, accountId: string | undefined) => ({
  ...(id === undefined ? {} : { id }),
  ...(accountId === undefined ? {} : { account_id: accountId }),
})

/** The API key of an account has the ID of the account. */
export const actorOf = (author: AuthorIds): FeedActor => {
  const { taskId, authAccountId, authUserId, authKeyId } = author
  if (taskId !== undefined) return { type: 'task', ...person(taskId, authAccountId) }
  if (authAccountId === undefined) return { type: 'system' }
  const itself = person(authUserId, authAccountId)
  const { originalAuthUserId: userId, originalAuthAccountId: accountId } = author
  if (userId !== undefined || accountId !== undefined)
    return { type: 'impersonator', ...person(userId, accountId ?? authAccountId), as: itself }
  if (authKeyId !== undefined) return { type: 'api_key', ...person(authKeyId, authAccountId) }
  if (authUserId === undefined) return { type: 'api_key', ...person(authAccountId, authAccountId) }
  return { type: 'user', ...itself }
}

/** The action of events that change no record, and so are no audit entries. */
export const eventAction = 'happened'

/** The content that the digest of an entry covers. */
export const auditColumns = {
  accountId: text(),
  /** Ids of the parent accounts, top first, separated by spaces. */
  tree: optional(text()),
  id: text(),
  /** Unix milliseconds. */
  at: integer(),
  event: optional(text()),
  action: text(),
  kind: text(),
  recordId: text(),
  author: text(),
  /** The id that `actorOf` returns. */
  actorId: optional(text()),
  recordName: optional(text()),
  changes: optional(text()),
  beforeDoc: optional(text()),
  afterDoc: optional(text()),
} as const

/** Changes and other events. The store gives each its place in the order of all. */
export const auditLog = table(
  'audit_log',
  {
    ...auditColumns,
    /** Number of events, if there are several. */
    span: optional(integer()),
    /** The entry of which the two documents are patches, see entry-docs.ts. */
    baseId: optional(text()),
    /** The digest of the content, until the entry is in the chain of its account. */
    digest: text(),
  },
  { isPlaced: true },
)

// The order of all events has no gaps, and each account has a chain of audit entries. Only one process may extend them:
// the writer of the embedded store, or the holder of the feed's lease.

export interface Unplaced {
  accountId: string
  action: string
  tree: string
  /** The digest of the content. */
  digest: string
  /** The number of events. */
  span: number
}

export interface Head {
  sequence: number
  digest: string
}

export interface Placed {
  /** If there are several events, the last one. */
  sequence: number
  digest: string | null
  previousDigest: string | null
  /** The new end of the account's chain; undefined for events that are not audit entries. */
  head: Head | undefined
}

export const placeOf = (row: Unplaced, last: number, head: Head | undefined): Placed => {
  const sequence = last + row.span
  if (row.action === eventAction) return { sequence, digest: null, previousDigest: null, head: undefined }
  const previousDigest = head?.digest ?? null
  const digest = chained(row.digest, { previous: previousDigest, sequence })
  return { sequence, digest, previousDigest, head: { sequence, digest } }
}

/** Parents that read events below them from their own list. The topmost account sees all. */
export const middleOf = (tree: string) => (tree === '' ? [] : tree.split(' ').slice(1))

/** Also if its row was removed. */
export const newestPlace = `SELECT max(sequence) AS "sequence" FROM (
  SELECT sequence FROM (
    SELECT sequence FROM audit_log WHERE sequence IS NOT NULL ORDER BY sequence DESC LIMIT 1) AS newest
  UNION ALL SELECT max(sequence) FROM feed_marks) AS known`

export const maxHeads = 20_000
