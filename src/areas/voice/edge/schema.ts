import type { Static } from 'typebox'
import {
  anyObject,
  anyText,
  choice,
  flag,
  id,
  integer,
  list,
  multiline,
  must,
  open,
  text,
} from '../../../lib/schema.ts'
import { IntakeReport } from '../../calls/cdrs/schema.ts'

const List = open({
  order: must(anyText({ description: '`allow,deny` or `deny,allow`' })),
  cidrs: must(list(anyText())),
  user_agent: anyText(),
})

const limit = (description: string) => must(integer({ description }))

const Counters = open({
  registrations: limit('REGISTER packets'),
  invites: limit('INVITE packets'),
  total_packets: limit('Packets of any kind'),
})

const Limits = open({ per_minute: must(Counters), per_second: must(Counters) })

export const EdgeAnswer = open(
  {
    account_id: id({
      description: 'The account of the realm; absent if there is none that the caller may see',
    }),
    device_id: id({ description: 'Absent if the realm does not have the user name' }),
    owner_id: id({ description: 'The user who owns the device' }),
    trunk_id: id({ description: 'Trunks with a server that has the user name or the address' }),
    server: anyText({ description: 'Server of the trunks: its name, else its position' }),
    method: choice(['ip'], {
      description: 'Present where a device or server is known by its address: no password is asked for',
    }),
    ha1: anyText({
      description:
        'With `credentials`: MD5 of `username:realm:password`, names as asked, of a device or server that signs in by password',
    }),
    expires_s: integer({ description: 'With `credentials`: how long a registration of the device lasts' }),
    access_lists: must(
      open({ realm: List, device: List }, { description: 'A list without a stored value is absent' }),
    ),
    rate_limits: must(
      open({ account: must(Limits), device: must(Limits) }, { description: '-1: all packets are refused' }),
    ),
    max_age_s: must(integer({ description: 'Seconds that the answer may be kept' })),
    allowed: flag({
      description:
        'Whether the access lists allow the address; present if the request has one, or if all packets are refused',
    }),
    reason: anyText({
      description:
        'Reason: `account_disabled`, `user_disabled`, `device_disabled`, `trunk_disabled`, or the result of the access lists',
    }),
  },
  { title: 'Edge decision' },
)
export type EdgeAnswer = Static<typeof EdgeAnswer>

export const CarrierAnswer = open(
  {
    allowed: must(flag()),
    resource_id: id({ description: 'Carrier with the address' }),
    account_id: id({ description: 'The account of the carrier; absent for carriers of the whole system' }),
    reason: must(anyText({ description: '`carrier`, `carrier_of_account` or `unknown_address`' })),
    max_age_s: must(integer({ description: 'Seconds that the answer may be kept' })),
  },
  { title: 'Carrier decision' },
)
export type CarrierAnswer = Static<typeof CarrierAnswer>

/** The answer of `GET /v2/edge` for one sender. */
export const EdgeExportRow = open(
  {
    username: anyText({
      description: 'The SIP user name; without it and without an address: unknown senders of the realm',
    }),
    address: anyText({ description: 'Source addresses that identify its packets' }),
    ...EdgeAnswer.properties,
  },
  { title: 'Row of the export of a realm' },
)
export type EdgeExportRow = Static<typeof EdgeExportRow>

// Gregorian seconds of 11 digits end in the year 3168.
const at = must(integer({ minimum: 0, maximum: 99_999_999_999, description: 'When (Gregorian seconds)' }))

export const EdgeRefusal = open(
  {
    realm: must(text(1, 253, { description: 'Realm of the packet' })),
    username: text(0, 256, { description: 'The SIP user name it named' }),
    address: text(0, 64, { description: 'Source address' }),
    user_agent: text(0, 512, { description: 'User agent of the packet' }),
    method: text(1, 32, { description: 'REGISTER, INVITE, ...' }),
    number: text(0, 64, { description: 'Called party' }),
    reason: must(
      text(1, 64, {
        pattern: '^[a-z0-9_]+$',
        description: 'As `/v2/edge` and `/v2/edge/route` give it, or one of the edge: `wrong_password`',
      }),
    ),
    module: text(1, 64, { description: 'The module of a call flow that needs a media server' }),
    sip_code: must(integer({ minimum: 300, maximum: 699, description: 'Response' })),
    at,
  },
  { ...multiline, title: 'Refusal at an edge' },
)
export type EdgeRefusal = Static<typeof EdgeRefusal>

export const EdgeEmergency = open(
  {
    account_id: must(id({ description: 'Owner of the call' })),
    device_id: id({ description: 'The device that calls' }),
    call_id: must(text(1, 256)),
    number: must(text(1, 64, { description: 'Dialed number' })),
    caller_id_number: text(0, 64, { description: 'The number that emergency services call back' }),
    address: text(0, 64, { description: 'Source of the call' }),
    at,
  },
  { title: 'Emergency call at an edge' },
)
export type EdgeEmergency = Static<typeof EdgeEmergency>

/** Each entry is validated separately, so an invalid one does not hold up the others. */
export const EdgeReports = open(
  {
    records: list(anyObject(), { description: 'Call detail records, one a leg' }),
    refusals: list(EdgeRefusal),
    emergencies: list(EdgeEmergency),
  },
  { title: 'Reports of an edge' },
)

const count = (description: string) => must(integer({ minimum: 0, description }))

const Rejected = list(
  open({
    line: must(integer({ description: 'Which one, counted from 1' })),
    reason: must(anyText()),
  }),
)

export const EdgeReportsTaken = open(
  {
    records: must(IntakeReport),
    refusals: must(
      open({
        told: count('Refusals reported in the feeds of their accounts'),
        repeated: count('Refusals equal to one reported within the last minute'),
        unknown: count('Refusals of unknown realms'),
        rejected: must(Rejected),
      }),
    ),
    emergencies: open(
      {
        told: count('Emergency calls that are in the feeds of their accounts'),
        rejected: must(Rejected),
      },
      { description: 'If events were reported' },
    ),
  },
  { title: 'Results of the reports of an edge' },
)
export type EdgeReportsTaken = Static<typeof EdgeReportsTaken>
