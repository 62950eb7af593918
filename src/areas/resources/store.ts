import { accountKind } from '../../auth/identity.ts'
import { type ChangeSet, systemScope } from '../../storage/change-set.ts'
import { createCollection } from '../../storage/collection.ts'
import { requireRecord, type StoredRecord, sortKeyOf } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import type { ResourceDoc } from './rules.ts'
import { Resource } from './schema.ts'

export type ResourceRecord = StoredRecord<ResourceDoc, object>

/** Carriers of accounts. Those that are for everybody belong to no account but to the system, as its settings do. */
export const createResourceStore = (store: Store) => {
  const collection = createCollection<ResourceDoc, object>(store, {
    kind: 'resource',
    secrets: () => Resource,
    sortKey: ({ name }) => sortKeyOf(name),
    row: ({ name, enabled, emergency, weight_cost, flags }) => ({
      name,
      enabled,
      emergency,
      weight_cost,
      flags: flags ?? [],
    }),
  })

  return {
    ...collection,

    /** A new resource of an account that must not be gone. */
    insert(set: ChangeSet, resource: ResourceRecord) {
      const { accountId } = resource
      if (accountId !== systemScope) requireRecord(set, { accountId, kind: accountKind, id: accountId })
      collection.insert(set, resource)
    },
  }
}
