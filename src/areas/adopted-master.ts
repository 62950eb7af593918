import { masterClaim } from '../auth/identity.ts'
import type { ChangeSet } from '../storage/change-set.ts'
import type { Accounts } from './accounts/accounts/operations.ts'
import type { Users } from './accounts/users/operations.ts'
import type { ImportedRecord } from './adoption.ts'
import type { QuantityReader } from './billing/services/quantities/operations.ts'

/** Replaces the first account by an imported one, with its users. False if it was replaced before. */
export const importMaster = (
  {
    accounts,
    users,
    services,
  }: { accounts: Accounts; users: Users; services: { quantities: Pick<QuantityReader, 'removeWith'> } },
  set: ChangeSet,
  arrival: ImportedRecord,
): Promise<boolean> =>
  accounts.replaceMaster(set, arrival, masterClaim, async (_, first, master) => {
    await users.moveIn(set, first, master)
    services.quantities.removeWith(set, first)
  })
