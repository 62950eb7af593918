import { callRecords, typeFilter } from '../../../events/events.ts'
import type { Problems } from '../../../lib/failure.ts'
import { maskUrls } from '../../../lib/secrets.ts'
import type { ReEnable, Webhook, WebhookKind } from './schema.ts'

/** The part of an event that decides which webhooks get it. */
interface Told {
  type: string
  kind: string
  action: 'created' | 'edited' | 'deleted' | undefined
}

export const webhookKind = 'webhook'

const all = 'all'

const objectTypes = [
  all,
  'account',
  'call_recording',
  'callflow',
  'device',
  'fax',
  'faxbox',
  'mailbox_message',
  'media',
  'user',
  'vmbox',
]
const actionWords = { created: 'doc_created', edited: 'doc_edited', deleted: 'doc_deleted' } as const
const objectActions = [all, ...Object.values(actionWords)]

/** By the ids of notices. */
const eventOfNotice: Readonly<Record<string, string>> = {
  new_account: 'account.created',
  new_user: 'user.created',
  alert: 'alert.raised',
  low_balance: 'balance.low',
  task_finished: 'task.finished',
  transaction_failed: 'charge.refused',
  webhook_disabled: 'webhook.disabled',
}

/** Only the operator may subscribe to these. */
const operatorsNotices: readonly string[] = ['system_alert', 'webhook_disabled']

const kindOf = (id: string, name: string, description: string, modifiers: object = {}): WebhookKind => ({
  id,
  name,
  description,
  modifiers: { ...modifiers },
})

const modifier = (friendlyName: string, items: readonly string[]) => ({
  type: 'array',
  friendly_name: friendlyName,
  items,
})

const fromSwitch = 'Requires a phone switch that reports it'

export const webhookKinds = (noticeIds: readonly string[]): WebhookKind[] => [
  kindOf(all, 'All', 'Each event once, except call records'),
  kindOf('cdr', 'CDR', 'A call record was received'),
  kindOf('channel_answer', 'Channel answer', fromSwitch),
  kindOf('channel_bridge', 'Channel bridge', fromSwitch),
  kindOf('channel_create', 'Channel create', fromSwitch),
  kindOf('channel_destroy', 'Channel destroy', fromSwitch),
  kindOf('channel_disconnected', 'Channel disconnected', fromSwitch),
  kindOf('channel_hold', 'Channel hold', fromSwitch),
  kindOf('channel_unhold', 'Channel unhold', fromSwitch),
  kindOf('mms', 'MMS', fromSwitch),
  kindOf('notifications', 'Notifications', 'Emails to users', {
    type: modifier('Notice', noticeIds),
  }),
  kindOf('object', 'Object', 'A record is created, edited or deleted', {
    type: modifier('Kind of record', objectTypes),
    action: modifier('What is done to it', objectActions),
  }),
  kindOf('parking', 'Parking', fromSwitch),
  kindOf('sms', 'SMS', fromSwitch),
  kindOf('stream', 'Stream', fromSwitch),
]

const kindIds = webhookKinds([]).map(({ id }) => id)

const enumMessage = 'Value not found in enumerated list of values'

const required = (path: string): Problems => ({
  [path]: { required: { message: 'Field is required but missing', value: path } },
})

const notAmong = (path: string, target: readonly string[], value: string): Problems => ({
  [path]: { enum: { message: enumMessage, target, value: maskUrls(value) } },
})

const selectorProblems = (
  { custom_data: data = {} }: Partial<Webhook>,
  key: 'type' | 'action',
  target: readonly string[],
): Problems => {
  const value = data[key]
  if (value === undefined) return required(`custom_data.${key}`)
  return target.includes(value) ? {} : notAmong(`custom_data.${key}`, target, value)
}

// Headers of the connection and of the signature.
const ownHeaders =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|content-.*|x-hook-id|x-account-id|x-event-id|x-crosspoint-.*)$/i

const headerProblems = ({ custom_request_headers: headers = {} }: Partial<Webhook>): Problems => {
  const message = 'The server sets this header'
  const own = Object.keys(headers).filter((name) => ownHeaders.test(name))
  return Object.fromEntries(
    own.map((value) => [`custom_request_headers.${value}`, { forbidden: { message, value } }]),
  )
}

interface HookRules {
  noticeIds: readonly string[]
  typeNames: ReadonlySet<string>
  /** The user who saves the hook may receive events that are only for the operator. */
  isOperator: boolean
}

const hookProblems = (hook: Partial<Webhook>, { noticeIds, typeNames, isOperator }: HookRules): Problems => {
  const name = hook.hook
  if (name === undefined) return {}
  if (!kindIds.includes(name) && !typeNames.has(name)) return notAmong('hook', kindIds, name)
  const inType = (target: readonly string[]) => selectorProblems(hook, 'type', target)
  if (name === 'object') return { ...inType(objectTypes), ...selectorProblems(hook, 'action', objectActions) }
  if (name !== 'notifications') return {}
  const allowed = isOperator ? noticeIds : noticeIds.filter((id) => !operatorsNotices.includes(id))
  return inType(allowed)
}

/** Rules that the schema cannot express. */
export const webhookProblems = (hook: Partial<Webhook>, rules: HookRules): Problems => ({
  ...hookProblems(hook, rules),
  ...headerProblems(hook),
})

/** Only `true` is allowed. */
export const reEnableProblems = ({ 're-enable': isAsked }: Partial<ReEnable>): Problems =>
  isAsked === false ? { 're-enable': { enum: { message: enumMessage, target: [true], value: false } } } : {}

/** The address is not public. */
export const addressProblem = (uri: string): Problems => {
  const message =
    'The host resolves to a private address. Use a public host, or ask the operator to add it to allowed_private_hosts'
  return { uri: { error: { message, value: maskUrls(uri) } } }
}

// Two slashes: URL also reads `https:user:password@host`, where the password would not be found.
const isHttp = (uri: string) => URL.canParse(uri) && /^https?:\/\/[^/\\]/i.test(uri)

/** Checks without a DNS query. */
export const uriProblems = (uri: string): Problems => (isHttp(uri) ? {} : addressProblem(uri))

// Kinds of Kazoo webhooks have names without a dot.
const isTypeName = (hook: string) => hook.includes('.')

const isMeant = (selector: string | undefined, word: string) => selector === all || selector === word

const wantsObject = ({ custom_data: data = {} }: Webhook, { action, kind }: Told) =>
  action !== undefined && isMeant(data.type, kind) && isMeant(data.action, actionWords[action])

/** Hooks of a switch match no event. */
export const wants = (hook: Webhook, event: Told): boolean => {
  if (hook.hook === 'cdr') return event.type === callRecords
  if (isTypeName(hook.hook)) return typeFilter([hook.hook])(event.type)
  if (event.type === callRecords) return false
  if (hook.hook === all) return true
  if (hook.hook === 'object') return wantsObject(hook, event)
  return hook.hook === 'notifications' && eventOfNotice[hook.custom_data?.type ?? ''] === event.type
}

export const typesOf = ({ hook }: Webhook): string[] => {
  if (hook === 'cdr') return [callRecords]
  return isTypeName(hook) ? [hook] : []
}

/** Kazoo's word for a change; for other events the second part of their type. */
export const actionWord = ({ type, action }: Partial<Told> & Pick<Told, 'type'>): string =>
  action ? actionWords[action] : type.slice(type.indexOf('.') + 1)

/** After this time without a success a webhook is disabled. */
export const disableAfterMs = 24 * 3_600_000

export const tooManyFailures = 'too many failed attempts'
