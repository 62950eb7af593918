import type { Json } from '../../../../src/lib/json.ts'
import { accounts, databaseOf, gregorian, type Sample, sample, stamped } from '../sample.ts'

const { C, R } = accounts

const unixMicroseconds = (seconds: number) => (seconds - 62_167_219_200) * 1_000_000

const interaction = (seconds: number, key: string) => ({
  interaction_id: `${seconds}-${key}`,
  interaction_time: seconds,
  interaction_key: key,
})

interface Leg {
  month: string
  callId: string
  /** Gregorian seconds. */
  start: number
  seconds: number
  key?: string
  fields?: Json
}

const leg = (row: number, name: string, { month, callId, start, seconds, key, fields }: Leg): Sample =>
  sample(row, name, databaseOf(C, month), {
    _id: `${month}-${callId}`,
    call_id: callId,
    call_direction: 'inbound',
    caller_id_name: 'Ann',
    caller_id_number: '+14155550125',
    callee_id_number: '+14155550177',
    from: 'ann@cee.sip.example',
    to: '+14155550177@cee.sip.example',
    request: '+14155550177@cee.sip.example',
    hangup_cause: 'NORMAL_CLEARING',
    disposition: 'SUCCESS',
    ...(key ? interaction(start, key) : {}),
    timestamp: start + seconds,
    channel_created_time: unixMicroseconds(start),
    duration_seconds: seconds,
    billing_seconds: seconds - 6,
    ringing_seconds: 6,
    custom_channel_vars: { account_id: C, bridge_id: callId },
    ...stamped('cdr', C, start + seconds, databaseOf(C, month)),
    pvt_vsn: '2',
    ...fields,
  })

const at = (day: number, hour: number, minute = 0) => gregorian(2025, 2, day, hour, minute)
const lastEvening = gregorian(2025, 1, 31, 23, 58, 20)

export const callSamples: readonly Sample[] = [
  leg(36, 'call_leg_a', {
    month: '202502',
    callId: 'pair-a@10.1.2.3',
    start: at(3, 9),
    seconds: 36,
    key: '5ab1c09d',
  }),
  leg(37, 'call_leg_b', {
    month: '202502',
    callId: 'pair-b@10.1.2.3',
    start: at(3, 9),
    seconds: 34,
    key: '5ab1c09d',
    fields: { call_direction: 'outbound', other_leg_call_id: 'pair-a@10.1.2.3' },
  }),
  leg(38, 'call_odd_timestamp', {
    month: '202502',
    callId: 'odd-time@10.1.2.3',
    start: at(4, 10),
    seconds: 30,
    key: '6bc2d10e',
    fields: {
      pvt_vsn: '3',
      interaction_is_root: true,
      timestamp: at(4, 10) + 11,
      custom_channel_vars: { account_id: C },
      custom_sip_headers: { in: { x_customer: '7' }, out: {} },
      channel_loopback_leg: 'A',
      pvt_fetch_id: 'fetch-1',
      call_control: 'kazoo_apps@node1.kazoo.example',
    },
  }),
  leg(39, 'call_old', {
    month: '202502',
    callId: 'oldest@10.1.2.3',
    start: at(5, 11),
    seconds: 42,
    fields: {
      pvt_vsn: undefined,
      channel_created_time: undefined,
      custom_channel_vars: undefined,
      duration_seconds: '42',
      billing_seconds: '36',
      ringing_seconds: '',
    },
  }),
  leg(40, 'call_over_month_end', {
    month: '202502',
    callId: 'night@10.1.2.3',
    start: lastEvening,
    seconds: 200,
    key: '7cd3e21f',
  }),
  leg(41, 'call_id_odd', {
    month: '202502',
    callId: 'a/b:c+☎️📞@10.1.2.3',
    start: at(6, 12),
    seconds: 20,
    key: '8de4f320',
  }),
  leg(42, 'call_of_another_account', {
    month: '202502',
    callId: 'lent@10.1.2.3',
    start: at(7, 13),
    seconds: 25,
    key: '9ef50431',
    fields: { custom_channel_vars: { account_id: R } },
  }),
  leg(43, 'call_per_minute', {
    month: '202502',
    callId: '6f0c@10.1.2.3',
    start: at(8, 14),
    seconds: 66,
    key: 'af061542',
    fields: {
      pvt_vsn: '3',
      interaction_is_root: true,
      call_direction: 'outbound',
      rate: 120,
      custom_channel_vars: {
        account_id: C,
        account_billing: 'per_minute',
        reseller_id: R,
        reseller_billing: 'per_minute',
        rate: 120,
        rate_increment: 60,
        rate_minimum: 60,
        surcharge: 0,
        base_cost: 0,
        rate_name: 'US-1',
      },
    },
  }),
]
