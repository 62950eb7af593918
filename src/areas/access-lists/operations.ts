import { type AttachmentRecord, createAttachment } from '../../storage/attachment.ts'
import { type Author, ChangeSet, type ClaimHolder } from '../../storage/change-set.ts'
import type { Store } from '../../storage/store.ts'
import { decideAccess } from './rules.ts'
import type { AccessList } from './schema.ts'

export type AccessListRecord = AttachmentRecord<AccessList>

export type AccessLists = ReturnType<typeof createAccessLists>

/** Which addresses and user agents an account, and each of its devices, lets in. The owner is either of them. */
export const createAccessLists = ({ store }: { store: Store }) => {
  const lists = createAttachment<AccessList>(store, 'access_list')

  return {
    of: lists.find,
    removeWith: lists.removeWith,
    decide: decideAccess,

    async replace(
      author: Author,
      owner: ClaimHolder,
      before: AccessListRecord | undefined,
      list: AccessList,
    ): Promise<AccessListRecord> {
      const set = new ChangeSet(author)
      const after = lists.put(set, owner, before, list)
      await store.commit(set)
      return after
    },

    async remove(author: Author, list: AccessListRecord) {
      const set = new ChangeSet(author)
      lists.remove(set, list)
      await store.commit(set)
    },
  }
}
