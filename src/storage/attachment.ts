import type { ChangeSet, ClaimHolder } from './change-set.ts'
import { type Collection, createCollection, putDocument } from './collection.ts'
import { requireNoRecord, requireRecord, type StoredRecord } from './records.ts'
import type { Store } from './store.ts'

export type AttachmentRecord<Doc extends object> = StoredRecord<Doc, object>

/** Removes the record that bears its owner's id. Part of the owner's removal, which has to stand before it. */
export const removalWithOwner =
  <Doc extends object, Hidden extends object>(
    collection: Pick<Collection<Doc, Hidden>, 'kind' | 'find' | 'remove'>,
  ): Attached['removeWith'] =>
  async (set, owner) => {
    const record = await collection.find(owner.accountId, owner.id)
    if (record) collection.remove(set, record)
    else requireNoRecord(set, { ...owner, kind: collection.kind })
  }

/** A document of which an account, or a record of it, has at most one. It bears its owner's id and goes with it. */
export const createAttachment = <Doc extends object>(store: Store, kind: string) => {
  const collection = createCollection<Doc, object>(store, { kind, sortKey: () => '', row: () => ({}) })

  return {
    find: (owner: Pick<ClaimHolder, 'accountId' | 'id'>) => collection.find(owner.accountId, owner.id),

    /** Puts `doc` in the place of what was there before, if anything. */
    put(
      set: ChangeSet,
      owner: ClaimHolder,
      before: AttachmentRecord<Doc> | undefined,
      doc: Doc,
    ): AttachmentRecord<Doc> {
      if (!before) requireRecord(set, owner)
      return putDocument(set, collection, owner, { before, doc, hidden: {} })
    },

    remove: collection.remove,

    /** For documents that come from another system as they are. */
    collection,

    removeWith: removalWithOwner(collection),
  }
}

/** What is removed with a record that it belongs to. */
export interface Attached {
  removeWith(set: ChangeSet, owner: ClaimHolder): Promise<void>
}
