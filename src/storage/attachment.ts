import type { ChangeSet, ClaimHolder } from './change-set.ts'
import { type Collection, createCollection, putDocument } from './collection.ts'
import { requireNoRecord, requireRecord, type StoredRecord } from './records.ts'
import type { Store } from './store.ts'

export type AttachmentRecord<Doc extends object> = StoredRecord<Doc, object>

/** Removes the record that has its owner's id, as a part of the owner's removal. */
export const removalWithOwner =
  <Doc extends object, Hidden extends object>(
    collection: Pick<Collection<Doc, Hidden>, 'kind' | 'find' | 'remove'>,
  ): Attached['removeWith'] =>
  async (set, owner) => {
    const record = await collection.find(owner.accountId, owner.id)
    if (record) collection.remove(set, record)
    else requireNoRecord(set, { ...owner, kind: collection.kind })
  }

/** A document of which an account or a record has at most one. It has its owner's id and is removed with it. */
export const createAttachment = <Doc extends object>(store: Store, kind: string) => {
  const collection = createCollection<Doc, object>(store, { kind, sortKey: () => '', row: () => ({}) })

  return {
    find: (owner: Pick<ClaimHolder, 'accountId' | 'id'>) => collection.find(owner.accountId, owner.id),

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

    /** For imported documents. */
    collection,

    removeWith: removalWithOwner(collection),
  }
}

export interface Attached {
  removeWith(set: ChangeSet, owner: ClaimHolder): Promise<void>
}
