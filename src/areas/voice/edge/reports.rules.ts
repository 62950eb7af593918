import { isObject } from '../../../lib/json.ts'
import { elementAt } from '../../../lib/list.ts'
import { memberOf } from '../../../lib/member.ts'
import type { CdrRow } from '../../calls/cdrs/columns.ts'
import { monthOfGregorian, storedCallId } from '../../calls/cdrs/intake/rules.ts'
import type { Cdr } from '../../calls/cdrs/schema.ts'
import type { Alert } from '../../events/alerts/schema.ts'
import type { EdgeEmergency, EdgeRefusal } from './schema.ts'

/** Without `deviceId` the account has no device of that name. */
export interface Concern {
  refusal: EdgeRefusal
  accountId: string
  deviceId: string | undefined
}

const likenessOf = ({ refusal, accountId, deviceId }: Concern) => {
  const { reason, method, username, address, number } = refusal
  return JSON.stringify([accountId, deviceId, reason, method, username, address, number])
}

export type Alike = ReturnType<typeof gathered>[number]

/** Refusals that are alike are reported as one: the last of them, with their number. */
export const gathered = (concerns: readonly Concern[]) =>
  Array.from(Map.groupBy(concerns, likenessOf), ([likeness, alike]) => {
    const { refusal, ...sender } = elementAt(alike, -1)
    return { ...sender, likeness, report: { ...refusal, count: alike.length } }
  })

const hourSeconds = 3600
const alertSeconds = 7 * 24 * hourSeconds

/**
 * One alert for the admins of the account and one for those of its reseller, so that each can delete theirs.
 * Calls of a device to the same number that begin in the same hour have the same causes, so a phone that calls
 * in a loop does not flood them: a second alert with the same cause is not raised. `now`: Gregorian seconds.
 */
export const emergencyAlerts = (
  { account_id: accountId, device_id: deviceId, number, caller_id_number: caller, at }: EdgeEmergency,
  { name, resellerId, now }: { name: string; resellerId: string; now: number },
) =>
  [...new Set([accountId, resellerId])].map((id) => {
    const alert: Alert = {
      title: 'Emergency call',
      message: `${name} has called the emergency number ${number}${caller ? ` from ${caller}` : ''}.`,
      category: 'emergency_call',
      level: 'critical',
      from: [{ type: 'account', value: accountId }],
      to: [{ type: id, value: 'admins' }],
      expiration_date: now + alertSeconds,
    }
    const hour = Math.floor(at / hourSeconds)
    return { alert, cause: `emergency_call/${accountId}/${deviceId ?? accountId}/${number}/${hour}/${id}` }
  })

interface NamedRecord {
  call_id: string
  other_leg_call_id?: unknown
  interaction_id: string
  channel_created_time: number
  custom_channel_vars: { account_id: string }
}

const isNamed = (record: unknown): record is NamedRecord =>
  isObject(record) &&
  typeof record.call_id === 'string' &&
  typeof record.interaction_id === 'string' &&
  /^\d{11}-./.test(record.interaction_id) &&
  typeof record.channel_created_time === 'number' &&
  typeof memberOf(record, 'custom_channel_vars', 'account_id') === 'string'

type StoredCall = Pick<CdrRow, 'interaction_key'> & { channel_created_time?: unknown }

/** The ID of a record if no other call has its Call-ID. Undefined: the record is incomplete. */
export const placeOfRecord = (record: unknown) => {
  if (!isNamed(record)) return undefined
  const [time = '', key = ''] = record.interaction_id.split('-')
  const id = `${monthOfGregorian(Number(time))}-${storedCallId(record.call_id)}`
  const renamed = (callId: string) => `${callId}-${key}-${record.channel_created_time}`
  return {
    accountId: record.custom_channel_vars.account_id,
    id,
    isOf: (stored: StoredCall) =>
      stored.interaction_key === key && stored.channel_created_time === record.channel_created_time,
    /** The same record with a name that no other call has. */
    renamed: {
      ...record,
      call_id: renamed(record.call_id),
      ...(typeof record.other_leg_call_id === 'string'
        ? { other_leg_call_id: renamed(record.other_leg_call_id) }
        : {}),
    },
  }
}

/** Separates the reservations that end with a call from its record. */
export const partedRecord = (sent: unknown): { record: unknown; reservations: readonly unknown[] } => {
  if (!isObject(sent)) return { record: sent, reservations: [] }
  const { reservations, ...record } = sent
  return { record, reservations: Array.isArray(reservations) ? reservations : [] }
}

type MediaQuality = NonNullable<Cdr['media_quality']>

/** Names of each value in `X-RTP-Stat` and `P-RTP-Stat` (`stat`), in `RTP-RxStat` and in `RTP-TxStat`. */
const names: readonly [
  field: keyof MediaQuality,
  name: { stat: string; received?: string; sent?: string },
][] = [
  ['packets_sent', { stat: 'PS', sent: 'Pkt' }],
  ['packets_received', { stat: 'PR', received: 'Pkt' }],
  ['packets_lost', { stat: 'PL', received: 'LostPkt' }],
  ['jitter_ms', { stat: 'JI', received: 'AvgJit' }],
]

// At most 9 digits: no call has more packets.
const figureIn = (text: unknown, name: string | undefined): number | undefined => {
  if (typeof text !== 'string' || name === undefined) return undefined
  const found = new RegExp(`(?:^|[;,\\s])${name}=(\\d{1,9})(?!\\d)`).exec(text)
  return found ? Number(found[1]) : undefined
}

export const qualityIn = (headers: unknown): MediaQuality | undefined => {
  if (!isObject(headers)) return undefined
  const { stat, received, sent } = headers
  const values = names.flatMap(([field, name]) => {
    const value = figureIn(stat, name.stat) ?? figureIn(received, name.received) ?? figureIn(sent, name.sent)
    return value === undefined ? [] : [[field, value] as const]
  })
  return values.length === 0 ? undefined : Object.fromEntries(values)
}

export const withQuality = (record: unknown): unknown => {
  if (!isObject(record) || record.rtp_stats === undefined) return record
  const { rtp_stats: said, ...rest } = record
  const quality = qualityIn(said)
  return quality ? { ...rest, media_quality: quality } : rest
}
