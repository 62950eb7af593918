import type { Json } from '../../src/lib/json.ts'
import type { SourceDocument } from '../source/source.ts'

/** A document and where it stands: what conversions are given. */
export interface KazooDocument extends SourceDocument {
  /** Decoded. */
  database: string
  fields: Json
  /** `pvt_type`; empty where there is none. */
  type: string
}

/** A `stop` ends the run; what `needs_hand` waits for a person; the others are told. */
export const severities = ['stop', 'needs_hand', 'repaired', 'left_out'] as const
export type Severity = (typeof severities)[number]

/** Something that an operator is told about a document. Values are shown: none of them may be a secret. */
export interface Finding {
  severity: Severity
  /** Stable, for scripts: `realm_taken`. */
  code: string
  database: string
  id: string
  field?: string
  old?: string
  new?: string
}

/** A file that belongs to a record, and the attachment that holds its bytes. */
export interface AttachedFile {
  /** What it is to its record: `logo`, `photo`, `input`. */
  role: string
  name: string
  contentType: string
  length: number | undefined
  /** What the source says of its content, where it does. */
  digest?: string
}

/** What a conversion makes of a document: an arrival, before its files are read. */
export interface Draft {
  /** Which adoption takes it: `user`. */
  as: string
  accountId: string
  id: string
  /** Gregorian seconds. */
  created: number
  modified: number
  doc: Json
  facts: Json
  files: readonly AttachedFile[]
}

export const outcomes = ['imported', 'kept', 'skipped', 'rejected'] as const

/** What became of one document: it is stored as records, kept as it is, or left out. */
export interface Converted {
  document: KazooDocument
  outcome: (typeof outcomes)[number]
  drafts: readonly Draft[]
  findings: readonly Finding[]
}
