import { figureOf } from '../matchers/figures.ts'
import { makePlace } from '../servers/databases.ts'
import { engines } from '../servers/postgres.ts'
import { removeDataDir, type ServerProcess, startServerProcess } from '../servers/server-process.ts'
import { Client, createTransport, type Transport } from './client.ts'

/** Two servers of one store that communicate only through it. */
export interface Pair {
  servers: readonly ServerProcess[]
  /** To the one and the other. */
  transports: readonly [Transport, Transport]
  end(): Promise<void>
}

type Environment = Record<string, string | undefined>

const processes = async (environment: Environment): Promise<Pair> => {
  const place = await makePlace('postgres', { isUpgraded: true })
  const own = { CROSSPOINT_DATABASE_URL: place.databaseUrl, ...environment }
  const servers = [await startServerProcess(own), await startServerProcess(own)] as const
  const transports = [createTransport(servers[0].port), createTransport(servers[1].port)] as const
  return {
    servers,
    transports,
    async end() {
      for (const transport of transports) transport.close()
      await Promise.all(servers.map((server) => server.end()))
      for (const server of servers) removeDataDir(server)
      await place.remove()
    },
  }
}

/** How many connections a thread has, by its number. */
const connectionsOf = async (through: Transport, thread: number) => {
  const figures = await new Client(through.send).get('/metrics')
  return figureOf(figures.text, 'crosspoint_thread_connections_open', { thread: String(thread) })
}

// A thread of two gets every second one.
const maxTries = 60

/** A connection, kept open, to the thread of a number: the system divides them as it likes. */
const connectTo = async (port: number, thread: number): Promise<Transport> => {
  const refused: Transport[] = []
  for (let tries = 0; tries < maxTries; tries += 1) {
    const watcher = createTransport(port, { mostSockets: 1 })
    const before = (await connectionsOf(watcher, thread)) ?? 0
    const line = createTransport(port, { mostSockets: 1 })
    await new Client(line.send).get('/healthz')
    const after = (await connectionsOf(watcher, thread)) ?? 0
    watcher.close()
    if (after > before) {
      for (const other of refused) other.close()
      return line
    }
    refused.push(line)
  }
  throw new Error(`no connection came to thread ${thread}`)
}

/** One process of two threads. */
export const startThreads = async (environment: Environment): Promise<Pair> => {
  const server = await startServerProcess({
    CROSSPOINT_DATABASE_URL: undefined,
    CROSSPOINT_HTTP_THREADS: '2',
    ...environment,
  })
  const transports = [await connectTo(server.port, 1), await connectTo(server.port, 2)] as const
  return {
    servers: [server],
    transports,
    async end() {
      for (const transport of transports) transport.close()
      await server.end()
      removeDataDir(server)
    },
  }
}

const kinds: Readonly<Record<string, (environment: Environment) => Promise<Pair>>> = {
  'two threads on the embedded store': startThreads,
  ...(engines.includes('postgres') && { 'two processes on one PostgreSQL': processes }),
}

/** By what they are, how each pair is started. */
export const pairs = Object.entries(kinds)
