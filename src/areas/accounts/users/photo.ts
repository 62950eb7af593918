import { type UserRecord, userPhotoKind } from '../../../auth/identity.ts'
import { badIdentifier, failure, invalid, tooLarge } from '../../../lib/failure.ts'
import { imageTypeOf } from '../../../lib/image-type.ts'
import { removalWithOwner } from '../../../storage/attachment.ts'
import { type Author, ChangeSet } from '../../../storage/change-set.ts'
import { createFiles, type FileContent } from '../../../storage/files.ts'
import { holderOf, requireRecord } from '../../../storage/records.ts'
import type { Store } from '../../../storage/store.ts'
import { maxPhotoBytes } from './rules.ts'
import { createUserStore } from './store.ts'

export type Image = FileContent

const assertImage = ({ contentType, bytes }: Image): string => {
  if (bytes.length > maxPhotoBytes) throw failure(tooLarge, { limit: maxPhotoBytes })
  const found = imageTypeOf(bytes)
  const claimsImage = contentType.startsWith('image/')
  if (found && (!claimsImage || contentType === found)) return found
  throw invalid({
    file: { invalid: { message: 'The file is not the image it is said to be', cause: contentType } },
  })
}

export type Photos = ReturnType<typeof createPhotos>

export const createPhotos = (store: Store) => {
  const users = createUserStore(store)
  const photos = createFiles(store, userPhotoKind)
  const find = (user: UserRecord) => photos.find(user.accountId, user.id)

  const mark = (set: ChangeSet, user: UserRecord, hasAvatar: boolean) =>
    users.replace(set, user, users.revise(user, { hidden: { ...user.hidden, hasAvatar } }))

  return {
    find,

    async get(user: UserRecord): Promise<Image> {
      const photo = await find(user)
      if (!photo) throw failure(badIdentifier, { cause: user.id })
      return photos.contentOf(photo)
    },

    async put(author: Author, user: UserRecord, { contentType, bytes }: Image) {
      const image = { contentType: assertImage({ contentType, bytes }), bytes }
      const set = new ChangeSet(author)
      requireRecord(set, holderOf(user))
      const { doc } = await photos.put(set, user, image)
      mark(set, user, true)
      await store.commit(set)
      return doc
    },

    async remove(author: Author, user: UserRecord) {
      const photo = await find(user)
      if (!photo) throw failure(badIdentifier, { cause: user.id })
      const set = new ChangeSet(author)
      photos.remove(set, photo)
      mark(set, user, false)
      await store.commit(set)
      return photo.doc
    },

    removeWith: removalWithOwner(photos),
  }
}
