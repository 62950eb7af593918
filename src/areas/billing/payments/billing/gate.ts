import type { ChangeSet } from '../../../../storage/change-set.ts'
import type { Gate } from '../../../../storage/store.ts'
import type { Billing } from './operations.ts'

/** Accounts of whose bills a change set may change something. Those that begin with it were never billed. */
const concerned = ({ counts, newcomers, transfers }: ChangeSet): string[] => [
  ...counts.map(({ accountId }) => accountId),
  ...transfers.flatMap(({ accountId, from, to = [] }) => [accountId, ...from, ...to]),
  ...[...newcomers.values()].flatMap(({ tree }) => tree),
]

/**
 * A month is billed before anything changes of what it is billed for: else what comes on the first, while bills are
 * being made, would be paid for twice. Whoever was priced for the change is priced anew then.
 */
export const createBillingGate =
  (billing: Pick<Billing, 'isDone' | 'catchUp' | 'withThoseAbove'>): Gate =>
  async (sets, write) => {
    const accountIds = sets.flatMap(concerned)
    if (accountIds.length > 0 && !(await billing.isDone()))
      for (const accountId of await billing.withThoseAbove(accountIds)) await billing.catchUp(accountId)
    return write(sets)
  }
