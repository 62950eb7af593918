import { accountKind } from '../../auth/identity.ts'
import type { ChangeSet } from '../../storage/change-set.ts'
import { createCollection } from '../../storage/collection.ts'
import { requireRecord, type StoredRecord } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { adoptingInto } from '../adoption.ts'
import type { AppsStoreDoc } from './rules.ts'

export type AppsStoreRecord = StoredRecord<AppsStoreDoc, object>

/** Every account has at most one; it has the account's id. */
export const createAppsStoreStore = (store: Store) => {
  const collection = createCollection<AppsStoreDoc, object>(store, {
    kind: 'apps_store',
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })

  return {
    ...collection,

    /** What accounts of another system had installed. */
    adopting: adoptingInto(collection, ({ doc }) => ({ doc: doc as unknown as AppsStoreDoc, hidden: {} })),

    /** The first word of an account that must not be gone. */
    insert(set: ChangeSet, record: AppsStoreRecord) {
      requireRecord(set, { accountId: record.accountId, kind: accountKind, id: record.accountId })
      collection.insert(set, record)
    },
  }
}
