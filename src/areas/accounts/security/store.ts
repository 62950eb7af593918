import type { AuthModules } from '../../../settings/auth-modules.ts'
import { createCollection } from '../../../storage/collection.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'

export interface SecurityDoc {
  auth_modules?: AuthModules
  [custom: string]: unknown
}

export type SecurityRecord = StoredRecord<SecurityDoc, object>

/** Every account has at most one. */
export const securityId = 'configs_crossbar.auth'

export const createSecurityStore = (store: Store) =>
  createCollection<SecurityDoc, object>(store, {
    kind: 'security',
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })

export interface LockHidden {
  /** Failed sign-ins since `since`. */
  failures: number
  /** Unix seconds. */
  since: number
  lockedUntil: number
}

/** The account's count of failed sign-ins; has the account's id. */
export const createLockStore = (store: Store) =>
  createCollection<object, LockHidden>(store, {
    kind: 'login_lock',
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })
