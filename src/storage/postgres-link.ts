import pg from 'pg'
import { datastoreFull, datastoreUnreachable, failure, storeMoved, validationError } from '../lib/failure.ts'
import type { Value } from './db.ts'
import { movedCode } from './outages.ts'
import { createWatch, type Excuse, type Servers, streamOf } from './postgres-servers.ts'

// int8 as a number: every counter and Gregorian second stays far below 2^53.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === 20 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format)) as never,
}

interface LinkOptions {
  servers: Servers
  /** Runs on every new connection before anybody else uses it. */
  prepare?: (client: pg.Client) => Promise<void>
  onLost?: () => void
  /** When a server owes answers and says nothing for this long, the connection counts as broken. */
  patienceMilliseconds: number
  /** Whether a server that says nothing for so long is waited for even so. */
  isExcused?: Excuse
}

export type Link = ReturnType<typeof createLink>

/** What was sent this long ago at most, and went with its connection before it had an effect, is sent again on the next. */
export const againMilliseconds = 5000

// What filters and months make of statements is without end, and the server keeps every named one.
const maxNames = 500

/**
 * Asks for nothing: the server answers when it has come to it, and before it answers it hands over the notifications it holds.
 * Queries of other classes than pg's own are refused where they are sent without waiting for those before.
 */
class Sync extends pg.Query {
  override submit = (connection: pg.Connection) => connection.sync()
}

const named = (name: string | undefined) => (name === undefined ? {} : { name })

/**
 * One pipelined connection that comes back by itself: statements are sent as they come,
 * without waiting for the answers of those before. A broken connection fails what was in flight.
 */
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
    // One that was closed on purpose is missed by nobody.
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
    /** Sends a statement, which the server keeps prepared unless there are too many. */
    send: (client: pg.Client, sql: string, params: readonly (Value | readonly Value[])[]) =>
      watch(client, client.query({ ...named(nameOf(sql)), text: sql, values: [...params] })),
    /** Sends a statement of the protocol's simple kind: BEGIN, COMMIT and the like. */
    say: (client: pg.Client, sql: string) => watch(client, client.query(sql)),
    /** Resolves when the server has come to this place, and has handed over the notifications it held. */
    sync: (client: pg.Client) => submit(client, new Sync('')),
    /** Sends a query that takes its response by itself, and resolves with it. */
    submit,
    /** Leaves a connection that was lost: the next one is another, also before its end is told. */
    leave,
    /** Leaves the connection if the writes have gone to another server: what is under way on it fails. */
    follow() {
      if (currentClient && servers.isLeftBehind(currentClient)) leave(currentClient)
    },
    /** Without waiting for what is under way. */
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

// Classes 08 and 57P: connection exceptions, and a server that shuts down or has crashed. 25006: it no longer takes writes.
const isGoodbye = (code: string | undefined) => code !== undefined && /^(08|57P|25006$)/.test(code)

/** Whether somebody was there, and went while the connection was being made: the next one may well succeed. */
const wasCutOff = (error: Error & { code?: string }) =>
  isGoodbye(error.code) || error.code === 'ECONNRESET' || error.message.startsWith('Connection terminated')

// Where Citus tells of its sessions with workers. What it says of one that is gone has the code of a goodbye, or of a fault.
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
 * Whether a server behind the server is gone, or was, and so nothing has happened. Each session keeps connections to
 * workers, and learns that one has begun anew by a failure: the same may well succeed at once.
 */
export const isWorkerLost = (error: unknown) => error instanceof pg.DatabaseError && tellsOfLostWorker(error)

/** Whether the server refused the statement (as opposed to the connection having gone). */
export const isServerError = (error: unknown): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError && (!isGoodbye(error.code) || isWorkerLost(error))

const diskFull = '53100'

// Classes 53 and 58: the server is out of memory or connections, or its disk fails.
const isInTrouble = (code: string | undefined) => code !== undefined && /^5[38]/.test(code)

/** What an error is to whoever asked: one that another try may not meet, or a fault of the statement. */
export const outageOf = (error: unknown): unknown => {
  if (!isServerError(error)) return failure(datastoreUnreachable, {}, error)
  if (error.code === movedCode) return failure(storeMoved, {}, error)
  if (error.code === diskFull) return failure(datastoreFull, {}, error)
  return isInTrouble(error.code) || isWorkerLost(error) ? failure(datastoreUnreachable, {}, error) : error
}

// Deadlock, serialization failure, and a row that finds no partition, for its month went between two statements of a
// write (monthly.ts): no table has other checks.
const transientCodes = ['40P01', '40001', '23514']

/** Whether the same work may well succeed when it is tried again; also when a worker is gone. */
export const isTransient = (error: unknown) =>
  isServerError(error) && (transientCodes.includes(error.code ?? '') || isWorkerLost(error))

/** The server was sent text that it cannot hold, which is text with NUL in it. */
export const isUnstorableText = (error: unknown) =>
  isServerError(error) && (error.code === '22021' || error.code === '22P05')

/** A value to look for in place of one that nothing in the store can be: a noncharacter stands for NUL. */
export const findable = (value: Value): Value =>
  typeof value === 'string' ? value.replaceAll('\0', '\uffff') : value

export const isUnfindable = (value: Value) => typeof value === 'string' && value.includes('\0')

/** What whoever writes is told: the server's own words, unless it was sent what it cannot hold. */
export const verdictOnWrite = (error: unknown) => {
  if (!isUnstorableText(error)) return outageOf(error)
  const problems = { text: { invalid: { message: 'Text must not contain NUL characters' } } }
  return failure(validationError, { problems }, error)
}
