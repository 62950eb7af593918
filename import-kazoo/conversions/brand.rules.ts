import { recipientProblems, subjectProblems } from '../../src/areas/brand/notifications/rules.ts'
import { whitelabelProblems } from '../../src/areas/brand/whitelabel/rules.ts'
import { isObject, isTrue, type Json, present } from '../../src/lib/json.ts'
import { placeOf } from '../../src/lib/property-path.ts'
import { createRemoval } from '../../src/lib/removal.ts'
import type { AttachedFile, Converted, KazooDocument } from '../documents/document.ts'
import { attachmentsOf, fileAs, publicPart, rejectedOf, textIn, withRejected } from '../documents/fields.ts'
import { exported, type LeavingDocument, type LeavingFile, type OwnRecord } from '../export/document.ts'
import { finding, imported, leftOut, type Notes, notesOf, unconverted } from './findings.ts'
import { type HoldName, noteFilesOutside, type PeopleContext } from './people-context.rules.ts'
import { isNameLost } from './shared-names.rules.ts'

const kinds = ['logo', 'icon', 'welcome'] as const

/** The latest file of each kind. Older brands have one file with any name: the logo. */
const filesOf = (document: KazooDocument): { files: AttachedFile[]; unused: string[] } => {
  const all = attachmentsOf(document)
  const latest = kinds.flatMap((kind) => {
    const [file] = all.filter(({ name }) => name.startsWith(`${kind}-`)).sort((a, b) => b.since - a.since)
    return file ? [fileAs(kind, file)] : []
  })
  const [only] = all
  const files =
    latest.length === 0 && all.length === 1 && only && !only.name.startsWith('icon')
      ? [fileAs('logo', only)]
      : latest
  const used = new Set(files.map(({ name }) => name))
  return { files, unused: all.map(({ name }) => name).filter((name) => !used.has(name)) }
}

const withoutBad = (doc: Json, { needsHand }: Notes): Json => {
  const bad = Object.keys(whitelabelProblems(doc))
  const { rest, removed, remove } = createRemoval(doc)
  remove(bad.map(placeOf))
  for (const field of bad) needsHand('link_invalid', { field })
  return withRejected(rest, rejectedOf(removed))
}

/** A domain that an older account has stays with that account. */
export const convertBrand = (document: KazooDocument, context: PeopleContext): Converted => {
  const notes = notesOf(document)
  const doc = withoutBad(publicPart(document.fields, ['id']), notes)
  const { domain: _, ...others } = doc
  const isLost = isNameLost(document, doc, context)
  if (isLost) notes.needsHand('domain_taken', { field: 'domain', old: textIn(doc, 'domain') ?? '' })
  const { files, unused } = filesOf(document)
  for (const field of unused) notes.leftOut('file_unused', { field })
  noteFilesOutside(document, notes)
  const { findings } = notes
  return imported(document, 'whitelabel', context.accountId, { doc: isLost ? others : doc, files, findings })
}

export const exportBrand = (record: OwnRecord, files: readonly LeavingFile[]): LeavingDocument[] => [
  exported('whitelabel', record, { id: 'whitelabel', files }),
]

/** Sender addresses have no type of their own. */
export const isSenderAddress = ({ type, fields }: KazooDocument) =>
  !['user', 'account', 'device', 'whitelabel'].includes(type) &&
  textIn(fields, 'email') !== undefined &&
  (fields.verified !== undefined || fields.dkim_selector !== undefined)

/** The owner must confirm the address again; its DKIM key is generated again. */
export const convertSender = (
  document: KazooDocument,
  { accountId }: PeopleContext,
  hold: HoldName,
): Converted => {
  const email = textIn(document.fields, 'email') ?? ''
  const told = { field: 'email', old: email }
  if (!hold('sender', email.toLowerCase())) return leftOut(document, 'sender_twice', told)
  return imported(document, 'whitelabel_email', accountId, {
    doc: { email, ...present({ dkim_selector: textIn(document.fields, 'dkim_selector') }) },
    findings: [finding(document, 'needs_hand', 'sender_unverified', told)],
  })
}

export const exportSender = (record: OwnRecord): LeavingDocument[] => [
  exported('whitelabel_email', record, { more: { verified: false } }),
]

const noticePrefix = 'notification.'

const bodies = [
  ['template.text/html', 'html', 'text/html'],
  ['template.text/plain', 'text', 'text/plain'],
] as const

const bodiesOf = (document: KazooDocument): AttachedFile[] => {
  const all = attachmentsOf(document)
  return bodies.flatMap(([name, role]) => {
    const body = all.find((one) => one.name === name)
    return body ? [fileAs(role, body)] : []
  })
}

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
  const doc = docOf(document.fields, notice.macros, notes)
  const files = bodiesOf(document)
  return imported(document, 'notification', accountId, { id: name, doc, files, findings: notes.findings })
}

export const exportNotice = (record: OwnRecord, masterId?: string): LeavingDocument => {
  const files = bodies.flatMap(([name, key, contentType]) => {
    const body = record.hidden[key]
    return typeof body === 'string' ? [{ name, contentType, bytes: Buffer.from(body) }] : []
  })
  const ofSystem = masterId === undefined ? {} : { database: 'system_config', accountId: masterId }
  return exported('notification', record, { ...ofSystem, id: `${noticePrefix}${record.id}`, files })
}
