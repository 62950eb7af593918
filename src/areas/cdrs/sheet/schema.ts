import { anyObject, anyText, list, must, open, typed } from '../../../lib/schema.ts'

const cell = (description?: string) => anyText(description ? { description } : {})
const count = (description: string) =>
  typed(['integer', 'string'], { description: `${description}; "" when unknown` })

/** A row of a list: the columns of CSV files, and the fields of the record that have other names. */
export const CdrListRow = open(
  {
    id: must(cell('YYYYMM-<call_id>')),
    call_id: must(cell()),
    caller_id_number: cell(),
    caller_id_name: cell(),
    callee_id_number: cell(),
    callee_id_name: cell(),
    duration_seconds: count('Duration of the leg'),
    billing_seconds: count('Seconds since the answer'),
    timestamp: must(cell('Start of the leg, Gregorian seconds')),
    hangup_cause: cell(),
    other_leg_call_id: cell(),
    owner_id: cell('The user whose call it is'),
    to: cell(),
    from: cell(),
    direction: cell('inbound or outbound, as the media switch sees it'),
    request: cell(),
    authorizing_id: cell('The device, most often'),
    cost: must(cell('Units, 10,000 to one')),
    dialed_number: cell(),
    calling_from: cell(),
    datetime: cell('Start, YYYY-MM-DD HH:MM:SS, moved by utc_offset'),
    unix_timestamp: must(cell('Start, Unix seconds')),
    unix_timestamp_micro: must(cell('Creation of the channel, Unix seconds with six decimals')),
    rfc_1036: cell(),
    iso_8601: cell('Date of the start'),
    iso_8601_combined: cell(),
    call_type: cell(),
    rate: cell('Price of a minute in money'),
    rate_name: cell(),
    bridge_id: cell(),
    recording_url: cell(),
    media_recordings: list(typed(['string', 'object', 'array', 'number', 'boolean'])),
    media_server: cell(),
    call_priority: cell(),
    interaction_id: must(cell()),
    reseller_cost: cell('Only when the caller is a reseller'),
    reseller_call_type: cell('Only when the caller is a reseller'),
    custom_channel_vars: anyObject(),
  },
  { title: 'Call detail record row' },
)
