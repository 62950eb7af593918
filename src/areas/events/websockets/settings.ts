import { section, settingsDocument, wholeNumber } from '../../../settings/keys.ts'

const count = (fallback: number, of: string, description: string) =>
  wholeNumber({ minimum: 1, maximum: 1_000_000, default: fallback, unit: of }, description)

const seconds = (fallback: number, description: string) =>
  wholeNumber({ minimum: 1, maximum: 86_400, default: fallback }, description)

const blackhole = section(
  'Events over WebSocket. Changes apply to new connections. Commands are throttled by the bucket `blackhole` of token_buckets',
  {
    max_connections: count(5000, 'connections', 'Maximum WebSockets of a process; further ones get 429'),
    max_connections_per_ip: count(
      200,
      'connections',
      'Maximum from one IPv4 address or IPv6 /64, also through reverse_proxies',
    ),
    max_unanswered_commands: count(
      50,
      'commands',
      'Maximum unanswered commands of a connection; the server reads no further ones until then',
    ),
    max_subscriptions: count(1000, 'bindings', 'Maximum subscriptions of a connection'),
    max_queued_messages: count(
      500,
      'messages',
      'Maximum waiting events of a slow client; further ones are dropped',
    ),
    max_queued_bytes: wholeNumber(
      { minimum: 10_000, maximum: 100_000_000, default: 1_000_000, unit: 'bytes' },
      'Maximum waiting events in bytes',
    ),
    max_dropped_messages: count(
      1000,
      'messages',
      'Dropped events in a row after which the server closes the connection with 1013',
    ),
    idle_timeout_s: seconds(
      3600,
      'Time after which the server closes a connection without subscriptions and requests',
    ),
    ping_interval_s: seconds(
      30,
      'Time after which the server pings a silent client; after the same time without a response, it disconnects the client',
    ),
  },
)

export const websocketSettings = settingsDocument('blackhole', blackhole)
