import { secondFactorKind } from '../../../auth/identity.ts'
import { createCollection } from '../../../storage/collection.ts'
import type { StoredRecord } from '../../../storage/records.ts'
import { sortKeyOf } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import type { FactorHidden } from './rules.ts'

export interface ProviderDoc {
  name: string
  provider_name: 'duo' | 'otp'
  enabled: boolean
  settings?: Record<string, unknown>
}

export type ProviderRecord = StoredRecord<ProviderDoc, object>

export const createProviderStore = (store: Store) =>
  createCollection<ProviderDoc, object>(store, {
    kind: 'multi_factor',
    sortKey: (doc) => sortKeyOf(doc.name),
    row: ({ name, provider_name, enabled }) => ({ name, provider_name, enabled }),
  })

interface FactorDoc {
  provider_name: 'otp'
  /** Whether the user has shown that an authenticator app holds the secret. */
  verified: boolean
}

export type FactorRecord = StoredRecord<FactorDoc, FactorHidden>

export const createFactorStore = (store: Store) =>
  createCollection<FactorDoc, FactorHidden>(store, {
    kind: secondFactorKind,
    sortKey: (_doc, id) => id,
    row: ({ provider_name, verified }) => ({ provider_name, verified }),
  })
