// Debian's Patroni with what it needs: etcd, and servers of PostgreSQL which it makes, keeps in step and promotes.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { eventually } from '../run/eventually.ts'
import { tools } from '../run/saved.ts'
import { freePort } from './free-port.ts'
import { findProgram, lacks } from './installed.ts'
import { giveToServer, onDatabase, serverUser } from './postgres.ts'
import { startDatabaseProxy } from './proxies.ts'

export const lacksPatroni = lacks('patroni') || lacks('etcd') || lacks('PostgreSQL programs', tools)

const startMs = 120_000
const nodeNames = ['one', 'two'] as const
type NodeName = (typeof nodeNames)[number]

interface Node {
  name: NodeName
  apiPort: number
  port: number
  data: string
  process: ChildProcess
}

interface Member {
  name: NodeName
  role: string
  state: string
}

/** A program of the cluster. Its output is in a file of its name. */
const startProgram = async (directory: string, name: string, [program, ...args]: string[]) => {
  const log = await open(join(directory, `${name}.log`), 'w')
  const env = { PATH: process.env.PATH, HOME: directory, LC_ALL: 'C' }
  const child = spawn(program ?? '', args, {
    ...serverUser,
    cwd: directory,
    env,
    stdio: ['ignore', log.fd, log.fd],
  })
  await log.close()
  return child
}

const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}

const startEtcd = async (directory: string) => {
  const [port, peerPort] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const peer = `http://127.0.0.1:${peerPort}`
  const args = ['--data-dir', join(directory, 'etcd'), '--unsafe-no-fsync']
  const addresses = ['--listen-client-urls', url, '--advertise-client-urls', url, '--listen-peer-urls', peer]
  const alone = ['--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`]
  const child = await startProgram(directory, 'etcd', [
    findProgram('etcd') ?? '',
    ...args,
    ...addresses,
    ...alone,
  ])
  return { host: `127.0.0.1:${port}`, child }
}

/** Patroni reads YAML, of which JSON is a part. */
const configuration = (node: Omit<Node, 'process'>, etcd: string, password: string) => ({
  scope: 'crosspoint',
  name: node.name,
  restapi: { listen: `127.0.0.1:${node.apiPort}`, connect_address: `127.0.0.1:${node.apiPort}` },
  etcd3: { host: etcd },
  bootstrap: {
    dcs: {
      ttl: 20,
      loop_wait: 1,
      retry_timeout: 5,
      synchronous_mode: true,
      // Patroni replaces a primary that died, and does not restart it.
      master_start_timeout: 0,
      postgresql: { use_pg_rewind: true, parameters: { wal_keep_size: '1GB', max_connections: 60 } },
    },
    initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
  },
  postgresql: {
    listen: `127.0.0.1:${node.port}`,
    connect_address: `127.0.0.1:${node.port}`,
    data_dir: node.data,
    bin_dir: tools,
    pgpass: `${node.data}.pgpass`,
    pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication all 127.0.0.1/32 scram-sha-256'],
    parameters: { unix_socket_directories: '' },
    authentication: {
      superuser: { username: 'postgres', password },
      replication: { username: 'replicator', password },
    },
  },
})

const startNode = async (
  directory: string,
  name: NodeName,
  etcd: string,
  password: string,
): Promise<Node> => {
  const node = { name, apiPort: await freePort(), port: await freePort(), data: join(directory, name) }
  const file = join(directory, `${name}.yml`)
  await writeFile(file, JSON.stringify(configuration(node, etcd, password)), { mode: 0o600 })
  await giveToServer(file)
  return { ...node, process: await startProgram(directory, name, [findProgram('patroni') ?? '', file]) }
}

const isPrimary = async (url: string) => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 1000 })
  try {
    await client.connect()
    const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby')
    return rows[0]?.standby === false
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

export type PatroniCluster = Awaited<ReturnType<typeof startPatroni>>

/** A primary and a synchronous standby. */
export const startPatroni = async () => {
  const directory = await mkdtemp(join(tmpdir(), 'crosspoint-patroni-'))
  await giveToServer(directory)
  const password = randomBytes(16).toString('hex')
  const nodes: Node[] = []
  const etcd = await startEtcd(directory)

  const close = async () => {
    await Promise.all(nodes.map((node) => end(node.process, 'SIGTERM')))
    await end(etcd.child, 'SIGKILL')
    await rm(directory, { recursive: true, force: true })
  }

  const addressOf = (ports: readonly number[], database: string) =>
    `postgres://postgres:${password}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${database}`
  const urlOf = ({ port }: Node) => addressOf([port], 'postgres')

  const members = async () => {
    for (const { apiPort } of nodes) {
      const answer = await fetch(`http://127.0.0.1:${apiPort}/cluster`).catch(() => undefined)
      if (answer?.ok) return ((await answer.json()) as { members: Member[] }).members
    }
    return []
  }

  /** Both are there, and every commit of the primary waits for the other. */
  const untilSynchronous = () =>
    eventually(
      members,
      (all) =>
        ['leader', 'sync_standby'].every((role) =>
          all.some((one) => one.role === role && /^(running|streaming)$/.test(one.state)),
        ),
      startMs,
    )

  const roles = async () => {
    const leader = (await untilSynchronous()).find(({ role }) => role === 'leader')?.name
    const primary = nodes.find(({ name }) => name === leader)
    const standby = nodes.find(({ name }) => name !== leader)
    if (!primary || !standby) throw new Error('the cluster has no primary, or no standby')
    return { primary, standby }
  }

  const untilPromoted = (node: Node) =>
    eventually(
      () => isPrimary(urlOf(node)),
      (is) => is,
      startMs,
    )

  try {
    for (const name of nodeNames) nodes.push(await startNode(directory, name, etcd.host, password))
    await roles()
  } catch (error) {
    const logs = await Promise.all(
      ['etcd', ...nodeNames].map((name) => readFile(join(directory, `${name}.log`), 'utf8').catch(() => '')),
    )
    await close()
    throw new Error(`the cluster did not start:\n${logs.map((log) => log.slice(-2000)).join('\n')}`, {
      cause: error,
    })
  }

  return {
    /** Creates a database; returns a URL with both hosts. */
    async createDatabase(name: string) {
      const { primary } = await roles()
      await onDatabase(urlOf(primary), `CREATE DATABASE ${name} TEMPLATE template0`)
      return addressOf(
        nodes.map(({ port }) => port),
        name,
      )
    },
    /** HAProxy in front of both; `urlOf` names it alone. */
    async startProxy() {
      const { port, stop } = await startDatabaseProxy(nodes, (at) => isPrimary(addressOf([at], 'postgres')))
      return { urlOf: (name: string) => addressOf([port], name), stop }
    },
    /** The primary's PostgreSQL is killed; resolves as soon as the standby is promoted. */
    async failOver() {
      const { primary, standby } = await roles()
      const [pid] = (await readFile(join(primary.data, 'postmaster.pid'), 'utf8')).split('\n')
      process.kill(Number(pid), 'SIGKILL')
      await untilPromoted(standby)
    },
    /** Switches over to the standby; resolves as soon as the standby is promoted. */
    async switchOver() {
      const { primary, standby } = await roles()
      const asked = fetch(`http://127.0.0.1:${primary.apiPort}/switchover`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ leader: primary.name, candidate: standby.name }),
      })
      const promoted = untilPromoted(standby)
      const answer = await asked
      if (!answer.ok) throw new Error(`no switchover: ${answer.status} ${await answer.text()}`)
      await promoted
    },
    close,
  }
}
