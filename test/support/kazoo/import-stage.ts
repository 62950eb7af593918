// A store after a first start, a Kazoo, and the commands that import from it. A server starts when a test first sends a request.
import { join } from 'node:path'
import type { Database } from '../../../src/storage/db.ts'
import { openPostgres } from '../../../src/storage/postgres.ts'
import { openSqlite } from '../../../src/storage/sqlite.ts'
import { runHere } from '../run/command-here.ts'
import { openCommandLine } from '../run/command-line.ts'
import type { Engine } from '../servers/databases.ts'
import { startServerProcess } from '../servers/server-process.ts'
import { Client, createTransport } from '../world/client.ts'
import { credentialsOf } from '../world/world.ts'
import { dataSet } from './data-set.ts'
import { environmentOf, makeStartedPlace } from './first-start.ts'
import { accounts, databaseOf } from './sample.ts'
import { type KazooManners, startKazoo } from './stand-in.ts'

export type ImportStage = Awaited<ReturnType<typeof openImportStage>>

export const openImportStage = async (
  engine: Engine,
  databases: Parameters<typeof startKazoo>[0] = dataSet(),
  manners: KazooManners = {},
) => {
  const place = await makeStartedPlace(engine)
  const environment = environmentOf(place)
  const kazoo = await startKazoo(databases, manners)
  const commands = openCommandLine(environment)
  const startServer = async () => {
    const server = await startServerProcess(environment, place.dataDir)
    const transport = createTransport(server.port)
    return {
      client: (headers: Record<string, string> = {}) => new Client(transport.send, headers),
      async end() {
        transport.close()
        await server.end()
      },
    }
  }
  let server: ReturnType<typeof startServer> | undefined
  const clientWith = async (headers?: Record<string, string>) => {
    server ??= startServer()
    return (await server).client(headers)
  }
  const signIn = async () => {
    const { realm } = JSON.parse(kazoo.text(databaseOf(accounts.M), accounts.M) ?? '{}')
    const credentials = credentialsOf('admin', 'secret')
    const anyone = await clientWith()
    const answer = await anyone.put('/v2/user_auth', { credentials, account_realm: realm })
    if (!answer.body.auth_token) throw new Error(`sign-in failed: ${answer.text}`)
    return clientWith({ 'x-auth-token': answer.body.auth_token })
  }
  let admin: Promise<Client> | undefined
  const withDatabase = async <T>(work: (db: Database) => Promise<T>): Promise<T> => {
    const { databaseUrl, dataDir } = place
    const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
    try {
      return await work(db)
    } finally {
      await db.close()
    }
  }
  return {
    place,
    kazoo,
    commands,
    /** Runs a command in the process of the tests; `commands` runs it in its own. */
    run: (...args: string[]) => runHere(environment, args),
    /** Runs the command to its end; returns its report. */
    async import(...args: string[]) {
      const { status, output, errors } = await runHere(environment, [
        ...['import', 'kazoo', kazoo.url],
        ...args,
        '--json',
      ])
      if (status !== 0 && status !== 2) throw new Error(`import kazoo ended with ${status}: ${errors}`)
      return JSON.parse(output)
    },
    /** The same of something that is refused. */
    refused: (...args: string[]) => runHere(environment, ['import', 'kazoo', kazoo.url, ...args]),
    /** A client without a token. */
    anyone: () => clientWith(),
    /** The admin of the first start, who is one of the master account that has come. */
    admin(): Promise<Client> {
      admin ??= signIn()
      return admin
    },
    /** Changes the store as no part of Crosspoint would. */
    change: (...statements: readonly string[]) =>
      withDatabase(async (db) => {
        for (const sql of statements) await db.write({ statements: [{ sql, params: [] }], stale: [] })
      }),
    /** Rows as they are stored. */
    rows: (sql: string) => withDatabase((db) => db.all(sql, [])),
    async close() {
      await (await server)?.end()
      await kazoo.close()
      commands.remove()
      await place.remove()
    },
  }
}

/** The first entry of a code in a report. */
export const toldOf = (report: { conflicts: readonly { code: string }[] }, code: string) =>
  report.conflicts.find((one) => one.code === code)
