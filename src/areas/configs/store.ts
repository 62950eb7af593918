import type { Json } from '../../lib/json.ts'
import { createCollection } from '../../storage/collection.ts'
import type { StoredRecord } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'

const accountConfigKind = 'account_config'

export type AccountConfigStored = StoredRecord<Json, Record<never, never>>

export const createAccountConfigStore = (store: Store) =>
  createCollection<Json, Record<never, never>>(store, {
    kind: accountConfigKind,
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })
