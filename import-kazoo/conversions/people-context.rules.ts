import { isObject } from '../../src/lib/json.ts'
import type { KazooDocument } from '../documents/document.ts'
import { timesOf } from '../documents/fields.ts'
import type { Notes } from './findings.ts'

/** What has to be known beside the documents of the account whose people they are. */
export interface PeopleContext {
  accountId: string
  /** As the account has it here. */
  realm: string
  /** Names that all accounts share, and that records of other accounts keep: see `lostNames`. */
  lost: ReadonlySet<string>
  /** The notices that there are, and the names that their templates may use; secret ones said so. */
  notices: Readonly<Record<string, { macros: Readonly<Record<string, { isSecret?: boolean }>> }>>
  /** Settings documents that accounts may lay values of their own over. */
  accountSettings: ReadonlySet<string>
  /** Providers of second factors that are imported, by account and id; of the system's the account is the master. */
  providers: ReadonlySet<string>
}

export const providerKey = (accountId: string, id: string) => `${accountId}/${id}`

/** Of two that want one name the older has it. */
export const inOrderOfAge = (documents: readonly KazooDocument[]) =>
  documents
    .map((document) => ({ document, created: timesOf(document.fields).created }))
    .sort((a, b) => a.created - b.created || (a.document.id < b.document.id ? -1 : 1))
    .map(({ document }) => document)

/** Who of an account has which name, as they come. */
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

/** Notes files whose bytes the database does not hold. */
export const noteFilesOutside = ({ fields }: KazooDocument, { needsHand }: Notes) => {
  const { pvt_attachments: outside } = fields
  for (const field of Object.keys(isObject(outside) ? outside : {})) needsHand('file_outside', { field })
}
