import { performance } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import { failure } from '../../../../lib/failure.ts'
import { describeError, type Log } from '../../../../lib/log.ts'
import { type Metrics, secondsBounds } from '../../../../lib/metrics.ts'
import type { ObjectStore } from '../../../../object-store/object-store.ts'
import { MonthMoved } from '../../../../storage/monthly.ts'
import { createWorkerLink, longReadNiceness } from '../../../../storage/worker-link.ts'
import type { CdrRow } from '../columns.ts'
import { callArchiveUnreachable } from '../failures.ts'
import type { ArchivedPart } from '../places.rules.ts'
import type { FileEnd, FileGroup } from './file.ts'
import type { FilePart, PartAnswer } from './file-reader.ts'
import type { FileStep, StepAnswer, WrittenFile } from './file-writer.ts'
import { unpackRows } from './packing.ts'
import type { ArchiveRegister } from './store.ts'

const readerScript = new URL('./file-reader.ts', import.meta.url)
const writerScript = new URL('./file-writer.ts', import.meta.url)

const unlike = (answer: object) =>
  new Error('error' in answer ? String(answer.error) : 'the thread answered something else')

/** Takes files apart, for somebody who waits. The thread is there from the first one on. */
export const createFileReader = () => {
  const link = createWorkerLink<FilePart, PartAnswer>(readerScript, {})
  return {
    /** What the end of a file says, of its bytes: see `fileEndOf`. */
    async end(bytes: Uint8Array): Promise<FileEnd> {
      const answer = await link.call({ end: bytes })
      if ('end' in answer) return answer.end
      throw unlike(answer)
    },

    /** The rows of a group, of its bytes. */
    async rows(group: FileGroup, bytes: Uint8Array): Promise<CdrRow[]> {
      const answer = await link.call({ group, bytes })
      if ('rows' in answer) return unpackRows(answer.rows)
      throw unlike(answer)
    },

    close: link.close,
  }
}

/** Puts one file together after the other. The thread goes with whoever has it. */
export const createFileThread = () => {
  const link = createWorkerLink<FileStep, StepAnswer>(writerScript, {}, { niceness: longReadNiceness })
  let added = 0
  return {
    /** Adds a group: rows in the order of account, time and id, behind those before. Answers with the file's bytes so far. */
    async add(rows: readonly CdrRow[]): Promise<number> {
      added += rows.length
      const answer = await link.call({ rows })
      if ('size' in answer) return answer.size
      throw unlike(answer)
    },

    /** The file, after it was taken apart again; what is added next goes into another one. */
    async finish(): Promise<WrittenFile> {
      const answer = await link.call('finish')
      if (!('file' in answer)) throw unlike(answer)
      // A thread that ended is followed by one that knows nothing of what was added before.
      if (answer.file.records !== added) throw new Error('the thread lost a part of the file')
      added = 0
      return answer.file
    },

    /** Ends at once, whatever is under way. */
    close: link.close,
  }
}

export type ArchiveMetrics = ReturnType<typeof createArchiveMetrics>

