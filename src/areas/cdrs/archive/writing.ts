import { createHash } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import type { ObjectStore } from '../../../object-store/object-store.ts'
import type { Statement } from '../../../storage/db.ts'
import type { CdrRow } from '../columns.ts'
import { createFileWriter, endBytesOf, type FileEnd, fileEndOf, rowsOfGroup } from './file.ts'
import type { FileSizes } from './rules.ts'
import type { AccountRow, ArchiveRegister, FileRow } from './store.ts'

type Written = Pick<FileRow, 'path' | 'records'>

interface Run {
  month: number
  /** Another one for every attempt: what an attempt leaves behind is nobody else's. */
  name: string
  /** Lets everything fail that is written after another process took the work over. */
  guard: Statement
  signal: AbortSignal
}

const hashOf = (data: string | Uint8Array) => createHash('sha256').update(data).digest('hex')

/** A group as it has to be when it is read back. */
const digestOf = (rows: readonly CdrRow[]) => {
  const hash = createHash('sha256')
  for (const row of rows)
    hash.update(JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))))
  return hash.digest('hex')
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
  let writer = createFileWriter()
  let accounts = new Map<string, AccountRow>()
  let digests: string[] = []
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

  const requireGroups = async (path: string, end: FileEnd, bytes: Uint8Array) => {
    for (const [at, group] of end.groups.entries()) {
      signal.throwIfAborted()
      const rows = await rowsOfGroup(end, group, bytes.subarray(group.from, group.to))
      if (digestOf(rows) !== digests[at]) throw new Error(`${path} does not hold what was written`)
      await turn()
    }
  }

  const send = async (path: string, bytes: Uint8Array) => {
    await objects.put(path, bytes)
    const digest = hashOf(bytes)
    if ((await digestOfObject(objects, path, bytes.length)) !== digest)
      throw new Error(`${path} is not what was written when it is read back`)
    await register.describe(guard, { path, month, records, bytes: bytes.length, digest }, [
      ...accounts.values(),
    ])
  }

  /** What was put together is taken apart again before the store lets go of it, and what was sent is read back. */
  const close = async () => {
    if (records === 0) return
    const path = pathNow()
    const bytes = writer.finish()
    await requireGroups(path, fileEndOf(bytes.subarray(-endBytesOf(bytes.subarray(-8)))), bytes)
    await register.begin(guard, path, month)
    try {
      await send(path, bytes)
    } catch (error) {
      // Whoever has taken the work over may have removed the file already, before it was there, and forgotten it.
      await objects.remove(path).catch(() => undefined)
      throw error
    }
    written.push({ path, records })
    writer = createFileWriter()
    accounts = new Map()
    digests = []
    records = 0
  }

  const addGroup = async (rows: readonly CdrRow[]) => {
    signal.throwIfAborted()
    writer.add(rows)
    count(pathNow(), rows)
    digests.push(digestOf(rows))
    records += rows.length
    if (records >= sizes.mostRecords || writer.bytes >= sizes.mostBytes) await close()
    await turn()
  }

  return {
    /** Writes rows that come in the order of account, time and id. */
    async write(batches: AsyncIterable<readonly CdrRow[]>): Promise<readonly Written[]> {
      let waiting: CdrRow[] = []
      for await (const rows of batches) {
        waiting.push(...rows)
        for (; waiting.length >= recordsPerGroup; waiting = waiting.slice(recordsPerGroup))
          await addGroup(waiting.slice(0, recordsPerGroup))
      }
      if (waiting.length > 0) await addGroup(waiting)
      await close()
      return written
    },
  }
}
