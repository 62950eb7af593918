import type { Static } from 'typebox'
import { anyObject, number, open } from '../../../../lib/schema.ts'

/** The amount is judged by itself: it has words of its own. */
export const TopupRequest = open({
  amount: number({ description: 'Dollars, at most four decimals; required' }),
})
export type TopupRequest = Static<typeof TopupRequest>

export const ToppedUp = open({
  transaction: anyObject({ description: 'Absent where nobody is charged' }),
  ledger: anyObject({ description: 'The credit; absent while the bookkeeper has not said that it is paid' }),
})
