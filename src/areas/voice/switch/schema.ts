import { anyText, flag, gregorian, integer, must, open } from '../../../lib/schema.ts'

export const EdgeState = open(
  {
    host: must(anyText({ description: 'Host and port of its JSON-RPC' })),
    reachable: must(flag({ description: 'Whether it responded to this request' })),
    reason: anyText({ description: 'Why it is not reachable' }),
    current: flag({
      description: 'Whether it has all changes; absent if another process of the server notifies it',
    }),
    version: anyText({ description: 'Software of the edge' }),
    uptime_s: integer({ description: 'Seconds since it was started' }),
    calls: integer({ description: 'Calls in progress' }),
    alerted: gregorian('When the alert about its outage was raised: a minute after it began'),
  },
  { title: 'State of an edge' },
)
