import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { datastoreFull, datastoreUnreachable, failure, storeMoved } from '../lib/failure.ts'
import { evictOldest } from '../lib/forget-oldest.ts'
import { randomHex } from '../lib/ids.ts'
import { elementAt, zip } from '../lib/list.ts'
import { sqliteLines } from './csv-lines.ts'
import type { CommittedBatch, Database, Row, StaleListener, Value, Write, WriterRegistry } from './db.ts'
import { movedText } from './outages.ts'
import { createForeignCommits, prepareCommits } from './sqlite-commits.ts'
import { openDurable, sqliteText } from './sqlite-open.ts'
import type { Scan, ScanChunk, SqliteReaderData } from './sqlite-reader.ts'
import { createWorkerLink, longReadNiceness } from './worker-link.ts'
import { type Batch, createWriterClient, createWriterThread, type WriteOutcome } from './writer-client.ts'

const maxQueries = 500
const exportThreads = 2
// A thread takes 9 MB and 40 ms to start, and often another page follows.
const readerRestsMs = 10_000

interface SqliteOptions {
  /** For commands next to a server: commits contain the stale keys. */
  tellsKeys?: boolean
}

interface Query {
  statement: StatementSync
  names: string[]
}

// Objects made by node:sqlite are twice as slow.
const named = (names: readonly string[], values: readonly Value[]) => {
  const row: Record<string, Value> = {}
  for (let at = 0; at < names.length; at += 1) row[names[at] as string] = values[at] as Value
  return row
}

/**
 * The embedded store: reads on the event loop, a thread for writes, one for long reads and two for exports. Writes during a commit
 * share the next one; each has its own result.
 */
export const openSqlite = (file: string, { tellsKeys = false }: SqliteOptions = {}): Database => {
  const thread = createWriterThread(file, randomHex(8), tellsKeys)
  const { writer, ...db } = openBeside(file, thread.seating)
  return {
    ...db,
    seating: {
      ...thread.seating,
      async seat() {
        thread.share()
        // Otherwise it would miss the writes of others.
        await writer.seat.take()
        // The running batch announces no keys.
        await writer.batch()
        return thread.seating.seat()
      },
    },
    async close() {
      await db.close()
      await thread.close()
    },
  }
}

/** For a further thread of the process. */
export const joinSqlite = async (file: string, seating: WriterRegistry): Promise<Database> => {
  const { writer, ...db } = openBeside(file, seating)
  await writer.seat.take()
  return db
}

const openBeside = (file: string, seating: WriterRegistry): Database & { writer: SqliteWriter } => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const connection = openDurable(file)
  connection.exec('PRAGMA mmap_size = 268435456')
  prepareCommits(connection)
  const listeners: StaleListener[] = []
  const announce = (keys: readonly string[] | 'everything') => {
    for (const listener of listeners) listener(keys)
  }
  const queries = new Map<string, Query>()
  const writer = createWriter(seating, announce)
  const fence = createFence(connection, seating.processId, announce, writer)
  const readerScript = new URL('./sqlite-reader.ts', import.meta.url)
  const startReader = (cacheKilobytes: number) =>
    createWorkerLink<Scan, ScanChunk>(readerScript, { file, cacheKilobytes } satisfies SqliteReaderData, {
      niceness: longReadNiceness,
      idleMilliseconds: readerRestsMs,
    })
  const scans = startReader(8000)
  // Separate threads, so that a scan does not wait. They hardly read a page twice.
  const exporters = Array.from({ length: exportThreads }, () => startReader(2000))
  // The first of equally busy ones: a short export starts one thread.
  const nextExporter = () =>
    exporters.reduce((best, other) => (other.load() < best.load() ? other : best), elementAt(exporters, 0))
  const scanIn = async <R>(reader: typeof scans, sql: string, params: readonly Value[]) => {
    const answer = await reader.call({ as: 'rows', sql, params })
    if ('rows' in answer) return answer.rows.map((values) => named(answer.names, values)) as R[]
    throw new Error('error' in answer ? answer.error : 'the reader gave no rows')
  }

  const queryOf = (sql: string) => {
    let query = queries.get(sql)
    if (!query) {
      // PostgreSQL rejects writes itself.
      if (!/^\s*SELECT\b/.test(sql)) throw new Error('a read that is no SELECT')
      const statement = connection.prepare(sqliteText(sql))
      statement.setReturnArrays(true)
      query = { statement, names: statement.columns().map(({ name }) => name) }
      queries.set(sql, query)
      evictOldest(queries, maxQueries)
    }
    return query
  }

  return {
    writer,
    engine: 'sqlite',
    placesAppends: true,
    async all<R>(sql: string, params: readonly Value[] = []) {
      const { statement, names } = queryOf(sql)
      const rows = statement.all(...params) as unknown as Value[][]
      return rows.map((values) => named(names, values)) as R[]
    },
    scan: (sql, params = []) => scanIn(scans, sql, params),
    scanForLines: (sql, params = []) => scanIn(nextExporter(), sql, params),
    linesAtOnce: 1000,
    async csvLines(query) {
      const sql = `SELECT CAST(text AS BLOB) AS bytes FROM (${sqliteLines(query)})`
      const answer = await nextExporter().call({
        as: 'bytes',
        sql,
        params: query.params,
        functions: query.functions,
      })
      if ('bytes' in answer) return answer.bytes
      throw new Error('error' in answer ? answer.error : 'the reader gave no bytes')
    },
    write: writer.write,
    fence,
    state: () => undefined,
    onStale: (listener) => void listeners.push(listener),
    writeLoad: writer.load,
    onBatch: writer.onBatch,
    async exclusively(work) {
      connection.exec('BEGIN IMMEDIATE')
      try {
        await work(async (sql, params = []) => connection.prepare(sqliteText(sql)).all(...params) as Row[])
        connection.exec('COMMIT')
      } catch (error) {
        if (connection.isTransaction) connection.exec('ROLLBACK')
        throw error
      }
    },
    async close() {
      await writer.close()
      await Promise.all([scans, ...exporters].map((link) => link.close()))
      queries.clear()
      connection.close()
    },
  }
}

