import { accountAdmin, resellerAdmin, superduper } from '../../../auth/policies.ts'
import type { Listing } from '../../../http/response/listing.ts'
import { shortListing } from '../../../http/response/listing.ts'
import { ApiResponse, FileResponse, harmless, ListResponse } from '../../../http/response/responses.ts'
import { timeWindow } from '../../../http/response/time-window.ts'
import { type Call, del, get, post, put, type Route } from '../../../http/route.ts'
import { attachment } from '../../../http/transport/media.ts'
import type { Clock } from '../../../lib/clock.ts'
import { badIdentifier, datastoreConflict, failure } from '../../../lib/failure.ts'
import { gregorianNow, gregorianOfUnix } from '../../../lib/gregorian.ts'
import { type Json, present } from '../../../lib/json.ts'
import type { TimeWindow } from '../../../lib/time-bounds.ts'
import { type Language, localized } from '../../../mail/languages.ts'
import { addressOf } from '../../../mail/mail.ts'
import type { Notice } from '../../../mail/notices.ts'
import type { MailAttempt } from '../../../mail/store.ts'
import { crossbarSettings } from '../../../settings/documents.ts'
import type { DepsOf } from '../../area.ts'
import type { BodyType, Level, NoticeSubject, Notifications } from './operations.ts'
import {
  AttemptRow,
  DeliveryAttempt,
  NewNotification,
  Notification,
  NotificationRecord,
  NotificationRow,
  Preview,
  Removed,
  Rendered,
} from './schema.ts'

const macrosOf = ({ macros }: Notice, language: Language): Json =>
  Object.fromEntries(
    Object.entries(macros).map(([name, { friendlyName, description, example }]) => [
      name,
      {
        friendly_name: friendlyName,
        i18n_label: name.replaceAll('.', '_'),
        description,
        example: localized(example, language),
      },
    ]),
  )

const notificationRow = ({ notice, template, record, language }: NoticeSubject): Json => ({
  id: notice.id,
  friendly_name: notice.friendlyName,
  category: notice.category,
  enabled: template.isEnabled,
  macros: macrosOf(notice, language),
  ...(record ? { account_overridden: true } : {}),
})

const lengthOf = (body: string | undefined) =>
  body === undefined ? undefined : { length: Buffer.byteLength(body) }

const notificationData = (found: NoticeSubject): Json => {
  const { to, from, replyTo, texts } = found.template
  const { subject, bodies } = texts[found.language]
  return {
    ...notificationRow(found),
    subject,
    to,
    ...present({ from: from?.address, reply_to: replyTo }),
    template_charset: 'utf-8',
    templates: present({ 'text/html': lengthOf(bodies.html), 'text/plain': lengthOf(bodies.text) }),
  }
}

const attemptRow = (entry: MailAttempt): Json => ({
  id: entry.id,
  template_id: entry.notice,
  to: entry.recipient,
  from: entry.sender,
  subject: entry.subject,
  outcome: entry.outcome,
  attempt: entry.number,
  created: gregorianOfUnix(entry.at / 1000),
})

const attemptData = (entry: MailAttempt): Json => ({
  ...attemptRow(entry),
  message_id: entry.messageId,
  reply: entry.reply,
  ...(entry.signedBy === '' ? {} : { signed_by: entry.signedBy }),
})

const attemptListing = (
  { attempts }: Notifications,
  accountId: string,
  window: TimeWindow,
): Listing<MailAttempt> => ({
  page: ({ after, limit, descending }) =>
    attempts({ accountId, ...window, after: after?.[1], limit, descending }),
  cursor: ({ id }) => ['', id],
  row: (entry) => JSON.stringify(attemptRow(entry)),
  record: attemptData,
})

interface Deps extends DepsOf<'settings'> {
  notifications: Notifications
  clock: Clock
}

const bodyTypes = ['text/html', 'text/plain'] as const

const isBodyType = (type: string): type is BodyType => bodyTypes.some((known) => known === type)

const bodyFile = ({ notice, template, language }: NoticeSubject, type: BodyType) => {
  const { bodies } = template.texts[language]
  const [body, extension] = type === 'text/html' ? [bodies.html, 'html'] : [bodies.text, 'txt']
  if (body === undefined) throw failure(badIdentifier, { cause: type })
  const headers = { ...harmless, ...attachment(`${notice.id}.${extension}`) }
  return new FileResponse(Buffer.from(body), `${type}; charset=utf-8`, headers)
}

const attemptQuery = {
  created_from: 'Gregorian seconds; 31 days before created_to unless given',
  created_to: 'Gregorian seconds; now unless given',
}

