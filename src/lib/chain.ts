import { hash } from 'node:crypto'

/** The content of an audit entry that never changes. */
export interface ChainedContent {
  accountId: string
  /** Parent accounts, top first, separated by spaces. */
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

interface ChainedPlace {
  /** The digest of the account's previous entry. */
  previous: string | null
  sequence: number
}

/** 64 hex characters. The records of an edit are left out: they expire before the entry does. */
export const contentDigest = (entry: ChainedContent): string => {
  const { accountId, tree, id, at, event, action, kind, author, actorId, changes } = entry
  // The store replaces unpaired surrogates.
  const recordId = entry.recordId.toWellFormed()
  const recordName = entry.recordName?.toWellFormed()
  const [before, after] = changes === undefined ? [entry.beforeDoc, entry.afterDoc] : []
  const facts = [accountId, tree, id, at, event, action, kind, recordId, author, actorId, recordName, changes]
  // Absent members become null, which no member is. Records follow unquoted: their lengths show where each ends.
  const head = JSON.stringify([...facts, before?.length, after?.length])
  return hash('sha256', `${head}${before ?? ''}${after ?? ''}`, 'hex')
}

/** Includes the digest of the previous entry. */
export const chained = (content: string, { previous, sequence }: ChainedPlace): string =>
  hash('sha256', JSON.stringify([previous, sequence, content]), 'hex')
