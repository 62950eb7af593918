import { isObject, type Json } from '../../src/lib/json.ts'
import { memberOf } from '../../src/lib/member.ts'
import type { AttachedFile, Converted, KazooDocument } from '../documents/document.ts'
import { attachmentsOf, fileAs, isGone } from '../documents/fields.ts'
import { firstRevision, inlineFiles, type LeavingFile } from '../export/document.ts'
import { membersIn } from '../source/documents.ts'
import { converted, draftOf, type Notes, notesOf } from './findings.ts'

/** A document of a Kazoo, as it is kept. */
export interface KeptPlace {
  /** Of what belongs to no account `system`. */
  accountId: string
  /** The database that it stood in, decoded. */
  database: string
  id: string
}

// No name of a database has it.
const between = '|'

/** One word for where a document stood, among all of its account. */
export const keptName = ({ database, id }: Pick<KeptPlace, 'database' | 'id'>) => `${database}${between}${id}`

export const keptPlace = (accountId: string, name: string): KeptPlace => {
  const end = name.indexOf(between)
  return { accountId, database: name.slice(0, end), id: name.slice(end + 1) }
}

/** What is known of a kept document beside its place. */
export interface KeptFacts {
  type: string
  /** Its JSON as it came. */
  text: string
}

// Documents that nothing here reads: some are kept as they are, the others are counted.

/** Types that are kept under their old ids, for later use and for the way back. */
export const keptTypes: ReadonlySet<string> = new Set([
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

// What nothing reads is held in memory and written as one.
const maxBytes = 1_000_000

// Of these a file is what they are about.
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

/** Notes files that are stored outside of the database. */
export const noteFilesElsewhere = ({ fields }: KazooDocument, { leftOut }: Pick<Notes, 'leftOut'>) => {
  const elsewhere = memberOf(fields, 'pvt_attachments')
  for (const field of Object.keys(isObject(elsewhere) ? elsewhere : {})) leftOut('file_elsewhere', { field })
}

/** Keeps a document whatever its type. One that is too large is listed; what is told of it anyway comes along. */
export const keepDocument = (
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
    id: keptName(document),
    facts: { type: document.type, text: document.text },
    files: filesIn(document).filter((file) => isKeptFile(document, file)),
  })
  return converted(document, isTooLarge ? 'skipped' : 'kept', {
    drafts: isTooLarge ? drafts : [...drafts, kept],
    findings: [...findings, ...notes.findings],
  })
}

/** A document that no other conversion reads. */
export const keepOrList = (document: KazooDocument, accountId: string): Converted =>
  isGone(document.fields) || !keptTypes.has(document.type)
    ? converted(document, 'skipped')
    : keepDocument(document, accountId)

// Documents that nothing here has read are exported as they came, to the letter. What they tell of files that are not
// here goes: no system takes a document whose files are promised and missing.
const attachments = '_attachments'

const revposOf = (stub: unknown) => (isObject(stub) && typeof stub.revpos === 'number' ? stub.revpos : 1)

/** The text of a kept document with the bytes of its files. */
export const keptText = (text: string, files: readonly LeavingFile[]): string => {
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
