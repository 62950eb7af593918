import { recipientProblems, subjectProblems } from '../../src/areas/brand/notifications/rules.ts'
import { fileKinds } from '../../src/areas/brand/whitelabel/files/rules.ts'
import { whitelabelProblems } from '../../src/areas/brand/whitelabel/rules.ts'
import { hasProblems } from '../../src/lib/failure.ts'
import { isObject, type Json, present } from '../../src/lib/json.ts'
import { placeOf } from '../../src/lib/property-path.ts'
import type { AttachedFile, Converted, KazooDocument } from '../documents/document.ts'
import {
  attachmentsOf,
  fileAs,
  listIn,
  outsideFilesIn,
  publicPart,
  textIn,
  textsIn,
  withoutPlaces,
} from '../documents/fields.ts'
import { type ExportedDocument, exported, type OwnRecord } from '../export/document.ts'
import { conversionOf, leftOut, notesOf, unconverted } from './findings.ts'
import { isNameLost, type People, type PeopleContext } from './people-context.rules.ts'
import { checked, flag, objectIn, readFields, text } from './tables.ts'

/** The latest file of each kind. Older brands have one file with any name: the logo. */
const filesOf = (document: KazooDocument): AttachedFile[] => {
  const all = attachmentsOf(document)
  const latest = fileKinds.flatMap((kind) => {
    const [file] = all.filter(({ name }) => name.startsWith(`${kind}-`)).sort((a, b) => b.since - a.since)
    return file ? [fileAs(kind, file)] : []
  })
  const [only, second] = all
  const isLogo = only && !second && latest.length === 0 && !only.name.startsWith('icon')
  return isLogo ? [fileAs('logo', only)] : latest
}

/** A domain that an older account has stays with that account. */
export const convertBrand = (document: KazooDocument, people: People): Converted => {
  const conversion = conversionOf(document, people)
  const { needsHand, leftOut, imported } = conversion
  const given = publicPart(document.fields, ['id'])
  const bad = Object.keys(whitelabelProblems(given))
  for (const field of bad) needsHand('link_invalid', { field })
  const { rest: doc } = withoutPlaces(given, bad.map(placeOf))
  const { domain, ...others } = doc
  const isLost = isNameLost(conversion, doc)
  if (isLost) needsHand('domain_taken', { field: 'domain', old: String(domain) })
  const files = filesOf(document)
  for (const { name } of attachmentsOf(document))
    if (!files.some((file) => file.name === name)) leftOut('file_unused', { field: name })
  for (const field of outsideFilesIn(document.fields)) needsHand('file_outside', { field })
  return imported('whitelabel', people.accountId, { doc: isLost ? others : doc, files })
}

/** Documents of sender addresses have no type. */
export const isSenderAddress = ({ type, fields }: KazooDocument) =>
  !['user', 'account', 'device', 'whitelabel'].includes(type) &&
  textIn(fields, 'email') !== undefined &&
  (fields.verified !== undefined || fields.dkim_selector !== undefined)

/** The owner must confirm the address again; its DKIM key is generated again. */
export const convertSender = (document: KazooDocument, { accountId, hold }: People): Converted => {
  const email = textIn(document.fields, 'email') ?? ''
  const details = { field: 'email', old: email }
  if (!hold('sender', email.toLowerCase())) return leftOut(document, 'sender_twice', details)
  const { needsHand, imported } = notesOf(document)
  needsHand('sender_unverified', details)
  const doc = present({ email, dkim_selector: textIn(document.fields, 'dkim_selector') })
  return imported('whitelabel_email', accountId, { doc })
}

const noticePrefix = 'notification.'

const bodies = [
  ['template.text/html', 'html', 'text/html'],
  ['template.text/plain', 'text', 'text/plain'],
] as const

/** Only names in double braces mean the same in both template languages. */
const isPlain = (template: string) => !template.includes('{%') && !template.includes('|')

const recipientsIn = (fields: Json, key: string) => {
  const to = objectIn(fields, key)
  const texts = textsIn(listIn(to?.email_addresses))
  const listed = texts.length > 0 ? { email_addresses: texts } : {}
  return to && { type: textIn(to, 'type') ?? 'original', ...listed }
}

const hasAddresses = (value: unknown) => {
  const recipients = isObject(value) ? value.email_addresses : value
  return Array.isArray(recipients) ? recipients.length > 0 : Boolean(recipients)
}

const noticeFields = (macros: PeopleContext['notices'][string]['macros']) => [
  flag('enabled'),
  checked(
    (fields, key) => textIn(fields, key),
    (subject) => isPlain(subject) && !hasProblems(subjectProblems(subject, macros)),
    'template_unused',
  )('subject'),
  checked(recipientsIn, (to) => !hasProblems(recipientProblems(to, macros)), 'recipients_unused')('to'),
  text('from'),
  text('reply_to'),
]

/** `system` notices apply to all accounts. The importer of the area validates the bodies. */
export const convertNotice = (
  document: KazooDocument,
  { accountId, notices }: Pick<PeopleContext, 'accountId' | 'notices'>,
): Converted => {
  const { id, fields } = document
  const name = id.startsWith(noticePrefix) ? id.slice(noticePrefix.length) : id
  const notice = Object.hasOwn(notices, name) ? notices[name] : undefined
  if (!notice) return unconverted(document, 'kept', 'left_out', 'notice_unknown', { old: name.slice(0, 128) })
  const notes = notesOf(document)
  const doc = readFields(noticeFields(notice.macros), fields, notes)
  for (const field of ['cc', 'bcc'])
    if (hasAddresses(fields[field])) notes.needsHand('no_counterpart', { field })
  const files = bodies.flatMap(([name, role]) =>
    attachmentsOf(document).flatMap((file) => (file.name === name ? [fileAs(role, file)] : [])),
  )
  return notes.imported('notification', accountId, { id: name, doc, files })
}

export const exportNotice = (record: OwnRecord, masterId?: string): ExportedDocument => {
  const files = bodies.flatMap(([name, key, contentType]) => {
    const body = record.hidden[key]
    return typeof body === 'string' ? [{ name, contentType, bytes: Buffer.from(body) }] : []
  })
  const ofSystem = masterId === undefined ? {} : { database: 'system_config', accountId: masterId }
  return exported('notification', record, { ...ofSystem, id: `${noticePrefix}${record.id}`, files })
}
