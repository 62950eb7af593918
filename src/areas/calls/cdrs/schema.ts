import type { Static } from 'typebox'
import { SipHeaders } from '../../../lib/call-shapes.ts'
import {
  anyObject,
  anyText,
  choice,
  flag,
  gregorian,
  id,
  integer,
  list,
  multiline,
  must,
  number,
  open,
  text,
  typed,
} from '../../../lib/schema.ts'
import { type SheetCell, sheetFor } from './sheet/columns.ts'

/** Longer call ids are shortened. */
export const maxCallIdCharacters = 255

// Three years, and 100,000 units a minute: every cost stays exact.
const secondsField = (description: string) => integer({ minimum: 0, maximum: 100_000_000, description })
const packets = (description: string) => integer({ minimum: 0, maximum: 999_999_999, description })
const units = (description: string) =>
  integer({ minimum: 0, maximum: 1_000_000_000, description: `${description} (units, 10,000 to one)` })

const exactUnits = (description: string) =>
  text(1, 20, { pattern: '^\\d{1,10}(?:\\.\\d{1,6})?$', description: `${description} of units` })

// The far end of a call chooses the id.
const callId = (shortest: number, notes: { description?: string } = {}) =>
  text(shortest, maxCallIdCharacters, { ...multiline, ...notes })

const resourceTypes = [
  'offnet-origination',
  'offnet-termination',
  'onnet-origination',
  'onnet-termination',
] as const

const CustomChannelVars = open(
  {
    account_id: id(),
    owner_id: text(0, 128, { description: 'User of the call' }),
    authorizing_id: anyText({ description: 'Usually the device that was authorized to call' }),
    application_name: anyText({ description: 'The application that took the call' }),
    authorizing_type: anyText({ description: 'device, trunk, mobile, resource, outbound_fax' }),
    bridge_id: callId(0),
    resource_id: anyText({ description: 'The carrier route' }),
    resource_type: choice(resourceTypes, {
      description: 'Origin or destination of the call outside the platform',
    }),
    attestation: anyText({
      description: 'A, B or C: attestation of the caller by the carrier (STIR/SHAKEN), unverified',
    }),
    refusal_reason: anyText({ description: 'Reason of the refusal, as in `/v2/edge/route`' }),
    refusal_module: anyText({ description: 'The module of the call flow that needs a media server' }),
    account_billing: anyText({
      description: 'per_minute: the call has a cost. A record with an unknown kind is rejected',
    }),
    e164_destination: anyText({
      description: 'External number: it determines the price of the call',
    }),
    reseller_billing: anyText(),
    reseller_id: anyText(),
    global_resource: flag({ description: "Whether the resource is the system's, not an account's" }),
    rate: units('Price of a minute'),
    rate_name: anyText(),
    rate_id: anyText({ description: 'Rate at the time of the record' }),
    rate_description: anyText(),
    ratedeck_id: anyText(),
    rate_increment: secondsField('Billing increment in seconds; 0 counts as 60'),
    rate_minimum: secondsField('Minimum charged seconds; absent: 60'),
    rate_nocharge_time: secondsField('Calls of at most this duration are free'),
    surcharge: units('Price for each call'),
    exact_rate: exactUnits('Price of a minute, if it is not a whole number'),
    exact_surcharge: exactUnits('Price for each call, if it is not a whole number'),
    discount_percentage: number({ minimum: 0, maximum: 100 }),
    billing_seconds_offset: secondsField('Seconds that are not charged'),
    call_priority: anyText(),
    media_recordings: typed(['string', 'array']),
  },
  { description: 'Properties of the platform, and others that the switch sends' },
)

