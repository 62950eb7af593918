// A distributed store for tests: a coordinator and two workers with Citus, where it is installed.
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, globSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { systemClock } from '../../src/lib/clock.ts'
import { distributeStorage } from '../../src/storage/distribution/distribute.ts'
import { openPostgres } from '../../src/storage/postgres.ts'
import { connectTo, runnerOn } from '../../src/storage/postgres-dump.ts'
import { upgradeStorage } from '../../src/storage/upgrades.ts'
import {
  binariesIn,
  freePort,
  giveToServer,
  initialize,
  launch,
  startWatchdog,
  untilReady,
} from './postgres.ts'

/** The folder of the programs of a PostgreSQL that has Citus; undefined: it is not installed. */
export const citusPrograms = globSync('/usr/lib/postgresql/*/lib/citus.so')
  .map((library) => join(library, '../../bin'))
  .find((folder) => existsSync(join(folder, 'initdb')))

/** Few shards: each costs time when a table is made. */
const shards = 4

interface Node {
  nodename: string
  nodeport: number
}

const asking = async <T>(url: string, work: (client: Client) => Promise<T>) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

const urlAt = (url: string, { nodename, nodeport }: Node, database: string) => {
  const at = new URL(url)
  at.hostname = nodename
  at.port = String(nodeport)
  at.pathname = `/${database}`
  return at.href
}

/** The workers that a server's maintenance database knows; none where it is no coordinator of Citus. */
export const workersOf = (serverUrl: string): Promise<Node[]> =>
  asking(serverUrl, async (client) => {
    const { rows } = await client.query("SELECT to_regclass('pg_dist_node') IS NOT NULL AS known")
    if (!rows[0]?.known) return []
    const found = await client.query<Node>('SELECT nodename, nodeport FROM pg_dist_node WHERE groupid <> 0')
    return found.rows
  })

/** Lets a database of a coordinator have tables on the workers. */
export const joinWorkers = async (url: string, workers: readonly Node[]) => {
  const { hostname, port, pathname } = new URL(url)
  const name = pathname.slice(1)
  for (const worker of workers) {
    await asking(urlAt(url, worker, 'postgres'), (client) => client.query(`CREATE DATABASE ${name}`))
    await asking(urlAt(url, worker, name), (client) => client.query('CREATE EXTENSION citus'))
  }
  await asking(url, async (client) => {
    await client.query('CREATE EXTENSION citus')
    await client.query('SELECT citus_set_coordinator_host($1, $2)', [hostname, Number(port)])
    for (const { nodename, nodeport } of workers)
      await client.query('SELECT citus_add_node($1, $2)', [nodename, nodeport])
    await client.query(`ALTER DATABASE ${name} SET citus.shard_count = ${shards}`)
  })
}

/** Makes an empty database of a coordinator a distributed store of the newest structure. */
export const distributeEmpty = async (url: string, workers: readonly Node[]) => {
  await joinWorkers(url, workers)
  const db = openPostgres(url)
  await upgradeStorage(db, systemClock)
  await db.close()
  const client = await connectTo(url)
  await distributeStorage(runnerOn(client), () => undefined)
  await client.end()
}

/** Takes the workers' parts of a database away. */
export const dropFromWorkers = async (url: string, workers: readonly Node[]) => {
  const name = new URL(url).pathname.slice(1)
  for (const worker of workers)
    await asking(urlAt(url, worker, 'postgres'), (client) =>
      client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    )
}

const further = ['shared_preload_libraries=citus', 'citus.node_conninfo=sslmode=prefer']
// Servers that have sessions with each other need no passwords for them: they listen on this machine alone.
const access = 'host all all 127.0.0.1/32 trust\n'

const startNode = async (programs: string, password: string, durable: boolean) => {
  const directory = await mkdtemp(join(tmpdir(), 'crosspoint-citus-'))
  await giveToServer(directory)
  const watchdog = startWatchdog(directory)
  const { initdb, postgres } = binariesIn(programs)
  await initialize(initdb, directory, password)
  await writeFile(join(directory, 'data', 'pg_hba.conf'), access)
  const port = await freePort()
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  let server: ChildProcess | undefined

  const start = async () => {
    server = await launch(postgres, directory, port, { durable, further })
    watchdog.stdin?.write(`${server.pid}\n`)
    if (!(await untilReady(server, url))) throw new Error('a server with Citus did not start')
  }

  const kill = async () => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.ref()
    server.kill('SIGQUIT')
    await ended
  }

  await start()
  return {
    url,
    port,
    /** Again, after it was killed. */
    start,
    /** As in a crash. */
    kill,
    async remove() {
      await kill()
      watchdog.ref()
      watchdog.stdin?.end()
      await once(watchdog, 'close')
      await rm(directory, { recursive: true, force: true })
    },
  }
}

export type CitusCluster = Awaited<ReturnType<typeof startCitus>>

/** A coordinator and two workers, with a database that is one: no store, and nothing distributed yet. */
export const startCitus = async (programs: string, { durable = false } = {}) => {
  const password = randomBytes(16).toString('hex')
  const coordinator = await startNode(programs, password, durable)
  const workers = [await startNode(programs, password, durable), await startNode(programs, password, durable)]
  await asking(coordinator.url, (client) => client.query('CREATE DATABASE crosspoint TEMPLATE template0'))
  const url = coordinator.url.replace(/postgres$/, 'crosspoint')
  await joinWorkers(
    url,
    workers.map(({ port }) => ({ nodename: '127.0.0.1', nodeport: port })),
  )
  return {
    url,
    coordinator,
    workers,
    ask: <T>(work: (client: Client) => Promise<T>) => asking(url, work),
    async close() {
      for (const node of [coordinator, ...workers]) await node.remove()
    },
  }
}
