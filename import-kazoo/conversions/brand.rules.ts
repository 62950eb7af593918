import { recipientProblems, subjectProblems } from '../../src/areas/brand/notifications/rules.ts'
import { whitelabelProblems } from '../../src/areas/brand/whitelabel/rules.ts'
import { isObject, isTrue, type Json, present } from '../../src/lib/json.ts'
import { placeOf } from '../../src/lib/property-path.ts'
import type { AttachedFile, Converted, KazooDocument } from '../documents/document.ts'
import {
  attachmentsOf,
  fileAs,
  outsideFilesIn,
  publicPart,
  textIn,
  withoutPlaces,
} from '../documents/fields.ts'
import { type ExportedDocument, type ExportedFile, exported, type OwnRecord } from '../export/document.ts'
import { finding, imported, leftOut, type Notes, notesOf, unconverted } from './findings.ts'
import { isNameLost, type People, type PeopleContext } from './people-context.rules.ts'

const kinds = ['logo', 'icon', 'welcome'] as const

/** The latest file of each kind. Older brands have one file with any name: the logo. */
const filesOf = (document: KazooDocument): { files: AttachedFile[]; unused: string[] } => {
  const all = attachmentsOf(document)
  const latest = kinds.flatMap((kind) => {
    const [file] = all.filter(({ name }) => name.startsWith(`${kind}-`)).sort((a, b) => b.since - a.since)
    return file ? [fileAs(kind, file)] : []
  })
  const [only, second] = all
  const isLogo = only && !second && latest.length === 0 && !only.name.startsWith('icon')
  const files = isLogo ? [fileAs('logo', only)] : latest
  const used = new Set(files.map(({ name }) => name))
  return { files, unused: all.map(({ name }) => name).filter((name) => !used.has(name)) }
}

/** A domain that an older account has stays with that account. */
export const convertBrand = (document: KazooDocument, people: People): Converted => {
  const { findings, needsHand, leftOut } = notesOf(document)
  const given = publicPart(document.fields, ['id'])
  const bad = Object.keys(whitelabelProblems(given))
  for (const field of bad) needsHand('link_invalid', { field })
  const { rest: doc } = withoutPlaces(given, bad.map(placeOf))
  const { domain, ...others } = doc
  const isLost = isNameLost(document, doc, people)
  if (isLost) needsHand('domain_taken', { field: 'domain', old: String(domain) })
  const { files, unused } = filesOf(document)
  for (const field of unused) leftOut('file_unused', { field })
  for (const field of outsideFilesIn(document.fields)) needsHand('file_outside', { field })
  return imported(document, 'whitelabel', people.accountId, { doc: isLost ? others : doc, files, findings })
}

export const exportBrand = (record: OwnRecord, files: readonly ExportedFile[]): ExportedDocument[] => [
  exported('whitelabel', record, { id: 'whitelabel', files }),
]

/** Sender addresses have no type of their own. */
export const isSenderAddress = ({ type, fields }: KazooDocument) =>
  !['user', 'account', 'device', 'whitelabel'].includes(type) &&
  textIn(fields, 'email') !== undefined &&
  (fields.verified !== undefined || fields.dkim_selector !== undefined)

/** The owner must confirm the address again; its DKIM key is generated again. */
export const convertSender = (document: KazooDocument, { accountId, hold }: People): Converted => {
  const email = textIn(document.fields, 'email') ?? ''
  const details = { field: 'email', old: email }
  if (!hold('sender', email.toLowerCase())) return leftOut(document, 'sender_twice', details)
  const doc = present({ email, dkim_selector: textIn(document.fields, 'dkim_selector') })
  const findings = [finding(document, 'needs_hand', 'sender_unverified', details)]
  return imported(document, 'whitelabel_email', accountId, { doc, findings })
}

export const exportSender = (record: OwnRecord): ExportedDocument[] => [
  exported('whitelabel_email', record, { more: { verified: false } }),
]

const noticePrefix = 'notification.'

const bodies = [
  ['template.text/html', 'html', 'text/html'],
  ['template.text/plain', 'text', 'text/plain'],
] as const

/** Only names in double braces mean the same in both template languages. */
const isPlain = (template: string) => !template.includes('{%') && !template.includes('|')

type Names = PeopleContext['notices'][string]['macros']

const withoutProblems = (problems: object) => Object.keys(problems).length === 0

const recipientsIn = (fields: Json) => {
  const { to } = fields
  if (!isObject(to)) return undefined
  const addresses = Array.isArray(to.email_addresses) ? to.email_addresses : []
  const texts = addresses.filter((one): one is string => typeof one === 'string' && one !== '')
  return { type: textIn(to, 'type') ?? 'original', ...(texts.length > 0 ? { email_addresses: texts } : {}) }
}

const hasAddresses = (value: unknown) => {
  const recipients = isObject(value) ? value.email_addresses : value
  return Array.isArray(recipients) ? recipients.length > 0 : Boolean(recipients)
}

const docOf = (fields: Json, macros: Names, { needsHand }: Notes): Json => {
  const subject = textIn(fields, 'subject')
  const isUsable =
    subject !== undefined && isPlain(subject) && withoutProblems(subjectProblems(subject, macros))
  if (subject !== undefined && !isUsable) needsHand('template_unused', { field: 'subject' })
  const to = recipientsIn(fields)
  const isForSomebody = to !== undefined && withoutProblems(recipientProblems(to, macros))
  if (to !== undefined && !isForSomebody) needsHand('recipients_unused', { field: 'to' })
  for (const field of ['cc', 'bcc']) if (hasAddresses(fields[field])) needsHand('no_counterpart', { field })
  return present({
    enabled: fields.enabled === undefined ? undefined : isTrue(fields.enabled),
    subject: isUsable ? subject : undefined,
    to: isForSomebody ? to : undefined,
    from: textIn(fields, 'from'),
    reply_to: textIn(fields, 'reply_to'),
  })
}

/** `system` notices apply to all accounts. The importer of the area validates the bodies. */
export const convertNotice = (
  document: KazooDocument,
  { accountId, notices }: Pick<PeopleContext, 'accountId' | 'notices'>,
): Converted => {
  const name = document.id.startsWith(noticePrefix) ? document.id.slice(noticePrefix.length) : document.id
  const notice = Object.hasOwn(notices, name) ? notices[name] : undefined
  if (!notice) return unconverted(document, 'kept', 'left_out', 'notice_unknown', { old: name.slice(0, 128) })
  const notes = notesOf(document)
  const { findings } = notes
  const doc = docOf(document.fields, notice.macros, notes)
  const attached = new Map(attachmentsOf(document).map((file) => [file.name, file]))
  const files = bodies.flatMap(([name, role]) => {
    const body = attached.get(name)
    return body ? [fileAs(role, body)] : []
  })
  return imported(document, 'notification', accountId, { id: name, doc, files, findings })
}

export const exportNotice = (record: OwnRecord, masterId?: string): ExportedDocument => {
  const files = bodies.flatMap(([name, key, contentType]) => {
    const body = record.hidden[key]
    return typeof body === 'string' ? [{ name, contentType, bytes: Buffer.from(body) }] : []
  })
  const ofSystem = masterId === undefined ? {} : { database: 'system_config', accountId: masterId }
  return exported('notification', record, { ...ofSystem, id: `${noticePrefix}${record.id}`, files })
}
