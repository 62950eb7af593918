import { dollarsOfUnits } from '../../../lib/money.ts'
import type { Change } from '../../../storage/change-set.ts'
import { type LedgerBooking, shownDetails } from './rules.ts'

/** What is told of a booking at the moment it is made. The balance before it is known when it is written. */
export const ledgerResponse = (
  accountId: string,
  id: string,
  { source, usage, amount, details }: Pick<LedgerBooking, 'source' | 'usage' | 'amount' | 'details'>,
): Change => ({
  accountId,
  kind: 'ledger',
  id,
  action: 'created',
  event: amount < 0 ? 'ledger.debited' : 'ledger.credited',
  after: JSON.stringify({ id, ...shownDetails(details), source, usage, amount: dollarsOfUnits(amount) }),
})
