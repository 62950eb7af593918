import { accountKind } from '../../auth/identity.ts'
import { memberOf } from '../../lib/member.ts'
import type { ChangeSet } from '../../storage/change-set.ts'
import { createCollection } from '../../storage/collection.ts'
import { requireRecord, type StoredRecord, sortKeyOf } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { smartPbxFeatures } from '../users/rules.ts'
import type { GroupDoc } from './rules.ts'

export type GroupRecord = StoredRecord<GroupDoc, object>

export const createGroupStore = (store: Store) => {
  const collection = createCollection<GroupDoc, object>(store, {
    kind: 'group',
    sortKey: (doc) => sortKeyOf(doc.name),
    row: (doc) => ({
      name: doc.name,
      endpoints: Object.keys(doc.endpoints).length,
      features: [
        ...smartPbxFeatures(doc),
        ...(memberOf(doc.music_on_hold, 'media_id') ? ['music_on_hold'] : []),
      ],
      flags: doc.flags ?? [],
    }),
  })

  return {
    ...collection,

    /** A new group of an account that must not be gone. */
    insert(set: ChangeSet, group: GroupRecord) {
      requireRecord(set, { accountId: group.accountId, kind: accountKind, id: group.accountId })
      collection.insert(set, group)
    },
  }
}
