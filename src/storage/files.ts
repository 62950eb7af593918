import type { FileKind } from '../lib/file-kinds.ts'
import { fingerprint } from '../lib/secrets.ts'
import type { ChangeSet } from './change-set.ts'
import { createCollection } from './collection.ts'
import type { StoredRecord } from './records.ts'
import type { Store } from './store.ts'

export interface FileContent {
  contentType: string
  bytes: Buffer
  /** What a client that saves it calls it. */
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

/** In memory of their own: what is taken from the runtime's pool keeps 64 kB of it alive, however small it is itself. */
const decodedAlone = (base64: string) => {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(base64, 'base64'))
  return bytes.subarray(0, bytes.write(base64, 'base64'))
}

/**
 * Small files that people upload, kept in the store, where every machine finds them. Whoever puts them there bounds
 * their size: each is read and written as one.
 */
export const createFiles = (store: Store, kind: FileKind) => {
  const collection = createCollection<FileDoc, FileHidden>(store, {
    kind,
    sortKey: (_doc, id) => id,
    row: () => ({}),
    audited: (hidden) => ({ content_fingerprint: fingerprint(hidden.base64) }),
  })

  // Anybody may ask for a logo, as often as they like: it is decoded once as long as its record is cached.
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

    /** What was uploaded. Its bytes are shared: never change them. */
    contentOf: (file: FileRecord): FileContent => ({
      contentType: file.doc.content_type,
      bytes: bytesOf(file),
      ...(file.doc.name === undefined ? {} : { name: file.doc.name }),
    }),

    /** Puts a file in the place of the one before. `arriving`: the times of what it comes with from another system. */
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
