import { createRequire } from 'node:module'
import type { Connection } from 'rabbitmq-client'
import type { FeedEvent } from '../../../events/events.ts'
import { type Calls, serverIn } from '../../../outgoing/calls.ts'
import { messageOf, type Target, tracesOf } from './rules.ts'

const load = createRequire(import.meta.url)

let loaded: typeof Connection | undefined

/** Loaded when a broker is set. */
const library = () => {
  loaded ??= (load('rabbitmq-client') as { Connection: typeof Connection }).Connection
  return loaded
}

// Whoever is not there within this time is looked for again.
const connectMs = 5000
// Two heartbeats that do not come mean that nobody is there any more.
const heartbeatSeconds = 10
const confirmMs = 30_000

/** A broker that events are published to. Once something has failed it is of no more use: the next one connects anew. */
export interface Broker {
  /** Resolves when the broker has all of them for good, in this order. */
  publish(events: readonly FeedEvent[]): Promise<void>
  /** Ends at once. What was not confirmed may have arrived. */
  close(): void
}

class NotConfirmed extends Error {
  constructor() {
    super('nothing was confirmed in time')
  }
}

/** Connects at once. Whether that went well is met by whoever publishes. */
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
  // It is met by whoever publishes next, if anybody does.
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
    const timer = setTimeout(() => failure.reject(new NotConfirmed()), confirmMs)
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
