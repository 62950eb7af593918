import type { Listing } from '../../../http/answer/listing.ts'
import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import type { Json } from '../../../lib/json.ts'
import type { TimeWindow } from '../../../lib/time-bounds.ts'
import type { Notice } from '../../../mail/notices.ts'
import type { NoticeSubject, Notifications } from './operations.ts'
import type { AttemptEntry } from './store.ts'

const macrosOf = ({ macros }: Notice): Json =>
  Object.fromEntries(
    Object.entries(macros).map(([name, { friendlyName, description, example }]) => [
      name,
      { friendly_name: friendlyName, i18n_label: name.replaceAll('.', '_'), description, example },
    ]),
  )

export const notificationRow = ({ notice, template, record }: NoticeSubject): Json => ({
  id: notice.id,
  friendly_name: notice.friendlyName,
  category: notice.category,
  enabled: template.isEnabled,
  macros: macrosOf(notice),
  ...(record ? { account_overridden: true } : {}),
})

const lengthOf = (body: string) => ({ length: Buffer.byteLength(body) })

export const notificationData = (subject: NoticeSubject): Json => {
  const { subject: line, to, from, replyTo, bodies } = subject.template
  return {
    ...notificationRow(subject),
    subject: line,
    to,
    ...(from === undefined ? {} : { from: from.address }),
    ...(replyTo === undefined ? {} : { reply_to: replyTo }),
    template_charset: 'utf-8',
    templates: {
      ...(bodies.html === undefined ? {} : { 'text/html': lengthOf(bodies.html) }),
      ...(bodies.text === undefined ? {} : { 'text/plain': lengthOf(bodies.text) }),
    },
  }
}

const rowOf = (entry: AttemptEntry): Json => ({
  id: entry.id,
  template_id: entry.notice,
  to: entry.recipient,
  from: entry.sender,
  subject: entry.subject,
  outcome: entry.outcome,
  attempt: entry.number,
  created: gregorianOfUnix(entry.at / 1000),
})

export const attemptData = (entry: AttemptEntry): Json => ({
  ...rowOf(entry),
  message_id: entry.messageId,
  reply: entry.reply,
  ...(entry.signedBy === '' ? {} : { signed_by: entry.signedBy }),
})

/** The attempts of an account within a window. */
export const attemptListing = (
  { attempts }: Notifications,
  accountId: string,
  window: TimeWindow,
): Listing<AttemptEntry> => ({
  page: ({ after, limit, descending }) =>
    attempts({ accountId, ...window, after: after?.[1], limit, descending }),
  cursor: ({ id }) => ['', id],
  row: (entry) => JSON.stringify(rowOf(entry)),
  record: attemptData,
})
