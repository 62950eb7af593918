import { eventJson, type FeedEvent, sequenceText } from '../../../events/events.ts'
import type { Alert } from '../alerts/schema.ts'

export interface Target {
  url: string
  exchange: string
}

/** The message survives a restart of the broker; repeats have the same id. */
export const messageOf = (event: FeedEvent, exchange: string) => ({
  envelope: {
    exchange,
    routingKey: `${event.accountId}.${event.type}`,
    durable: true,
    messageId: sequenceText(event.sequence),
    type: event.type,
    timestamp: Math.floor(event.at / 1000),
    appId: 'crosspoint',
    contentType: 'application/json',
    ...(event.author.trace === undefined ? {} : { headers: { traceparent: event.author.trace } }),
  },
  body: Buffer.from(JSON.stringify(eventJson(event))),
})

// The number of links of a span is bounded, as in OpenTelemetry's libraries.
const maxLinks = 128

export const tracesOf = (events: readonly FeedEvent[]) =>
  [...new Set(events.flatMap(({ author }) => author.trace ?? []))].slice(0, maxLinks)

/** Host without credentials. */
export const hostOf = ({ url }: Target) => {
  const parsed = URL.parse(url)
  return parsed?.host ? parsed.host : 'the broker'
}

export const alertOf = (host: string, reason: string, masterId: string): Alert => ({
  title: 'The message bus cannot be reached',
  message: `Events wait in the store until ${host} takes them: ${reason}`,
  category: 'message_bus',
  from: [{ type: 'account', value: masterId }],
  to: [{ type: masterId, value: 'admins' }],
})