const createFence = (
  connection: DatabaseSync,
  processId: string,
  announce: StaleListener,
  { seat, underWay }: Pick<SqliteWriter, 'seat' | 'underWay'>,
) => {
  const foreignKeys = createForeignCommits(connection, processId)
  let looking: Promise<void> | undefined

  const look = () => {
    seat.hear()
    const foreign = foreignKeys()
    if (foreign === undefined) return
    // Others may have read a commit that is not announced here yet.
    const own = underWay()
    if (own.length > 0) announce(own)
    if (foreign.length > 0) announce(foreign)
  }

  const lookNextTurn = async () => {
    await nextTurn()
    looking = undefined
    if (connection.isOpen) look()
  }

  // Requests of one round share a look and continue together: a third cheaper.
  return () => {
    looking ??= lookNextTurn()
    return looking
  }
}

interface PendingWrite {
  write: Write
  resolve: () => void
  reject: (error: unknown) => void
}

// Half of many waiting writes go at once: the event loop prepares the next while the disk is busy.
const leastShared = 12

const isFull = (message: string) => /database or disk is full/.test(message)

// Also a limit on the size of files.
const isUnreachable = (message: string) =>
  /database is (locked|busy)|disk I\/O error|unable to open database file|readonly database/.test(message)

const failureOf = (message: string) => {
  const reason = new Error(message)
  if (message === movedText) return failure(storeMoved, {}, reason)
  if (isFull(message)) return failure(datastoreFull, {}, reason)
  return isUnreachable(message) ? failure(datastoreUnreachable, {}, reason) : reason
}

type SqliteWriter = ReturnType<typeof createWriter>

/** One batch at a time. */
const createWriter = (seating: WriterRegistry, announce: StaleListener) => {
  const batchListeners: ((batch: CommittedBatch) => void)[] = []
  let pending: PendingWrite[] = []
  let running: Promise<void> | undefined
  let current: Promise<void> | undefined
  let sent: readonly PendingWrite[] = []
  let closing = false
  const seat = createWriterClient({ seating, onStale: announce })

  const posted = (batch: readonly PendingWrite[]): Batch => {
    const texts = new Map<string, number>()
    const textOf = (sql: string) => {
      const text = texts.get(sql) ?? texts.size
      texts.set(sql, text)
      return text
    }
    const tellsStale = seating.isShared() || seating.tellsKeys
    const writes = batch.map(({ write: { statements, appends = [], stale } }) => ({
      statements: [
        ...statements.map(({ sql, params, expect }) => ({ text: textOf(sql), params, rows: expect?.rows })),
        ...appends
          .filter(({ table }) => !table.isPlaced)
          .map(({ table, values }) => ({ text: textOf(table.insertion), params: values })),
      ],
      entries: appends.flatMap(({ table, values }) => (table.isPlaced ? [values] : [])),
      stale: tellsStale ? stale : [],
    }))
    return { texts: [...texts.keys()], writes }
  }

  const settle = (entry: PendingWrite, outcome: WriteOutcome) => {
    if (outcome === 'done') return entry.resolve()
    if ('broken' in outcome) return entry.reject(entry.write.statements[outcome.broken]?.expect?.orElse())
    entry.reject(failureOf(outcome.error))
  }

  const runBatch = async (batch: PendingWrite[]) => {
    const began = performance.now()
    try {
      await seat.take()
      sent = batch
      const outcomes = await seat.call(posted(batch))
      const committed = { writes: batch.length, seconds: (performance.now() - began) / 1000 }
      for (const listener of batchListeners) listener(committed)
      // A retry after a lost race must read the winner's write.
      const settled = [...zip(batch, outcomes)]
      for (const [entry, outcome] of settled) if (outcome === 'done') announce(entry.write.stale)
      sent = []
      for (const [entry, outcome] of settled) settle(entry, outcome)
    } catch (error) {
      sent = []
      // The thread may have died after its commit.
      for (const { write } of batch) announce(write.stale)
      for (const entry of batch) entry.reject(error)
    }
  }

  const run = async () => {
    while (pending.length > 0) {
      const size = Math.max(leastShared, Math.ceil(pending.length / 2))
      const batch = pending.slice(0, size)
      pending = pending.slice(size)
      current = runBatch(batch)
      await current
    }
    running = undefined
  }

  return {
    seat,
    /** Keys of writes that may be committed but are not announced. */
    underWay: () => sent.flatMap(({ write }) => write.stale),
    batch: async () => current,
    write(write: Write) {
      if (closing) return Promise.reject(failure(datastoreUnreachable, {}))
      return new Promise<void>((resolve, reject) => {
        pending.push({ write, resolve, reject })
        // Later writes during its commit share the next one.
        running ??= Promise.resolve().then(run)
      })
    },
    load: () => ({ waiting: pending.length, lanes: 1, busyLanes: running ? 1 : 0 }),
    onBatch: (listener: (batch: CommittedBatch) => void) => void batchListeners.push(listener),
    async close() {
      closing = true
      await running
      seat.close()
    },
  }
}
