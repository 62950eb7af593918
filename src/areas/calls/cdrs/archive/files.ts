import { performance } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { failure } from '../../../../lib/failure.ts'
import { describeError } from '../../../../lib/log.ts'
import { type Metrics, secondsBounds } from '../../../../lib/metrics.ts'
import type { ObjectStore } from '../../../../object-store/object-store.ts'
import { MonthMoved } from '../../../../storage/monthly.ts'
import { createWorkerLink, longReadNiceness } from '../../../../storage/worker-link.ts'
import type { DepsOf } from '../../../area.ts'
import type { CdrRow } from '../columns.ts'
import { callArchiveUnreachable } from '../failures.ts'
import type { ArchivedPart } from '../places.rules.ts'
import type { FileEnd, FileGroup } from './file.ts'
import type { FileAnswer, FileCall, FileCalls } from './file-thread.ts'
import type { ArchiveRegister, FileRow } from './store.ts'

const script = new URL('./file-thread.ts', import.meta.url)

type Results = { [Name in keyof FileCalls]: Awaited<ReturnType<FileCalls[Name]>> }

const startFileThread = (niceness = 0) => {
  const link = createWorkerLink<FileCall, FileAnswer>(script, {}, { niceness })
  const call = async <Name extends keyof FileCalls>(name: Name, ...args: Parameters<FileCalls[Name]>) => {
    const answer = await link.call({ name, args })
    if ('error' in answer) throw new Error(answer.error)
    return answer.value as Results[Name]
  }
  return { call, close: link.close }
}

/** Parses files in a thread that the first call starts. */
export const createFileReader = () => {
  const { call, close } = startFileThread()
  return {
    end: (bytes: Uint8Array): Promise<FileEnd> => call('end', bytes),
    rows: (group: FileGroup, bytes: Uint8Array): Promise<CdrRow[]> => call('rows', group, bytes),
    close,
  }
}

export type WrittenFile = Results['finish']

/** Writes one file after the other in a thread of low priority. */
export const createFileThread = () => {
  const { call, close } = startFileThread(longReadNiceness)
  let added = 0
  return {
    /** Adds a group: rows ordered by account, time and id, after those before. Returns the bytes of the file so far. */
    add(rows: readonly CdrRow[]): Promise<number> {
      added += rows.length
      return call('add', rows)
    },

    /** The complete, verified file. */
    async finish(): Promise<WrittenFile> {
      const file = await call('finish')
      // A thread that ended is replaced by one without the rows added before.
      if (file.records !== added) throw new Error('the thread lost a chunk of the file')
      added = 0
      return file
    },

    close,
  }
}

export type ArchiveMetrics = ReturnType<typeof createArchiveMetrics>

export const createArchiveMetrics = (metrics: Metrics) => {
  const durations = metrics.histogram({
    name: 'crosspoint_call_archive_read_duration_seconds',
    help: 'Seconds that a read of an archive file took, by result.',
    labels: ['outcome'],
    bounds: secondsBounds,
  })
  const bytes = metrics.counter({
    name: 'crosspoint_call_archive_read_bytes_total',
    help: 'Bytes read from archive files.',
  })
  const records = metrics.counter({
    name: 'crosspoint_call_archive_records_total',
    help: 'Call records that this process moved to archive files.',
  })
  const failures = metrics.counter({
    name: 'crosspoint_call_archive_failures_total',
    help: 'Months of call records that could not be archived, rewritten or removed.',
  })
  const untold = metrics.counter({
    name: 'crosspoint_call_archive_records_missing_total',
    help: 'Events sent without their call record, because its archive file could not be read.',
  })
  return {
    read(outcome: 'done' | 'failed', seconds: number, count: number) {
      durations.labels(outcome).observe(seconds)
      bytes.inc(count)
    },
    archived: (count: number) => records.inc(count),
    failed: () => failures.inc(),
    untold: (count: number) => untold.inc(count),
  }
}

type ArchivedFile = Pick<ArchivedPart, 'path' | 'month' | 'bytes'>

// Loaded on first use: it would delay every start.
const loadParquet = () => import('./file.ts')

const archiveRetrySeconds = 30

// Most ends are at most this long: one read instead of two.
const likelyEndBytes = 65_536

// Size in memory per byte in the file.
const endWeight = 10
const rowsWeight = 12
const maxEndBytes = 64_000_000
const maxRowBytes = 32_000_000
// The filters of a full file take about 400 kB.
const maxFilterBytes = 32_000_000

