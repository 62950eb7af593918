import { setImmediate as nextTurn } from 'node:timers/promises'
import { datastoreFull, datastoreUnreachable, failure } from '../lib/failure.ts'
import { randomHex } from '../lib/ids.ts'
import { inTurn } from '../lib/list.ts'
import type { CsvQuery, Database, Row, StaleListener, Value } from './db.ts'
import type { CopyChunk, ExporterData } from './postgres-exporter.ts'
import {
  againMilliseconds,
  createLink,
  findable,
  isServerError,
  isUnfindable,
  isUnstorableText,
  isWorkerLost,
  type Link,
  outageOf,
} from './postgres-link.ts'
import { createServers, type Excuse, type Servers } from './postgres-servers.ts'
import {
  assertOwnSessions,
  assertUtf8,
  listen,
  makeReadOnly,
  makeWriting,
  waitsForStandbySql,
} from './postgres-sessions.ts'
import { createWriter } from './postgres-writer.ts'
import { createWorkerLink, longReadNiceness } from './worker-link.ts'

/** One connection for each use, and one that listens. */
const fewest = { reads: 1, scans: 1, exports: 1, writes: 1 }
/** Uses of further connections, in this order. */
const furtherUses = ['writes', 'reads', 'writes', 'scans', 'exports'] as const
const maxConnections = Object.keys(fewest).length + 1 + furtherUses.length
// A long read may take this much longer until its first row.
const scanFactor = 30
const attemptsPerRead = 3

const usesOf = (connections: number) => {
  const uses = { ...fewest }
  for (const use of furtherUses.slice(0, connections - (maxConnections - furtherUses.length))) uses[use] += 1
  return uses
}

interface PostgresOptions {
  /** 5 to 10. */
  connections?: number
  /** Timeout of a silent server, in ms. */
  patienceMilliseconds?: number | undefined
}

const query = async <R>(link: Link, sql: string, params: readonly Value[]): Promise<R[]> => {
  const began = performance.now()
  for (let attempt = 1; ; attempt += 1) {
    const client = await link.open()
    try {
      const result = await link.send(client, sql, params)
      return result.rows as R[]
    } catch (error) {
      // Nothing contains such a text.
      if (isUnstorableText(error) && params.some(isUnfindable)) return query(link, sql, params.map(findable))
      if (isServerError(error) && !isWorkerLost(error)) throw outageOf(error)
      if (!isServerError(error)) link.leave(client)
      if (attempt === attemptsPerRead || performance.now() - began > againMilliseconds) throw outageOf(error)
    }
  }
}

/** Processes announce commits by NOTIFY; `fence` waits for them. */
export const openPostgres = (
  url: string,
  { connections = maxConnections, patienceMilliseconds = 10_000 }: PostgresOptions = {},
): Database => {
  const processId = randomHex(8)
  const uses = usesOf(connections)
  const listeners: StaleListener[] = []
  const announce = (keys: readonly string[] | 'everything') => {
    for (const listener of listeners) listener(keys)
  }
  const hear = (payload: string | undefined) => {
    const [sender = '', ...keys] = (payload ?? '').split('\n')
    const own = writer.keysOf(sender)
    if (own) return announce(own)
    if (!sender.startsWith(processId)) announce(keys[0] === '*' ? 'everything' : keys)
  }
  const follow = () => {
    for (const link of [ear, ...readers, ...scanners, ...writer.lanes]) link.follow()
    // Its thread has its own connections.
    void exporter.close()
  }
  const servers = createServers(url, follow)
  const ear = createLink({
    servers,
    patienceMilliseconds,
    async prepare(client) {
      client.on('notification', ({ payload }) => hear(payload))
      await listen(client)
      // Commits before this are unknown.
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
  // In a thread: too many bytes for the garbage collector of the event loop.
  const exporter = createWorkerLink<CsvQuery, CopyChunk>(
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
  // PostgreSQL makes a commit visible before it notifies and responds.
  const fence = createFence(ear, () => {
    const pending = writer.committing()
    if (pending.length > 0) announce(pending)
  })
  const nextReader = inTurn(readers)
  const nextScanner = inTurn(scanners)

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
      throw failure(answer.isFull ? datastoreFull : datastoreUnreachable, {}, new Error(answer.reason))
    },
    write: writer.write,
    fence,
    onStale: (listener) => void listeners.push(listener),
    writeLoad: writer.load,
    onBatch: writer.onBatch,
    exclusively: (work) => inUpgrade(servers, patienceMilliseconds, work),
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

const proveSessions = async (servers: Servers) => {
  const found = await Promise.allSettled([servers.connect({}), servers.connect({})])
  const clients = found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  try {
    const [one, other] = clients
    if (one && other) {
      servers.assertTakesWrites(one)
      await assertUtf8(one)
      return await assertOwnSessions(one, other)
    }
    throw failure(datastoreUnreachable, {}, found.find((lost) => lost.status === 'rejected')?.reason)
  } finally {
    await Promise.allSettled(clients.map((client) => client.end()))
  }
}

/** One transaction at a time for all processes. */
const inUpgrade = async (
  servers: Servers,
  patienceMilliseconds: number,
  work: Parameters<Database['exclusively']>[0],
) => {
  await proveSessions(servers)
  const link = createLink({ servers, patienceMilliseconds, prepare: makeWriting })
  try {
    const client = await link.open()
    await client.query('BEGIN')
    await client.query("SELECT pg_advisory_xact_lock(hashtext('crosspoint upgrades'))")
    await work(async (sql, params = []) => (await client.query<Row>(sql, [...params])).rows)
    await client.query('COMMIT')
  } finally {
    await link.close()
  }
}

/** A round trip on the listening connection: notifications come before the response. Requests during one share the next. */
const createFence = (ear: Link, onSynced: () => void) => {
  let sent: Promise<void> | undefined
  let next: Promise<void> | undefined

  const once = async () => {
    try {
      await ear.sync(await ear.open())
    } catch (error) {
      throw outageOf(error)
    }
    onSynced()
  }

  const whenItsTurn = async () => {
    // Its callers get the failure.
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
