import { isObject, type Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import type { AttachedFile, Converted, KazooDocument } from '../documents/document.ts'
import { attachmentsOf, fileAs, isGone } from '../documents/fields.ts'
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

const filesIn = (document: KazooDocument): AttachedFile[] =>
  attachmentsOf(document).map((file) => fileAs(file.name, file))

const isKeptFile = ({ type }: KazooDocument, { length }: AttachedFile) =>
  typesWithFiles.has(type) && length !== undefined && length <= maxBytes

const noteFilesLeft = (document: KazooDocument, { leftOut }: Notes) => {
  for (const file of filesIn(document))
    if (!isKeptFile(document, file))
      leftOut('file_left', { field: file.name, old: `${file.length ?? '?'} bytes` })
  noteFilesElsewhere(document, { leftOut })
}

/** Reports files outside the database. */
export const noteFilesElsewhere = ({ fields }: KazooDocument, { leftOut }: Pick<Notes, 'leftOut'>) => {
  const elsewhere = memberOf(fields, 'pvt_attachments')
  for (const field of Object.keys(isObject(elsewhere) ? elsewhere : {})) leftOut('file_elsewhere', { field })
}

/** Preserves a document of any type. One that is too large is only reported. */
export const preserveDocument = (
  document: KazooDocument,
  accountId: string,
  { drafts = [], findings = [] }: Partial<Pick<Converted, 'drafts' | 'findings'>> = {},
): Converted => {
  const notes = notesOf(document)
  const bytes = Buffer.byteLength(document.text)
  const isTooLarge = bytes > maxBytes
  if (isTooLarge) notes.leftOut('document_too_large', { old: `${bytes} bytes` })
  else noteFilesLeft(document, notes)
  const kept = draftOf(document, 'kazoo_kept', accountId, {
    id: preservedName(document),
    facts: { type: document.type, text: document.text },
    files: filesIn(document).filter((file) => isKeptFile(document, file)),
  })
  return converted(document, isTooLarge ? 'skipped' : 'kept', {
    drafts: isTooLarge ? drafts : [...drafts, kept],
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

const revposOf = (stub: unknown) => (isObject(stub) && typeof stub.revpos === 'number' ? stub.revpos : 1)

export const preservedText = (text: string, files: readonly ExportedFile[]): string => {
  const fields: Json = JSON.parse(text)
  const hasRevision = typeof fields._rev === 'string'
  const stubs = fields[attachments]
  if (hasRevision && stubs === undefined) return text
  const members = membersIn(text)
    .filter(({ key }) => key !== attachments)
    .flatMap((member) =>
      member.key === '_id' && !hasRevision
        ? [member.text, `"_rev":${JSON.stringify(firstRevision(text))}`]
        : [member.text],
    )
  const inline = files.map((file) => {
    const revpos = revposOf(isObject(stubs) ? stubs[file.name] : undefined)
    return inlineFiles([file], hasRevision ? revpos : 1)
  })
  const own = inline.length > 0 ? [`"${attachments}":${JSON.stringify(Object.assign({}, ...inline))}`] : []
  return `{${[...members, ...own].join(',')}}`
}
