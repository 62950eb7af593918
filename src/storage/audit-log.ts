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
