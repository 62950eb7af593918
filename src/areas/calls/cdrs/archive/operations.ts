import { createHash } from 'node:crypto'
import { isLeaseLost } from '../../../../jobs/leases.ts'
import type { ScheduledJob } from '../../../../jobs/scheduler.ts'
import { daySeconds } from '../../../../lib/gregorian.ts'
import { newId } from '../../../../lib/ids.ts'
import { describeError } from '../../../../lib/log.ts'
import { monthOf } from '../../../../lib/time-key.ts'
import type { ObjectStore } from '../../../../object-store/object-store.ts'
import { type Author, ChangeSet, conflict, systemScope } from '../../../../storage/change-set.ts'
import type { Statement } from '../../../../storage/db.ts'
import { isMissing, MonthMoved } from '../../../../storage/monthly.ts'
import { isConflict } from '../../../../storage/store.ts'
import type { AreaDeps } from '../../../area.ts'
import type { CdrRow } from '../columns.ts'
import { waitingForReaders } from '../months/operations.ts'
import { createCdrMonthStore } from '../months/store.ts'
import { type FileSizes, outdated, usualSizes } from '../places.rules.ts'
import { callRecordSettings } from '../settings.ts'
import {
  type ArchiveFiles,
  type ArchiveMetrics,
  createFileThread,
  remainingRows,
  type WrittenFile,
} from './files.ts'
import type { AccountRow, ArchiveRegister, FileRow } from './store.ts'

interface Turn {
  signal: AbortSignal
  /** Makes writes fail after another process took the work over. */
  guard: Statement
}

interface WriterRun extends Turn {
  month: number
  /** New for every attempt, so that attempts do not share files. */
  name: string
}

const partBytes = 4_000_000

/** The SHA-256 of an object, read in parts; undefined if it has another size. */
export const digestOfObject = async (objects: ObjectStore, path: string, bytes: number) => {
  if ((await objects.size(path)) !== bytes) return undefined
  const hash = createHash('sha256')
  for (let at = 0; at < bytes; at += partBytes)
    hash.update(await objects.read(path, at, Math.min(bytes, at + partBytes)))
  return hash.digest('hex')
}

/** Writes files one after the other, each up to its size limit. */
const writeFiles = async (
  { register, objects, sizes }: { register: ArchiveRegister; objects: ObjectStore; sizes: FileSizes },
  { month, name, guard, signal }: WriterRun,
  batches: AsyncIterable<readonly CdrRow[]>,
) => {
  const written: Pick<FileRow, 'path' | 'records'>[] = []
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
      throw new Error(`${path}: reading it back returned other content`)
    const file = { path, month, records, bytes: bytes.length, digest }
    await register.describe(guard, file, [...accounts.values()])
  }

  const close = async () => {
    if (records === 0) return
    signal.throwIfAborted()
    const path = pathNow()
    const file = await thread.finish()
    await register.begin(guard, path, month)
    try {
      await send(path, file)
    } catch (error) {
      // Another process may have removed the file before it was stored.
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
    if (records >= sizes.maxRecords || bytes >= sizes.maxBytes) await close()
  }

  const writeAll = async () => {
    let waiting: CdrRow[] = []
    for await (const rows of batches) {
      waiting.push(...rows)
      for (; waiting.length >= recordsPerGroup; waiting = waiting.slice(recordsPerGroup))
        await addGroup(waiting.slice(0, recordsPerGroup))
    }
    if (waiting.length > 0) await addGroup(waiting)
    await close()
  }

  const endNow = () => void thread.close()
  signal.addEventListener('abort', endNow)
  try {
    await writeAll()
    return written
  } finally {
    signal.removeEventListener('abort', endNow)
    await thread.close()
  }
}

interface Deps extends Pick<AreaDeps, 'store' | 'settings' | 'log'> {
  objects: ObjectStore
  register: ArchiveRegister
  files: ArchiveFiles
  metrics: ArchiveMetrics
  sizes?: FileSizes
}

// Records may arrive or be deleted during archiving: then it is repeated.
const maxArchiveAttempts = 3

