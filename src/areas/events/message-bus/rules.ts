import { eventJson, type FeedEvent, sequenceText } from '../../../events/events.ts'
import type { Alert } from '../alerts/schema.ts'

/** Where events go. */
export interface Target {
  url: string
  exchange: string
}

/** An event as a message: it survives the broker's restart, and repeats of it have the same id. */
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

// What a span of many messages links to is bounded, as by OpenTelemetry's own libraries.
const maxLinks = 128

/** Which requests events come from, as far as somebody records their traces. */
export const tracesOf = (events: readonly FeedEvent[]) =>
  [...new Set(events.flatMap(({ author }) => author.trace ?? []))].slice(0, maxLinks)

/** The broker's host, for people: the whole address has a password in it. */
export const hostOf = ({ url }: Target) => {
  const parsed = URL.parse(url)
  return parsed?.host ? parsed.host : 'the broker'
}

/** What operators are told. */
export const alertOf = (host: string, reason: string, masterId: string): Alert => ({
  title: 'The message bus cannot be reached',
  message: `Events wait in the store until ${host} takes them: ${reason}`,
  category: 'message_bus',
  from: [{ type: 'account', value: masterId }],
  to: [{ type: masterId, value: 'admins' }],
})
