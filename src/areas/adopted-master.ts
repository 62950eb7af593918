import { masterClaim } from '../auth/identity.ts'
import type { ChangeSet } from '../storage/change-set.ts'
import type { Accounts } from './accounts/accounts/operations.ts'
import type { Users } from './accounts/users/operations.ts'
import type { Importer } from './adoption.ts'
import type { QuantityReader } from './billing/services/quantities/operations.ts'

/**
 * Adds to a change set that an account of another system takes the place of the first start's, whose people go on in
 * it. Of the account that goes nothing else is kept but its audit. False when the other one stands there already.
 */
export const importMaster = (
  {
    accounts,
    users,
    services,
  }: { accounts: Accounts; users: Users; services: { quantities: Pick<QuantityReader, 'removeWith'> } },
  set: ChangeSet,
  arrival: Importer,
): Promise<boolean> =>
  accounts.replaceMaster(set, arrival, masterClaim, async (_, first, master) => {
    await users.moveIn(set, first, master)
    services.quantities.removeWith(set, first)
  })
