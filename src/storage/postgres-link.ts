import pg from 'pg'
import { datastoreFull, datastoreUnreachable, failure, storeMoved, validationError } from '../lib/failure.ts'
import type { Value } from './db.ts'
import { movedCode } from './outages.ts'
import { createWatch, type Excuse, type Servers, streamOf } from './postgres-servers.ts'

// int8 as a number: all values are far below 2^53.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === 20 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format)) as never,
}

interface LinkOptions {
  servers: Servers
  /** Runs on every new connection. */
  prepare?: (client: pg.Client) => Promise<void>
  onLost?: () => void
  /** A silent server that owes responses counts as lost after this time. */
  patienceMilliseconds: number
  isExcused?: Excuse
}

export type Link = ReturnType<typeof createLink>

/** Statements that were lost without effect are repeated for this time. */
export const againMilliseconds = 5000

// The variety of statements is unbounded, and the server stores every named one.
const maxNames = 500

/** An empty query: the server sends pending notifications before it responds. pg rejects other classes in a pipeline. */
class Sync extends pg.Query {
  override submit = (connection: pg.Connection) => connection.sync()
}

const named = (name: string | undefined) => (name === undefined ? {} : { name })

/** A pipelined connection that reconnects. If it breaks, running statements fail. */
export const createLink = (options: LinkOptions) => {
  const { servers, prepare, onLost, patienceMilliseconds, isExcused } = options
  let current: Promise<pg.Client> | undefined
  let currentClient: pg.Client | undefined
  let closed = false
  const names = new Map<string, string>()

  const lose = (client: Promise<pg.Client>) => {
    if (current !== client) return
    current = undefined
    currentClient = undefined
    servers.doubt()
    if (!closed) onLost?.()
  }

  const connect = () => {
    const made = servers.connect({ types, pipeline: true } as pg.ClientConfig, prepare)
    const ready: Promise<pg.Client> = made.then((client) => {
      currentClient = client
      client.on('error', () => lose(ready))
      client.on('end', () => lose(ready))
      return client
    })
    ready.catch(() => lose(ready))
    return ready
  }

  const nameOf = (sql: string) => {
    let name = names.get(sql)
    if (!name && names.size < maxNames) {
      name = `s${names.size}`
      names.set(sql, name)
    }
    return name
  }

  const open = (): Promise<pg.Client> => {
    if (closed) return Promise.reject(failure(datastoreUnreachable, {}))
    current ??= connect()
    return current
      .catch((error) => {
        if (closed || !wasCutOff(error)) throw error
        current ??= connect()
        return current
      })
      .catch((error) => {
        throw failure(datastoreUnreachable, {}, error)
      })
  }

  const watch = createWatch(patienceMilliseconds, isExcused)

  const submit = <Query extends pg.Query>(client: pg.Client, query: Query) =>
    watch(
      client,
      new Promise<Query>((resolve, reject) => {
        query.on('end', () => resolve(query)).on('error', reject)
        client.query(query)
      }),
    )

  const leave = (client: pg.Client) => {
    if (client !== currentClient || !current) return
    lose(current)
    streamOf(client).destroy()
  }

  return {
    open,
    /** Prepared, unless there are too many. */
    send: (client: pg.Client, sql: string, params: readonly (Value | readonly Value[])[]) =>
      watch(client, client.query({ ...named(nameOf(sql)), text: sql, values: [...params] })),
    /** Simple protocol: BEGIN, COMMIT and the like. */
    say: (client: pg.Client, sql: string) => watch(client, client.query(sql)),
    /** Resolves after all pending notifications. */
    sync: (client: pg.Client) => submit(client, new Sync('')),
    submit,
    /** Leaves a lost connection before its end is reported. */
    leave,
    /** Leaves the connection if another server takes the writes now. */
    follow() {
      if (currentClient && servers.isLeftBehind(currentClient)) leave(currentClient)
    },
    /** Without waiting. */
    abandon() {
      closed = true
      if (currentClient) leave(currentClient)
    },
    async close() {
      closed = true
      const client = await current?.catch(() => undefined)
      await client?.end()
    },
  }
}

// 08 and 57P: connection exceptions, shutdown and crash. 25006: no more writes.
const isGoodbye = (code: string | undefined) => code !== undefined && /^(08|57P|25006$)/.test(code)

/** Whether the connection broke while it was made: another attempt may succeed. */
const wasCutOff = (error: Error & { code?: string }) =>
  isGoodbye(error.code) || error.code === 'ECONNRESET' || error.message.startsWith('Connection terminated')

// Source files of Citus with errors about workers.
const tellsOfWorkers = new Set([
  'remote_commands.c',
  'remote_transaction.c',
  'connection_management.c',
  'adaptive_executor.c',
  'multi_copy.c',
])

const tellsOfLostWorker = ({ file, code }: pg.DatabaseError) =>
  file !== undefined && tellsOfWorkers.has(file) && (isGoodbye(code) || code === 'XX000')

/**
 * Whether a worker is lost, so that nothing was executed. A session notices a restarted worker by a failure: a retry may succeed.
 */
export const isWorkerLost = (error: unknown) => error instanceof pg.DatabaseError && tellsOfLostWorker(error)

/** Not if the connection broke. */
export const isServerError = (error: unknown): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError && (!isGoodbye(error.code) || isWorkerLost(error))

const diskFull = '53100'

// 53 and 58: out of memory, connections or disk.
const isInTrouble = (code: string | undefined) => code !== undefined && /^5[38]/.test(code)

/** An outage, or the error of the statement. */
export const outageOf = (error: unknown): unknown => {
  if (!isServerError(error)) return failure(datastoreUnreachable, {}, error)
  if (error.code === movedCode) return failure(storeMoved, {}, error)
  if (error.code === diskFull) return failure(datastoreFull, {}, error)
  return isInTrouble(error.code) || isWorkerLost(error) ? failure(datastoreUnreachable, {}, error) : error
}

// Deadlock, serialization failure, and a row without a partition: its month was removed during the write (monthly.ts).
const transientCodes = ['40P01', '40001', '23514']

/** Whether a retry may succeed. */
export const isTransient = (error: unknown) =>
  isServerError(error) && (transientCodes.includes(error.code ?? '') || isWorkerLost(error))

/** Text with NUL. */
export const isUnstorableText = (error: unknown) =>
  isServerError(error) && (error.code === '22021' || error.code === '22P05')

/** A noncharacter replaces NUL: it finds nothing. */
export const findable = (value: Value): Value =>
  typeof value === 'string' ? value.replaceAll('\0', '\uffff') : value

export const isUnfindable = (value: Value) => typeof value === 'string' && value.includes('\0')

export const verdictOnWrite = (error: unknown) => {
  if (!isUnstorableText(error)) return outageOf(error)
  const problems = { text: { invalid: { message: 'Text must not contain NUL characters' } } }
  return failure(validationError, { problems }, error)
}
