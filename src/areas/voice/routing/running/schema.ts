import type { Static } from 'typebox'
import { daySeconds } from '../../../../lib/gregorian.ts'
import { anyText, choice, flag, id, integer, list, must, open, text } from '../../../../lib/schema.ts'
import { trunks } from '../offnet.rules.ts'

export const maxCalls = 200

const name = must(
  text(1, 128, { description: 'As the edge names it; another one for each call and account' }),
)

/** A call over a carrier that begins at an edge, or that goes on there. */
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
      description: 'Seconds that the edge lets it go on at most',
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
  { title: 'What holds for running calls' },
)
export type RunningCallsAnswer = Static<typeof RunningCallsAnswer>
export type RunningCallAnswer = RunningCallsAnswer['calls'][number]
