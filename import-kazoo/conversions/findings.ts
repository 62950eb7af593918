import { present } from '../../src/lib/json.ts'
import type { Converted, Draft, Finding, KazooDocument, Severity } from '../documents/document.ts'
import { timesOf } from '../documents/fields.ts'

interface Told {
  field?: string
  old?: string | undefined
  new?: string | undefined
}

export const finding = (
  { database, id }: Pick<KazooDocument, 'database' | 'id'>,
  severity: Severity,
  code: string,
  told: Told = {},
): Finding => ({ severity, code, database, id, ...present(told) })

/** Findings of one document in the order of the report. */
export const notesOf = (document: Pick<KazooDocument, 'database' | 'id'>) => {
  const findings: Finding[] = []
  const noteAs = (severity: Severity) => (code: string, told?: Told) =>
    void findings.push(finding(document, severity, code, told))
  return {
    findings,
    needsHand: noteAs('needs_hand'),
    repaired: noteAs('repaired'),
    leftOut: noteAs('left_out'),
  }
}

export type Notes = ReturnType<typeof notesOf>

export const converted = (
  document: KazooDocument,
  outcome: Converted['outcome'],
  { drafts = [], findings = [] }: { drafts?: readonly Draft[]; findings?: readonly Finding[] } = {},
): Converted => ({ document, outcome, drafts, findings })

export const unconverted = (
  document: KazooDocument,
  outcome: Converted['outcome'],
  ...why: [severity: Severity, code: string, told?: Told]
) => converted(document, outcome, { findings: [finding(document, ...why)] })

export const leftOut = (document: KazooDocument, code: string, told?: Told) =>
  unconverted(document, 'skipped', 'left_out', code, told)

type Content = Partial<Pick<Draft, 'id' | 'doc' | 'facts' | 'files'>>

export const draftOf = (
  { id, fields }: Pick<KazooDocument, 'id' | 'fields'>,
  as: string,
  accountId: string,
  content: Content = {},
): Draft => ({ as, accountId, id, ...timesOf(fields), doc: {}, facts: {}, files: [], ...content })

export const imported = (
  document: KazooDocument,
  as: string,
  accountId: string,
  { findings = [], ...content }: Content & { findings?: readonly Finding[] } = {},
): Converted =>
  converted(document, 'imported', { drafts: [draftOf(document, as, accountId, content)], findings })
