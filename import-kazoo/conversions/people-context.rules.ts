import { isObject } from '../../src/lib/json.ts'
import type { KazooDocument } from '../documents/document.ts'
import { timesOf } from '../documents/fields.ts'
import type { Notes } from './findings.ts'

export interface PeopleContext {
  accountId: string
  realm: string
  /** Shared names that records of other accounts keep: see `lostNames`. */
  lost: ReadonlySet<string>
  /** Notices and the names that their templates may use. */
  notices: Readonly<Record<string, { macros: Readonly<Record<string, { isSecret?: boolean }>> }>>
  /** Settings that accounts may override. */
  accountSettings: ReadonlySet<string>
  /** Imported providers of second factors, by `providerKey`. */
  providers: ReadonlySet<string>
}

export const providerKey = (accountId: string, id: string) => `${accountId}/${id}`

/** The oldest document keeps a name. */
export const inOrderOfAge = (documents: readonly KazooDocument[]) =>
  documents
    .map((document) => ({ document, created: timesOf(document.fields).created }))
    .sort((a, b) => a.created - b.created || (a.document.id < b.document.id ? -1 : 1))
    .map(({ document }) => document)

export const createNames = () => {
  const held = new Set<string>()
  return (kind: string, value: string) => {
    const key = `${kind} ${value}`
    if (held.has(key)) return false
    held.add(key)
    return true
  }
}

export type HoldName = ReturnType<typeof createNames>

export const noteFilesOutside = ({ fields }: KazooDocument, { needsHand }: Notes) => {
  const { pvt_attachments: outside } = fields
  for (const field of Object.keys(isObject(outside) ? outside : {})) needsHand('file_outside', { field })
}
