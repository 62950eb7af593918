import pg from 'pg'
import { failure } from '../lib/failure.ts'
import type { Value } from './db.ts'

// int8 as a number: every counter and Gregorian second stays far below 2^53.
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === 20 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format)) as never,
}

export interface LinkOptions {
  url: string
  /** Runs on every new connection before anybody else uses it. */
  prepare?: (client: pg.Client) => Promise<void>
  onLost?: () => void
}

export type Link = ReturnType<typeof createLink>

/**
 * One pipelined connection that comes back by itself: statements are sent as they come,
 * without waiting for the answers of those before. A broken connection fails what was in flight.
 */
export const createLink = ({ url, prepare, onLost }: LinkOptions) => {
  let current: Promise<pg.Client> | undefined
  let closed = false
  const names = new Map<string, string>()

  const lose = (client: Promise<pg.Client>) => {
    if (current !== client) return
    current = undefined
    onLost?.()
  }

  const connect = () => {
    const client = new pg.Client({
      connectionString: url,
      types,
      pipeline: true,
      keepAlive: true,
      connectionTimeoutMillis: 5000,
    } as pg.ClientConfig)
    const ready = client
      .connect()
      .then(() => prepare?.(client))
      .then(() => client)
    client.on('error', () => lose(ready))
    client.on('end', () => lose(ready))
    ready.catch(() => lose(ready))
    return ready
  }

  const nameOf = (sql: string) => {
    let name = names.get(sql)
    if (!name) {
      name = `s${names.size}`
      names.set(sql, name)
    }
    return name
  }

  const open = (): Promise<pg.Client> => {
    if (closed) return Promise.reject(failure('datastore_unreachable', {}))
    current ??= connect()
    return current.catch((error) => {
      throw failure('datastore_unreachable', {}, error)
    })
  }

  return {
    open,
    /** Sends a cached (named) statement. */
    send: (client: pg.Client, sql: string, params: readonly Value[]) =>
      client.query({ name: nameOf(sql), text: sql, values: params as Value[] }),
    async close() {
      closed = true
      const client = await current?.catch(() => undefined)
      await client?.end()
    },
  }
}

/** Whether the server refused the statement (as opposed to the connection having gone). */
export const isServerError = (error: unknown): error is pg.DatabaseError => error instanceof pg.DatabaseError

/** Deadlock or serialization failure: the same work may well succeed when it is tried again. */
export const isTransient = (error: unknown) =>
  isServerError(error) && (error.code === '40P01' || error.code === '40001')