/** A cache bounded by size. Calls for a key that is being loaded wait for the same load. */
const createSizedCache = <T>(maxSize: number) => {
  const cache = new LRUCache<string, Promise<T>>({ maxSize })
  return (key: string, size: number, load: () => Promise<T>): Promise<T> => {
    const known = cache.get(key)
    if (known) return known
    const value = load()
    // A value that is larger than the cache is cached alone.
    cache.set(key, value, { size: Math.min(size, maxSize) })
    value.catch(() => cache.peek(key) === value && cache.delete(key))
    return value
  }
}

interface Deps extends DepsOf<'log'> {
  /** Undefined without the setting CROSSPOINT_CALL_ARCHIVE. */
  objects: ObjectStore | undefined
  register: Pick<ArchiveRegister, 'isLive'>
  metrics: ArchiveMetrics
}

export const createArchiveFiles = ({ objects, register, metrics, log }: Deps) => {
  const ends = createSizedCache<FileEnd>(maxEndBytes)
  const groups = createSizedCache<CdrRow[]>(maxRowBytes)
  const filters = createSizedCache<Uint8Array>(maxFilterBytes)
  const reader = createFileReader()

  const measured = async (path: string, from: number, to: number) => {
    if (!objects) throw new Error('CROSSPOINT_CALL_ARCHIVE is not set')
    const began = performance.now()
    const seconds = () => (performance.now() - began) / 1000
    try {
      const bytes = await objects.read(path, from, to)
      metrics.read('done', seconds(), bytes.length)
      return bytes
    } catch (error) {
      metrics.read('failed', seconds(), 0)
      throw error
    }
  }

  const readEnd = async ({ path, bytes: size }: ArchivedFile) => {
    const { endBytesOf } = await loadParquet()
    const likely = await measured(path, Math.max(0, size - likelyEndBytes), size)
    const length = endBytesOf(likely.subarray(-8))
    return reader.end(length <= likely.length ? likely : await measured(path, size - length, size))
  }

  const reading = async <T>({ path, month }: ArchivedFile, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      // The file was replaced and removed: its records are in another one.
      if (!(await register.isLive(path))) throw new MonthMoved(month)
      log.write('warn', 'a file of older call records could not be read', {
        file: path,
        error: describeError(error),
      })
      throw failure(callArchiveUnreachable, { retryAfterSeconds: archiveRetrySeconds }, error)
    }
  }

  const endOf = (file: ArchivedFile) =>
    // The end has about 3 kB for each group of 100 kB.
    ends(file.path, Math.ceil(file.bytes / 30) * endWeight, () => readEnd(file))

  return {
    groups: (file: ArchivedFile): Promise<readonly FileGroup[]> =>
      reading(file, async () => (await endOf(file)).groups),

    /** The rows of a group. They are shared: the caller must not change them. */
    rows: (file: ArchivedFile, group: FileGroup): Promise<readonly CdrRow[]> =>
      reading(file, async () => {
        // Reading many cached groups would block the event loop.
        await turn()
        return groups(`${file.path} ${group.row}`, (group.to - group.from) * rowsWeight, async () =>
          reader.rows(group, await measured(file.path, group.from, group.to)),
        )
      }),

    /** False if a group certainly has no such id. */
    mayHold: (file: ArchivedFile, { ids }: FileGroup, id: string): Promise<boolean> =>
      reading(file, async () => {
        const { ids: all } = await endOf(file)
        if (!ids || !all) return true
        // The filters of all groups are read together: a search looks into one group after the other.
        const bytes = await filters(file.path, all.to - all.from, () => measured(file.path, all.from, all.to))
        const { mayHoldId } = await loadParquet()
        return mayHoldId(bytes.subarray(ids.from - all.from, ids.to - all.from), id)
      }),

    close: reader.close,
  }
}

export type ArchiveFiles = ReturnType<typeof createArchiveFiles>

/** The rows of a file without those of deleted accounts. */
export async function* remainingRows(register: ArchiveRegister, files: ArchiveFiles, file: FileRow) {
  const accounts = new Set(await register.accountsIn(file.path))
  // A file that was replaced and removed has no accounts.
  if (!(await register.isLive(file.path))) throw new MonthMoved(file.month)
  for (const group of await files.groups(file)) {
    const rows = await files.rows(file, group)
    yield rows.filter((leg) => accounts.has(leg.account_id))
  }
}
