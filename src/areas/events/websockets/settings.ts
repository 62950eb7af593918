import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const count = (fallback: number, of: string, description: string) =>
  wholeNumber({ minimum: 1, maximum: 1_000_000, default: fallback, unit: of }, description)

const seconds = (fallback: number, description: string) =>
  wholeNumber({ minimum: 1, maximum: 86_400, default: fallback }, description)

const blackhole = section(
  'Events over WebSocket. A connection keeps the values with which it was opened. The bucket of its commands is `blackhole` of token_buckets',
  {
    max_connections: count(5000, 'connections', 'WebSockets of a process; further ones are 429'),
    max_connections_per_ip: count(
      200,
      'connections',
      'The same from one IPv4 address or IPv6 /64, behind reverse_proxies too',
    ),
    max_unanswered_commands: count(
      50,
      'commands',
      'Commands of a connection that wait for their answer; more are not read until then',
    ),
    max_subscriptions: count(1000, 'bindings', 'What a connection may be subscribed to'),
    max_queued_messages: count(
      500,
      'messages',
      'Events that wait for a slow reader; further ones are dropped for it',
    ),
    max_queued_bytes: wholeNumber(
      { minimum: 10_000, maximum: 100_000_000, default: 1_000_000, unit: 'bytes' },
      'The same in bytes',
    ),
    max_dropped_messages: count(
      1000,
      'messages',
      'Events dropped in a row, after which the connection is closed with 1013',
    ),
    idle_timeout_s: seconds(
      3600,
      'Time after which a connection without subscriptions and requests is closed',
    ),
    ping_interval_s: seconds(
      30,
      'Time after which a silent client is pinged; after the same time without a response it is disconnected',
    ),
  },
)

export const websocketSettings = settingsDocument('blackhole', blackhole)
