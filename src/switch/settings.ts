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
        'Where each edge takes JSON-RPC, as http://192.0.2.1:8080/RPC. It may be in a private network; none: no edge is asked',
    }),
    timeout_ms: wholeNumber(
      { minimum: 50, maximum: 30_000, default: 3000 },
      'How long an edge is waited for; then it counts as unreachable, and what the others say holds',
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

const mediaSwitch = section('The machines that carry the calls', {
  adapter: choice(['none', 'kamailio'], {
    default: 'none',
    description:
      '`kamailio`: the server asks the edges in `kamailio` for registrations and calls, and notifies them of changes. `none`: there are no registrations and no calls, and requests that a phone has to get are 501',
  }),
  kamailio,
  disabled_grace_s: wholeNumber(
    { minimum: 0, maximum: 86_400, default: 60 },
    'Seconds after which the calls of a device, user, trunk or account that was disabled or removed end, except calls to emergency numbers. Its registrations end at once',
  ),
  sip_hosts: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
    default: [],
    maxItems: 256,
    description:
      'Names, addresses and CIDRs at which phones and carriers reach the edges: no call of a customer is sent there',
  }),
})

export const switchSettings = settingsDocument('switch', mediaSwitch)