const archiveAuthor: Author = { requestId: 'cdr-archive' }

/** Whether the records of the month, or the month itself, were changed by others. */
const isOvertaken = (error: unknown) => error instanceof MonthMoved || isMissing(error) || isConflict(error)

/** Moves months of call records to files, and removes deleted accounts from them. */
export const createCallArchive = ({
  store,
  settings,
  objects,
  register,
  files,
  metrics,
  log,
  sizes = usualSizes,
}: Deps) => {
  const { cdrs, clock } = store
  const months = createCdrMonthStore(store)

  const setOf = ({ guard }: Turn) => new ChangeSet(archiveAuthor).add(guard)

  const write = (month: number, turn: Turn, batches: AsyncIterable<readonly CdrRow[]>) =>
    writeFiles({ register, objects, sizes }, { month, name: newId(clock.now()), ...turn }, batches)

  const begin = (month: number, turn: Turn) =>
    waitingForReaders(async () => {
      const set = setOf(turn)
      cdrs.beginArchiving(set, month)
      await store.writeUnrecorded(set.statements)
    })

  const end = (month: number, written: Awaited<ReturnType<typeof write>>, turn: Turn) =>
    waitingForReaders(async () => {
      const set = setOf(turn)
      cdrs.endArchiving(set, month, conflict)
      for (const { path } of written) register.publish(set, path)
      const records = written.reduce((sum, file) => sum + file.records, 0)
      const after = JSON.stringify({ month, records, files: written.map(({ path }) => path) })
      set.record({ accountId: systemScope, kind: 'cdrs', id: String(month), action: 'edited', after })
      await store.commit(set)
      return records
    })

  const tryArchive = async (month: number, turn: Turn) => {
    await begin(month, turn)
    const records = await end(month, await write(month, turn, months.legs(month)), turn)
    metrics.archived(records)
    log.write('info', 'a month of call records was archived', { month, records, place: objects.name })
  }

  const isThere = async (month: number) => {
    await store.fence()
    return (await cdrs.months()).includes(month)
  }

  /** Moves the stored records of a month to files, also those that arrived after an earlier archiving. */
  const archive = async (month: number, turn: Turn) => {
    for (let attempt = 1; await isThere(month); attempt += 1) {
      try {
        return await tryArchive(month, turn)
      } catch (error) {
        if (!isOvertaken(error) || attempt === maxArchiveAttempts) throw error
      }
    }
  }

  const rewrite = async (file: FileRow, turn: Turn) => {
    const written = await write(file.month, turn, remainingRows(register, files, file))
    const set = setOf(turn)
    register.retire(set, file)
    for (const { path } of written) register.publish(set, path)
    await store.writeUnrecorded(set.statements)
  }

  /** A failure does not stop the others. */
  const each = async <T>(all: readonly T[], { signal }: Turn, work: (one: T) => Promise<void>) => {
    for (const one of all) {
      if (signal.aborted) return
      try {
        await work(one)
      } catch (error) {
        if (signal.aborted) return
        // The process that took over does the rest.
        if (isLeaseLost(error)) throw error
        metrics.failed()
        log.write('error', 'call records could not be archived', {
          place: objects.name,
          error: describeError(error),
        })
      }
    }
  }

  /** Removes files of attempts that broke off, and files that were replaced or dropped. */
  const tidy = async (turn: Turn) =>
    each(await register.unread(), turn, async ({ path }) => {
      await objects.remove(path)
      await register.forget(turn.guard, path)
    })

  const due = async () => {
    const { archive_after_months: kept } = await settings.of(callRecordSettings)
    if (kept === undefined) return []
    return outdated(await cdrs.months(), Number(monthOf(clock.now())), kept)
  }

  const run = async (signal: AbortSignal, guard: Statement) => {
    const turn = { signal, guard }
    await tidy(turn)
    await each(await due(), turn, (month) => archive(month, turn))
    await each(await register.withDeparted(), turn, (file) => rewrite(file, turn))
    await tidy(turn)
  }

  const job: ScheduledJob = { name: 'cdr-archive', everySeconds: daySeconds, run }
  return { job }
}
