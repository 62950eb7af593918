import type { Json } from '../../../lib/json.ts'
import { createCollection } from '../../../storage/collection.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import type { SecretsOf } from '../../../storage/sealing.ts'
import type { Store } from '../../../storage/store.ts'

const accountConfigKind = 'account_config'

export type AccountConfigStored = StoredRecord<Json, Record<never, never>>

export const createAccountConfigStore = (store: Store, secrets: SecretsOf) =>
  createCollection<Json, Record<never, never>>(store, {
    kind: accountConfigKind,
    secrets,
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })
