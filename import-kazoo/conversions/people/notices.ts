import { recipientProblems, subjectProblems } from '../../../src/areas/notifications/rules.ts'
import { isObject, isTrue, type Json } from '../../../src/lib/json.ts'
import { attachmentsOf, fileAs } from '../../documents/attachments.ts'
import type { AttachedFile, Converted, Finding, KazooDocument } from '../../documents/document.ts'
import { textIn } from '../../documents/fields.ts'
import { converted, finding } from '../findings.ts'
import { draftOf } from '../owners.ts'
import type { PeopleContext } from './context.ts'

export const noticePrefix = 'notification.'

const roles = [
  ['template.text/html', 'html'],
  ['template.text/plain', 'text'],
] as const

const bodiesOf = (document: KazooDocument): AttachedFile[] => {
  const all = attachmentsOf(document)
  return roles.flatMap(([name, role]) => {
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

const partsOf = (document: KazooDocument, macros: Names) => {
  const { fields } = document
  const doc: Json = {}
  const findings: Finding[] = []
  const left = (code: string, field: string) =>
    findings.push(finding(document, 'needs_hand', code, { field }))

  if (fields.enabled !== undefined) doc.enabled = isTrue(fields.enabled)
  const subject = textIn(fields, 'subject')
  if (subject !== undefined) {
    if (isPlain(subject) && withoutProblems(subjectProblems(subject, macros))) doc.subject = subject
    else left('template_unused', 'subject')
  }
  const to = recipientsIn(fields)
  if (to) {
    if (withoutProblems(recipientProblems(to, macros))) doc.to = to
    else left('recipients_unused', 'to')
  }
  for (const key of ['from', 'reply_to']) {
    const address = textIn(fields, key)
    if (address !== undefined) doc[key] = address
  }
  for (const key of ['cc', 'bcc']) if (hasAddresses(fields[key])) left('no_counterpart', key)
  return { doc, findings }
}

/** How a notice is sent, by an account or (`system`) by everybody. Of bodies the adoption decides, which sees them. */
export const convertNotice = (
  document: KazooDocument,
  { accountId, notices }: Pick<PeopleContext, 'accountId' | 'notices'>,
): Converted => {
  const name = document.id.startsWith(noticePrefix) ? document.id.slice(noticePrefix.length) : document.id
  const notice = Object.hasOwn(notices, name) ? notices[name] : undefined
  if (!notice)
    return converted(document, 'kept', {
      findings: [finding(document, 'left_out', 'notice_unknown', { old: name.slice(0, 128) })],
    })
  const { doc, findings } = partsOf(document, notice.macros)
  const draft = draftOf(document, 'notification', accountId, { doc, files: bodiesOf(document) })
  return converted(document, 'imported', { drafts: [{ ...draft, id: name }], findings })
}
