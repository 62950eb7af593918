import type pg from 'pg'
import { datastoreUnreachable, type Failure, failure } from '../lib/failure.ts'
import { evictOldest } from '../lib/forget-oldest.ts'
import type { Append, CommittedBatch, Insertion, StaleListener, Statement, Value, Write } from './db.ts'
import { commitInTwoPhases, countable, isDistributed } from './distribution/placements.ts'
import {
  againMilliseconds,
  createLink,
  isServerError,
  isTransient,
  type Link,
  outageOf,
  verdictOnWrite,
} from './postgres-link.ts'
import { type Excuse, type Servers, streamOf } from './postgres-servers.ts'
import { makeWriting, staleChannel } from './postgres-sessions.ts'
import { unnested } from './sql-words.ts'

interface PendingWrite {
  write: Write
  attempts: number
  /** Runs alone after its batch failed, so that its result does not depend on others. */
  alone: boolean
  /** Not joined with rows of others, because such a statement failed. */
  apart: boolean
  resolve: () => void
  reject: (error: unknown) => void
}

class BrokenBatch extends Error {
  readonly reason: unknown
  readonly culprit: PendingWrite | undefined

  constructor(reason: unknown, culprit: PendingWrite | undefined) {
    super('a transaction was aborted', { cause: reason })
    this.reason = reason
    this.culprit = culprit
  }
}

const manyRows = ({ table, ending }: Insertion, rows: readonly (readonly Value[])[]) => {
  const { from, params } = unnested(table.columns, rows)
  const names = Object.keys(table.columns).join(', ')
  return { sql: `INSERT INTO ${table.name} (${names}) SELECT * FROM ${from} ${ending}`.trimEnd(), params }
}

/** One statement for each table costs a fraction of one for each row. */
const appendStatements = (appends: readonly Append[]) =>
  [...Map.groupBy(appends, ({ table }) => table)].map(([table, added]) =>
    manyRows(
      { table, ending: '' },
      added.map(({ values }) => values),
    ),
  )

/** Whether a write only adds rows. */
const canBeJoined = ({ write: { statements }, apart }: PendingWrite) =>
  !apart && statements.length > 0 && statements.every(({ into, expect }) => into && (expect?.rows ?? 1) === 1)

const joinedRows = (entries: readonly PendingWrite[]) => {
  const joined = new Map<Insertion, { rows: (readonly Value[])[]; isExpected: boolean }>()
  for (const { into, params, expect } of entries.flatMap(({ write }) => write.statements)) {
    if (!into) continue
    const found = joined.get(into) ?? { rows: [], isExpected: false }
    found.rows.push(params)
    found.isExpected ||= expect !== undefined
    joined.set(into, found)
  }
  return [...joined].map(([into, { rows, isExpected }]) => ({
    ...manyRows(into, rows),
    expected: isExpected ? rows.length : undefined,
  }))
}

/** Sends a transaction except COMMIT at once and returns the row counts. Undefined if joined rows were not all added. */
const sendTogether = async (
  lane: Link,
  client: pg.Client,
  batch: PendingWrite[],
  { payload, liesOnSeveral }: { payload: string | undefined; liesOnSeveral: boolean },
) => {
  const stream = streamOf(client)
  const textOf = liesOnSeveral ? countable : ({ sql }: Statement) => sql
  stream.cork()
  const begun = [
    lane.say(client, 'BEGIN'),
    ...(liesOnSeveral ? [lane.send(client, commitInTwoPhases, [])] : []),
  ]
  const candidates = liesOnSeveral ? [] : batch.filter(canBeJoined)
  const together = new Set(candidates.length > 1 ? candidates : [])
  const sent = batch.map((entry) =>
    together.has(entry)
      ? []
      : entry.write.statements.map((statement) => lane.send(client, textOf(statement), statement.params)),
  )
  const joined = joinedRows([...together]).map(({ sql, params, expected }) => ({
    answer: lane.send(client, sql, params),
    expected,
  }))
  const appended = appendStatements(batch.flatMap(({ write }) => write.appends ?? [])).map(
    ({ sql, params }) => lane.send(client, sql, params),
  )
  const notified = payload && lane.send(client, `SELECT pg_notify('${staleChannel}', $1)`, [payload])
  stream.uncork()
  const asked: { answer: Promise<unknown>; sender?: PendingWrite | undefined; isJoined?: boolean }[] = [
    ...begun.map((answer) => ({ answer })),
    ...sent.flatMap((answers, index) => answers.map((answer) => ({ answer, sender: batch[index] }))),
    ...joined.map(({ answer }) => ({ answer, isJoined: true })),
    ...[...appended, ...(notified ? [notified] : [])].map((answer) => ({ answer })),
  ]
  // All are awaited: a rejection left behind would be unhandled.
  const settled = await Promise.allSettled(asked.map(({ answer }) => answer))
  const at = settled.findIndex(({ status }) => status === 'rejected')
  const broken = settled[at]
  if (broken?.status === 'rejected' && asked[at]?.isJoined && isServerError(broken.reason)) return undefined
  if (broken?.status === 'rejected') throw new BrokenBatch(broken.reason, asked[at]?.sender)
  for (const { answer, expected } of joined)
    if (expected !== undefined && (await answer).rowCount !== expected) return undefined
  return Promise.all(
    sent.map(async (queries, index) => {
      const entry = batch[index]
      if (entry && together.has(entry)) return entry.write.statements.map(() => 1)
      return Promise.all(queries.map(async (query) => (await query).rowCount ?? 0))
    }),
  )
}

