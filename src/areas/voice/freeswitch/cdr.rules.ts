// How a leg of mod_json_cdr becomes a call record. Each field is read from the first variable that exists; missing parts and
// wrong types are accepted.

import { gregorianUnixOffset } from '../../../lib/gregorian.ts'
import { isObject, type Json, present } from '../../../lib/json.ts'
import { memberOf } from '../../../lib/member.ts'
import { storedCallId } from '../../calls/cdrs/intake/rules.ts'

export type SwitchLeg = ReturnType<typeof switchLegOf>

export type AccountHint = { accountId: string; realm?: undefined } | { realm: string; accountId?: undefined }

const objectIn = (holder: unknown, ...path: string[]): Json => {
  const value = memberOf(holder, ...path)
  return isObject(value) ? value : {}
}

const listIn = (holder: unknown, ...path: string[]): unknown[] => {
  const value = memberOf(holder, ...path)
  return Array.isArray(value) ? value : []
}

const textOf = (value: unknown): string | undefined => {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A whole number that is not negative. Versions of FreeSWITCH write numbers as text or as numbers. */
const countOf = (value: unknown): number | undefined => {
  const text = textOf(value)
  return text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : undefined
}

/** A time. 0 means never. */
const momentOf = (value: unknown) => countOf(value) || undefined

const isSet = (value: unknown) => value === true || value === 'true' || value === '1' || value === 1

/** An address without its scheme: `user@host`. */
const addressWithoutScheme = (text: string | undefined) => text?.replace(/^<?sips?:/, '').replace(/>$/, '')

const hostOfAddress = (address: unknown) =>
  textOf(address)
    ?.split('@')[1]
    ?.replace(/[:;].*$/, '')

type Reader = ReturnType<typeof createReader>

const createReader = (leg: Json) => {
  const variables = objectIn(leg, 'variables')
  // The newest entry of the call flow comes first.
  const callflow = listIn(leg, 'callflow')

  const profileOf = (side: 'originator' | 'originatee') =>
    callflow
      .map((entry) => listIn(entry, 'caller_profile', side, `${side}_caller_profiles`)[0])
      .find((profile) => isObject(profile)) ?? {}

  /** The first variable that has a text. */
  const first = (...names: string[]): string | undefined => {
    for (const name of names) {
      const text = textOf(variables[name])
      if (text !== undefined) return text
    }
    return undefined
  }

  const direction = textOf(memberOf(leg, 'channel_data', 'direction')) ?? first('direction')
  return {
    leg,
    variables,
    profile: objectIn(callflow[0], 'caller_profile'),
    times: objectIn(callflow[0], 'times'),
    originator: profileOf('originator'),
    originatee: profileOf('originatee'),
    direction: direction === 'inbound' || direction === 'outbound' ? direction : undefined,
    first,
  }
}

/** A wrong text stays, so that the record is rejected and not billed as a call without the value. */
const billedCountOf = (text: string | undefined) => countOf(text) ?? text

const timesOf = ({ first, times }: Reader) => {
  const hungUp = momentOf(times.hangup_time)
  const ended = momentOf(first('end_epoch')) ?? (hungUp && Math.floor(hungUp / 1_000_000))
  return {
    channel_created_time: momentOf(times.created_time) ?? momentOf(first('start_uepoch')),
    timestamp: ended === undefined ? undefined : ended + gregorianUnixOffset,
    duration_seconds: billedCountOf(first('duration')),
    billing_seconds: billedCountOf(first('billsec')),
    ringing_seconds: countOf(first('progresssec')),
  }
}

const addressesOf = ({ first }: Reader) => ({
  from: addressWithoutScheme(
    first('sip_from_uri', 'presence_id', 'sip_invite_from_uri', 'sip_loopback_from_uri', 'cdr_uri_from'),
  ),
  from_uri: addressWithoutScheme(first('sip_from_uri', 'sip_invite_from_uri')),
  from_tag: first('sip_from_tag'),
  to: addressWithoutScheme(
    first('sip_to_uri', 'sip_invite_to_uri', 'sip_req_uri', 'sip_invite_req_uri', 'cdr_uri_to'),
  ),
  to_uri: addressWithoutScheme(first('sip_to_uri', 'sip_invite_to_uri')),
  to_tag: first('sip_to_tag'),
  request: addressWithoutScheme(
    first(
      'sip_req_uri',
      'sip_invite_req_uri',
      'sip_loopback_req_uri',
      'sip_to_uri',
      'sip_invite_to_uri',
      'cdr_uri_request',
    ),
  ),
  presence_id: first('presence_id'),
  user_agent: first('sip_user_agent'),
})

type Part = 'name' | 'number'

/** The called party, from the profile of the other leg. The caller ID of an originatee is that of the caller. */
const calledInProfile = ({ originator, originatee }: Reader, part: Part) => {
  if (memberOf(originator, 'uuid') !== undefined) return textOf(memberOf(originator, `caller_id_${part}`))
  const called = textOf(memberOf(originatee, `callee_id_${part}`))
  return called ?? (part === 'number' ? textOf(memberOf(originatee, 'destination_number')) : undefined)
}

const calledPart = (reader: Reader, part: Part) => {
  const { first, profile, direction } = reader
  return (
    (direction === 'outbound' ? first(`origination_callee_id_${part}`) : undefined) ??
    first(`effective_callee_id_${part}`) ??
    textOf(profile[`callee_id_${part}`]) ??
    calledInProfile(reader, part)
  )
}

const callingPart = ({ first, profile }: Reader, part: Part) =>
  first(`origination_caller_id_${part}`, `effective_caller_id_${part}`) ??
  textOf(profile[`caller_id_${part}`])

const otherLegOf = ({ first, originator, originatee }: Reader) => {
  const [from, to] = [textOf(memberOf(originator, 'uuid')), textOf(memberOf(originatee, 'uuid'))]
  const isOriginated = memberOf(originator, 'uuid') !== undefined
  const other = isOriginated ? originator : originatee
  const isOriginator = memberOf(originatee, 'uuid') !== undefined
  return {
    other_leg_call_id: first('bridge_uuid', 'originating_leg_uuid') ?? from ?? to,
    other_leg_caller_id_name: textOf(memberOf(other, 'caller_id_name')),
    other_leg_caller_id_number: textOf(memberOf(other, 'caller_id_number')),
    other_leg_destination_number: textOf(memberOf(other, 'destination_number')),
    other_leg_direction: isOriginated ? 'inbound' : isOriginator ? 'outbound' : undefined,
  }
}

const hangupCauseOf = ({ first, direction }: Reader) => {
  const ending = first('endpoint_disposition')
  if (ending === 'BLIND_TRANSFER' || ending === 'ATTENDED_TRANSFER') return ending
  const general = first('hangup_cause')
  if (direction === 'outbound') return first('last_bridge_hangup_cause') ?? general
  if (first('current_application', 'last_app') !== 'bridge') return general
  const bridged = first('bridge_hangup_cause')
  return (bridged === 'BOWOUT' ? undefined : bridged) ?? first('originate_failed_cause') ?? general
}

const faxOf = ({ first, variables }: Reader) => ({
  fax_result_text: first('fax_result_text'),
  fax_result_code: first('fax_result_code'),
  fax_success: first('fax_success'),
  fax_ecm_used: first('fax_ecm_used'),
  fax_transferred_pages: first('fax_document_transferred_pages'),
  fax_total_pages: first('fax_document_total_pages'),
  fax_bad_rows: first('fax_bad_rows'),
  fax_transfer_rate: first('fax_transfer_rate'),
  fax_t38: variables.has_t38 === undefined ? undefined : isSet(variables.has_t38),
})

const switchOf = ({ leg, variables, first, profile }: Reader) => ({
  media_server: textOf(leg.switchname),
  switch_hostname: textOf(leg.switchname),
  node: textOf(leg['core-uuid']),
  channel_name: first('channel_name') ?? textOf(profile.chan_name),
  channel_state: textOf(memberOf(leg, 'channel_data', 'state')),
  local_sdp: first('rtp_local_sdp_str'),
  remote_sdp: first('switch_r_sdp'),
  digits_dialed: first('digits_dialed') === 'none' ? undefined : first('digits_dialed'),
  channel_is_loopback: isSet(variables.is_loopback) || undefined,
  channel_loopback_leg: first('loopback_leg'),
  channel_loopback_bowout: first('loopback_hangup_cause') === 'bowout' || undefined,
})

const countedVars = new Set([
  'rate',
  'rate_increment',
  'rate_minimum',
  'rate_nocharge_time',
  'surcharge',
  'discount_percentage',
  'billing_seconds_offset',
])

const valueOfVar = (name: string, value: unknown) => {
  if (countedVars.has(name)) return countOf(value) ?? value
  return value === 'true' || value === 'false' ? value === 'true' : value
}

/** Variables with a prefix, by their names without it. */
const variablesAfter = ({ variables }: Reader, prefix: string) =>
  Object.entries(variables).flatMap(([name, value]) =>
    name.startsWith(prefix) ? [[name.slice(prefix.length), value] as const] : [],
  )

const channelVarsOf = (reader: Reader): Json => {
  const found = ['sip_h_X-ecallmgr_', 'ecallmgr_'].flatMap((prefix) =>
    variablesAfter(reader, prefix).map(([name, value]) => {
      const short = name.replaceAll('-', '_').toLowerCase()
      return [short, valueOfVar(short, value)] as const
    }),
  )
  return { ...present({ fetch_id: reader.first('fetch_id') }), ...Object.fromEntries(found) }
}

const platformHeader = /^(?:X-AUTH|X-FS-|X-Proxy-Core|X-ecallmgr_|Referred-By$|Refer-To$|Diversion$)/i

/** Headers that came with an inbound leg, or went with an outbound one. */
const sipHeadersOf = (reader: Reader): Json | undefined => {
  const headers = variablesAfter(reader, 'sip_h_').filter(
    ([name]) => !platformHeader.test(name) && /^[A-Za-z0-9_-]+$/.test(name),
  )
  if (headers.length === 0) return undefined
  return { [reader.direction === 'outbound' ? 'out' : 'in']: Object.fromEntries(headers) }
}

const accountHintsOf = ({ first }: Reader, vars: Json, { from, to, request }: Json): AccountHint[] => {
  const own = textOf(vars.account_id)
  if (own) return [{ accountId: own }]
  const code = first('accountcode')
  const realms = new Set([
    first('domain_name'),
    hostOfAddress(from),
    hostOfAddress(to),
    hostOfAddress(request),
  ])
  return [
    ...(code ? [{ accountId: code }, { realm: code }] : []),
    ...[...realms].flatMap((realm) => (realm ? [{ realm }] : [])),
  ]
}

/**
 * Legs that an attended transfer connected with this one. The leg of the transferring party names the new leg; the other
 * legs contain that there was a transfer, and their last peer.
 */
const transferredWith = ({ first }: Reader): string[] => {
  const target = /^att:(\S+)$/.exec(first('transfer_to') ?? '')?.[1]
  const sources = [first('transfer_source'), first('transfer_history')]
  const isTransferred =
    first('endpoint_disposition') === 'ATTENDED_TRANSFER' ||
    sources.some((source) => source?.includes(':att_xfer:'))
  const last = isTransferred ? first('bridge_uuid', 'last_bridge_to') : undefined
  return [target, last].filter((id) => id !== undefined)
}

export const switchLegOf = (posted: Json) => {
  const reader = createReader(posted)
  const { first, originator, profile, direction } = reader
  const callId = first('uuid') ?? textOf(profile.uuid)
  // These variables of the channel are fields of the record.
  const {
    call_interaction_id: interactionId,
    recording_url,
    e164_destination,
    e164_origination,
    did_classifier,
    is_conference,
    ...vars
  } = channelVarsOf(reader)
  const interaction = textOf(interactionId)
  const record: Json = present({
    call_id: callId,
    call_direction: direction,
    ...timesOf(reader),
    ...addressesOf(reader),
    caller_id_name: callingPart(reader, 'name'),
    caller_id_number: callingPart(reader, 'number'),
    callee_id_name: calledPart(reader, 'name'),
    callee_id_number: calledPart(reader, 'number'),
    ...otherLegOf(reader),
    hangup_cause: hangupCauseOf(reader),
    hangup_code: first('last_bridge_proto_specific_hangup_cause', 'proto_specific_hangup_cause'),
    disposition: first('sip_hangup_disposition', 'originate_disposition', 'endpoint_disposition'),
    ...faxOf(reader),
    ...switchOf(reader),
    custom_sip_headers: sipHeadersOf(reader),
    interaction_id: interaction,
    recording_url,
    e164_destination,
    e164_origination,
    did_classifier,
    is_conference,
    custom_channel_vars: vars,
  })
  const root = first('originating_leg_uuid') ?? textOf(memberOf(originator, 'uuid')) ?? callId
  return {
    callId,
    record,
    /** Hints for the account, most reliable first. */
    accountHints: accountHintsOf(reader, vars, record),
    /**
     * The leg that originated it, else the leg itself, and the legs that an attended transfer connected with it. Undefined:
     * the record names its interaction.
     */
    joins:
      interaction === undefined && root !== undefined
        ? { callId: storedCallId(root), transferred: transferredWith(reader).map(storedCallId) }
        : undefined,
    /** The applications that ran. */
    apps: listIn(posted, 'app_log', 'applications').flatMap((app) => textOf(memberOf(app, 'app_name')) ?? []),
  }
}

/** Legs that are never stored, whatever the settings. */
export const isUnwanted = ({ record }: SwitchLeg) => record.hangup_cause === 'WRONG_CALL_STATE'

/** Whether the end of the call is unknown. Such a leg would be stored with a duration of 0 seconds. */
export const lacksEnd = ({ record }: SwitchLeg) =>
  record.timestamp === undefined && record.duration_seconds === undefined
