import type { ImportedRecord } from '../../src/areas/adoption.ts'
import type { Json } from '../../src/lib/json.ts'
import type { SourceDocument } from '../source/source.ts'

export interface KazooDocument extends SourceDocument {
  database: string
  fields: Json
  /** `pvt_type`; empty if there is none. */
  type: string
}

/** `stop` ends the run; `needs_hand` needs a person. */
export const severities = ['stop', 'needs_hand', 'repaired', 'left_out'] as const
export type Severity = (typeof severities)[number]

/** Values are shown: none may be a secret. */
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

export interface AttachedFile {
  /** Its role for the record: `logo`, `photo`, `input`. */
  role: string
  name: string
  contentType: string
  length: number | undefined
  /** As the source reports it. */
  digest?: string
}

export interface Draft extends Omit<ImportedRecord, 'revision' | 'files'> {
  as: string
  files: readonly AttachedFile[]
}

export const outcomes = ['imported', 'kept', 'skipped', 'rejected'] as const

/** The result for one document. */
export interface Converted {
  document: KazooDocument
  outcome: (typeof outcomes)[number]
  drafts: readonly Draft[]
  findings: readonly Finding[]
}
