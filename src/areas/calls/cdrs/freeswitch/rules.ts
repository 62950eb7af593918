import { gregorianUnixOffset } from '../../../../lib/gregorian.ts'
import type { Json } from '../../../../lib/json.ts'
import { storedCallId } from '../intake/rules.ts'
import {
  addressOf,
  countOf,
  createReader,
  directionOf,
  hostOf,
  isSet,
  listIn,
  momentOf,
  objectIn,
  type Reader,
  textOf,
} from './reader.ts'

// How a leg of FreeSWITCH becomes a record. Each field is read from the first variable that exists.

/** Legs that belong to the same interaction as a leg. */
export interface Joins {
  /** The leg that originated it, else the leg itself. */
  callId: string
  /** Legs that an attended transfer connected with it. */
  transferred: readonly string[]
}

export interface SwitchLeg {
  callId: string | undefined
  record: Json
  /** What names the account, the most certain first. */
  accountHints: AccountHint[]
  /** Undefined: the record names its interaction. */
  joins: Joins | undefined
  apps: string[]
}

export type AccountHint = { accountId: string } | { realm: string }

const callIdOf = ({ first, profile }: Reader) => first('uuid') ?? textOf(profile.uuid)

const otherProfile = ({ originator, originatee }: Reader) =>
  originator.uuid === undefined
    ? { profile: originatee, direction: originatee.uuid === undefined ? undefined : 'outbound' }
    : { profile: originator, direction: 'inbound' }

/** A wrong text stays, so that the record is rejected and not billed as a call without the value. */
const billedCountOf = (text: string | undefined) => countOf(text) ?? text

const timesOf = (reader: Reader) => {
  const { first, times } = reader
  const ended = momentOf(first('end_epoch')) ?? microsecondsToSeconds(momentOf(times.hangup_time))
  return {
    channel_created_time: momentOf(times.created_time) ?? momentOf(first('start_uepoch')),
    timestamp: ended === undefined ? undefined : ended + gregorianUnixOffset,
    duration_seconds: billedCountOf(first('duration')),
    billing_seconds: billedCountOf(first('billsec')),
    ringing_seconds: countOf(first('progresssec')),
  }
}

const microsecondsToSeconds = (moment: number | undefined) =>
  moment === undefined ? undefined : Math.floor(moment / 1_000_000)

