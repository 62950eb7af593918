import { createHash } from 'node:crypto'
import type { ObjectStore } from '../../../../object-store/object-store.ts'
import type { Statement } from '../../../../storage/db.ts'
import type { CdrRow } from '../columns.ts'
import type { WrittenFile } from './file-writer.ts'
import type { FileSizes } from './rules.ts'
import type { AccountRow, ArchiveRegister, FileRow } from './store.ts'
import { createFileThread } from './threads.ts'

type Written = Pick<FileRow, 'path' | 'records'>

interface Run {
  month: number
  /** Another one for every attempt: what an attempt leaves behind is nobody else's. */
  name: string
  /** Lets everything fail that is written after another process took the work over. */
  guard: Statement
  signal: AbortSignal
}

const partBytes = 4_000_000

/** The SHA-256 of an object as it is read, a part at a time; undefined when it has another size. */
export const digestOfObject = async (objects: ObjectStore, path: string, bytes: number) => {
  if ((await objects.size(path)) !== bytes) return undefined
  const hash = createHash('sha256')
  for (let at = 0; at < bytes; at += partBytes)
    hash.update(await objects.read(path, at, Math.min(bytes, at + partBytes)))
  return hash.digest('hex')
}

/** Files being written one after the other, each with as many records as it may have. */
export const createArchiveWriter = (
  { register, objects, sizes }: { register: ArchiveRegister; objects: ObjectStore; sizes: FileSizes },
  { month, name, guard, signal }: Run,
) => {
  const written: Written[] = []
  const { recordsPerGroup } = sizes
  const thread = createFileThread()
  let accounts = new Map<string, AccountRow>()
  let records = 0

  const count = (path: string, rows: readonly CdrRow[]) => {
    for (const { account_id: accountId, created } of rows) {
      const known = accounts.get(accountId)
      const row = known ?? { accountId, month, path, records: 0, firstCreated: created, lastCreated: created }
      row.records += 1
      row.lastCreated = created
      if (!known) accounts.set(accountId, row)
    }
  }

  const pathNow = () =>
    `cdrs/${month}/${month}-${name}-${String(written.length + 1).padStart(4, '0')}.parquet`

  const send = async (path: string, { bytes, digest }: WrittenFile) => {
    await objects.put(path, bytes)
    if ((await digestOfObject(objects, path, bytes.length)) !== digest)
      throw new Error(`${path} is not what was written when it is read back`)
    await register.describe(guard, { path, month, records, bytes: bytes.length, digest }, [
      ...accounts.values(),
    ])
  }

  /** What was put together was taken apart again before the store lets go of it, and what was sent is read back. */
  const close = async () => {
    if (records === 0) return
    signal.throwIfAborted()
    const path = pathNow()
    const file = await thread.finish()
    await register.begin(guard, path, month)
    try {
      await send(path, file)
    } catch (error) {
      // Whoever has taken the work over may have removed the file already, before it was there, and forgotten it.
      await objects.remove(path).catch(() => undefined)
      throw error
    }
    written.push({ path, records })
    accounts = new Map()
    records = 0
  }

  const addGroup = async (rows: readonly CdrRow[]) => {
    signal.throwIfAborted()
    const bytes = await thread.add(rows)
    count(pathNow(), rows)
    records += rows.length
    if (records >= sizes.mostRecords || bytes >= sizes.mostBytes) await close()
  }

  const writeAll = async (batches: AsyncIterable<readonly CdrRow[]>) => {
    let waiting: CdrRow[] = []
    for await (const rows of batches) {
      waiting.push(...rows)
      for (; waiting.length >= recordsPerGroup; waiting = waiting.slice(recordsPerGroup))
        await addGroup(waiting.slice(0, recordsPerGroup))
    }
    if (waiting.length > 0) await addGroup(waiting)
    await close()
    return written
  }

  return {
    /** Writes rows that come in the order of account, time and id. */
    async write(batches: AsyncIterable<readonly CdrRow[]>): Promise<readonly Written[]> {
      const endNow = () => void thread.close()
      signal.addEventListener('abort', endNow)
      try {
        return await writeAll(batches)
      } finally {
        signal.removeEventListener('abort', endNow)
        await thread.close()
      }
    },
  }
}
