import type { Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import type { AttachedFile, Converted, KazooDocument } from '../documents/document.ts'
import { attachmentsOf, fileAs, isGone, outsideFilesIn } from '../documents/fields.ts'
import { type ExportedFile, firstRevision, inlineFiles } from '../export/document.ts'
import { membersIn } from '../source/documents.ts'
import { converted, draftOf, type Notes, notesOf } from './findings.ts'

export interface PreservedPlace {
  accountId: string
  database: string
  id: string
}

// No database name contains it.
const between = '|'

/** Unique within an account. */
export const preservedName = ({ database, id }: Pick<PreservedPlace, 'database' | 'id'>) =>
  `${database}${between}${id}`

export const preservedPlace = (accountId: string, name: string): PreservedPlace => {
  const end = name.indexOf(between)
  return { accountId, database: name.slice(0, end), id: name.slice(end + 1) }
}

export interface PreservedFacts {
  type: string
  text: string
}

// Documents that nothing else reads: some types are preserved, the others are counted.

/** Preserved under their ids, for later use and for the export. */
export const preservedTypes: ReadonlySet<string> = new Set([
  'blacklist',
  'bookkeeper',
  'callflow',
  'clicktocall',
  'conference',
  'dedicated_ip',
  'dialplan',
  'dialplans',
  'directory',
  'faxbox',
  'function',
  'group',
  'list',
  'list_entry',
  'media',
  'menu',
  'metaflow',
  'metaflows',
  'pivot',
  'port_request',
  'queue',
  'resource',
  'sys_info',
  'temporal_rule',
  'temporal_rule_set',
  'textflow',
  'vmbox',
  'webhook',
])

const maxBytes = 1_000_000

// Documents about a file.
const typesWithFiles: ReadonlySet<string> = new Set(['media'])

/** Reports files outside the database. */
export const noteFilesElsewhere = ({ fields }: KazooDocument, { leftOut }: Notes) => {
  for (const field of outsideFilesIn(fields)) leftOut('file_elsewhere', { field })
}

/** The files that are preserved with their document; the others are reported. */
const filesOf = (document: KazooDocument, notes: Notes): AttachedFile[] => {
  const isKept = ({ length = maxBytes + 1 }: Pick<AttachedFile, 'length'>) =>
    typesWithFiles.has(document.type) && length <= maxBytes
  const files = attachmentsOf(document).map((file) => fileAs(file.name, file))
  for (const { name, length = '?' } of files.filter((file) => !isKept(file)))
    notes.leftOut('file_left', { field: name, old: `${length} bytes` })
  noteFilesElsewhere(document, notes)
  return files.filter(isKept)
}

/** Preserves a document of any type. One that is too large is only reported. */
export const preserveDocument = (
  document: KazooDocument,
  accountId: string,
  { drafts = [], findings = [] }: Partial<Pick<Converted, 'drafts' | 'findings'>> = {},
): Converted => {
  const { type, text } = document
  const notes = notesOf(document)
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) {
    notes.leftOut('document_too_large', { old: `${bytes} bytes` })
    return converted(document, 'skipped', { drafts, findings: [...findings, ...notes.findings] })
  }
  const content = { id: preservedName(document), facts: { type, text }, files: filesOf(document, notes) }
  return converted(document, 'kept', {
    drafts: [...drafts, draftOf(document, 'kazoo_kept', accountId, content)],
    findings: [...findings, ...notes.findings],
  })
}

/** For documents that no other conversion reads. */
export const preserveOrCount = (document: KazooDocument, accountId: string): Converted =>
  isGone(document.fields) || !preservedTypes.has(document.type)
    ? converted(document, 'skipped')
    : preserveDocument(document, accountId)

// Preserved documents are exported unchanged, but without stubs of missing files: no system takes such
// documents.
const attachments = '_attachments'

export const preservedText = (text: string, files: readonly ExportedFile[]): string => {
  const fields: Json = JSON.parse(text)
  const hasRevision = typeof fields._rev === 'string'
  if (hasRevision && fields[attachments] === undefined) return text
  const members = membersIn(text)
    .filter(({ key }) => key !== attachments)
    .flatMap((member) =>
      member.key === '_id' && !hasRevision
        ? [member.text, `"_rev":${JSON.stringify(firstRevision(text))}`]
        : [member.text],
    )
  const inline = files.map((file) => {
    const revpos = memberOf(fields, attachments, file.name, 'revpos')
    return inlineFiles([file], hasRevision && typeof revpos === 'number' ? revpos : 1)
  })
  const own = inline.length > 0 ? [`"${attachments}":${JSON.stringify(Object.assign({}, ...inline))}`] : []
  return `{${[...members, ...own].join(',')}}`
}
