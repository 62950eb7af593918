import { execFile, spawn } from 'node:child_process'
import { promisify } from 'node:util'
import pg from 'pg'
import { codeOf, messageOf } from '../lib/error-facts.ts'
import type { Row } from './db.ts'
import { isDistributed } from './distribution/placements.ts'
import { createServers } from './postgres-servers.ts'
import { assertUtf8 } from './postgres-sessions.ts'
import { evenPieces, Refusal, type StoreCopy } from './saved-store.ts'
import { countsOf, isSetUp, type Run, standingOf } from './upgrades.ts'

const runFile = promisify(execFile)

type Tool = 'pg_dump' | 'pg_restore'

interface PostgresPlace {
  url: string
  environment: NodeJS.ProcessEnv
}

// From this version on the tools need a server that knows `transaction_timeout`, and older tools cannot read their dumps.
const parting = 17

const wordsOf = (server: number) => {
  const fitting = server < parting ? `${server} (none newer than ${parting - 1})` : `${server} or newer`
  return `install the client programs of PostgreSQL ${fitting}, and put them first in PATH`
}

const versionOf = async (tool: Tool, server: number) => {
  try {
    const { stdout } = await runFile(tool, ['--version'])
    const version = / (\d+)[.\d]*/.exec(stdout)?.[1]
    if (version === undefined) throw new Refusal(`${tool} did not print its version: ${stdout.trim()}`)
    return Number(version)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    throw new Refusal(`${tool} is missing on this machine: ${wordsOf(server)}`)
  }
}

/** Rejects a tool that is missing, older than the server, or too new to restore into it. */
export const checkTool = async (tool: Tool, server: number): Promise<void> => {
  const version = await versionOf(tool, server)
  if (version < server || (version >= parting && server < parting))
    throw new Refusal(`${tool} is from PostgreSQL ${version}, the server is ${server}: ${wordsOf(server)}`)
}

const credentials = /^(postgres(?:ql)?:\/\/)[^/?#]*@/

/** Process lists show arguments, so the password is in the environment. pg reads @ and % in URLs differently than the tools. */
const secretly = (url: string) => {
  if (!credentials.test(url)) return { address: url, password: {} }
  const { user = '', password } = new pg.Client({ connectionString: url })
  return {
    address: url.replace(credentials, `$1${encodeURIComponent(user)}@`),
    password: password ? { PGPASSWORD: password } : {},
  }
}

/** `ended` rejects with the program's output. */
export const startTool = (tool: Tool, { url, environment }: PostgresPlace, args: readonly string[]) => {
  const { address, password } = secretly(url)
  const child = spawn(tool, [`--dbname=${address}`, '--no-password', ...args], {
    env: { ...environment, ...password },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000)
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', (error) => reject(new Refusal(`${tool} could not be started: ${messageOf(error)}`)))
    child.once('close', (code) =>
      code === 0 ? resolve() : reject(new Refusal(`${tool} failed: ${said.trim() || `status ${code}`}`)),
    )
  })
  // Awaited after its output was read.
  ended.catch(() => undefined)
  return {
    output: child.stdout,
    ended,
    stop() {
      child.kill()
      child.stdout.destroy()
    },
  }
}

const tableNames = `SELECT c.relname AS name, current_schema() AS schema FROM pg_class c
  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
  ORDER BY c.relname COLLATE "C"`

interface Connection {
  client: pg.Client
  /** The URL of the host that takes writes, for PostgreSQL's programs. */
  url: string
}

const reach = async (url: string): Promise<Connection> => {
  const servers = createServers(url)
  const client = await servers.connect({})
  return { client, url: servers.urlOf(client) }
}

/** Without a timeout: queries take as long as the store is large. */
export const connectTo = async (url: string): Promise<pg.Client> => (await reach(url)).client

const reachForCopy = (url: string) =>
  reach(url).catch((error) => {
    throw codeOf(error) === undefined ? new Refusal(messageOf(error)) : error
  })

