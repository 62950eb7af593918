import type { Converted, Draft, Finding, KazooDocument, Severity } from '../documents/document.ts'

type Told = Pick<Finding, 'field' | 'old' | 'new'>

export const finding = (
  { database, id }: Pick<KazooDocument, 'database' | 'id'>,
  severity: Severity,
  code: string,
  told: Told = {},
): Finding => ({ severity, code, database, id, ...told })

/** What became of a document, where there is little to say of it. */
export const converted = (
  document: KazooDocument,
  outcome: Converted['outcome'],
  { drafts = [], findings = [] }: { drafts?: readonly Draft[]; findings?: readonly Finding[] } = {},
): Converted => ({ document, outcome, drafts, findings })
