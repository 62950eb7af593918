import type { FileKind } from '../lib/file-kinds.ts'
import { fingerprint } from '../lib/secrets.ts'
import type { ChangeSet } from './change-set.ts'
import { createCollection } from './collection.ts'
import type { StoredRecord } from './records.ts'
import type { Store } from './store.ts'

export interface FileContent {
  contentType: string
  bytes: Buffer
  name?: string
}

interface FileDoc {
  content_type: string
  size: number
  name?: string
}

interface FileHidden {
  base64: string
}

type FileRecord = StoredRecord<FileDoc, FileHidden>

/** Not from the pool, of which each buffer retains 64 kB. */
const decodedAlone = (base64: string) => {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(base64, 'base64'))
  return bytes.subarray(0, bytes.write(base64, 'base64'))
}

/** Small uploaded files. The caller limits their size: each is read and written at once. */
export const createFiles = (store: Store, kind: FileKind) => {
  const collection = createCollection<FileDoc, FileHidden>(store, {
    kind,
    sortKey: (_doc, id) => id,
    row: () => ({}),
    audited: (hidden) => ({ content_fingerprint: fingerprint(hidden.base64) }),
  })

  // Logos are public: each is decoded once while its record is cached.
  const decoded = new WeakMap<FileRecord, Buffer>()
  const bytesOf = (file: FileRecord) => {
    const bytes = decoded.get(file) ?? decodedAlone(file.hidden.base64)
    decoded.set(file, bytes)
    return bytes
  }

  const { find, remove } = collection

  return {
    kind: collection.kind,
    find,
    remove,

    /** The bytes are shared: never change them. */
    contentOf: (file: FileRecord): FileContent => ({
      contentType: file.doc.content_type,
      bytes: bytesOf(file),
      ...(file.doc.name === undefined ? {} : { name: file.doc.name }),
    }),

    /** `arriving`: times of an imported record. */
    async put(
      set: ChangeSet,
      { accountId, id }: { accountId: string; id: string },
      { contentType, bytes, name }: FileContent,
      arriving?: Pick<FileRecord, 'created' | 'modified' | 'revision'>,
    ): Promise<FileRecord> {
      const content = {
        doc: { content_type: contentType, size: bytes.length, ...(name === undefined ? {} : { name }) },
        hidden: { base64: bytes.toString('base64') },
      }
      const before = await collection.find(accountId, id)
      const now = before ? collection.revise(before, content) : collection.draft(accountId, content, id)
      const { created, modified, revision } = arriving ?? now
      const after = arriving
        ? collection.arriving({ accountId, id, created, modified, revision }, content)
        : now
      if (before) collection.replace(set, before, after)
      else collection.insert(set, after)
      set.filed.push({ accountId, bytes: bytes.length - (before?.doc.size ?? 0) })
      return after
    },
  }
}
