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

/** Collects the findings of one document, in the order in which they are reported. */
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

/** What became of a document, where there is little to say of it. */
export const converted = (
  document: KazooDocument,
  outcome: Converted['outcome'],
  { drafts = [], findings = [] }: { drafts?: readonly Draft[]; findings?: readonly Finding[] } = {},
): Converted => ({ document, outcome, drafts, findings })

/** A document that becomes no record, with the finding that says why. */
export const unconverted = (
  document: KazooDocument,
  outcome: Converted['outcome'],
  ...why: [severity: Severity, code: string, told?: Told]
) => converted(document, outcome, { findings: [finding(document, ...why)] })

/** A document of which nothing is taken, and why. */
export const leftOut = (document: KazooDocument, code: string, told?: Told) =>
  unconverted(document, 'skipped', 'left_out', code, told)

type Content = Partial<Pick<Draft, 'id' | 'doc' | 'facts' | 'files'>>

/** The record that a document becomes, under its own id unless `content` has another. */
export const draftOf = (
  { id, fields }: Pick<KazooDocument, 'id' | 'fields'>,
  as: string,
  accountId: string,
  content: Content = {},
): Draft => ({ as, accountId, id, ...timesOf(fields), doc: {}, facts: {}, files: [], ...content })

/** A document that becomes one record. */
export const imported = (
  document: KazooDocument,
  as: string,
  accountId: string,
  { findings = [], ...content }: Content & { findings?: readonly Finding[] } = {},
): Converted =>
  converted(document, 'imported', { drafts: [draftOf(document, as, accountId, content)], findings })
