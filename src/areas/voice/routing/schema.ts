import type { Static } from 'typebox'
import { daySeconds } from '../../../lib/gregorian.ts'
import { anyText, choice, flag, id, integer, keyed, list, must, open, text } from '../../../lib/schema.ts'
import { trunks } from './offnet.rules.ts'

const CallerId = open({
  name: anyText(),
  number: anyText(),
  privacy: anyText({ description: 'Hidden parts of the caller ID: `full`, `name` or `number`' }),
})

const Target = open({
  type: must(choice(['device', 'gateway', 'trunk'])),
  delay_s: must(integer({ description: 'Delay before it rings; devices with the same delay ring together' })),
  timeout_s: must(integer({ description: 'Ringing time' })),
  device_id: id(),
  username: anyText({ description: 'SIP user name of a device; for a gateway, what it is asked with' }),
  realm: anyText(),
  owner_id: id(),
  presence_id: anyText({
    description: 'Presence ID of a device or its user as user@host: for the call record',
  }),
  uri: anyText({ description: 'Address of a gateway, or of a device or server that does not register' }),
  resource_id: anyText(),
  global: flag({ description: 'Whether the gateway belongs to the whole system: for the call record' }),
  trunk_id: id(),
  server: anyText({ description: 'Which server of the trunk' }),
  headers: keyed(anyText(), { description: 'Added to the call' }),
  number: anyText({ description: 'As required by the carrier or the server' }),
  from_realm: anyText({ description: 'The domain of the caller in a call to a gateway' }),
  asserted_number: anyText({
    description:
      'Asserted number of a forwarded call at a gateway, if the shown caller is not of the account; empty: none',
  }),
  called: anyText({
    description:
      'Called external party: a number in the inventory format, or the user of a SIP URI. For the call record',
  }),
  account_billing: anyText({
    description: 'Payment of the account for a carrier call: only for the record of that leg',
  }),
  ha1: anyText(),
  proxy: anyText({ description: 'Address that the call is sent to; `uri` stays the request URI' }),
  codecs: list(anyText()),
  progress_timeout_s: integer({
    description: 'Time after which the next gateway is tried, if this one does not ring',
  }),
  failover_codes: list(integer(), { description: 'SIP codes after which the next gateway is tried' }),
  account_id: id({ description: 'Its account, if it is another one' }),
  caller_id: CallerId,
})

const refusal = {
  reason: anyText({ description: 'A stable word: `unknown_number`, `do_not_disturb`, `no_credit`, ...' }),
  module: anyText({ description: 'The module of a flow that needs a media server' }),
  sip_code: integer(),
  sip_reason: anyText(),
}

export const RouteAnswer = open(
  {
    decision: must(choice(['ring', 'forward', 'offnet', 'refuse'])),
    account_id: id({ description: 'Owner of the call: pays for it and gets its record' }),
    number: must(anyText({ description: 'The number in the form of the inventory, or the extension' })),
    targets: must(list(Target, { description: 'Targets to ring, in order' })),
    caller_id: must(CallerId),
    limits: must(
      open(
        {
          calls: integer({ description: 'Maximum concurrent calls of the account' }),
          carrier_calls: integer({ description: 'Maximum concurrent carrier calls' }),
        },
        { description: 'Limits that the edge enforces; absent: no limit' },
      ),
    ),
    emergency: flag({ description: 'true for calls to emergency services' }),
    location: anyText({
      description:
        'For an emergency call: the address of the caller number (`e911`) as PIDF-LO, for the carrier',
    }),
    variables: must(keyed(anyText(), { description: 'Values for the call records of the edge' })),
    left_out: must(
      list(open({ type: must(anyText()), id: must(anyText()), reason: must(anyText()) }), {
        description: 'Skipped targets, with reasons',
      }),
    ),
    otherwise: open(refusal, { description: 'Response to a call that no target accepts' }),
    ...refusal,
  },
  { title: 'Route of a call' },
)
export type RouteAnswer = Static<typeof RouteAnswer>

export const maxCalls = 200

const name = must(text(1, 128, { description: 'ID from the edge; unique for each call and account' }))

export const RunningCallReport = open(
  {
    id: name,
    account_id: must(id({ description: 'Payer' })),
    call_id: must(text(1, 256)),
    direction: must(choice(['inbound', 'outbound'], { description: '`inbound`: from a carrier' })),
    number: must(text(0, 128, { description: 'Called external number, or the own number' })),
    caller_id_number: text(0, 128),
    account_billing: text(1, 128, {
      description:
        'As in the response at the start of the call; absent: the call asks for permission to begin',
    }),
    trunk: choice(trunks, { description: 'As in the response at the start of the call' }),
    elapsed_s: integer({
      minimum: 0,
      maximum: daySeconds,
      description: 'Seconds since it was answered; absent: it rings',
    }),
    most_s: integer({
      minimum: 1,
      maximum: daySeconds,
      description: 'Maximum seconds that the edge lets it continue',
    }),
  },
  { title: 'Running call at an edge' },
)
export type RunningCallReport = Static<typeof RunningCallReport>

export const RunningCalls = open(
  {
    calls: must(
      list(RunningCallReport, {
        maxItems: maxCalls,
        description: 'An invalid call gets the result `invalid`, and does not affect the others',
      }),
    ),
  },
  { title: 'Running calls at an edge' },
)

export const RunningCallsAnswer = open(
  {
    calls: must(
      list(
        open({
          id: must(anyText()),
          allowed: must(flag()),
          account_billing: anyText({ description: 'Payment of the account: for the call record' }),
          trunk: choice(trunks, { description: 'The trunk that pays for it' }),
          reason: anyText({ description: '`no_credit`, `limit_reached`, `unknown_account`, `invalid`' }),
          message: anyText({ description: 'Problem of an invalid call' }),
          seconds: integer({
            description:
              'Seconds after which the edge ends the call, unless it hears otherwise; of a call that rings, once it is answered',
          }),
        }),
      ),
    ),
  },
  { title: 'Limits of running calls' },
)
export type RunningCallsAnswer = Static<typeof RunningCallsAnswer>
export type RunningCallAnswer = RunningCallsAnswer['calls'][number]
