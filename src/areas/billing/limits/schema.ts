import type { Static } from 'typebox'
import { CallRestriction } from '../../../lib/call-shapes.ts'
import { channels } from '../../../lib/limit-shapes.ts'
import { flag, list, must, number, open, text } from '../../../lib/schema.ts'

const fields = {
  twoway_trunks: channels('Calls of either direction', 0),
  inbound_trunks: channels('Inbound calls', 0),
  outbound_trunks: channels('Outbound calls', 0),
  burst_trunks: channels('Calls beyond the other trunks', 0),
  calls: channels('Concurrent calls', -1),
  resource_consuming_calls: channels('Concurrent carrier calls', -1),
  allow_prepay: flag({ default: true, description: 'Calls are paid by the minute from the balance' }),
  authz_resource_types: list(text(1, 64), {
    maxItems: 64,
    default: [],
    description: 'Kinds of carriers whose calls are not limited',
  }),
  call_restriction: CallRestriction,
}

export const Limits = open(fields, { title: 'Limits' })
export type Limits = Static<typeof Limits>

export const LimitsRecord = open({ id: must(text(6, 6)), ...fields }, { title: 'Limits of an account' })

const limited = must(channels('What holds'))

/** The account's limits within what its plans and its operator allow. */
export const EffectiveLimits = open({
  enabled: must(flag()),
  twoway_trunks: limited,
  inbound_trunks: limited,
  outbound_trunks: limited,
  burst_trunks: limited,
  calls: limited,
  resource_consuming_calls: limited,
  allow_prepay: must(flag()),
  allow_postpay: must(flag()),
  max_postpay_amount: must(number({ description: 'Dollars' })),
  reserve_amount: must(number({ description: 'Dollars' })),
  soft_limit_inbound: must(flag()),
  soft_limit_outbound: must(flag()),
  authz_resource_types: must(list(text(1, 64))),
})
export type EffectiveLimits = Static<typeof EffectiveLimits>
