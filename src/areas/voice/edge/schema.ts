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
    device_id: id({ description: 'Absent when the realm has no such user name' }),
    owner_id: id({ description: 'The user who owns the device' }),
    trunk_id: id({ description: 'The trunks of which a server has that user name, or that address' }),
    server: anyText({ description: 'The server of the trunks: its name, else its place' }),
    method: choice(['ip'], {
      description: 'Present where a device or server is known by its address: no password is asked for',
    }),
    ha1: anyText({
      description:
        'With `credentials`: MD5 of `username:realm:password`, names as asked, of a device or server that signs in by password',
    }),
    expires_s: integer({ description: 'With `credentials`: how long a registration of the device lasts' }),
    access_lists: must(
      open({ realm: List, device: List }, { description: 'A list that is not kept is absent' }),
    ),
    rate_limits: must(
      open({ account: must(Limits), device: must(Limits) }, { description: '-1: nothing may pass' }),
    ),
    max_age_s: must(integer({ description: 'Seconds that the answer may be kept' })),
    allowed: flag({
      description:
        'Whether the access lists let the address in; when one was given, or when nothing may pass',
    }),
    reason: anyText({
      description:
        'Why: `account_disabled`, `user_disabled`, `device_disabled`, `trunk_disabled`, or what the access lists came to',
    }),
  },
  { title: 'Edge decision' },
)
export type EdgeAnswer = Static<typeof EdgeAnswer>

export const CarrierAnswer = open(
  {
    allowed: must(flag()),
    resource_id: id({ description: 'The carrier that the address belongs to' }),
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
    address: anyText({ description: 'Where packets come from that are known by that' }),
    ...EdgeAnswer.properties,
  },
  { title: 'Row of the export of a realm' },
)
export type EdgeExportRow = Static<typeof EdgeExportRow>

// Gregorian seconds of 11 digits end in the year 3168.
const at = must(integer({ minimum: 0, maximum: 99_999_999_999, description: 'When (Gregorian seconds)' }))

export const EdgeRefusal = open(
  {
    realm: must(text(1, 253, { description: 'The realm the packet named' })),
    username: text(0, 256, { description: 'The SIP user name it named' }),
    address: text(0, 64, { description: 'Where it came from' }),
    user_agent: text(0, 512, { description: 'User agent of the packet' }),
    method: text(1, 32, { description: 'REGISTER, INVITE, ...' }),
    number: text(0, 64, { description: 'Whom it called' }),
    reason: must(
      text(1, 64, {
        pattern: '^[a-z0-9_]+$',
        description: 'As `/v2/edge` and `/v2/edge/route` give it, or one of the edge: `wrong_password`',
      }),
    ),
    module: text(1, 64, { description: 'The module of a call flow that needs a media server' }),
    sip_code: must(integer({ minimum: 300, maximum: 699, description: 'What it was answered with' })),
    at,
  },
  { ...multiline, title: 'Refusal at an edge' },
)
export type EdgeRefusal = Static<typeof EdgeRefusal>

export const EdgeEmergency = open(
  {
    account_id: must(id({ description: 'Whose call it is' })),
    device_id: id({ description: 'The device that calls' }),
    call_id: must(text(1, 256)),
    number: must(text(1, 64, { description: 'What was dialled' })),
    caller_id_number: text(0, 64, { description: 'The number that emergency services call back' }),
    address: text(0, 64, { description: 'Where the call came from' }),
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
      { description: 'When some were reported' },
    ),
  },
  { title: 'Results of the reports of an edge' },
)
export type EdgeReportsTaken = Static<typeof EdgeReportsTaken>
