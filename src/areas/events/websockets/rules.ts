import { isObject, type Json } from '../../../lib/json.ts'

// Commands, bindings and replies of the protocol.

const callEvents = [
  ...'CREATE ANSWER DESTROY HOLD UNHOLD BRIDGE'.split(' ').map((event) => `CHANNEL_${event}`),
  ...'PARKED RETRIEVED ABANDONED'.split(' ').map((event) => `PARK_${event}`),
]

const documentActions = ['doc_created', 'doc_edited', 'doc_deleted']

const memberTypes = `
  account callflow device faxbox media user vmbox fax mailbox_message call_recording number task limits
  ledger transaction invoice credit_note whitelabel cdr`
  .trim()
  .split(/\s+/)
/** Only admins of the account get these. */
const adminTypes = ['api_key', 'webhook']
const documentTypes = [...memberTypes, ...adminTypes]

/** Only bindings that name this type receive it, because it is frequent. */
const typeOnRequest = 'cdr'

export const availableBindings = {
  call: callEvents.map((event) => `call.${event}.{CALL_ID}`),
  conference: ['conference.event.{CONFERENCE_ID}.{CALL_ID}', 'conference.command.{CONFERENCE_ID}'],
  fax: ['fax.status.{FAX_ID}', 'fax.object.{ACTION}'],
  object: documentActions.flatMap((action) => documentTypes.map((type) => `object.${action}.${type}`)),
}

/** Only bindings to documents match events; the others wait for a switch. */
export interface Binding {
  readonly text: string
  readonly document: { readonly action: string; readonly type: string } | undefined
}

const longestBinding = 256
const wildcard = '*'

const isOneOf = (words: readonly string[], word: string) => word === wildcard || words.includes(word)

const forms: Readonly<Record<string, (parts: readonly string[]) => boolean>> = {
  call: ([event = '', ...ids]) => ids.length === 1 && isOneOf(callEvents, event),
  conference: ([what, ...ids]) =>
    ids.length === 1 ? what === 'event' || what === 'command' : ids.length === 2 && what === 'event',
  fax: ([what, ...ids]) => ids.length === 1 && (what === 'status' || what === 'object'),
  object: ([action = '', type = '', ...rest]) =>
    rest.length === 0 && isOneOf(documentActions, action) && isOneOf(documentTypes, type),
}

export const bindingOf = (text: string): Binding | undefined => {
  const [about = '', ...parts] = text.split('.')
  const isForm = Object.hasOwn(forms, about) ? forms[about] : undefined
  if (!isForm?.(parts) || parts.includes('') || text.length > longestBinding) return undefined
  const [action = '', type = ''] = parts
  return { text, document: about === 'object' ? { action, type } : undefined }
}

export const isTypeMeant = ({ type }: NonNullable<Binding['document']>, kind: string) =>
  type === kind || (type === wildcard && kind !== typeOnRequest)

export const takesDocument = ({ document }: Binding, name: string, type: string, isAdmin: boolean) => {
  const isForReader = memberTypes.includes(type) || (isAdmin && adminTypes.includes(type))
  if (!document || !isForReader) return false
  return isTypeMeant(document, type) && (document.action === name || document.action === wildcard)
}

export type RequestId = string | number

export interface Command {
  action: string
  requestId: RequestId | undefined
  token: string | undefined
  accountId: string | undefined
  /** Undefined: the command names no bindings; `unsubscribe` then means all. */
  bindings: readonly string[] | undefined
  name: string | undefined
  metadata: unknown
}

const longestText = 256

const textIn = (json: Json, key: string, longest = longestText) => {
  const value = json[key]
  return typeof value === 'string' && value !== '' && value.length <= longest ? value : undefined
}

const bindingsIn = (data: Json): readonly string[] | undefined => {
  if (typeof data.binding === 'string' && data.binding !== '') return [data.binding]
  if (!Array.isArray(data.bindings)) return data.binding === undefined ? undefined : []
  return data.bindings.filter((one): one is string => typeof one === 'string' && one !== '')
}

const objectIn = (text: string): Json | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export const commandOf = (text: string): Command | undefined => {
  const json = objectIn(text)
  if (!json) return undefined
  const data = isObject(json.data) ? json.data : {}
  return {
    action: textIn(json, 'action') ?? '',
    requestId: typeof json.request_id === 'number' ? json.request_id : textIn(json, 'request_id'),
    token: textIn(json, 'auth_token', 16_384),
    accountId: textIn(data, 'account_id'),
    bindings: bindingsIn(data),
    name: textIn(data, 'name') ?? textIn(json, 'name'),
    metadata: data.metadata ?? json.metadata,
  }
}

const longestMetadata = 4096

export const isMetadataShort = (metadata: unknown) => {
  try {
    return metadata === undefined || JSON.stringify(metadata).length <= longestMetadata
  } catch {
    // Nested too deeply.
    return false
  }
}

const reply = (requestId: RequestId, status: 'success' | 'error', data: object) =>
  JSON.stringify({ action: 'reply', request_id: requestId, status, data })

export const successReply = (requestId: RequestId, data: object) => reply(requestId, 'success', data)

export const errorReply = (requestId: RequestId, error: string, data: object = {}) =>
  reply(requestId, 'error', { errors: [error], ...data })

export const errors = {
  noObject: 'messages are JSON objects',
  unknownAction: 'unknown action',
  unauthenticated: 'failed to authenticate token',
  unauthorized: 'unauthorized account id',
  wildcardAccount: 'unauthorized wildcard account id',
  empty: 'empty subscription',
  unknownBinding: 'no available subscriptions to requested binding',
  tooMany: 'too many subscriptions',
  largeMetadata: 'metadata is too large',
  rate: (id: string) => `rate limiting threshold hit for ${id}!`,
} as const

/** All accounts, for admins of the operator. */
export const everyAccount = '*'