const levelRoutes = (
  { notifications, settings, clock }: Deps,
  place: '/v2' | '/v2/accounts/{account_id}',
): Route[] => {
  const isAccount = place !== '/v2'
  const reads = isAccount ? accountAdmin : superduper
  const writes = isAccount ? resellerAdmin : superduper
  const all = `${place}/notifications`
  const one = `${all}/{notification_id}` as '/v2/notifications/{notification_id}'
  const log = `${all}/smtplog` as const
  const anAttempt = `${log}/{smtplog_id}` as '/v2/notifications/smtplog/{smtplog_id}'

  const levelOf = ({ account }: Pick<Call, 'account'>): Level => (isAccount ? account : undefined)
  const subject = (call: Pick<Call<typeof one>, 'account' | 'path'>) =>
    notifications.subject(levelOf(call), call.path.notification_id)

  /** Mails of the system level belong to the caller's account. */
  const homeOf = ({ account, actor }: Pick<Call, 'account' | 'actor'>) =>
    isAccount ? account : actor.account

  const view = (found: NoticeSubject, more: { created?: string } = {}) =>
    new ApiResponse({
      data: notificationData(found),
      ...(found.revision ? { revision: found.revision } : {}),
      ...more,
    })

  return [
    get(all, {
      summary: 'List the email templates',
      allow: reads,
      answers: NotificationRow,
      list: true,
      run: async (call) =>
        new ListResponse(shortListing((await notifications.all(levelOf(call))).map(notificationRow))),
    }),
    put(all, {
      summary: 'Create an email template of an account',
      allow: writes,
      body: NewNotification,
      answers: NotificationRecord,
      fails: [badIdentifier, datastoreConflict],
      judge: (call) => notifications.problems(levelOf(call), call.data.id ?? '', call.data),
      run: async (call) => {
        const { id, ...data } = call.data
        return view(await notifications.create(call.author, levelOf(call), id, data), { created: id })
      },
    }),
    del(all, {
      summary: 'Remove all email templates of an account; the inherited ones apply again',
      allow: writes,
      answers: Removed,
      run: (call) => notifications.removeAll(call.author, levelOf(call)),
    }),
    get(log, {
      summary: 'List the delivery attempts of emails',
      allow: reads,
      query: attemptQuery,
      answers: AttemptRow,
      list: true,
      run: async (call) => {
        const { maximum_range: maximum } = await settings.of(crossbarSettings)
        const window = timeWindow(call.query, gregorianNow(clock), maximum)
        return new ListResponse(attemptListing(notifications, homeOf(call).id, window))
      },
    }),
    get(anAttempt, {
      summary: 'Read a delivery attempt of an email',
      allow: reads,
      answers: DeliveryAttempt,
      run: async (call) => attemptData(await notifications.attempt(homeOf(call).id, call.path.smtplog_id)),
    }),
    get(one, {
      summary: 'Read an email template: its settings, or one of its bodies',
      record: { kind: 'notification' },
      allow: reads,
      subject,
      answers: NotificationRecord,
      produces: bodyTypes,
      run: ({ subject: found, request }) =>
        isBodyType(request.accepts) ? bodyFile(found, request.accepts) : view(found),
    }),
    post(one, {
      summary: 'Change the settings of an email template, or one of its bodies',
      allow: writes,
      subject,
      body: Notification,
      uploads: bodyTypes,
      answers: NotificationRecord,
      judge: (call) => notifications.problems(levelOf(call), call.path.notification_id, call.data),
      run: async ({ author, subject: found, data, upload }) => {
        if (!upload) return view(await notifications.replace(author, found, data))
        const type = isBodyType(upload.contentType) ? upload.contentType : 'text/plain'
        return view(await notifications.putBody(author, found, type, upload))
      },
    }),
    del(one, {
      summary: 'Remove an email template of an account; the inherited one applies again',
      allow: writes,
      subject,
      answers: NotificationRecord,
      run: async ({ author, subject: found }) => {
        await notifications.remove(author, found)
        return new ApiResponse({ data: notificationData(found), metadata: { deleted: true } })
      },
    }),
    post(`${one}/preview`, {
      summary: 'Send a sample of an email template or of a draft, to at most five addresses',
      resource: 'notifications',
      allow: writes,
      subject,
      body: Preview,
      answers: Rendered,
      status: 202,
      run: async (call) => {
        const caller = call.actor.user && addressOf(call.actor.user.doc)
        const sample = await notifications.preview(call.subject, homeOf(call), call.data, caller)
        return new ApiResponse({ data: sample, status: 202, message: 'Notification processing' })
      },
    }),
  ]
}

export const notificationRoutes = (tools: Deps): Route[] => [
  ...levelRoutes(tools, '/v2'),
  ...levelRoutes(tools, '/v2/accounts/{account_id}'),
]
