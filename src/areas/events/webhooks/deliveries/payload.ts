import { createHmac } from 'node:crypto'
import { afterOf, beforeOf, type FeedEvent } from '../../../../events/events.ts'
import { gregorianOfUnix } from '../../../../lib/gregorian.ts'
import { isObject, type Json, present } from '../../../../lib/json.ts'
import { actionWord } from '../rules.ts'
import type { Webhook } from '../schema.ts'

export interface WebhookEvent {
  type: string
  kind: string
  record_id: string
  account_id: string
  /** Unix milliseconds. */
  at: number
  action?: 'created' | 'edited' | 'deleted'
  /** Without secrets. */
  after?: Json
  before?: Json
}

export const webhookEventOf = (event: FeedEvent): WebhookEvent => {
  const { type, kind, recordId, accountId, at, action } = event
  const before = action === 'deleted' ? beforeOf(event) : undefined
  const texts = present({ action, after: afterOf(event), before })
  return { type, kind, record_id: recordId, account_id: accountId, at, ...texts }
}

/** A leg of a switch to itself. */
export const isLeftOut = ({ include_internal_legs: wantsThem }: Webhook, { kind, after }: WebhookEvent) =>
  wantsThem === false && kind === 'cdr' && after?.channel_is_loopback === true

export interface WebhookPayload {
  method: 'GET' | 'POST' | 'PUT'
  url: string
  /** The signed text: the body or the query. */
  content: string
  contentType: string | undefined
}

const ofFamily = (hook: string) => hook === 'object' || hook === 'cdr' || hook === 'notifications'

export const hookEventOf = ({ hook }: Webhook, { type }: WebhookEvent) => (ofFamily(hook) ? hook : type)

/** Call records and notices add the fields of the record. */
const flat = (hook: Webhook, event: WebhookEvent): Json => ({
  ...(hook.hook === 'cdr' || hook.hook === 'notifications' ? event.after : {}),
  hook_event: hookEventOf(hook, event),
  id: event.record_id,
  account_id: event.account_id,
  type: hook.hook === 'notifications' ? hook.custom_data?.type : event.kind,
  action: actionWord(event),
})

const nested = (hook: Webhook, event: WebhookEvent): Json => ({
  action: 'event',
  name: hook.hook === 'object' ? actionWord(event) : hookEventOf(hook, event),
  account_id: event.account_id,
  timestamp: gregorianOfUnix(event.at / 1000),
  data: {
    metadata: { id: event.record_id, account_id: event.account_id, type: event.kind },
    doc: event.after ?? event.before ?? {},
  },
})

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const keys = Object.keys(value).toSorted()
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]))
}

/** Kazoo's signature of the time and the data, with keys sorted at every depth. */
const hmacOf = ({ timestamp, data }: Json, key: string) =>
  createHmac('sha256', key)
    .update(`${timestamp}${JSON.stringify(sorted(data))}`)
    .digest('base64')

/** `type` and `action` only select events. */
const added = ({ custom_data: { type: _, action: __, ...others } = {} }: Webhook) => others

export const payloadOf = (hook: Webhook, event: WebhookEvent): Json => {
  if (hook.version !== 'v2') return { ...flat(hook, event), ...added(hook) }
  const payload = { ...nested(hook, event), ...added(hook) }
  const key = hook.security_settings?.sha256_key
  return key === undefined ? payload : { ...payload, hmac: hmacOf(payload, key) }
}

/** Also escapes what encodeURIComponent leaves. */
const encoded = (text: string) =>
  encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )

const pairsOf = (key: string, value: unknown): [string, string][] => {
  if (Array.isArray(value)) return value.flatMap((item) => pairsOf(`${key}[]`, item))
  if (isObject(value))
    return Object.entries(value).flatMap(([inner, one]) => pairsOf(`${key}[${inner}]`, one))
  return [[key, value === null || value === undefined ? '' : String(value)]]
}

/** `data[metadata][id]=...`. */
export const formOf = (payload: Json) =>
  Object.entries(payload)
    .flatMap(([key, value]) => pairsOf(key, value))
    .map(([key, value]) => `${encoded(key)}=${encoded(value)}`)
    .join('&')

const withQuery = (uri: string, query: string) => {
  const url = new URL(uri)
  url.hash = ''
  const between = url.search === '' ? '?' : '&'
  return `${url.href.replace(/\?$/, '')}${between}${query}`
}

export const parcelOf = (hook: Webhook, event: WebhookEvent): WebhookPayload => {
  const payload = payloadOf(hook, event)
  if (hook.http_verb === 'get') {
    const content = formOf(payload)
    return { method: 'GET', url: withQuery(hook.uri, content), content, contentType: undefined }
  }
  const [content, contentType] =
    hook.format === 'json'
      ? [JSON.stringify(payload), 'application/json']
      : [formOf(payload), 'application/x-www-form-urlencoded']
  return { method: hook.http_verb === 'put' ? 'PUT' : 'POST', url: hook.uri, content, contentType }
}

/** The newest key first. */
export const keysOf = ({ security_settings: { sha256_key: key, previous_key: previous } = {} }: Webhook) =>
  key === undefined ? [] : [key, previous].filter((one) => one !== undefined)

const firstPauseMs = 3000
const maxRetryPauseMs = 3_600_000
const growth = 3

/** A delivery that has failed for this time is dropped. */
export const maxDeliveryLifeMs = 3 * 24 * 3_600_000

export const pauseAfter = (attempts: number) =>
  Math.min(firstPauseMs * growth ** Math.min(attempts - 1, 20), maxRetryPauseMs)

/** Undefined: no further attempt. */
export const nextTry = ({ attempts, since, now }: { attempts: number; since: number; now: number }) => {
  const dueAt = now + pauseAfter(attempts)
  return dueAt > since + maxDeliveryLifeMs ? undefined : dueAt
}

/** If each further attempt fails at once. */
export const triesLeft = ({ attempts, since, now }: { attempts: number; since: number; now: number }) => {
  let left = 0
  for (
    let dueAt = nextTry({ attempts, since, now });
    dueAt !== undefined;
    dueAt = nextTry({ attempts: attempts + left, since, now: dueAt })
  )
    left += 1
  return left
}

export type Verdict = 'success' | 'again' | 'failed'

/** Redirects are not followed. */
export const verdictOf = (status: number): Verdict => {
  if (status >= 200 && status < 300) return 'success'
  const isTemporary = status === 408 || status === 429 || status >= 500
  return isTemporary ? 'again' : 'failed'
}
