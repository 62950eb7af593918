// A distributed store for tests: a coordinator and two workers with Citus, where it is installed.
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, globSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { systemClock } from '../../../src/lib/clock.ts'
import { codeOf } from '../../../src/lib/error-facts.ts'
import { distributeStorage } from '../../../src/storage/distribution/distribute.ts'
import { openPostgres } from '../../../src/storage/postgres.ts'
import { connectTo, runnerOn } from '../../../src/storage/postgres-dump.ts'
import { upgradeStorage } from '../../../src/storage/upgrades.ts'
import { freePort } from './free-port.ts'
import {
  binariesIn,
  giveToServer,
  initialize,
  launch,
  type PostgresServer,
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

/** The workers that a server's maintenance database knows; none where it is not a coordinator of Citus. */
export const workersOf = (serverUrl: string): Promise<Node[]> =>
  asking(serverUrl, async (client) => {
    const { rows } = await client.query("SELECT to_regclass('pg_dist_node') IS NOT NULL AS known")
    if (!rows[0]?.known) return []
    const found = await client.query<Node>('SELECT nodename, nodeport FROM pg_dist_node WHERE groupid <> 0')
    return found.rows
  })

const nameIn = (url: string) => new URL(url).pathname.slice(1)

/** Lets a database of a coordinator have tables in those of the same name on the workers. */
const introduce = async (url: string, workers: readonly Node[]) => {
  const { hostname, port } = new URL(url)
  const name = nameIn(url)
  for (const worker of workers)
    await asking(urlAt(url, worker, name), (client) => client.query('CREATE EXTENSION citus'))
  await asking(url, async (client) => {
    await client.query('CREATE EXTENSION citus')
    await client.query('SELECT citus_set_coordinator_host($1, $2)', [hostname, Number(port)])
    for (const { nodename, nodeport } of workers)
      await client.query('SELECT citus_add_node($1, $2)', [nodename, nodeport])
    await client.query(`ALTER DATABASE ${name} SET citus.shard_count = ${shards}`)
  })
}

/** Lets a database of a coordinator have tables on the workers. */
export const joinWorkers = async (url: string, workers: readonly Node[]) => {
  for (const worker of workers)
    await asking(urlAt(url, worker, 'postgres'), (client) => client.query(`CREATE DATABASE ${nameIn(url)}`))
  const { hostname, port } = new URL(url)
  await asking(urlAt(url, { nodename: hostname, nodeport: Number(port) }, 'postgres'), async (client) => {
    // One at a time: workers receive the roles of the coordinator, which are those of all databases.
    await client.query("SELECT pg_advisory_lock(hashtext('crosspoint joins workers'))")
    await introduce(url, workers)
  })
}

/** Makes an empty database that has workers a distributed store of the newest structure. */
const makeStore = async (url: string) => {
  const db = openPostgres(url)
  await upgradeStorage(db, systemClock)
  await db.close()
  const client = await connectTo(url)
  await distributeStorage(runnerOn(client), () => undefined)
  await client.end()
}

/** Makes an empty database of a coordinator a distributed store of the newest structure. */
export const distributeEmpty = async (url: string, workers: readonly Node[]) => {
  await joinWorkers(url, workers)
  await makeStore(url)
}

const inUse = '55006'

/**
 * Background processes of Citus in a database look for the other nodes now and then, and stop after that: DROP
 * waits five seconds.
 */
const dropWhenLeft = async (client: Client, name: string) => {
  for (;;) {
    try {
      return await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    } catch (error) {
      if (codeOf(error) !== inUse) throw error
    }
  }
}

/** Takes the workers' parts of a database away. */
export const dropFromWorkers = async (url: string, workers: readonly Node[]) => {
  for (const worker of workers)
    await asking(urlAt(url, worker, 'postgres'), (client) => dropWhenLeft(client, nameIn(url)))
}

// Without this, a half-committed transaction of a crash blocks for a minute, and so do writes of the same rows.
const further = [
  'shared_preload_libraries=citus',
  'citus.node_conninfo=sslmode=prefer',
  'citus.recover_2pc_interval=1s',
  // Each database of Citus keeps one busy.
  'max_worker_processes=100',
]
// Servers that have sessions with each other need no passwords for them: they listen on this machine alone.
const access = 'host all all 127.0.0.1/32 trust\n'

const startAttempts = 20

/** The processes of a server, which outlive it by moments. */
const childrenOf = async (pid: number) => {
  const listed = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return listed.split(' ').filter(Boolean).map(Number)
}

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
    // It ends at once while the memory of the one before is not given back.
    for (let attempt = 1; attempt <= startAttempts; attempt += 1) {
      server = await launch(postgres, directory, port, { durable, further })
      watchdog.stdin?.write(`${server.pid}\n`)
      if (await untilReady(server, url)) return
    }
    throw new Error('a server with Citus did not start')
  }

  const kill = async () => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.ref()
    server.kill('SIGQUIT')
    await ended
  }

  const signalAll = async (signal: NodeJS.Signals) => {
    if (server?.pid === undefined) return
    for (const pid of [server.pid, ...(await childrenOf(server.pid))]) {
      try {
        process.kill(pid, signal)
      } catch {
        // The process has already ended.
      }
    }
  }

  const crash = async () => {
    if (!server) return
    const ended = once(server, 'exit')
    server.ref()
    await signalAll('SIGKILL')
    await ended
  }

  await start()
  return {
    url,
    port,
    /** Again, after it was killed. */
    start,
    /** Signals its processes to stop at once. */
    kill,
    /** As when the machine fails: none of its processes gets a chance. */
    crash,
    /** Stops all its processes where they are. */
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    /** Starts it unless it runs: a test may have ended before. */
    async mend() {
      if (server && (server.exitCode !== null || server.signalCode !== null)) await start()
    },
    /** The names of transactions that wait here for a word from the coordinator. */
    preparedTransactions: () =>
      asking(url, async (client) => {
        const { rows } = await client.query<{ gid: string }>('SELECT gid FROM pg_prepared_xacts')
        return rows.map(({ gid }) => gid)
      }),
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

const startNodes = async (programs: string, durable: boolean) => {
  const password = randomBytes(16).toString('hex')
  const coordinator = await startNode(programs, password, durable)
  const workers = [await startNode(programs, password, durable), await startNode(programs, password, durable)]
  return {
    coordinator,
    workers,
    addresses: workers.map(({ port }): Node => ({ nodename: '127.0.0.1', nodeport: port })),
    async remove() {
      for (const node of [coordinator, ...workers]) await node.remove()
    },
  }
}

/**
 * Replaces a PostgreSQL by a coordinator with two workers: a database that a test makes there is a distributed
 * store.
 */
export const startCitusServer = async (programs: string): Promise<PostgresServer> => {
  const { coordinator, addresses, remove } = await startNodes(programs, false)
  await introduce(coordinator.url, addresses)
  return { url: coordinator.url, stop: remove }
}

/** A coordinator and two workers, with a database that is one: no store, and nothing distributed yet. */
export const startCitus = async (programs: string, { durable = false } = {}) => {
  const { coordinator, workers, addresses, remove } = await startNodes(programs, durable)
  await asking(coordinator.url, (client) => client.query('CREATE DATABASE crosspoint TEMPLATE template0'))
  const url = coordinator.url.replace(/postgres$/, 'crosspoint')
  await joinWorkers(url, addresses)
  return {
    url,
    coordinator,
    workers,
    /** Makes its database a distributed store. */
    makeStore: () => makeStore(url),
    /** The worker that holds an account's calls. */
    async workerOf(accountId: string) {
      const port = await asking(url, async (client) => {
        const { rows } = await client.query<{ nodeport: number }>(
          `SELECT nodeport FROM pg_dist_shard_placement
            WHERE shardid = get_shard_id_for_distribution_column('cdrs', $1::text)`,
          [accountId],
        )
        return rows[0]?.nodeport
      })
      const worker = workers.find((one) => one.port === port)
      if (!worker) throw new Error(`account ${accountId} is on no worker`)
      return worker
    },
    ask: <T>(work: (client: Client) => Promise<T>) => asking(url, work),
    close: remove,
  }
}