/** One leg of a call. Unknown fields are kept. */
export const Cdr = open(
  {
    call_id: must(callId(1, { description: 'Unique id of the leg' })),
    call_direction: choice(['inbound', 'outbound'], { description: 'As the media switch sees it' }),
    duration_seconds: secondsField('Duration of the leg'),
    billing_seconds: secondsField('Seconds since the answer'),
    ringing_seconds: secondsField('Seconds before the answer'),
    timestamp: gregorian('Creation time of the record'),
    channel_created_time: integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Unix time in microseconds',
    }),
    interaction_id: anyText({ description: '<interaction_time>-<interaction_key>' }),
    interaction_time: gregorian('Start of the interaction'),
    interaction_key: text(1, 64, { pattern: '^[A-Za-z0-9_]*$' }),
    app_name: anyText(),
    app_version: anyText(),
    caller_id_name: anyText(),
    caller_id_number: anyText(),
    callee_id_name: anyText(),
    callee_id_number: anyText(),
    channel_call_state: anyText(),
    channel_name: anyText(),
    channel_state: anyText(),
    channel_is_loopback: flag(),
    channel_loopback_leg: anyText({ description: 'A or B' }),
    channel_loopback_bowout: flag({ description: 'A loopback channel that left the call by a bowout' }),
    custom_application_vars: anyObject(),
    custom_channel_vars: CustomChannelVars,
    custom_sip_headers: open(
      { in: SipHeaders, out: SipHeaders },
      { description: 'By direction, then by name' },
    ),
    digits_dialed: anyText(),
    disposition: anyText({ description: 'Who ended the call' }),
    event_category: anyText(),
    event_name: anyText(),
    msg_id: anyText(),
    fax_bad_rows: anyText(),
    fax_ecm_used: anyText(),
    fax_result_code: anyText(),
    fax_result_text: anyText(),
    fax_success: anyText(),
    fax_t38: flag(),
    fax_total_pages: anyText(),
    fax_transfer_rate: anyText(),
    fax_transferred_pages: anyText(),
    from: anyText(),
    from_tag: anyText(),
    from_uri: anyText(),
    to: anyText(),
    to_tag: anyText(),
    to_uri: anyText(),
    request: anyText(),
    hangup_cause: anyText(),
    hangup_code: anyText({ description: 'sip:486 and the like' }),
    local_sdp: anyText(multiline),
    remote_sdp: anyText(multiline),
    media_server: anyText(),
    media_quality: open(
      {
        packets_sent: packets('Sent voice packets'),
        packets_received: packets('Received voice packets'),
        packets_lost: packets('Lost voice packets'),
        jitter_ms: packets('Jitter in milliseconds'),
      },
      { description: 'Voice quality reported by the phone of this leg at hang-up' },
    ),
    recording_url: anyText(),
    switch_hostname: anyText(),
    switch_nodename: anyText(),
    switch_uri: anyText(),
    switch_url: anyText(),
    node: anyText(),
    other_leg_call_id: callId(0),
    other_leg_caller_id_name: anyText(),
    other_leg_caller_id_number: anyText(),
    other_leg_destination_number: anyText(),
    other_leg_direction: anyText(),
    presence_id: anyText(),
    user_agent: anyText(),
  },
  { title: 'Call detail record' },
)
export type Cdr = Static<typeof Cdr>

const schemaOf = ({ holds, about, isFilled }: SheetCell) => {
  if (holds === 'list') return list(typed(['string', 'object', 'array', 'number', 'boolean']))
  if (holds === 'integer') return typed(['integer', 'string'], { description: `${about}; "" when unknown` })
  const text = anyText(about ? { description: about } : {})
  return isFilled ? must(text) : text
}

/** A row of a list: the CSV columns, and the other fields of the record. */
export const CdrListRow = open(
  {
    ...Object.fromEntries(sheetFor(true).map((cell) => [cell.name, schemaOf(cell)])),
    custom_channel_vars: anyObject(),
  },
  { title: 'Call detail record row' },
)

export const CallStat = open(
  {
    start: must(gregorian('Start of the interval')),
    calls: must(integer({ minimum: 0, description: 'Legs' })),
    answered: must(integer({ minimum: 0, description: 'Legs with billing seconds' })),
    answer_seizure_ratio: must(number({ minimum: 0, maximum: 1, description: 'answered / calls' })),
    average_call_duration: must(
      number({ minimum: 0, description: 'Billing seconds of an answered call on average' }),
    ),
    duration_seconds: must(integer({ minimum: 0 })),
    billing_seconds: must(integer({ minimum: 0 })),
    cost: must(integer({ description: 'Units, 10,000 to one' })),
    group: anyText({
      description: 'With group_by: the common value of these calls; empty if they have none',
    }),
  },
  { title: 'Call statistics of an interval' },
)

const recordCount = (description: string) => must(integer({ minimum: 0, description }))

/** Each record is validated separately, so that an invalid one does not stop the others. */
export const CdrRecords = list(anyObject(), { title: 'Call detail records', description: 'One record a leg' })

export const IntakeReport = open(
  {
    accepted: recordCount('Newly stored records'),
    duplicates: recordCount('Records with an ID that was already stored'),
    ignored: recordCount(
      'Records that the settings of cdr ignore: test applications, loopback legs that left by a bowout',
    ),
    rejected: must(
      list(
        open({
          line: must(integer({ description: 'Which record, counted from 1' })),
          reason: must(anyText()),
        }),
        { description: 'The first 1,000 refused records, with reasons' },
      ),
    ),
    rejected_total: recordCount('Number of refused records'),
  },
  { title: 'Results of call detail records' },
)
export type IntakeReport = Static<typeof IntakeReport>