const writesPerBatch = 64
const attemptsPerWrite = 7
/** After this number of failed batches a write runs alone. */
const attemptsInCompany = 3
/** Batches whose COMMIT got no response. Their notification may still arrive. */
const maxUnanswered = 1000
// PostgreSQL rejects 8000 bytes and more.
const notifyBytes = 7000

const payloadOf = (sender: string, keys: readonly string[]) => {
  if (keys.length === 0) return undefined
  const payload = [sender, ...keys].join('\n')
  return Buffer.byteLength(payload) < notifyBytes ? payload : `${sender}\n*`
}

/** Its failure; undefined if all statements touched the expected rows. */
const verdictOf = (entry: PendingWrite, counts: number[]): Failure | undefined => {
  const broken = entry.write.statements.findIndex(
    (statement, index) => statement.expect && counts[index] !== statement.expect.rows,
  )
  return broken < 0 ? undefined : entry.write.statements[broken]?.expect?.orElse()
}

interface WriterServer {
  servers: Servers
  patienceMilliseconds: number
  waitsForStandby: Excuse
  lanesAtOnce: number
}

interface Circumstances {
  culprit: PendingWrite | undefined
  mayHaveEffect: boolean
  isLate: boolean
}

interface Run {
  batch: PendingWrite[]
  /** Its server waits for a standby: no request waits for the lane. */
  isHeldUp: boolean
}

const heldUp = () =>
  failure(datastoreUnreachable, {}, new Error('the synchronous standby of the database does not confirm'))

/** Writes that wait for a transaction. A write whose batch failed waits again. */
const createWriteQueue = (announce: StaleListener) => {
  const batchListeners: ((batch: CommittedBatch) => void)[] = []
  let waiting: PendingWrite[] = []

  const retry = (entries: PendingWrite[]) => {
    waiting = [...entries, ...waiting]
  }

  return {
    length: () => waiting.length,
    add: (entry: PendingWrite) => void waiting.push(entry),
    retry,

    take() {
      const loner = waiting.findIndex((entry) => entry.alone)
      const size = loner < 0 ? writesPerBatch : Math.max(1, Math.min(loner, writesPerBatch))
      const batch = waiting.slice(0, size)
      waiting = waiting.slice(batch.length)
      return batch
    },

    rejectAll(error: () => Failure) {
      for (const entry of waiting) entry.reject(error())
      waiting = []
    },

    settle(batch: PendingWrite[], began: number) {
      const committed = { writes: batch.length, seconds: (performance.now() - began) / 1000 }
      for (const listener of batchListeners) listener(committed)
      for (const entry of batch) {
        announce(entry.write.stale)
        entry.resolve()
      }
    },

    /** Without verdicts: joined rows were not all added. Otherwise some write touched unexpected rows. */
    afterRollback(batch: PendingWrite[], verdicts: (Failure | undefined)[] | undefined) {
      const [only] = batch
      if (only && verdicts && batch.length === 1) {
        // The winner may be a write of this process that is not announced yet.
        announce(only.write.stale)
        return only.reject(verdicts[0])
      }
      for (const [index, entry] of batch.entries()) {
        if (!verdicts) entry.apart = true
        else if (verdicts[index]) entry.alone = true
      }
      retry(batch)
    },

    afterError(batch: PendingWrite[], error: unknown, { culprit, mayHaveEffect, isLate }: Circumstances) {
      const isLost = !isServerError(error)
      if (isLost && (mayHaveEffect || isLate)) {
        for (const entry of batch) entry.reject(outageOf(error))
        return
      }
      const again = isLost || batch.length > 1 || isTransient(error)
      for (const entry of batch) {
        entry.attempts += 1
        entry.alone ||= !isLost && (!culprit || culprit === entry || entry.attempts >= attemptsInCompany)
        if (!again || entry.attempts > attemptsPerWrite) entry.reject(verdictOnWrite(error))
      }
      if (again) retry(batch.filter((entry) => entry.attempts <= attemptsPerWrite))
    },

    onBatch: (listener: (batch: CommittedBatch) => void) => void batchListeners.push(listener),
  }
}

