import { setImmediate as nextTurn } from 'node:timers/promises'
import type pg from 'pg'
import { type Failure, failure } from '../lib/failure.ts'
import { randomHex } from '../lib/ids.ts'
import type { CsvQuery } from './csv-lines.ts'
import type {
  Append,
  AppendTable,
  CommittedBatch,
  Database,
  Insertion,
  Row,
  StaleListener,
  Statement,
  Value,
  Write,
} from './db.ts'
import { commitInTwoPhases, countable, isDistributed } from './distribution/commits.ts'
import { inTurn } from './in-turn.ts'
import { arrayOf, arrayTypes } from './postgres-arrays.ts'
import type { CopyAnswer, ExporterData } from './postgres-exporter.ts'
import {
  createLink,
  findable,
  isServerError,
  isTransient,
  isUnfindable,
  isUnstorableText,
  isWorkerLost,
  type Link,
  outageOf,
  verdictOnWrite,
} from './postgres-link.ts'
import { createServers, type Servers } from './postgres-servers.ts'
import {
  assertOwnSessions,
  listen,
  makeDurable,
  makeReadOnly,
  waitsForStandbySql,
} from './postgres-sessions.ts'
import { type Excuse, streamOf } from './postgres-watch.ts'
import { createWorkerLink, longReadNiceness } from './worker-link.ts'

const channel = 'crosspoint_stale'
/** Of each kind of use, with the fewest connections: one for each, and one that listens. */
const fewest = { reads: 1, scans: 1, exports: 1, writes: 1 }
/** What each further connection is for, in this order. */
const furtherUses = ['writes', 'reads', 'writes', 'scans', 'exports'] as const
const mostConnections = Object.keys(fewest).length + 1 + furtherUses.length
// A long read may keep the server busy this much longer than a short one before its first row.
const scanFactor = 30
const writesPerBatch = 64
const attemptsPerRead = 3
const attemptsPerWrite = 7
/** Whoever has failed with its whole batch so often, though others were to blame, goes on without company. */
const attemptsInCompany = 3
// What was sent this long ago at most, and went with its connection before it had an effect, is sent again on the next.
const againMilliseconds = 5000
// PostgreSQL refuses notifications of 8000 bytes and more.
const notifyBytes = 7000

interface PendingWrite {
  write: Write
  attempts: number
  /** Also after a failure in company: it is judged alone then, so that no verdict depends on its neighbours. */
  alone: boolean
  /** Its rows have not gone in statements of others: one of them was not added or was refused, and it was not told whose. */
  apart: boolean
  resolve: () => void
  reject: (error: unknown) => void
}

const usesOf = (connections: number) => {
  const uses = { ...fewest }
  for (const use of furtherUses.slice(0, connections - (mostConnections - furtherUses.length))) uses[use] += 1
  return uses
}

interface PostgresOptions {
  /** 5 to 10: no more are ever open at once. */
  connections?: number
  /** How long a server may say nothing while it owes answers. */
  patienceMilliseconds?: number | undefined
}

