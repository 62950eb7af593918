import { badIdentifier, failure } from '../../../../lib/failure.ts'
import type { Attached } from '../../../../storage/attachment.ts'
import type { Author, ChangeSet } from '../../../../storage/change-set.ts'
import { createFiles, type FileContent } from '../../../../storage/files.ts'
import { holderOf, requireNoRecord, requireRecord, type StoredRecord } from '../../../../storage/records.ts'
import { committed, type Store } from '../../../../storage/store.ts'
import type { ImportedFile, ImportedRecord } from '../../../adoption.ts'
import { assertOneFile } from '../rules.ts'
import { arrivingType, type FileKind, fileKinds, isFileKind, nameToKeep, typeToKeep } from './rules.ts'

interface FileUpload {
  contentType: string
  charset?: string
  bytes: Buffer
  fileName: string
  files: number
}

export interface BrandFile extends FileContent {
  revision: string
}

export type BrandFiles = ReturnType<typeof createBrandFiles>

/** Logo, icon and welcome page of a brand. */
export const createBrandFiles = (store: Store) => {
  const files = createFiles(store, 'whitelabel_file')

  const removeWith: Attached['removeWith'] = async (set, { accountId }) => {
    for (const id of fileKinds) {
      const file = await files.find(accountId, id)
      if (file) files.remove(set, file)
      else requireNoRecord(set, { accountId, kind: files.kind, id })
    }
  }

  const find = async (accountId: string, kind: FileKind): Promise<BrandFile | undefined> => {
    const file = await files.find(accountId, kind)
    return file && { ...files.contentOf(file), revision: file.revision }
  }

  return {
    removeWith,

    /** Why an imported file is rejected. */
    problemOf: ({ role, bytes }: ImportedFile): string | undefined =>
      isFileKind(role) && arrivingType(role, bytes)
        ? undefined
        : 'it is too large, or its type cannot be shown',

    /** Replaces all files of a brand. */
    async putAll(set: ChangeSet, arrival: ImportedRecord) {
      const { accountId } = arrival
      for (const id of fileKinds) {
        const file = arrival.files.find(({ role }) => role === id)
        const contentType = file && arrivingType(id, file.bytes)
        const before = await files.find(accountId, id)
        if (file && contentType !== undefined) {
          const name = nameToKeep(id, file.name ?? '', contentType)
          await files.put(set, { accountId, id }, { contentType, bytes: file.bytes, name }, arrival)
        } else if (before) files.remove(set, before)
      }
    },

    async all(accountId: string): Promise<ReadonlyMap<string, Buffer>> {
      const found = await Promise.all(fileKinds.map((kind) => files.find(accountId, kind)))
      return new Map(found.flatMap((file) => (file ? [[file.id, files.contentOf(file).bytes]] : [])))
    },

    find,

    async get(accountId: string, kind: FileKind): Promise<BrandFile> {
      const file = await find(accountId, kind)
      if (!file) throw failure(badIdentifier, { cause: kind })
      return file
    },

    async put(
      author: Author,
      whitelabel: StoredRecord<object, object>,
      kind: FileKind,
      upload: FileUpload | undefined,
    ) {
      const { bytes, fileName, ...sent } = assertOneFile(upload)
      const contentType = typeToKeep(kind, { ...sent, bytes })
      const name = nameToKeep(kind, fileName, contentType)
      const { accountId } = whitelabel
      await committed(store, author, async (set) => {
        requireRecord(set, holderOf(whitelabel))
        await files.put(set, { accountId, id: kind }, { contentType, bytes, name })
      })
    },
  }
}
