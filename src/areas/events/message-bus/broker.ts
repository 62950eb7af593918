import { createRequire } from 'node:module'
import type { Connection } from 'rabbitmq-client'
import { eventJson, type FeedEvent, sequenceText } from '../../../events/events.ts'
import { type Calls, serverIn } from '../../../outgoing/calls.ts'
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

const tracesOf = (events: readonly FeedEvent[]) =>
  [...new Set(events.flatMap(({ author }) => author.trace ?? []))].slice(0, maxLinks)

/** Host without credentials. */
export const hostOf = ({ url }: Target) => {
  const parsed = URL.parse(url)
  return parsed?.host ? parsed.host : 'the broker'
}

export const alertOf = (host: string, reason: string, masterId: string): Alert => ({
  title: 'The message bus cannot be reached',
  message: `Events wait in the store until ${host} accepts them: ${reason}`,
  category: 'message_bus',
  from: [{ type: 'account', value: masterId }],
  to: [{ type: masterId, value: 'admins' }],
})

const load = createRequire(import.meta.url)

let loaded: typeof Connection | undefined

const library = () => {
  loaded ??= (load('rabbitmq-client') as { Connection: typeof Connection }).Connection
  return loaded
}

const connectMs = 5000
// The connection ends after two missing heartbeats.
const heartbeatSeconds = 10
const confirmMs = 30_000

/** After a failure it must be replaced. */
export interface Broker {
  publish(events: readonly FeedEvent[]): Promise<void>
  /** Unconfirmed events may have arrived. */
  close(): void
}

class NotConfirmed extends Error {}

/** Connects in the background; `publish` reports a failed connection. */
export const createBroker = (target: Target, calls: Calls): Broker => {
  const { url, exchange } = target
  const connection = new (library())({
    url,
    connectionName: 'crosspoint',
    connectionTimeout: connectMs,
    acquireTimeout: connectMs,
    heartbeat: heartbeatSeconds,
  })
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => undefined)
  connection.on('error', failure.reject)
  const publisher = connection.createPublisher({
    confirm: true,
    exchanges: [{ exchange, type: 'topic', durable: true }],
  })

  const send = async (events: readonly FeedEvent[]) => {
    const sent = events.map((event) => {
      const { envelope, body } = messageOf(event, exchange)
      return publisher.send(envelope, body)
    })
    const timer = setTimeout(
      () => failure.reject(new NotConfirmed('nothing was confirmed in time')),
      confirmMs,
    )
    try {
      await Promise.race([Promise.all(sent), failure.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  const callOf = (events: readonly FeedEvent[]) => ({
    purpose: 'message_bus' as const,
    name: `publish ${exchange}`,
    kind: 'producer' as const,
    facts: {
      'messaging.system': 'rabbitmq',
      'messaging.operation.name': 'publish',
      'messaging.operation.type': 'send',
      'messaging.destination.name': exchange,
      'messaging.batch.message_count': events.length,
      ...serverIn(url),
    },
    causes: tracesOf(events),
    outcomeOf: () => 'done',
    faultOf: (error: unknown) => (error instanceof NotConfirmed ? 'timeout' : 'unreachable'),
  })

  return {
    publish: (events) => calls.watch(callOf(events), () => send(events)),

    close() {
      failure.reject(new Error('the connection was ended'))
      connection.unsafeDestroy()
    },
  }
}
