import { type ChangeSet, systemScope } from '../../../storage/change-set.ts'
import { cacheKey } from '../../../storage/db.ts'

// What ends pages and rows of call records that are kept.

/** What comes in and goes: named by every change set that records a change of call records, of `system` by those of months. */
export const cdrKind = 'cdrs'
/** What changes in a leg that stays. */
export const cdrRowKind = 'cdr_rows'

/** The records that pages of an account follow from: its own, and months that are dropped or moved. */
export const pageSources = (accountId: string) =>
  [
    [accountId, cdrKind],
    [systemScope, cdrKind],
  ] as const

/** The stale keys of a change of an account's stored legs that are shown otherwise from then on. */
export const keysOfChangedRows = (accountId: string) => [
  cacheKey(accountId, cdrKind, 'rows'),
  cacheKey(accountId, cdrRowKind, 'rows'),
]

export const outdateRows = (set: ChangeSet, accountId: string) => {
  set.stale.push(...keysOfChangedRows(accountId))
}
