import { gregorianNow } from '../../../../lib/gregorian.ts'
import { newId } from '../../../../lib/ids.ts'
import { masked, maskUrls, withoutEchoes } from '../../../../lib/secrets.ts'
import { signatureOf } from '../../../../lib/signature.ts'
import { OutgoingError, type OutgoingResponse } from '../../../../outgoing/client.ts'
import type { Store } from '../../../../storage/store.ts'
import type { DepsOf } from '../../../area.ts'
import type { Attempt } from '../schema.ts'
import { webhookSettings } from '../settings.ts'
import type { WebhookRecord } from '../store.ts'
import {
  hookEventOf,
  keysOf,
  nextTry,
  parcelOf,
  triesLeft,
  type Verdict,
  verdictOf,
  type WebhookEvent,
  type WebhookPayload,
} from './payload.ts'

interface Deps extends DepsOf<'settings' | 'outgoing'> {
  store: Pick<Store, 'clock'>
}

interface Delivery {
  eventId: string
  event: WebhookEvent
  /** The `traceparent` of the request that it comes from, where its trace is recorded. */
  trace?: string | undefined
  attempts: number
  /** Unix milliseconds of the first attempt: it is repeated for three days. */
  since: number
}

export interface Tried {
  attempt: Attempt
  verdict: Verdict
  /** Unix milliseconds; undefined: no further attempt. */
  dueAt: number | undefined
}

const maxKeptBytes = 2048

type DeliveryOutcome = { verdict: Verdict } & Partial<
  Pick<Attempt, 'reason' | 'resp_status_code' | 'resp_headers' | 'resp_body' | 'client_error'>
>

const errorTexts = {
  timeout: 'no response before the timeout',
  unreachable: 'no connection',
  private: 'the host resolves to a private address',
  malformed: 'the response cannot be read',
  too_large: 'the response cannot be read',
  aborted: 'given up',
} as const

/** A receiver may echo secrets. */
const outcomeOf = ({ status, headers, text }: OutgoingResponse, { ...sent }: object): DeliveryOutcome => {
  const verdict = verdictOf(status)
  return {
    verdict,
    resp_status_code: status,
    resp_headers: Object.fromEntries(
      Array.from(headers, ([name, value]) => [name, withoutEchoes(value, sent)]),
    ),
    resp_body: withoutEchoes(text, sent),
    ...(verdict === 'success' ? {} : { reason: `status ${status}` }),
  }
}

export type WebhookSender = ReturnType<typeof createWebhookSender>

export const createWebhookSender = ({ store: { clock }, settings, outgoing }: Deps) => {
  const headersOf = ({ id, accountId, doc }: WebhookRecord, parcel: WebhookPayload, eventId: string) => {
    const keys = keysOf(doc)
    const seconds = Math.floor(clock.now() / 1000)
    return {
      ...(parcel.contentType === undefined ? {} : { 'content-type': parcel.contentType }),
      'x-hook-id': id,
      'x-account-id': accountId,
      'x-event-id': eventId,
      ...(keys.length === 0 ? {} : { 'x-crosspoint-signature': signatureOf(parcel.content, keys, seconds) }),
    }
  }

  const call = async (
    { doc }: WebhookRecord,
    { method, url, content }: WebhookPayload,
    { trace, ...options }: Pick<Delivery, 'trace'> & { headers: Record<string, string>; signal: AbortSignal },
  ): Promise<DeliveryOutcome> => {
    const { request_timeout_ms: timeoutMs } = await settings.of(webhookSettings)
    try {
      const answer = await outgoing.send({
        purpose: 'webhook',
        method,
        url,
        ...(method === 'GET' ? {} : { body: content }),
        ...options,
        headers: { ...doc.custom_request_headers, ...options.headers },
        timeoutMs,
        maxBytes: maxKeptBytes,
        cutsOff: true,
        causes: trace === undefined ? [] : [trace],
      })
      return outcomeOf(answer, doc)
    } catch (error) {
      if (!(error instanceof OutgoingError)) throw error
      const { fault } = error
      const verdict = fault === 'private' ? 'failed' : 'again'
      return { verdict, reason: errorTexts[fault], client_error: fault }
    }
  }

  /** Custom headers are secrets. */
  const shownHeaders = ({ doc }: WebhookRecord, headers: Record<string, string>) => ({
    ...Object.fromEntries(Object.keys(doc.custom_request_headers ?? {}).map((name) => [name, masked])),
    ...headers,
  })

  return {
    /** Undefined if `signal` aborted it before a response: the result is unknown. */
    async send(hook: WebhookRecord, delivery: Delivery, signal: AbortSignal): Promise<Tried | undefined> {
      const { event, eventId, attempts, since } = delivery
      const parcel = parcelOf(hook.doc, event)
      const headers = headersOf(hook, parcel, eventId)
      const timestamp = gregorianNow(clock)
      const begun = performance.now()
      const { verdict, ...outcome } = await call(hook, parcel, { headers, trace: delivery.trace, signal })
      if (outcome.client_error === 'aborted') return undefined
      const now = clock.now()
      const made = { attempts: attempts + 1, since, now }
      const isRepeated = verdict === 'again' && hook.doc.retries !== 0
      const dueAt = isRepeated ? nextTry(made) : undefined
      const attempt: Attempt = {
        id: newId(now),
        hook_id: hook.id,
        hook_event: hookEventOf(hook.doc, event),
        event_id: eventId,
        uri: maskUrls(hook.doc.uri),
        method: parcel.method.toLowerCase(),
        req_headers: shownHeaders(hook, headers),
        req_body: parcel.content,
        result: verdict === 'success' ? 'success' : 'failure',
        ...outcome,
        retries_left: isRepeated ? triesLeft(made) : 0,
        timestamp,
        duration_ms: Math.round(performance.now() - begun),
      }
      return { attempt, verdict, dueAt }
    },
  }
}
