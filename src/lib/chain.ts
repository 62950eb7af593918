import { hash } from 'node:crypto'

/** What an entry of the audit says, as it is stored from the moment it is written. */
export interface ChainedContent {
  accountId: string
  /** The ids of those above the account, top first, with spaces between them. */
  tree: string | undefined
  id: string
  /** Unix milliseconds. */
  at: number
  event: string | undefined
  action: string
  kind: string
  recordId: string
  author: string
  actorId: string | undefined
  recordName: string | undefined
  changes: string | undefined
  beforeDoc: string | undefined
  afterDoc: string | undefined
}

/** Where an entry came to stand. */
interface ChainedPlace {
  /** The digest of the account's entry before it; null for the first. */
  previous: string | null
  sequence: number
}

/**
 * The digest of what an entry says: 64 hex characters. A list in JSON can be read in one way only. The records before
 * and after an edit are let go before the entry is, so that they are left out.
 */
export const contentDigest = (entry: ChainedContent): string => {
  const { accountId, tree, id, at, event, action, kind, author, actorId, changes } = entry
  // Half a character comes back from the store as a replacement.
  const recordId = entry.recordId.toWellFormed()
  const recordName = entry.recordName?.toWellFormed()
  const [before, after] = changes === undefined ? [entry.beforeDoc, entry.afterDoc] : []
  const facts = [accountId, tree, id, at, event, action, kind, recordId, author, actorId, recordName, changes]
  // Undefined members of a list are written as null, which no member is. The records, which are long, follow as they
  // are: their lengths tell where each ends.
  const head = JSON.stringify([...facts, before?.length, after?.length])
  return hash('sha256', `${head}${before ?? ''}${after ?? ''}`, 'hex')
}

/** The digest of an entry in its place, over that of the entry before it. */
export const chained = (content: string, { previous, sequence }: ChainedPlace): string =>
  hash('sha256', JSON.stringify([previous, sequence, content]), 'hex')
