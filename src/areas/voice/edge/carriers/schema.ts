import type { Static } from 'typebox'
import { anyText, flag, id, integer, must, open } from '../../../../lib/schema.ts'

/** Whether calls may come from an address. */
export const CarrierAnswer = open(
  {
    allowed: must(flag()),
    resource_id: id({ description: 'The carrier that the address belongs to' }),
    account_id: id({ description: 'Whose carrier it is; absent when it is one of the whole system' }),
    reason: must(anyText({ description: '`carrier`, `carrier_of_account` or `unknown_address`' })),
    max_age_s: must(integer({ description: 'Seconds that the answer may be kept' })),
  },
  { title: 'Carrier decision' },
)
export type CarrierAnswer = Static<typeof CarrierAnswer>