/** Several processes may share this store: each hears of the others' commits by NOTIFY, and `fence` waits for them. */
export const openPostgres = (
  url: string,
  { connections = mostConnections, patienceMilliseconds = 10_000 }: PostgresOptions = {},
): Database => {
  const processId = randomHex(8)
  const uses = usesOf(connections)
  const listeners: StaleListener[] = []
  const announce = (keys: readonly string[] | 'everything') => {
    for (const listener of listeners) listener(keys)
  }
  const hear = (payload: string | undefined) => {
    const [sender, ...keys] = (payload ?? '').split('\n')
    if (sender === processId) return
    announce(keys[0] === '*' ? 'everything' : keys)
  }
  const follow = () => {
    for (const link of [ear, ...readers, ...scanners, ...writer.lanes]) link.follow()
    // It has connections of its own, and asks for the server anew.
    void exporter.close()
  }
  const servers = createServers(url, follow)
  const ear = createLink({
    servers,
    patienceMilliseconds,
    async prepare(client) {
      client.on('notification', ({ payload }) => hear(payload))
      await listen(client, channel)
      // Whatever was committed while nobody listened is unknown.
      announce('everything')
    },
    onLost: () => announce('everything'),
  })
  const readers = Array.from({ length: uses.reads }, () =>
    createLink({ servers, patienceMilliseconds, prepare: makeReadOnly }),
  )
  const scanners = Array.from({ length: uses.scans }, () =>
    createLink({ servers, patienceMilliseconds: patienceMilliseconds * scanFactor, prepare: makeReadOnly }),
  )
  // Lines of exports go through a thread of their own: with them come more bytes than the event loop should have to tidy up.
  const exporter = createWorkerLink<CsvQuery, CopyAnswer>(
    new URL('./postgres-exporter.ts', import.meta.url),
    {
      url,
      links: uses.exports,
      patienceMilliseconds: patienceMilliseconds * scanFactor,
    } satisfies ExporterData,
    { niceness: longReadNiceness },
  )
  const waitsForStandby: Excuse = async (client) => {
    const pid = servers.pidOf(client)
    if (pid === undefined || servers.isLeftBehind(client)) return false
    return (await query(nextReader(), waitsForStandbySql, [pid])).length > 0
  }
  const writer = createWriter(
    { servers, patienceMilliseconds, waitsForStandby, lanesAtOnce: uses.writes },
    processId,
    announce,
  )
  const fence = createFence(ear)
  const nextReader = inTurn(readers)
  const nextScanner = inTurn(scanners)

  const query = async <R>(link: Link, sql: string, params: readonly Value[]): Promise<R[]> => {
    const began = performance.now()
    for (let attempt = 1; ; attempt += 1) {
      const client = await link.open()
      try {
        const result = await link.send(client, sql, params)
        return result.rows as R[]
      } catch (error) {
        // Whoever looks for what cannot be there finds nothing.
        if (isUnstorableText(error) && params.some(isUnfindable))
          return query(link, sql, params.map(findable))
        if (isServerError(error) && !isWorkerLost(error)) throw outageOf(error)
        if (!isServerError(error)) link.leave(client)
        if (attempt === attemptsPerRead || performance.now() - began > againMilliseconds)
          throw outageOf(error)
      }
    }
  }

  return {
    engine: 'postgres',
    placesAppends: false,
    all: (sql, params = []) => query(nextReader(), sql, params),
    scan: (sql, params = []) => query(nextScanner(), sql, params),
    scanForLines: (sql, params = []) => query(nextScanner(), sql, params),
    linesAtOnce: 5000,
    async csvLines(csv) {
      const answer = await exporter.call(csv)
      if ('bytes' in answer) return answer.bytes
      if ('refusal' in answer) throw Object.assign(new Error(answer.refusal), { code: answer.code })
      throw failure(answer.outage, {}, new Error(answer.reason))
    },
    write: writer.write,
    fence,
    onStale: (listener) => void listeners.push(listener),
    writeLoad: writer.load,
    onBatch: writer.onBatch,
    async exclusively(work) {
      await proveSessions(servers)
      const link = createLink({ servers, patienceMilliseconds, prepare: makeDurable })
      try {
        const client = await link.open()
        await client.query('BEGIN')
        await client.query("SELECT pg_advisory_xact_lock(hashtext('crosspoint upgrades'))")
        await work(async (sql, params = []) => (await client.query<Row>(sql, [...params])).rows)
        await client.query('COMMIT')
      } finally {
        await link.close()
      }
    },
    state() {
      if (writer.waitsForStandby()) return 'standby_missing'
      return servers.isMissing() ? 'primary_missing' : undefined
    },
    async close() {
      await writer.close()
      await Promise.all([ear, ...readers, ...scanners, exporter].map((link) => link.close()))
    },
  }
}

/** Refuses a pooler that lends out sessions: everything here rests on having them to oneself. */
const proveSessions = async (servers: Servers) => {
  const found = await Promise.allSettled([servers.connect({}), servers.connect({})])
  const clients = found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  try {
    const [one, other] = clients
    if (one && other) {
      servers.assertTakesWrites(one)
      return await assertOwnSessions(one, other)
    }
    throw failure('datastore_unreachable', {}, found.find((lost) => lost.status === 'rejected')?.reason)
  } finally {
    await Promise.allSettled(clients.map((client) => client.end()))
  }
}

/**
 * A round trip on the listening connection: the server hands over the notifications it holds before it answers.
 * Requests that come while one is under way share the next, and so do those of one turn of the event loop.
 */
const createFence = (ear: Link) => {
  let sent: Promise<void> | undefined
  let next: Promise<void> | undefined

  const once = async () => {
    try {
      await ear.sync(await ear.open())
    } catch (error) {
      throw outageOf(error)
    }
  }

  const whenItsTurn = async () => {
    // Its failure is told to those who asked then.
    await sent?.catch(() => undefined)
    await nextTurn()
    next = undefined
    sent = once()
    return sent
  }

  return () => {
    next ??= whenItsTurn()
    return next
  }
}

const payloadOf = (processId: string, batch: PendingWrite[]) => {
  const keys = batch.flatMap((entry) => entry.write.stale)
  if (keys.length === 0) return undefined
  const payload = [processId, ...keys].join('\n')
  return Buffer.byteLength(payload) < notifyBytes ? payload : `${processId}\n*`
}

/** Whether an entry's statements all touched the rows they had to: its own verdict, or undefined when all is well. */
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

/** How the transaction of a batch failed. */
interface Circumstances {
  /** The one whose statement it was, where it was one. */
  culprit: PendingWrite | undefined
  mayHaveEffect: boolean
  isLate: boolean
}

/** A statement of a batch has failed, and its whole transaction with it. */
class BrokenBatch extends Error {
  readonly reason: unknown
  readonly culprit: PendingWrite | undefined

  constructor(reason: unknown, culprit: PendingWrite | undefined) {
    super('a transaction was broken off', { cause: reason })
    this.reason = reason
    this.culprit = culprit
  }
}

/** What a lane is busy with. */
interface Run {
  batch: PendingWrite[]
  /** Nobody waits for it any more: its server waits for a standby, and says nothing until that is back. */
  isHeldUp: boolean
}

const heldUp = () =>
  failure('datastore_unreachable', {}, new Error('the synchronous standby of the database does not confirm'))

/**
 * Writes that wait for a lane share its next transaction: two round trips and one fsync for all of them.
 *
 * A server that waits for its synchronous standby keeps each commit until that is back, and does not notice that a client
 * has gone. So such a lane is kept, too, instead of another connection that would be held up as well; whoever waits is
 * refused, and everybody who comes, until the first commit gets through.
 */
const createWriter = (
  { servers, patienceMilliseconds, waitsForStandby, lanesAtOnce }: WriterServer,
  processId: string,
  announce: StaleListener,
) => {
  const runs = new Map<Link, Run>()
  /** Of the store: whatever server takes its writes. */
  let liesOnSeveral = false
  const makeLane = (): Link => {
    const lane: Link = createLink({
      servers,
      patienceMilliseconds,
      async prepare(client) {
        await makeDurable(client)
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

  /** Lanes that are held up are waited for by nobody. */
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
      // The winner may be a write of this process whose commit it has not heard of yet: what it read is stale.
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
    try {
      const results = await sendTogether(lane, client, batch, {
        payload: payloadOf(processId, batch),
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
        await lane.say(client, 'COMMIT')
        settle(batch, began)
      }
    } catch (caught) {
      const { reason: error, culprit } =
        caught instanceof BrokenBatch ? caught : { reason: caught, culprit: undefined }
      if (isServerError(error)) await lane.say(client, 'ROLLBACK').catch(() => undefined)
      else lane.leave(client)
      if (run.isHeldUp) return
      afterError(batch, error, {
        culprit,
        mayHaveEffect: isCommitting,
        isLate: performance.now() - began > againMilliseconds,
      })
    } finally {
      runs.delete(lane)
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
    waitsForStandby: () => lanesHeldUp().length > 0,
    write(write: Write) {
      if (closing) return Promise.reject(failure('datastore_unreachable', {}))
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

const manyRowsText = ({ table, ending }: Insertion) => {
  const arrays = Object.values(table.columns).map((type, index) => `$${index + 1}::${arrayTypes[type]}`)
  const text = `INSERT INTO ${table.name} (${Object.keys(table.columns).join(', ')}) SELECT * FROM unnest(${arrays.join(', ')})`
  return `${text} ${ending}`.trimEnd()
}

const manyRowsTexts = new Map<Insertion | AppendTable, string>()

const manyRows = (
  into: Insertion,
  rows: readonly (readonly Value[])[],
  key: Insertion | AppendTable = into,
) => {
  const sql = manyRowsTexts.get(key) ?? manyRowsText(into)
  manyRowsTexts.set(key, sql)
  const types = Object.values(into.table.columns)
  const params = types.map((type, column) =>
    arrayOf(
      type,
      rows.map((values) => values[column] ?? null),
    ),
  )
  return { sql, params }
}

/** One statement for each table that a batch adds rows to: a fraction of what a statement for each row costs. */
const appendStatements = (appends: readonly Append[]) =>
  [...Map.groupBy(appends, ({ table }) => table)].map(([table, added]) => {
    const rows = added.map(({ values }) => values)
    return manyRows({ table, ending: '' }, rows, table)
  })

/** Whether a write adds rows and does nothing else: those of many go in a statement for each table. */
const canBeJoined = ({ write: { statements }, apart }: PendingWrite) =>
  !apart && statements.length > 0 && statements.every(({ into, expect }) => into && (expect?.rows ?? 1) === 1)

/** The rows of several writes, by where they go. */
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

/**
 * Sends a whole transaction but its COMMIT in one go; answers with the row counts of each entry's statements. Undefined
 * when of rows that went together some were not added, or were refused.
 */
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
  const notified = payload && lane.send(client, `SELECT pg_notify('${channel}', $1)`, [payload])
  stream.uncork()
  const asked: { answer: Promise<unknown>; sender?: PendingWrite | undefined; isJoined?: boolean }[] = [
    ...begun.map((answer) => ({ answer })),
    ...sent.flatMap((answers, index) => answers.map((answer) => ({ answer, sender: batch[index] }))),
    ...joined.map(({ answer }) => ({ answer, isJoined: true })),
    ...[...appended, ...(notified ? [notified] : [])].map((answer) => ({ answer })),
  ]
  // All are awaited before any verdict: a rejection left behind would be an unhandled one.
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