/** Runs batches as transactions, each on one lane. */
const createBatchRuns = (queue: ReturnType<typeof createWriteQueue>, processId: string) => {
  const runs = new Map<Link, Run>()
  /** Keys of batches with a pending COMMIT, by batch name. */
  const committing = new Map<string, readonly string[]>()
  const unanswered = new Map<string, readonly string[]>()
  let batches = 0

  return {
    /** The server may have made these commits visible already. */
    committing: () => [...committing.values()].flat(),
    /** Undefined if its COMMIT got a response. */
    keysOf: (sender: string) => committing.get(sender) ?? unanswered.get(sender),
    lanesHeldUp: () => [...runs].flatMap(([lane, run]) => (run.isHeldUp ? [lane] : [])),

    holdUp(lane: Link) {
      const run = runs.get(lane)
      if (!run) return
      run.isHeldUp = true
      for (const entry of run.batch) entry.reject(heldUp())
      queue.rejectAll(heldUp)
    },

    async runBatch(lane: Link, batch: PendingWrite[], liesOnSeveral: () => boolean) {
      const client = await lane.open().catch((error: unknown) => {
        for (const entry of batch) entry.reject(error)
        return undefined
      })
      if (!client) return
      const began = performance.now()
      const run: Run = { batch, isHeldUp: false }
      runs.set(lane, run)
      let isCommitting = false
      batches += 1
      const sender = `${processId}/${batches}`
      const keys = batch.flatMap(({ write }) => write.stale)
      try {
        const payload = payloadOf(sender, keys)
        const results = await sendTogether(lane, client, batch, { payload, liesOnSeveral: liesOnSeveral() })
        const verdicts = results && batch.map((entry, index) => verdictOf(entry, results[index] ?? []))
        if (run.isHeldUp || !verdicts || verdicts.some(Boolean)) {
          await lane.say(client, 'ROLLBACK')
          if (!run.isHeldUp) queue.afterRollback(batch, verdicts)
          return
        }
        isCommitting = true
        committing.set(sender, keys)
        await lane.say(client, 'COMMIT')
        queue.settle(batch, began)
      } catch (caught) {
        const { reason: error, culprit } =
          caught instanceof BrokenBatch ? caught : { reason: caught, culprit: undefined }
        if (isServerError(error)) await lane.say(client, 'ROLLBACK').catch(() => undefined)
        else lane.leave(client)
        if (isCommitting && !isServerError(error)) unanswered.set(sender, keys)
        if (run.isHeldUp) return
        queue.afterError(batch, error, {
          culprit,
          mayHaveEffect: isCommitting,
          isLate: performance.now() - began > againMilliseconds,
        })
      } finally {
        runs.delete(lane)
        committing.delete(sender)
        evictOldest(unanswered, maxUnanswered)
      }
    },
  }
}

/**
 * Waiting writes share the next transaction: two round trips and one fsync.
 * A server that waits for its synchronous standby does not notice that a client left, so such a lane is kept; all writes fail until
 * the first commit succeeds.
 */
export const createWriter = (
  { servers, patienceMilliseconds, waitsForStandby, lanesAtOnce }: WriterServer,
  processId: string,
  announce: StaleListener,
) => {
  const queue = createWriteQueue(announce)
  const { committing, keysOf, lanesHeldUp, holdUp, runBatch } = createBatchRuns(queue, processId)
  let liesOnSeveral = false
  const makeLane = (): Link => {
    const lane: Link = createLink({
      servers,
      patienceMilliseconds,
      async prepare(client) {
        await makeWriting(client)
        liesOnSeveral = await isDistributed(client)
      },
      async isExcused(client) {
        const isHeldUp = await waitsForStandby(client)
        if (isHeldUp) {
          holdUp(lane)
          reportIfIdle()
        }
        return isHeldUp
      },
    })
    return lane
  }
  const lanes = Array.from({ length: lanesAtOnce }, makeLane)
  const idle = [...lanes]
  let closing = false
  let onIdle: (() => void) | undefined

  const reportIfIdle = () => {
    if (queue.length() === 0 && idle.length + lanesHeldUp().length === lanes.length) onIdle?.()
  }

  const pump = () => {
    while (queue.length() > 0) {
      const lane = idle.pop()
      if (!lane) return
      runBatch(lane, queue.take(), () => liesOnSeveral).finally(() => {
        idle.push(lane)
        if (queue.length() > 0) pump()
        else reportIfIdle()
      })
    }
  }

  return {
    lanes,
    committing,
    keysOf,
    waitsForStandby: () => lanesHeldUp().length > 0,
    write(write: Write) {
      if (closing) return Promise.reject(failure(datastoreUnreachable, {}))
      if (lanesHeldUp().length > 0) return Promise.reject(heldUp())
      return new Promise<void>((resolve, reject) => {
        if (queue.length() === 0) setImmediate(pump)
        queue.add({ write, attempts: 0, alone: write.isAlone ?? false, apart: false, resolve, reject })
      })
    },
    load: () => ({ waiting: queue.length(), lanes: lanes.length, busyLanes: lanes.length - idle.length }),
    onBatch: queue.onBatch,
    async close() {
      closing = true
      if (queue.length() > 0 || idle.length < lanes.length) {
        await new Promise<void>((resolve) => {
          onIdle = resolve
          pump()
          reportIfIdle()
        })
      }
      for (const lane of lanesHeldUp()) lane.abandon()
      await Promise.all(lanes.map((lane) => lane.close()))
    },
  }
}
