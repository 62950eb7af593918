// A server with nothing but a first start, a Kazoo, and the command that takes over from it.
import { join } from 'node:path'
import { openPostgres } from '../../../src/storage/postgres.ts'
import { openSqlite } from '../../../src/storage/sqlite.ts'
import { Client, createTransport } from '../client.ts'
import { type CommandLine, openCommandLine } from '../command-line.ts'
import { type Engine, makePlace } from '../databases.ts'
import { type ServerProcess, startServerProcess } from '../server-process.ts'
import { credentialsOf } from '../world.ts'
import { dataSet } from './data-set.ts'
import { accounts, databaseOf } from './sample.ts'
import { type KazooManners, startKazoo } from './stand-in.ts'

export type ImportStage = Awaited<ReturnType<typeof openImportStage>>

const runOf = (commands: CommandLine, url: string) => async (args: readonly string[]) => {
  const { status, output, errors } = await commands.run('import', 'kazoo', url, ...args, '--json')
  if (status !== 0 && status !== 2) throw new Error(`import kazoo ended with ${status}: ${errors}`)
  return JSON.parse(output)
}

export const openImportStage = async (
  engine: Engine,
  databases: Parameters<typeof startKazoo>[0] = dataSet(),
  manners: KazooManners = {},
) => {
  const place = await makePlace(engine, { isUpgraded: true })
  const environment = place.databaseUrl ? { CROSSPOINT_DATABASE_URL: place.databaseUrl } : {}
  const server: ServerProcess = await startServerProcess(environment, place.dataDir)
  const kazoo = await startKazoo(databases, manners)
  const commands = openCommandLine({ ...environment, CROSSPOINT_DATA_DIR: place.dataDir })
  const transport = createTransport(server.port)
  const signIn = async () => {
    const { realm } = JSON.parse(kazoo.text(databaseOf(accounts.M), accounts.M) ?? '{}')
    const credentials = credentialsOf('admin', 'secret')
    const anyone = new Client(transport.send)
    const answer = await anyone.put('/v2/user_auth', { credentials, account_realm: realm })
    if (!answer.body.auth_token) throw new Error(`sign-in failed: ${answer.text}`)
    return new Client(transport.send, { 'x-auth-token': answer.body.auth_token })
  }
  let admin: Promise<Client> | undefined
  return {
    place,
    server,
    kazoo,
    commands,
    /** Runs the command to its end; answers with its report. */
    import: (...args: string[]) => runOf(commands, kazoo.url)(args),
    /** The same of something that is refused. */
    refused: async (...args: string[]) => commands.run('import', 'kazoo', kazoo.url, ...args),
    /** Somebody without a token. */
    anyone: () => new Client(transport.send),
    /** The admin of the first start, who is one of the master account that has come. */
    admin(): Promise<Client> {
      admin ??= signIn()
      return admin
    },
    /** Changes the store as nothing of ours would. */
    async change(...statements: readonly string[]) {
      const { databaseUrl, dataDir } = place
      const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
      try {
        for (const sql of statements) await db.write({ statements: [{ sql, params: [] }], stale: [] })
      } finally {
        await db.close()
      }
    },
    async close() {
      transport.close()
      await kazoo.close()
      await server.end()
      commands.remove()
      await place.remove()
    },
  }
}

/** What a report tells of a code. */
export const toldOf = (report: { conflicts: readonly { code: string }[] }, code: string) =>
  report.conflicts.find((one) => one.code === code)
