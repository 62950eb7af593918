import { type SettingsDoc, settingsKind } from '../../settings/settings.ts'
import { createCollection } from '../../storage/collection.ts'
import type { StoredRecord } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'

type SystemConfigHidden = Record<never, never>
export type SystemConfigStored = StoredRecord<SettingsDoc, SystemConfigHidden>

/** Documents by name, in the scope of the whole system. */
export const createSystemConfigStore = (store: Store) =>
  createCollection<SettingsDoc, SystemConfigHidden>(store, {
    kind: settingsKind,
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })
