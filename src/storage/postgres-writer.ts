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
    super('a transaction was broken off', { cause: reason })
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
  /** Its server waits for a standby: nobody waits for the lane. */
  isHeldUp: boolean
}

const heldUp = () =>
  failure(datastoreUnreachable, {}, new Error('the synchronous standby of the database does not confirm'))

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
  const runs = new Map<Link, Run>()
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
        if (isHeldUp) holdUp(lane)
        return isHeldUp
      },
    })
    return lane
  }
  const lanes = Array.from({ length: lanesAtOnce }, makeLane)
  const idle = [...lanes]
  const batchListeners: ((batch: CommittedBatch) => void)[] = []
  /** Keys of batches with a pending COMMIT, by batch name. */
  const committing = new Map<string, readonly string[]>()
  const unanswered = new Map<string, readonly string[]>()
  let batches = 0
  let queue: PendingWrite[] = []
  let closing = false
  let onIdle: (() => void) | undefined

  const lanesHeldUp = () => [...runs].flatMap(([lane, run]) => (run.isHeldUp ? [lane] : []))

  const holdUp = (lane: Link) => {
    const run = runs.get(lane)
    if (!run) return
    run.isHeldUp = true
    for (const entry of [...run.batch, ...queue]) entry.reject(heldUp())
    queue = []
    tellIfIdle()
  }

  const tellIfIdle = () => {
    if (queue.length === 0 && idle.length + lanesHeldUp().length === lanes.length) onIdle?.()
  }

  const takeBatch = () => {
    const loner = queue.findIndex((entry) => entry.alone)
    const size = loner < 0 ? writesPerBatch : Math.max(1, Math.min(loner, writesPerBatch))
    const batch = queue.slice(0, size)
    queue = queue.slice(batch.length)
    return batch
  }

  const settle = (batch: PendingWrite[], began: number) => {
    const committed = { writes: batch.length, seconds: (performance.now() - began) / 1000 }
    for (const listener of batchListeners) listener(committed)
    for (const entry of batch) {
      announce(entry.write.stale)
      entry.resolve()
    }
  }

  const retry = (entries: PendingWrite[]) => {
    queue = [...entries, ...queue]
  }

  const judge = (batch: PendingWrite[], verdicts: (Failure | undefined)[]) => {
    const [only] = batch
    if (only && batch.length === 1) {
      // The winner may be a write of this process that is not announced yet.
      announce(only.write.stale)
      return only.reject(verdicts[0])
    }
    for (const [index, entry] of batch.entries()) if (verdicts[index]) entry.alone = true
    retry(batch)
  }

  const afterError = (
    batch: PendingWrite[],
    error: unknown,
    { culprit, mayHaveEffect, isLate }: Circumstances,
  ) => {
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
  }

  const runBatch = async (lane: Link, batch: PendingWrite[]) => {
    let client: pg.Client
    try {
      client = await lane.open()
    } catch (error) {
      for (const entry of batch) entry.reject(error)
      return
    }
    const began = performance.now()
    const run: Run = { batch, isHeldUp: false }
    runs.set(lane, run)
    let isCommitting = false
    batches += 1
    const sender = `${processId}/${batches}`
    const keys = batch.flatMap(({ write }) => write.stale)
    try {
      const results = await sendTogether(lane, client, batch, {
        payload: payloadOf(sender, keys),
        liesOnSeveral,
      })
      if (!results) {
        await lane.say(client, 'ROLLBACK')
        if (run.isHeldUp) return
        for (const entry of batch) entry.apart = true
        return retry(batch)
      }
      const verdicts = batch.map((entry, index) => verdictOf(entry, results[index] ?? []))
      if (run.isHeldUp) await lane.say(client, 'ROLLBACK')
      else if (verdicts.some(Boolean)) {
        await lane.say(client, 'ROLLBACK')
        judge(batch, verdicts)
      } else {
        isCommitting = true
        committing.set(sender, keys)
        await lane.say(client, 'COMMIT')
        settle(batch, began)
      }
    } catch (caught) {
      const { reason: error, culprit } =
        caught instanceof BrokenBatch ? caught : { reason: caught, culprit: undefined }
      if (isServerError(error)) await lane.say(client, 'ROLLBACK').catch(() => undefined)
      else lane.leave(client)
      if (isCommitting && !isServerError(error)) unanswered.set(sender, keys)
      if (run.isHeldUp) return
      afterError(batch, error, {
        culprit,
        mayHaveEffect: isCommitting,
        isLate: performance.now() - began > againMilliseconds,
      })
    } finally {
      runs.delete(lane)
      committing.delete(sender)
      evictOldest(unanswered, maxUnanswered)
    }
  }

  const pump = () => {
    while (queue.length > 0) {
      const lane = idle.pop()
      if (!lane) return
      runBatch(lane, takeBatch()).finally(() => {
        idle.push(lane)
        if (queue.length > 0) pump()
        else tellIfIdle()
      })
    }
  }

  return {
    lanes,
    /** The server may have made these commits visible already. */
    committing: () => [...committing.values()].flat(),
    /** Undefined if its COMMIT got a response. */
    keysOf: (sender: string) => committing.get(sender) ?? unanswered.get(sender),
    waitsForStandby: () => lanesHeldUp().length > 0,
    write(write: Write) {
      if (closing) return Promise.reject(failure(datastoreUnreachable, {}))
      if (lanesHeldUp().length > 0) return Promise.reject(heldUp())
      return new Promise<void>((resolve, reject) => {
        if (queue.length === 0) setImmediate(pump)
        queue.push({ write, attempts: 0, alone: write.isAlone ?? false, apart: false, resolve, reject })
      })
    },
    load: () => ({
      waiting: queue.length,
      lanes: lanes.length,
      busyLanes: lanes.length - idle.length,
    }),
    onBatch: (listener: (batch: CommittedBatch) => void) => void batchListeners.push(listener),
    async close() {
      closing = true
      if (queue.length > 0 || idle.length < lanes.length) {
        await new Promise<void>((resolve) => {
          onIdle = resolve
          pump()
          tellIfIdle()
        })
      }
      for (const lane of lanesHeldUp()) lane.abandon()
      await Promise.all(lanes.map((lane) => lane.close()))
    },
  }
}
