import type { Static } from 'typebox'
import {
  anyObject,
  anyText,
  choice,
  flag,
  gregorian,
  integer,
  keyed,
  list,
  multiline,
  must,
  open,
  text,
} from '../../../lib/schema.ts'

const emailAddress = (description?: string) =>
  text(3, 254, { format: 'email', ...(description ? { description } : {}) })

const Recipients = open(
  {
    type: choice(['original', 'admins', 'specified'], {
      description:
        'original: the users concerned. admins: the admins of the account. specified: email_addresses',
    }),
    email_addresses: list(emailAddress(), { maxItems: 20 }),
  },
  { description: 'Recipients' },
)

const settings = {
  enabled: flag({ description: 'false: this email is not sent' }),
  subject: text(1, 200),
  to: Recipients,
  from: emailAddress('A verified sender address of the account or a parent account'),
  reply_to: emailAddress('Address for replies'),
}

/** Absent values are inherited from the parent account, then from the system. */
export const Notification = open(settings, {
  title: 'Notification',
  description: 'Settings of an email template. Bodies are sent as text/html and text/plain',
})
export type Notification = Static<typeof Notification>

export const NewNotification = open(
  { id: must(text(1, 64, { description: 'ID of an email template' })), ...settings },
  { title: 'New notification' },
)

export const Preview = open(
  {
    ...settings,
    html: text(0, 400_000, { ...multiline, description: 'The HTML body, as it is or in base64' }),
    plain: text(0, 200_000, multiline),
    macros: anyObject({ description: 'Values by name; others are examples' }),
    language: anyText({
      description: 'Language of the built-in texts, such as de-de; default: language of the account',
    }),
  },
  { title: 'Notification draft' },
)
export type Preview = Static<typeof Preview>

const Macro = open(
  {
    friendly_name: must(anyText()),
    i18n_label: must(anyText()),
    description: must(anyText()),
    example: must(anyText()),
  },
  { title: 'Macro' },
)

const notificationHead = {
  id: must(anyText()),
  friendly_name: must(anyText()),
  category: must(choice(['account', 'billing', 'system', 'user'])),
  enabled: must(flag()),
  macros: must(keyed(Macro, { description: 'Names allowed in double braces' })),
  account_overridden: flag({ description: 'Present if the account has its own version' }),
}

export const NotificationRow = open(notificationHead, { title: 'Notification row' })

export const NotificationRecord = open(
  {
    ...notificationHead,
    subject: must(anyText()),
    to: must(Recipients),
    from: anyText(),
    reply_to: anyText(),
    template_charset: must(anyText()),
    templates: must(
      keyed(open({ length: must(integer({ description: 'Bytes' })) }), {
        description: 'Existing bodies by content type',
      }),
    ),
  },
  { title: 'Notification record' },
)

export const Removed = list(anyText(), { description: 'IDs of the removed templates' })

export const Rendered = open(
  {
    to: must(list(anyText())),
    subject: must(anyText()),
    plain: anyText(),
    html: anyText(),
  },
  { title: 'A notice as it was sent' },
)

const attempt = {
  id: must(anyText()),
  template_id: must(anyText({ description: 'The notice' })),
  to: must(anyText()),
  from: must(anyText()),
  subject: must(anyText()),
  outcome: must(choice(['delivered', 'deferred', 'given_up'])),
  attempt: must(integer({ description: '1 for the first' })),
  created: must(gregorian('Time of the attempt')),
}

export const AttemptRow = open(attempt, { title: 'Delivery attempt row' })

export const DeliveryAttempt = open(
  {
    ...attempt,
    message_id: must(anyText()),
    reply: must(anyText({ description: 'Response of the mail server, or why there is none' })),
    signed_by: anyText({ description: 'DNS name of the signing key' }),
  },
  { title: 'Delivery attempt' },
)
