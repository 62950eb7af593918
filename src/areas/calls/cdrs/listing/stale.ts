import { systemScope } from '../../../../storage/change-set.ts'
import { cacheKey } from '../../../../storage/db.ts'

// What ends cached lists of call records.

/** Named by every change set that changes call records; of `system` by those that change months. */
const cdrKind = 'cdrs'

/** The records that pages of an account follow from: its own, and months that are dropped or moved. */
export const pageSources = (accountId: string) =>
  [
    [accountId, cdrKind],
    [systemScope, cdrKind],
  ] as const

/** The stale key of a change of stored legs of an account, where no record is noted. */
export const changedLegs = (accountId: string) => cacheKey(accountId, cdrKind, 'rows')
