import type { Static } from 'typebox'
import { formerNumberFormats } from '../../../lib/call-shapes.ts'
import { recordShape } from '../../../lib/record-shape.ts'
import {
  anyObject,
  anyText,
  choice,
  flag,
  id,
  integer,
  keyedBy,
  list,
  must,
  open,
  text,
  uniqueList,
} from '../../../lib/schema.ts'
import { readableSecret } from '../../../lib/secrets.ts'

const maxPatterns = 100

const Patterns = (description: string) => list(text(1, 256), { maxItems: maxPatterns, description })

// Text before and after a number must not end the user part of a SIP address.
const aroundNumber = (description: string) =>
  text(0, 64, { pattern: "^[0-9A-Za-z+*#._~!$&=,;?/()'-]*$", description })

/** A value stays on its line. */
export const CarrierHeaders = keyedBy('^[a-zA-Z0-9_-]{1,64}$', text(0, 512, { pattern: '^[^\\r\\n]*$' }))

const Gateway = open({
  enabled: flag({ default: true }),
  server: must(text(1, 253, { description: 'Host name or address of the carrier' })),
  port: integer({
    minimum: 1,
    maximum: 65_535,
    description: 'Default: the standard port, or the DNS record of the name',
  }),
  transport: choice(['udp', 'tcp', 'tls'], { description: 'Default: UDP, or the DNS record' }),
  proxy: text(1, 253, { description: 'Host name or address that calls are sent to instead of `server`' }),
  username: text(1, 128, { description: 'Credentials for the sign-in at the server' }),
  password: text(1, 128, readableSecret),
  realm: text(1, 253, { description: 'Realm for the credentials at the carrier; default: `server`' }),
  prefix: aroundNumber('Prefix of the number'),
  suffix: aroundNumber('Suffix of the number'),
  invite_format: choice(['route', 'username', 'e164', 'npan', '1npan', 'strip_plus'], {
    ...formerNumberFormats,
    default: 'route',
    description:
      'Number format: as in the rule, the `username` instead, +14155550100, 4155550100, ' +
      '14155550100, or without the plus',
  }),
  codecs: uniqueList(text(1, 32), { maxItems: 30, description: 'Allowed values; default: all' }),
  progress_timeout: integer({
    minimum: 1,
    maximum: 120,
    description: 'Seconds that the carrier may take to ring before the next one is tried; 10 without it',
  }),
  custom_sip_headers: CarrierHeaders,
  force_port: flag({ description: 'Calls come from `port` alone' }),
})
export type Gateway = Static<typeof Gateway>

const Classifier = open({
  enabled: flag({ default: true }),
  emergency: flag({ description: 'Default: the setting of the resource' }),
  regex: text(1, 256, { description: 'Replaces the rules of the resource' }),
  prefix: aroundNumber('Replaces the value of the gateways'),
  suffix: aroundNumber('Replaces the value of the gateways'),
  weight_cost: integer({ minimum: 0, maximum: 100, description: 'Default: the setting of the resource' }),
})
export type Classifier = Static<typeof Classifier>

const fields = {
  name: must(text(1, 128)),
  enabled: flag({ default: true }),
  gateways: must(list(Gateway, { maxItems: 50, description: 'Tried in this order' })),
  rules: Patterns('Regular expressions (RE2) for the number; the first group of the match is dialed'),
  cid_rules: Patterns('Regular expressions (RE2) for the number of the caller'),
  classifiers: keyedBy('^\\w{1,64}$', Classifier, {
    description: 'Classes of numbers, with their different settings. Absent: all classes',
  }),
  weight_cost: integer({
    minimum: 0,
    maximum: 100,
    default: 50,
    description: 'The lowest one is tried first',
  }),
  emergency: flag({ default: false, description: 'Whether it accepts emergency calls' }),
  flags: uniqueList(text(1, 128), {
    maxItems: 100,
    default: [],
    description: 'Options: calls that need others do not use it',
  }),
  require_flags: flag({ description: 'Does not apply to calls that request no options' }),
  ignore_flags: flag({ description: 'Accepts calls with any options' }),
  failover_codes: uniqueList(integer({ minimum: 400, maximum: 699 }), {
    maxItems: 100,
    description: 'SIP answers after which the next gateway is tried; 408, 500, 502, 503 and 504 without it',
  }),
  from_uri_realm: text(1, 253, {
    description:
      'Host name or address that calls show as the domain of the caller, instead of the realm of the account',
  }),
  inbound_ips: uniqueList(text(1, 64), {
    maxItems: 200,
    description: 'Addresses and CIDRs of its inbound calls, in addition to those of its gateways',
  }),
}

export const resourceShape = recordShape(fields, {
  title: 'Resource',
  description: 'A carrier for inbound and outbound calls. Other fields are stored',
})
export const { body: Resource, record: ResourceRecord, computed: resourceReadOnly } = resourceShape
export type Resource = Static<typeof Resource>

export const ResourceRow = open(
  {
    id: must(id()),
    name: must(anyText()),
    enabled: must(flag()),
    emergency: must(flag()),
    weight_cost: must(integer()),
    classifiers: anyObject(),
    template_name: anyText(),
    flags: must(list(anyText())),
  },
  { title: 'Resource row' },
)