const addressesOf = ({ first }: Reader) => ({
  from: addressOf(
    first('sip_from_uri', 'presence_id', 'sip_invite_from_uri', 'sip_loopback_from_uri', 'cdr_uri_from'),
  ),
  from_uri: addressOf(first('sip_from_uri', 'sip_invite_from_uri')),
  from_tag: first('sip_from_tag'),
  to: addressOf(first('sip_to_uri', 'sip_invite_to_uri', 'sip_req_uri', 'sip_invite_req_uri', 'cdr_uri_to')),
  to_uri: addressOf(first('sip_to_uri', 'sip_invite_to_uri')),
  to_tag: first('sip_to_tag'),
  request: addressOf(
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

/**
 * The called party, from the profile of the other leg. The caller ID of an originatee is that of the caller.
 */
const calledInProfile = ({ originator, originatee }: Reader, part: 'name' | 'number') => {
  if (originator.uuid !== undefined) return textOf(originator[`caller_id_${part}`])
  return (
    textOf(originatee[`callee_id_${part}`]) ??
    (part === 'number' ? textOf(originatee.destination_number) : undefined)
  )
}

const calledPart = (reader: Reader, part: 'name' | 'number') => {
  const { first, profile } = reader
  const isOutbound = directionOf(reader) === 'outbound'
  return (
    (isOutbound ? first(`origination_callee_id_${part}`) : undefined) ??
    first(`effective_callee_id_${part}`) ??
    textOf(profile[`callee_id_${part}`]) ??
    calledInProfile(reader, part)
  )
}

const callingPart = ({ first, profile }: Reader, part: 'name' | 'number') =>
  first(`origination_caller_id_${part}`, `effective_caller_id_${part}`) ??
  textOf(profile[`caller_id_${part}`])

const otherLegOf = (reader: Reader) => {
  const { first, originator, originatee } = reader
  const other = otherProfile(reader)
  const callId =
    first('bridge_uuid', 'originating_leg_uuid') ?? textOf(originator.uuid) ?? textOf(originatee.uuid)
  return {
    other_leg_call_id: callId,
    other_leg_caller_id_name: textOf(other.profile.caller_id_name),
    other_leg_caller_id_number: textOf(other.profile.caller_id_number),
    other_leg_destination_number: textOf(other.profile.destination_number),
    other_leg_direction: other.direction,
  }
}

const hangupCauseOf = (reader: Reader) => {
  const { first } = reader
  const ending = first('endpoint_disposition')
  if (ending === 'BLIND_TRANSFER' || ending === 'ATTENDED_TRANSFER') return ending
  const general = first('hangup_cause')
  if (directionOf(reader) === 'outbound') return first('last_bridge_hangup_cause') ?? general
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
  channel_state: textOf(objectIn(leg, 'channel_data').state),
  local_sdp: first('rtp_local_sdp_str'),
  remote_sdp: first('switch_r_sdp'),
  digits_dialed: first('digits_dialed') === 'none' ? undefined : first('digits_dialed'),
  channel_is_loopback: isSet(variables.is_loopback) || undefined,
  channel_loopback_leg: first('loopback_leg'),
  channel_loopback_bowout: first('loopback_hangup_cause') === 'bowout' || undefined,
})

const varPrefixes = ['ecallmgr_', 'sip_h_X-ecallmgr_']

const snakeCase = (name: string) => name.replaceAll('-', '_').toLowerCase()

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
  if (value === 'true' || value === 'false') return value === 'true'
  return value
}

const channelVarsOf = ({ variables, first }: Reader): Json => {
  const found: Json = {}
  for (const prefix of varPrefixes.toReversed()) {
    for (const [name, value] of Object.entries(variables)) {
      if (!name.startsWith(prefix)) continue
      const short = snakeCase(name.slice(prefix.length))
      found[short] = valueOfVar(short, value)
    }
  }
  const fetchId = first('fetch_id')
  return fetchId === undefined ? found : { fetch_id: fetchId, ...found }
}

const headerPrefix = 'sip_h_'
const headerName = /^[A-Za-z0-9_-]+$/
const platformHeader = /^(?:X-AUTH|X-FS-|X-Proxy-Core|X-ecallmgr_|Referred-By$|Refer-To$|Diversion$)/i

const sipHeadersOf = (reader: Reader): Json | undefined => {
  const headers: Json = {}
  for (const [variable, value] of Object.entries(reader.variables)) {
    const name = variable.slice(headerPrefix.length)
    if (!variable.startsWith(headerPrefix) || platformHeader.test(name) || !headerName.test(name)) continue
    headers[name] = value
  }
  if (Object.keys(headers).length === 0) return undefined
  return { [directionOf(reader) === 'outbound' ? 'out' : 'in']: headers }
}

const lifted = ['recording_url', 'e164_destination', 'e164_origination', 'did_classifier', 'is_conference']
const interactionVar = 'call_interaction_id'

const accountHintsOf = ({ first }: Reader, vars: Json, record: Json): AccountHint[] => {
  const hints: AccountHint[] = []
  const own = textOf(vars.account_id)
  if (own) return [{ accountId: own }]
  const code = first('accountcode')
  if (code) hints.push({ accountId: code }, { realm: code })
  const hosts = [
    first('domain_name'),
    hostOf(textOf(record.from)),
    hostOf(textOf(record.to)),
    hostOf(textOf(record.request)),
  ]
  for (const realm of new Set(hosts)) if (realm) hints.push({ realm })
  return hints
}

const withoutGaps = (fields: Json): Json =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const transferTarget = /^att:(\S+)$/

/**
 * Legs that an attended transfer connected with this one. The leg of the transferring party names the new leg;
 * the other legs contain that there was a transfer, and their last peer.
 */
const transferredWith = ({ first }: Reader): string[] => {
  const target = transferTarget.exec(first('transfer_to') ?? '')?.[1]
  const sources = [first('transfer_source'), first('transfer_history')]
  const isTransferred =
    first('endpoint_disposition') === 'ATTENDED_TRANSFER' ||
    sources.some((source) => source?.includes(':att_xfer:'))
  const last = isTransferred ? first('bridge_uuid', 'last_bridge_to') : undefined
  return [target, last].filter((id) => id !== undefined)
}

export const switchLegOf = (posted: Json): SwitchLeg => {
  const reader = createReader(posted)
  const { first, originator } = reader
  const callId = callIdOf(reader)
  const vars = channelVarsOf(reader)
  const interaction = textOf(vars[interactionVar])
  delete vars[interactionVar]
  const record: Json = withoutGaps({
    call_id: callId,
    call_direction: directionOf(reader),
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
  })
  for (const name of lifted) {
    if (vars[name] !== undefined) record[name] = vars[name]
    delete vars[name]
  }
  record.custom_channel_vars = vars
  const root = first('originating_leg_uuid') ?? textOf(originator.uuid) ?? callId
  return {
    callId,
    record,
    accountHints: accountHintsOf(reader, vars, record),
    joins:
      interaction === undefined && root !== undefined
        ? { callId: storedCallId(root), transferred: transferredWith(reader).map(storedCallId) }
        : undefined,
    apps: listIn(objectIn(posted, 'app_log'), 'applications').flatMap(
      (app) => textOf(objectIn({ app }, 'app').app_name) ?? [],
    ),
  }
}

export const isUnwanted = ({ record }: SwitchLeg) => record.hangup_cause === 'WRONG_CALL_STATE'

/** Whether the end of the call is unknown. Such a leg would be stored with a duration of 0 seconds. */
export const lacksEnd = ({ record }: SwitchLeg) =>
  record.timestamp === undefined && record.duration_seconds === undefined
