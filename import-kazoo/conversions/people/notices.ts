import { recipientProblems, subjectProblems } from '../../../src/areas/brand/notifications/rules.ts'
import { isObject, isTrue, type Json, present } from '../../../src/lib/json.ts'
import type { AttachedFile, Converted, KazooDocument } from '../../documents/document.ts'
import { attachmentsOf, fileAs, textIn } from '../../documents/fields.ts'
import { exported, type LeavingDocument, type OwnRecord } from '../../leaving/document.ts'
import { imported, type Notes, notesOf, unconverted } from '../findings.ts'
import type { PeopleContext } from './context.ts'

const noticePrefix = 'notification.'

/** The bodies of a notice: the name of the file there, what it is here, and its content type. */
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

/** Of the templates there only names in double braces mean the same here. */
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

/** How a notice is sent, by an account or (`system`) by everybody. Of bodies the adoption decides, which sees them. */
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

/** The document of a notice with the bodies that were written for it; of one that holds for everybody among the settings. */
export const exportNotice = (record: OwnRecord, masterId?: string): LeavingDocument => {
  const files = bodies.flatMap(([name, key, contentType]) => {
    const body = record.hidden[key]
    return typeof body === 'string' ? [{ name, contentType, bytes: Buffer.from(body) }] : []
  })
  const ofSystem = masterId === undefined ? {} : { database: 'system_config', accountId: masterId }
  return exported('notification', record, { ...ofSystem, id: `${noticePrefix}${record.id}`, files })
}
