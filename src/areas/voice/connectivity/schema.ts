import type { Static } from 'typebox'
import { formerNumberFormats } from '../../../lib/call-shapes.ts'
import { recordShape } from '../../../lib/record-shape.ts'
import { anyText, choice, flag, integer, keyedBy, list, must, open, text } from '../../../lib/schema.ts'
import { readableSecret } from '../../../lib/secrets.ts'
import { CarrierHeaders } from '../resources/schema.ts'

const port = integer({ minimum: 1, maximum: 65_535 })

const Auth = open({
  auth_method: choice(['Password', 'password', 'IP', 'ip'], {
    default: 'Password',
    description: 'Whether the server signs in, or is known by its address',
  }),
  auth_user: text(1, 128, { description: 'SIP user name, unique in its realm' }),
  auth_password: text(1, 128, readableSecret),
  ip: text(1, 64, { description: 'Its address, for method IP; unique over all accounts' }),
  port,
})

const Failover = open(
  {
    e164: text(1, 64, { description: 'A number' }),
    sip: text(1, 512, { description: 'A SIP address, such as sip:reception@pbx.example' }),
  },
  {
    description:
      'Destination of calls that the server does not accept; the number is used before the SIP address',
  },
)

const Did = open({ failover: Failover }, { description: 'Other fields are stored' })

const Options = open({
  enabled: flag({ default: true, description: 'Whether calls from and to the server are accepted' }),
  inbound_format: choice(['e164', 'npan', '1npan', 'strip_plus', 'username'], {
    ...formerNumberFormats,
    default: 'npan',
    description:
      'Format of called numbers: +14155550100, 4155550100, 14155550100, without the plus, or its user name',
  }),
  ip: text(1, 253, {
    description: 'Destination of calls, instead of its registration or `auth.ip`',
  }),
  port,
  delay: integer({ minimum: 0, maximum: 120, default: 0, description: 'Seconds before it rings' }),
  timeout: integer({ minimum: 1, maximum: 600, description: 'Seconds that it may take to answer' }),
  progress_timeout: integer({ minimum: 1, maximum: 120, description: 'Seconds that it may take to ring' }),
  failover: Failover,
  sip_headers: list(CarrierHeaders, { maxItems: 50, description: 'Headers added to calls to the server' }),
})

const Server = open({
  server_name: text(0, 128),
  auth: must(Auth),
  DIDs: keyedBy('^\\+?\\d{1,32}$', Did, { description: 'The numbers of the account whose calls it takes' }),
  options: Options,
})
export type Server = Static<typeof Server>

const fields = {
  name: text(0, 128),
  account: open({
    auth_realm: text(1, 253, { description: 'Realm of the servers, if it differs from that of the account' }),
  }),
  servers: list(Server, { maxItems: 100, default: [] }),
}

export const connectivityShape = recordShape(fields, {
  title: 'Connectivity',
  description:
    'Trunks: the PBX servers of an account, and the numbers whose calls they get. Other fields are stored',
})
export const {
  body: Connectivity,
  record: ConnectivityRecord,
  computed: connectivityReadOnly,
} = connectivityShape
export type Connectivity = Static<typeof Connectivity>

export const ConnectivityId = anyText({ title: 'Connectivity id' })
