import { Type } from 'typebox'
import { choice } from '../lib/schema.ts'
import { secret, secretUrl } from '../lib/secrets.ts'
import { section, settingsDocument, wholeNumber } from '../settings/keys.ts'

const kamailio = Type.Object(
  {
    rpc_urls: Type.Array(Type.String({ pattern: '^https?://[^\\s/]', maxLength: 2048, ...secretUrl }), {
      default: [],
      maxItems: 64,
      description:
        'JSON-RPC URL of each edge, such as http://192.0.2.1:8080/RPC. It may be in a private network; empty: no edges',
    }),
    timeout_ms: wholeNumber(
      { minimum: 50, maximum: 30_000, default: 3000 },
      'Timeout of an edge. After it, the edge counts as unreachable, and the results of the others apply',
    ),
    secret: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        pattern: '^[\\x21-\\x7e]+$',
        ...secret,
        description: 'Sent to edges as `Authorization: Bearer`; absent: nothing is sent',
      }),
    ),
  },
  { default: {}, description: 'SIP edges that run Kamailio' },
)

const mediaSwitch = section('SIP edges that carry the calls', {
  adapter: choice(['none', 'kamailio'], {
    default: 'none',
    description:
      '`kamailio`: the server asks the edges in `kamailio` for registrations and calls, and notifies them of changes. `none`: there are no registrations and no calls, and requests that a phone has to get are 501',
  }),
  kamailio,
  disabled_grace_s: wholeNumber(
    { minimum: 0, maximum: 86_400, default: 60 },
    'Time after which the calls of a disabled or removed device, user, trunk or account end, except emergency calls. Its registrations end immediately',
  ),
  sip_hosts: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
    default: [],
    maxItems: 256,
    description:
      'Names, addresses and CIDRs of the edges for phones and carriers. The server sends no call of a customer there',
  }),
})

export const switchSettings = settingsDocument('switch', mediaSwitch)
