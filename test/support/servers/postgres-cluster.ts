// A primary and its synchronous standby, as two real servers: for failovers. The npm package of PostgreSQL
// lacks a program that copies a running server, so this file uses pg_backup_start, cp and pg_backup_stop.
import { type ChildProcess, execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { eventually } from '../run/eventually.ts'
import { freePort } from './free-port.ts'
import {
  binariesIn,
  giveToServer,
  initialize,
  launch,
  reachableBinaries,
  startWatchdog,
  untilReady,
} from './postgres.ts'

const runFile = promisify(execFile)
// A standby that comes late finds all it needs.
const further = ['wal_keep_size=1GB', 'max_wal_size=1GB']
const startMs = 60_000

interface Node {
  port: number
  /** Its maintenance database. */
  url: string
  directory: string
  process: ChildProcess
  /** As in a crash: without waiting for clients, or for unsent data. */
  kill(): Promise<void>
  remove(): Promise<void>
}

/** Statements of a superuser, on a separate connection. */
const asking = async <T>(url: string, work: (client: Client) => Promise<T>) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** A server in a separate directory, which `fill` fills with data. */
const startNode = async (
  port: number,
  password: string,
  programs: string | undefined,
  fill: (directory: string, initdb: string) => Promise<void>,
): Promise<Node> => {
  const directory = await mkdtemp(join(tmpdir(), 'crosspoint-node-'))
  await giveToServer(directory)
  const watchdog = startWatchdog(directory)
  const { initdb, postgres } = programs ? binariesIn(programs) : await reachableBinaries(directory)
  await fill(directory, initdb)
  const server = await launch(postgres, directory, port, { further })
  watchdog.stdin?.write(`${server.pid}\n`)
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  const node: Node = {
    port,
    url,
    directory,
    process: server,
    async kill() {
      if (server.exitCode !== null || server.signalCode !== null) return
      const ended = once(server, 'exit')
      server.ref()
      server.kill('SIGQUIT')
      await ended
    },
    async remove() {
      await node.kill()
      watchdog.ref()
      watchdog.stdin?.end()
      await once(watchdog, 'close')
      await rm(directory, { recursive: true, force: true })
    },
  }
  if (await untilReady(server, url)) return node
  await node.remove()
  throw new Error('a server of the cluster did not start')
}

const startPrimary = (port: number, password: string, programs: string | undefined) =>
  startNode(port, password, programs, (directory, initdb) => initialize(initdb, directory, password))

const startStandby = (port: number, password: string, primary: Node, programs: string | undefined) =>
  startNode(port, password, programs, async (directory) => {
    const data = join(directory, 'data')
    const label = await asking(primary.url, async (client) => {
      await client.query("SELECT pg_backup_start('standby', true)")
      // cp reports files that vanish during the copy, which are not a loss.
      await runFile('cp', ['-a', join(primary.directory, 'data'), data]).catch(() => undefined)
      const { rows } = await client.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(false)',
      )
      return rows[0]?.labelfile
    })
    if (!label) throw new Error('the primary was not copied')
    for (const name of ['postmaster.pid', 'postmaster.opts']) await rm(join(data, name), { force: true })
    const source = `host=127.0.0.1 port=${primary.port} user=postgres password=${password} application_name=standby`
    const files = {
      backup_label: label,
      'standby.signal': '',
      'postgresql.auto.conf': `primary_conninfo = '${source}'\n`,
    }
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(data, name), text, { mode: 0o600 })
      await giveToServer(join(data, name))
    }
  })

const nameSynchronous = (node: Node, names: string) =>
  asking(node.url, async (client) => {
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
    await client.query('SELECT pg_reload_conf()')
  })

/** Every commit on the primary waits for its standby from now on. */
const untilSynchronous = async (primary: Node) => {
  await nameSynchronous(primary, '*')
  const look = () =>
    asking(primary.url, async (client) => {
      const { rows } = await client.query("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
      return rows.length
    })
  await eventually(look, (found) => found > 0, startMs)
}

export type PostgresCluster = Awaited<ReturnType<typeof startCluster>>

/** Uses the programs of the npm package, or those in a folder. */
export const startCluster = async ({ programs }: { programs?: string | undefined } = {}) => {
  const password = randomBytes(16).toString('hex')
  const ports = [await freePort(), await freePort()] as const
  let primary = await startPrimary(ports[0], password, programs)
  let standby: Node | undefined
  const name = 'crosspoint'
  await asking(primary.url, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0`))

  const addStandby = async () => {
    const port = ports.find((one) => one !== primary.port) ?? ports[0]
    standby = await startStandby(port, password, primary, programs)
    await untilSynchronous(primary)
  }

  const theStandby = () => {
    if (!standby) throw new Error('the cluster has no standby')
    return standby
  }

  await addStandby()

  return {
    /** Names both hosts, the first primary first. */
    url: `postgres://postgres:${password}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${name}`,
    /** The same of one of them. */
    urlOf: (who: 'primary' | 'standby') => {
      const { port } = who === 'primary' ? primary : theStandby()
      return `postgres://postgres:${password}@127.0.0.1:${port}/${name}`
    },
    /** A superuser's statements at the primary. */
    ask: <T>(work: (client: Client) => Promise<T>) => asking(primary.url, work),
    /** Blocks writes to a table until the primary dies or `release` is called. */
    async holdTable(table: string) {
      const url = new URL(primary.url)
      url.pathname = `/${name}`
      const client = new Client({ connectionString: url.href })
      // It ends with the primary.
      client.on('error', () => undefined)
      await client.connect()
      await client.query('BEGIN')
      await client.query(`LOCK TABLE ${table} IN SHARE MODE`)
      return { release: () => client.end().catch(() => undefined) }
    },
    addStandby,
    /** Has a standby again, whatever a test has done. */
    async mend() {
      if (!standby) await addStandby()
    },
    async killStandby() {
      const gone = theStandby()
      standby = undefined
      await gone.remove()
    },
    /** Kills the primary and promotes the standby; resolves as soon as that has confirmed it. */
    async failOver() {
      const gone = primary
      const next = theStandby()
      await gone.kill()
      await asking(next.url, (client) => client.query('SELECT pg_promote(true, 60)'))
      primary = next
      standby = undefined
      return { tidy: () => gone.remove() }
    },
    async close() {
      await standby?.remove()
      await primary.remove()
    },
  }
}
