import { type SettingsDoc, settingsKind } from '../../../settings/settings.ts'
import { createCollection } from '../../../storage/collection.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import type { SecretsOf } from '../../../storage/sealing.ts'
import type { Store } from '../../../storage/store.ts'

type SystemConfigHidden = Record<never, never>
export type SystemConfigStored = StoredRecord<SettingsDoc, SystemConfigHidden>

export const createSystemConfigStore = (store: Store, secrets?: SecretsOf) =>
  createCollection<SettingsDoc, SystemConfigHidden>(store, {
    kind: settingsKind,
    ...(secrets ? { secrets } : {}),
    sortKey: (_doc, id) => id,
    row: () => ({}),
  })
