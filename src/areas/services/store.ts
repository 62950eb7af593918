import { type ChangeSet, conflict } from '../../storage/change-set.ts'
import { createCollection } from '../../storage/collection.ts'
import { requireRecord, type StoredRecord } from '../../storage/records.ts'
import type { Store } from '../../storage/store.ts'
import { assignmentClaim } from './plans/store.ts'
import type { ServicesDoc } from './rules.ts'

export type ServicesRecord = StoredRecord<ServicesDoc, object>

const servicesKind = 'services'

/** One record for each account that has plans or anything else to do with services; it bears the account's id. */
export const createServicesStore = (store: Store) => {
  const collection = createCollection<ServicesDoc, object>(store, {
    kind: servicesKind,
    sortKey: () => '',
    row: () => ({}),
    claims: ({ accountId, doc }) =>
      Object.entries(doc.plans ?? {}).map(([planId, { vendor_id: vendorId }]) => ({
        ...assignmentClaim(vendorId, planId, accountId),
        orElse: conflict,
      })),
  })

  return {
    find: (accountId: string): Promise<ServicesRecord | undefined> => collection.find(accountId, accountId),

    /** Puts `doc` in the place of what was there before, if anything. */
    put(
      set: ChangeSet,
      accountId: string,
      before: ServicesRecord | undefined,
      doc: ServicesDoc,
    ): ServicesRecord {
      if (before) {
        const after = collection.revise(before, { doc })
        collection.replace(set, before, after)
        return after
      }
      const record = collection.draft(accountId, { doc, hidden: {} }, accountId)
      requireRecord(set, { accountId, kind: 'account', id: accountId })
      collection.insert(set, record)
      return record
    },
  }
}
