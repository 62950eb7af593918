import type { Static } from 'typebox'
import { AccessList } from '../../../lib/access-list.ts'
import {
  Addresses,
  CallRecording,
  endpointFields,
  Flags,
  formerNumberFormats,
  SipHeaders,
  sipHeaderValue,
} from '../../../lib/call-shapes.ts'
import { DeviceRateLimits } from '../../../lib/packet-limits.ts'
import { recordShape } from '../../../lib/record-shape.ts'
import {
  anyObject,
  anyText,
  choice,
  either,
  flag,
  id,
  integer,
  keyedBy,
  list,
  multiline,
  must,
  open,
  text,
  timezone,
  typed,
} from '../../../lib/schema.ts'
import { readableSecret } from '../../../lib/secrets.ts'

// `in` and `out` are header names, too, so the form without directions excludes them.
const CustomSipHeaders = open(
  { in: SipHeaders, out: SipHeaders },
  {
    patternProperties: { '^(?!(?:in|out)$)[a-zA-Z0-9_-]+$': sipHeaderValue },
    additionalProperties: false,
    description: 'Headers added to calls from (`in`) and to (`out`) the device',
  },
)

const Sip = open(
  {
    method: choice(['password', 'ip', 'authorization'], { default: 'password' }),
    username: text(2, 32),
    password: text(5, 32, readableSecret),
    realm: text(4, 253, { description: 'Only if it differs from that of the account' }),
    ip: anyText({ description: 'IPv4 address, for method ip' }),
    expire_seconds: integer({ default: 300, description: 'Duration of a registration' }),
    invite_format: choice(['contact', 'username', 'npan', '1npan', 'e164', 'route', 'strip_plus'], {
      ...formerNumberFormats,
      default: 'contact',
    }),
    route: anyText({ description: 'SIP address to call, for invite format route' }),
    static_route: anyText(),
    static_invite: anyText(),
    number: anyText({ description: 'Number to call instead of the dialed one' }),
    proxy: anyText(),
    forward: anyText(),
    transport: anyText(),
    custom_sip_interface: anyText(),
    ignore_completed_elsewhere: flag(),
    custom_sip_headers: CustomSipHeaders,
  },
  { default: {} },
)

const keyTypes = ['none', 'line', 'parking', 'personal_parking', 'presence', 'speed_dial'] as const

const PhoneKey = open({
  type: choice(keyTypes),
  value: typed(['string', 'integer', 'object'], {
    description: 'Target of the key; with a label: an object of label and value',
  }),
})

const PhoneKeys = keyedBy('^[0-9]+$', PhoneKey, { description: 'Function of a key, by position' })

const Provision = open({
  id: anyText(),
  endpoint_brand: anyText(),
  endpoint_family: anyText(),
  endpoint_model: typed(['string', 'integer']),
  combo_keys: PhoneKeys,
  feature_keys: PhoneKeys,
  check_sync_event: anyText(),
  check_sync_reboot: anyText({ default: 'reboot=true' }),
  check_sync_reload: anyText({ default: 'reboot=false' }),
})

const OutboundFlags = either([list(anyText()), open({ static: list(anyText()), dynamic: list(anyText()) })])

const Mobile = open({ mdn: anyText({ description: 'Mobile number, unique over all accounts' }) })

const fields = {
  name: must(text(1, 128)),
  device_type: anyText({ description: 'sip_device, softphone, mobile, cellphone, landline, fax, ata, ...' }),
  owner_id: id({ description: 'The user who owns it' }),
  enabled: flag({ default: true }),
  mac_address: anyText({ description: 'Unique; any usual notation' }),
  sip: Sip,
  ...endpointFields,
  access_lists: AccessList,
  addresses: Addresses,
  exclude_from_queues: flag({ default: false }),
  hotdesk: open({
    users: keyedBy('^.{32}$', anyObject(), { description: 'Signed-in users, by user ID' }),
  }),
  language: anyText({ description: 'Such as en-us' }),
  mobile: Mobile,
  mwi_unsolicited_updates: flag({ default: true }),
  outbound_flags: OutboundFlags,
  provision: Provision,
  rate_limits: DeviceRateLimits,
  register_overwrite_notify: flag({ default: false }),
  suppress_unregister_notifications: flag({ default: false }),
  timezone: timezone({ description: 'Name of the time zone database' }),
}

export const deviceShape = recordShape(fields, {
  title: 'Device',
  description: 'A phone, a softphone, a mobile or a landline. Other fields are stored',
  computed: { features: list(anyText(), { readOnly: true, description: 'Enabled features' }) },
})
export const { body: Device, record: DeviceRecord, computed: deviceReadOnly } = deviceShape
export type Device = Static<typeof Device>

export const DeviceRow = open(
  {
    id: must(id()),
    name: must(anyText()),
    username: anyText({ description: 'SIP user name' }),
    mac_address: anyText(),
    owner_id: anyText(),
    enabled: flag(),
    device_type: anyText(),
    mobile: Mobile,
    call_recording: CallRecording,
    flags: Flags,
    features: list(anyText()),
    registrable: flag({ description: 'With `with_status`' }),
    registered: flag({ description: 'With `with_status`, for registrable devices' }),
  },
  { title: 'Device row' },
)
export type DeviceRow = Static<typeof DeviceRow>

export const DeviceStatus = open(
  {
    device_id: must(id()),
    registrable: must(flag()),
    registered: flag({ description: 'For registrable devices' }),
  },
  { title: 'Device status' },
)

export const Notify = open({
  data: must(
    open({
      event: must(text(1, 256)),
      body: open({ content_type: must(text(1, 256)), data: must(anyText(multiline)) }),
    }),
  ),
})