const during = async <T>({ client }: Pick<Connection, 'client'>, work: (run: Run) => Promise<T>) => {
  try {
    return await work(runnerOn(client))
  } finally {
    await client.end()
  }
}

export const runnerOn =
  (client: pg.Client): Run =>
  async (sql, params = []) =>
    (await client.query<Row>(sql, [...params])).rows

const majorVersionOf = async (run: Run) => {
  const [row] = await run('SHOW server_version_num')
  return Math.floor(Number(row?.server_version_num) / 10_000)
}

const lookInto = async (run: Run) => {
  const found = await run(tableNames)
  return {
    schema: String(found[0]?.schema ?? 'public'),
    ...(await standingOf(
      run,
      found.map(({ name }) => String(name)),
    )),
  }
}

const requireStore = (upgrade: number | undefined) => {
  if (upgrade === undefined) throw new Refusal('this database contains no store')
  return upgrade
}

const begin = async (run: Run) => {
  await run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  const [row] = await run('SELECT pg_export_snapshot() AS snapshot')
  return String(row?.snapshot)
}

async function* piecesOf({ output, ended }: ReturnType<typeof startTool>): AsyncGenerator<Buffer> {
  yield* evenPieces(output)
  await ended
}

/** `pg_dump` in custom format, at the moment at which the rows were counted. */
export const dumpPostgres = async (place: PostgresPlace): Promise<StoreCopy> => {
  const { client, url } = await reachForCopy(place.url)
  try {
    const run = runnerOn(client)
    if (await isDistributed(client))
      throw new Refusal(
        'the store is on several servers, and one dump is not consistent: save them with citus_create_restore_point and the archive of each',
      )
    await checkTool('pg_dump', await majorVersionOf(run))
    const snapshot = await begin(run)
    const { schema, names, ...found } = await lookInto(run)
    const upgrade = requireStore(found.upgrade)
    const counts = await countsOf(run, names)
    const dump = startTool('pg_dump', { ...place, url }, [
      '--format=custom',
      // The backup is compressed as a whole.
      '--compress=0',
      '--no-owner',
      '--no-privileges',
      // By tables: restoring a schema or extensions needs an administrator.
      `--table="${schema}".*`,
      `--snapshot=${snapshot}`,
    ])
    return {
      upgrade,
      counts,
      pieces: piecesOf(dump),
      // The transaction keeps the snapshot.
      close() {
        dump.stop()
        return client.end()
      },
    }
  } catch (error) {
    await client.end()
    throw error
  }
}

/** Returns the last upgrade; rejects a database without a store. */
export const upgradeOfPostgres = async (url: string): Promise<number> =>
  during(await reach(url), async (run) => requireStore((await lookInto(run)).upgrade))

export const isPostgresSetUp = async (url: string): Promise<boolean> =>
  during(await reach(url), async (run) => isSetUp(run, await lookInto(run)))

/** Rejects a database that has tables, is not UTF-8, or is newer than this machine's `pg_restore`. */
export const checkEmptyPostgres = async ({ url }: PostgresPlace): Promise<void> => {
  const { client } = await reachForCopy(url)
  await during({ client }, async (run) => {
    const { names } = await lookInto(run)
    if (names.length > 0)
      throw new Refusal(
        `the database is not empty (it contains the table ${names[0]}): restore into an empty one`,
      )
    await assertUtf8(client)
    await checkTool('pg_restore', await majorVersionOf(run))
  })
}

/** In one transaction. */
export const restorePostgres = async (place: PostgresPlace, file: string): Promise<void> => {
  const { client, url } = await reachForCopy(place.url)
  await client.end()
  const { output, ended } = startTool('pg_restore', { ...place, url }, [
    '--single-transaction',
    '--exit-on-error',
    '--no-owner',
    '--no-privileges',
    file,
  ])
  output.resume()
  await ended
}