/** How the files of older call records are used. */
export const createArchiveMetrics = (metrics: Metrics) => {
  const durations = metrics.histogram({
    name: 'crosspoint_call_archive_read_duration_seconds',
    help: 'Seconds that reads of files of older call records took, by what came of them.',
    labels: ['outcome'],
    bounds: secondsBounds,
  })
  const bytes = metrics.counter({
    name: 'crosspoint_call_archive_read_bytes_total',
    help: 'Bytes that were read of files of older call records.',
  })
  const records = metrics.counter({
    name: 'crosspoint_call_archive_records_total',
    help: 'Call records that this process moved to files.',
  })
  const failures = metrics.counter({
    name: 'crosspoint_call_archive_failures_total',
    help: 'Months of call records that could not be archived, rewritten or removed when their turn came.',
  })
  const untold = metrics.counter({
    name: 'crosspoint_call_archive_records_untold_total',
    help: 'Call records that an event was told without, for their file could not be read.',
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

// Loaded by the first who reads such a file: every start would wait for it.
const loadParquet = () => import('./file.ts')

const retryAfterSeconds = 30

// Most ends are no longer than this: one read instead of two.
const likelyEndBytes = 65_536

// Objects in memory take so many times what they take in a file.
const endWeight = 10
const rowsWeight = 8
const maxEndBytes = 64_000_000
const maxRowBytes = 32_000_000
// A full file has some 400 kB of filters.
const maxFilterBytes = 32_000_000

/** Keeps what was made of files, the latest used, up to a weight. What is in the making is waited for by all. */
const createWeighed = <T>(most: number) => {
  const kept = new Map<string, { value: Promise<T>; weight: number }>()
  let total = 0
  const drop = (key: string) => {
    total -= kept.get(key)?.weight ?? 0
    kept.delete(key)
  }
  return (key: string, weight: number, make: () => Promise<T>): Promise<T> => {
    const known = kept.get(key)
    drop(key)
    const value = known?.value ?? make()
    kept.set(key, { value, weight })
    total += weight
    if (!known) value.catch(() => kept.get(key)?.value === value && drop(key))
    for (const oldest of kept.keys()) {
      if (total <= most || oldest === key) break
      drop(oldest)
    }
    return value
  }
}

interface Deps {
  /** Undefined: this process was told of no archive. */
  objects: ObjectStore | undefined
  register: Pick<ArchiveRegister, 'isLive'>
  metrics: ArchiveMetrics
  log: Log
}

/** Files of call records, read in parts. */
export const createArchiveFiles = ({ objects, register, metrics, log }: Deps) => {
  const ends = createWeighed<FileEnd>(maxEndBytes)
  const groups = createWeighed<CdrRow[]>(maxRowBytes)
  const filters = createWeighed<Uint8Array>(maxFilterBytes)
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

  /** What cannot be read now is not gone: whoever asks again later may have it. */
  const reading = async <T>({ path, month }: ArchivedFile, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      // It was replaced meanwhile, and removed: its records lie in another one.
      if (!(await register.isLive(path))) throw new MonthMoved(month)
      log.write('warn', 'a file of older call records could not be read', {
        file: path,
        error: describeError(error),
      })
      throw failure(callArchiveUnreachable, { retryAfterSeconds }, error)
    }
  }

  const endOf = (file: ArchivedFile) =>
    // A group takes some 3 kB of the end and has 100 kB by itself.
    ends(file.path, Math.ceil(file.bytes / 30) * endWeight, () => readEnd(file))

  return {
    /** The groups of a file, in its order. */
    groups: (file: ArchivedFile): Promise<readonly FileGroup[]> =>
      reading(file, async () => (await endOf(file)).groups),

    /** The rows of a group. Whoever gets them changes none: others get the same. */
    rows: (file: ArchivedFile, group: FileGroup): Promise<readonly CdrRow[]> =>
      reading(file, async () => {
        // Rows that are kept come at once: whoever goes through many of them would hold up everybody else.
        await turn()
        return groups(`${file.path} ${group.row}`, (group.to - group.from) * rowsWeight, async () =>
          reader.rows(group, await measured(file.path, group.from, group.to)),
        )
      }),

    /** False when a group holds no such id for certain. */
    mayHold: (file: ArchivedFile, { ids }: FileGroup, id: string): Promise<boolean> =>
      reading(file, async () => {
        const { ids: all } = await endOf(file)
        if (!ids || !all) return true
        // Of all groups at once: whoever looks into one of them looks into the next.
        const bytes = await filters(file.path, all.to - all.from, () => measured(file.path, all.from, all.to))
        const { mayHoldId } = await loadParquet()
        return mayHoldId(bytes.subarray(ids.from - all.from, ids.to - all.from), id)
      }),

    /** Ends the thread that takes files apart: the next reading would start another one. */
    close: reader.close,
  }
}

export type ArchiveFiles = ReturnType<typeof createArchiveFiles>
