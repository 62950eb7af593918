import type { Static } from 'typebox'
import { maxDollars } from './money.ts'
import {
  choice,
  flag,
  integer,
  keyed,
  keyedBy,
  list,
  must,
  number,
  open,
  patternMessage,
  text,
} from './schema.ts'

const most = 1_000_000_000

/** -1: unlimited. */
export const channels = (description: string, fallback?: number) =>
  integer({
    minimum: -1,
    maximum: most,
    description: `${description}; -1: unlimited`,
    ...(fallback === undefined ? {} : { default: fallback }),
  })

const seconds = (description: string, minimum = 0) => integer({ minimum, maximum: most, description })
const dollars = (description: string) =>
  number({ minimum: 0, maximum: maxDollars, description: `Dollars. ${description}` })

export const allotmentCycles = ['minutely', 'hourly', 'daily', 'weekly', 'monthly'] as const
export type AllotmentCycle = (typeof allotmentCycles)[number]

export const Allotment = open({
  amount: must(seconds('Included seconds in a cycle')),
  cycle: must(choice(allotmentCycles)),
  increment: seconds('Increment in seconds: calls consume whole multiples of it', 1),
  minimum: seconds('Minimum seconds that a call consumes'),
  no_consume_time: seconds('Calls of at most this duration consume nothing'),
  group_consume: list(text(1, 64), {
    maxItems: 64,
    description: 'Other allotments whose calls also count for this one',
  }),
})
export type Allotment = Static<typeof Allotment>

/** Keys: a class of numbers (`did_us`), or one with a direction (`inbound_did_us`). */
export const Allotments = keyedBy('^[a-z0-9_]{1,64}$', Allotment, { title: 'Allotments' })

const bundled = (description: string) =>
  choice(['device', 'user'], {
    description: `Adds ${description}: one for each enabled one of these`,
  })

const AllowedCallerId = text(1, 20, {
  pattern: '^(?:\\+?\\d{1,15}\\*?|\\*)$',
  ...patternMessage('Must be a number (+49301234567), a block (+4930123*) or *'),
})

export const OperatorLimits = open(
  {
    enabled: flag({ description: 'false: nothing is limited' }),
    calls: channels('Concurrent calls'),
    resource_consuming_calls: channels('Concurrent carrier calls'),
    twoway_trunks: channels('Calls of either direction'),
    inbound_trunks: channels('Inbound calls'),
    outbound_trunks: channels('Outbound calls'),
    burst_trunks: channels('Calls beyond the other trunks'),
    bundled_twoway_trunks: bundled('twoway trunks'),
    bundled_inbound_trunks: bundled('inbound trunks'),
    bundled_outbound_trunks: bundled('outbound trunks'),
    prepaid: flag({
      description: 'Refuse accepted charges that the balance and the postpaid amount do not cover',
    }),
    allow_prepay: flag({ description: 'Calls are paid by the minute from the balance' }),
    allow_postpay: flag({ description: 'The balance may go below nothing' }),
    max_postpay_amount: dollars('Maximum negative balance'),
    reserve_amount: dollars('Minimum balance at the start of a call'),
    soft_limit_inbound: flag({ description: 'Allow inbound calls above all limits' }),
    soft_limit_outbound: flag({ description: 'Allow outbound calls above all limits' }),
    allotments: Allotments,
    caller_ids: list(AllowedCallerId, {
      maxItems: 1000,
      description:
        'Numbers of other systems that the account may show in external calls: `+49301234567`, a block (`+4930123*`) or any (`*`)',
    }),
    discounts: keyed(open({ percentage: number({ minimum: 0, maximum: 100 }) }), {
      description: 'Reduction of the cost of a call, by class of the number',
    }),
  },
  { title: 'Limits set by the operator' },
)
export type OperatorLimits = Static<typeof OperatorLimits>
