import { present } from '../../src/lib/json.ts'
import type { Converted, Draft, Finding, KazooDocument, Severity } from '../documents/document.ts'
import { timesOf } from '../documents/fields.ts'

type Details = Partial<Record<'field' | 'old' | 'new', string | undefined>>

type Why = [severity: Severity, code: string, details?: Details]

type Content = Partial<Pick<Draft, 'id' | 'doc' | 'facts' | 'files'>>

export const finding = (
  { database, id }: Pick<KazooDocument, 'database' | 'id'>,
  ...[severity, code, details = {}]: Why
): Finding => ({ severity, code, database, id, ...present(details) })

export const converted = (
  document: KazooDocument,
  outcome: Converted['outcome'],
  { drafts = [], findings = [] }: Partial<Pick<Converted, 'drafts' | 'findings'>> = {},
): Converted => ({ document, outcome, drafts, findings })

export const unconverted = (document: KazooDocument, outcome: Converted['outcome'], ...why: Why) =>
  converted(document, outcome, { findings: [finding(document, ...why)] })

export const leftOut = (document: KazooDocument, code: string, details?: Details) =>
  unconverted(document, 'skipped', 'left_out', code, details)

export const draftOf = (
  { id, fields }: Pick<KazooDocument, 'id' | 'fields'>,
  as: string,
  accountId: string,
  content: Content = {},
): Draft => ({ as, accountId, id, ...timesOf(fields), doc: {}, facts: {}, files: [], ...content })

/** Findings of one document in the order of the report. */
export const notesOf = (document: KazooDocument) => {
  const findings: Finding[] = []
  const noteAs = (severity: Severity) => (code: string, details?: Details) =>
    void findings.push(finding(document, severity, code, details))
  return {
    findings,
    needsHand: noteAs('needs_hand'),
    repaired: noteAs('repaired'),
    leftOut: noteAs('left_out'),
    /** The one record that the document becomes. */
    imported: (as: string, accountId: string, content?: Content) =>
      converted(document, 'imported', { drafts: [draftOf(document, as, accountId, content)], findings }),
  }
}

export type Notes = Pick<ReturnType<typeof notesOf>, 'needsHand' | 'repaired' | 'leftOut'>

/** A document with what must be known to convert it, and its findings. */
export const conversionOf = <Context extends object>(document: KazooDocument, context: Context) => ({
  ...context,
  ...document,
  document,
  ...notesOf(document),
})

export type Conversion<Context extends object> = ReturnType<typeof conversionOf<Context>>

export const maxNameLength = 128

/** The stored name or a fallback, not too long. */
export const nameFrom = (
  stored: string | undefined,
  fallback: string,
  { repaired }: Notes,
  detailsOf: (name: string) => Details = () => ({ field: 'name' }),
) => {
  const name = (stored ?? fallback).slice(0, maxNameLength)
  if (name !== stored) repaired(stored === undefined ? 'name_missing' : 'name_shortened', detailsOf(name))
  return name
}
