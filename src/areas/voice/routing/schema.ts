import type { Static } from 'typebox'
import { daySeconds } from '../../../lib/gregorian.ts'
import { anyText, choice, flag, id, integer, keyed, list, must, open, text } from '../../../lib/schema.ts'
import { trunks } from './offnet.rules.ts'

const CallerId = open({
  name: anyText(),
  number: anyText(),
  privacy: anyText({ description: 'What is hidden on the way: `full`, `name` or `number`' }),
})

const Target = open({
  type: must(choice(['device', 'gateway', 'trunk'])),
  delay_s: must(integer({ description: 'When it begins to ring; devices of one delay ring together' })),
  timeout_s: must(integer({ description: 'How long it rings' })),
  device_id: id(),
  username: anyText({ description: 'SIP user name of a device; for a gateway, what it is asked with' }),
  realm: anyText(),
  owner_id: id(),
  presence_id: anyText({
    description: 'The presence id of a device or its user as user@host: for the record',
  }),
  uri: anyText({ description: 'Where a gateway is, or a device or server that does not register' }),
  resource_id: anyText(),
  global: flag({ description: 'Whether a gateway is one of the whole system: for the record' }),
  trunk_id: id(),
  server: anyText({ description: 'Which server of the trunk' }),
  headers: keyed(anyText(), { description: 'Added to the call' }),
  number: anyText({ description: 'As the carrier or the server wants it' }),
  from_realm: anyText({ description: 'The domain of the caller in a call to a gateway' }),
  asserted_number: anyText({
    description:
      'The number that a forwarded call asserts to a gateway, if the caller shown is not of the account; empty: none',
  }),
  called: anyText({
    description:
      'Who is called outside: a number in the form of the inventory, or the user of a SIP URI. For the record',
  }),
  account_billing: anyText({
    description: 'How its account pays for a call that leaves the platform: for the record of that leg alone',
  }),
  ha1: anyText(),
  proxy: anyText({ description: 'Address that the call is sent to; `uri` stays the request URI' }),
  codecs: list(anyText()),
  progress_timeout_s: integer({
    description: 'When the next gateway is tried, if nothing rings at this one',
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
    account_id: id({ description: 'Whose call it is: who pays for it, and whose record it is' }),
    number: must(anyText({ description: 'The number in the form of the inventory, or the extension' })),
    targets: must(list(Target, { description: 'Whom to ring, in order' })),
    caller_id: must(CallerId),
    limits: must(
      open(
        {
          calls: integer({ description: 'Most calls of the account at once' }),
          carrier_calls: integer({ description: 'Most of those that leave over carriers' }),
        },
        { description: 'For the edge to count; what is absent is not limited' },
      ),
    ),
    emergency: flag({ description: 'true for calls to emergency services' }),
    location: anyText({
      description:
        'For an emergency call: the address of the caller number (`e911`) as PIDF-LO, for the carrier',
    }),
    variables: must(keyed(anyText(), { description: 'What the edge puts into the records of the call' })),
    left_out: must(
      list(open({ type: must(anyText()), id: must(anyText()), reason: must(anyText()) }), {
        description: 'Who is not rung, and why',
      }),
    ),
    otherwise: open(refusal, { description: 'How a call is answered that none of the targets takes' }),
    ...refusal,
  },
  { title: 'Route of a call' },
)
export type RouteAnswer = Static<typeof RouteAnswer>

export const maxCalls = 200

const name = must(
  text(1, 128, { description: 'As the edge names it; another one for each call and account' }),
)

export const RunningCallReport = open(
  {
    id: name,
    account_id: must(id({ description: 'Who pays for it' })),
    call_id: must(text(1, 256)),
    direction: must(choice(['inbound', 'outbound'], { description: '`inbound`: a carrier brings it' })),
    number: must(text(0, 128, { description: 'The number outside that is called, or the own one' })),
    caller_id_number: text(0, 128),
    account_billing: text(1, 128, {
      description:
        'As the server has answered when the call began; without it the call asks whether it may begin',
    }),
    trunk: choice(trunks, { description: 'As the server has answered when the call began' }),
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
        description: 'An invalid call has the answer `invalid`, and does not affect the others',
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
          account_billing: anyText({ description: 'How its account pays for it: for its record' }),
          trunk: choice(trunks, { description: 'The trunk that pays for it' }),
          reason: anyText({ description: '`no_credit`, `limit_reached`, `unknown_account`, `invalid`' }),
          message: anyText({ description: 'What is wrong with an invalid call' }),
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
