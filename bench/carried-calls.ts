// Registrations and calls of SIPp phones through Debian's Kamailio and a real server: SIPp's counts, call
// records and cost.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../test/support/servers/free-port.ts'
import { findProgram } from '../test/support/servers/installed.ts'
import { type SipEdge, startSipEdge } from '../test/support/servers/sip-edge.ts'
import { end, startHelper } from './children.ts'
import type { ProbeJob, ProbeResult } from './probe.ts'
import { processorSecondsOf, type RunningServer } from './server.ts'
import { call, freeRequests, inParallel } from './stage.ts'

interface Device {
  accountId: string
  realm: string
  username: string
  extension: string
}

const passwordOf = (username: string) => `word-of-${username}`

export interface CallsStage {
  token: string
  /** With which an edge asks. */
  key: string
  accountIds: readonly string[]
  devices: readonly Device[]
}

// An office has this many phones. At the default limits all of them can register three times a minute.
const devicesOfAccount = 10

// Phones are at these addresses in turn.
const addresses = Array.from({ length: 10 }, (_, at) => `127.0.0.${11 + at}`)

/** Offices with phones, each phone with an extension. */
export const prepareCalls = async (server: RunningServer, deviceCount: number): Promise<CallsStage> => {
  const { port } = server
  const { token, masterId } = await freeRequests(server)
  const put = async (path: string, data: object) => (await call(port, 'PUT', path, token, data)).data
  const { key } = (await put(`/v2/accounts/${masterId}/api_keys`, { name: 'Edge', scopes: ['*'] })) as {
    id: string
    account_id: string
    key?: string
  }
  if (key === undefined) throw new Error('the answer has no key')
  const accountIds: string[] = []
  const devices: Device[] = []
  for (let first = 0; first < deviceCount; first += devicesOfAccount) {
    const realm = `office-${first}.bench.example.com`
    const { id: accountId } = await put(`/v2/accounts/${masterId}`, { name: realm, realm })
    accountIds.push(accountId)
    const count = Math.min(devicesOfAccount, deviceCount - first)
    devices.push(
      ...Array.from({ length: count }, (_, at) => ({
        accountId,
        realm,
        username: `phone-${first + at}`,
        extension: `${1000 + at}`,
      })),
    )
  }
  await inParallel(devices, async ({ accountId, username, extension }) => {
    // SIPp registers once.
    const sip = { username, password: passwordOf(username), expire_seconds: 3600 }
    const { id } = await put(`/v2/accounts/${accountId}/devices`, { name: username, sip })
    const flow = { module: 'device', data: { id }, children: {} }
    await put(`/v2/accounts/${accountId}/callflows`, { numbers: [extension], flow })
  })
  return { token, key, accountIds, devices }
}

/** The edge as it is shipped. */
const startEdge = async (server: RunningServer, stage: CallsStage, settings: readonly string[] = []) => {
  const url = `http://127.0.0.1:${server.port}`
  const edge = await startSipEdge({ server: url, key: stage.key, settings, usual: {} })
  const kamailio = { rpc_urls: [`http://127.0.0.1:${edge.rpcPort}/RPC`], secret: edge.rpcSecret }
  const adapter = { default: { adapter: 'kamailio', kamailio } }
  await call(server.port, 'PATCH', '/v2/system_configs/switch', stage.token, adapter)
  return edge
}

const scenario = (name: string) => new URL(`../test/fixtures/sip/${name}.xml`, import.meta.url).pathname

const sipp = (folder: string, address: string, ...args: readonly (string | number)[]) =>
  spawn(findProgram('sipp') ?? 'sipp', ['-i', address, '-nostdin', ...args.map(String)], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })

const credentialsOf = ({ username }: Device) =>
  `[authentication username=${username} password=${passwordOf(username)}]`

/** Phones of SIPp at one address: all at one port, which is where they register from and are rung. */
interface Site {
  address: string
  folder: string
  count: number
}

interface Phones {
  folder: string
  sites: readonly Site[]
  edge: SipEdge
  port: number
}

const openPhones = async (edge: SipEdge, stage: CallsStage): Promise<Phones> => {
  const folder = await mkdtemp(join(tmpdir(), 'crosspoint-sipp-'))
  const { devices } = stage
  // Each calls the next one of its office.
  const calleeOf = ({ accountId }: Device, at: number) =>
    devices.find((other, where) => where > at && other.accountId === accountId) ??
    (devices.find((other) => other.accountId === accountId) as Device)
  const lines = devices.map((device, at) => {
    const phone = [device.realm, device.username, credentialsOf(device)].join(';')
    return { phone, caller: `${phone};${calleeOf(device, at).extension}` }
  })
  const sites: Site[] = []
  for (const [turn, address] of addresses.entries()) {
    const own = lines.filter((_, at) => at % addresses.length === turn)
    if (own.length === 0) continue
    const site = { address, folder: join(folder, address), count: own.length }
    await mkdir(site.folder)
    const written = (all: readonly string[]) => `SEQUENTIAL\n${all.join('\n')}\n`
    await writeFile(join(site.folder, 'phones.csv'), written(own.map(({ phone }) => phone)))
    await writeFile(join(site.folder, 'callers.csv'), written(own.map(({ caller }) => caller)))
    sites.push(site)
  }
  return { folder, sites, edge, port: await freePort() }
}

const done = async (child: ChildProcess, name: string) => {
  const shown = child.stdout ? text(child.stdout) : ''
  child.stderr?.resume()
  const [status] = await once(child, 'exit')
  // 1: some calls have failed, which is counted.
  if (status !== 0 && status !== 1)
    throw new Error(`${name} ended with ${status}:\n${(await shown).slice(-2000)}`)
  return status as number
}

// A device may send two REGISTER a second.
const betweenRegistrationsMs = 2000

const registerAll = async ({ sites, edge, port }: Phones) => {
  await sleep(betweenRegistrationsMs)
  const statuses = await Promise.all(
    sites.map(({ address, folder, count }) => {
      const args = ['-sf', scenario('register'), '-inf', 'phones.csv', '-p', port]
      const amount = ['-m', count, '-r', 20, `127.0.0.1:${edge.port}`]
      return done(sipp(folder, address, ...args, ...amount), 'registering')
    }),
  )
  if (statuses.some((status) => status !== 0)) throw new Error('not all phones could register')
}

const quantile = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

/** The sum of all running processes of a group. */
const sumOfGroup = async (group: number, measure: (pid: number) => Promise<number>) => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const members = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]) === group ? pid : undefined
    }),
  )
  const measured = await Promise.all(members.filter((pid) => pid !== undefined).map(measure))
  return measured.filter(Number.isFinite).reduce((sum, one) => sum + one, 0)
}

/** Processor time of all processes of a group, in seconds. */
const processorSecondsOfGroup = (group: number) => sumOfGroup(group, processorSecondsOf)

/** Memory of all processes of a group, in MB: what several share counts once. */
const memoryOfGroup = (group: number) =>
  sumOfGroup(group, async (pid) => {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
    return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024
  })

/** Microseconds for packets of which Kamailio knew everything. */
export interface Decisions {
  packets: number
  /**
   * By its own clock, from the beginning of its rules to their end: a busy machine runs other processes in
   * between.
   */
  p50: number
  p99: number
  /** Processor time of all its processes for a packet, whatever else they do. */
  processor: number
}

/**
 * All phones register twice. The second time the server is not asked: packets are authorized, counted and
 * authenticated from the cache.
 */
export const measureDecisions = async (server: RunningServer, stage: CallsStage): Promise<Decisions> => {
  const edge = await startEdge(server, stage, ['latency_cfg_log=1'])
  const phones = await openPhones(edge, stage)
  try {
    await registerAll(phones)
    const before = edge.log().length
    const spent = await processorSecondsOfGroup(edge.pid() ?? Number.NaN)
    await registerAll(phones)
    const spentNow = await processorSecondsOfGroup(edge.pid() ?? Number.NaN)
    const taken = [
      ...edge
        .log()
        .slice(before)
        .matchAll(/request-route executed in: (\d+) usec/g),
    ]
    const sorted = taken.map(([, usec]) => Number(usec)).sort((a, b) => a - b)
    return {
      packets: sorted.length,
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      processor: ((spentNow - spent) / sorted.length) * 1e6,
    }
  } finally {
    await edge.end()
    await rm(phones.folder, { recursive: true, force: true })
  }
}

/** The last line of SIPp's statistics, by the names of its columns. */
const statisticsIn = async (file: string) => {
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  const [names = [], ...rows] = lines.map((line) => line.split(';'))
  const last = rows.at(-1) ?? []
  return (name: string) => last[names.indexOf(name)] ?? ''
}

const callIdsOf = async (server: RunningServer, { token, accountIds }: CallsStage) => {
  const ids: string[] = []
  for (const accountId of accountIds) {
    const { data } = await call(server.port, 'GET', `/v2/accounts/${accountId}/cdrs?paginate=false`, token)
    ids.push(...(data as unknown as { call_id: string }[]).map(({ call_id }) => call_id))
  }
  return ids
}

/** Questions of edges by their route, as the server has counted them: all, and those that took ten milliseconds at most. */
const questionsOf = async ({ port }: RunningServer) => {
  const shown = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const sumOf = (route: string, bound: string) =>
    shown
      .split('\n')
      .filter((line) => line.startsWith('crosspoint_http_request_duration_seconds_bucket'))
      .filter((line) => line.includes(`route="${route}"`) && line.includes(`le="${bound}"`))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  return Object.fromEntries(
    ['/v2/edge', '/v2/edge/route'].map((route) => [
      route,
      { all: sumOf(route, '+Inf'), soon: sumOf(route, '0.01') },
    ]),
  )
}

/** MB. */
interface Memory {
  /** The sum of all processes. */
  processes: number
  /** In use of the memory that the processes share, whose size is fixed. */
  shared: number
}

const memoryOf = async (edge: SipEdge): Promise<Memory> => {
  const { body } = await edge.rpc('core.shmmem', ['b'])
  return {
    processes: await memoryOfGroup(edge.pid() ?? Number.NaN),
    shared: body.result.real_used / 1024 / 1024,
  }
}

export interface Wanted {
  perSecond: number
  seconds: number
  /** How long each call lasts. */
  talkMs: number
}

export interface Carried {
  /** Calls as SIPp has counted them. */
  begun: number
  succeeded: number
  failed: number
  /** Packets that callers have sent again, since no answer came in half a second: many say that the machine was too busy. */
  repeated: number
  /** Hours, minutes, seconds, microseconds: from the first INVITE to the 200, as SIPp averages it at the slowest address. */
  setUp: string
  /** Legs in the lists of the accounts. */
  legs: number
  /** Calls that have both their legs there. */
  whole: number
  /** Milliseconds from the end of the last call until its records were listed. */
  listedAfterMs: number
  /** The time of `GET /v2/edge` for a client that sends requests one after the other during the calls. */
  probe: ProbeResult
  /** Requests of Kamailio during the calls; the client's requests are among those of `/v2/edge`. */
  questions: Awaited<ReturnType<typeof questionsOf>>
  processor: { seconds: number; server: number; edge: number }
  /** Memory of the edge, when half of the calls have begun and at the end. */
  memory: { half: Memory; end: Memory }
}

// Records that the server has not listed by then are lost.
const patienceMs = 60_000

const edgeQuestion = ({ realm, username }: Device) =>
  `/v2/edge?credentials=true&realm=${realm}&username=${username}&address=127.0.0.1&user_agent=`

/** All phones register. Then calls begin at this rate; each is answered and hung up by the caller. */
export const carryCalls = async (
  server: RunningServer,
  stage: CallsStage,
  { perSecond, seconds, talkMs }: Wanted,
): Promise<Carried> => {
  const edge = await startEdge(server, stage)
  const phones = await openPhones(edge, stage)
  const { folder, sites, port } = phones
  const probe = startHelper<ProbeJob, ProbeResult>('./probe.ts')
  let answering: ChildProcess[] = []
  try {
    await registerAll(phones)
    answering = sites.map((site) => sipp(site.folder, site.address, '-sf', scenario('answer'), '-p', port))
    for (const child of answering) child.stdout?.resume()
    const spentBy = async () => ({
      server: await processorSecondsOf(server.pid),
      edge: await processorSecondsOfGroup(edge.pid() ?? Number.NaN),
    })
    const asked = await questionsOf(server)
    const before = await spentBy()
    const began = performance.now()
    const callerPort = await freePort()
    const perSite = perSecond / sites.length
    const calling = sites.map((site) =>
      sipp(
        site.folder,
        site.address,
        ...['-sf', scenario('call'), '-inf', 'callers.csv', '-p', callerPort, '-d', talkMs],
        ...[
          '-m',
          Math.round(perSite * seconds),
          '-r',
          perSite,
          '-l',
          Math.ceil(perSite * (talkMs / 1000 + 20)),
        ],
        ...['-trace_stat', '-stf', 'calls.csv', '-fd', 1, `127.0.0.1:${edge.port}`],
      ),
    )
    const memoryNow = () => memoryOf(edge)
    const paths = stage.devices.map(edgeQuestion)
    const [seen, half] = await Promise.all([
      probe.run({ port: server.port, token: stage.token, paths, seconds }),
      sleep((seconds / 2) * 1000).then(memoryNow),
      ...calling.map((child) => done(child, 'calling')),
    ])
    const ended = performance.now()
    const memory = { half, end: await memoryNow() }
    const statistics = await Promise.all(sites.map((site) => statisticsIn(join(site.folder, 'calls.csv'))))
    const sum = (name: string) => statistics.reduce((total, of) => total + Number(of(name)), 0)
    const [begun, succeeded, failed] = [
      sum('TotalCallCreated'),
      sum('SuccessfulCall(C)'),
      sum('FailedCall(C)'),
    ]
    const isListed = (ids: readonly string[]) => ids.length >= 2 * succeeded
    let ids = await callIdsOf(server, stage)
    while (!isListed(ids) && performance.now() - ended < patienceMs) {
      await sleep(200)
      ids = await callIdsOf(server, stage)
    }
    const listedAfterMs = performance.now() - ended
    const after = await spentBy()
    const known = new Set(ids)
    const questions = Object.fromEntries(
      Object.entries(await questionsOf(server)).map(([route, { all, soon }]) => [
        route,
        { all: all - (asked[route]?.all ?? 0), soon: soon - (asked[route]?.soon ?? 0) },
      ]),
    )
    return {
      begun,
      succeeded,
      failed,
      repeated: sum('Retransmissions(C)'),
      setUp:
        statistics
          .map((of) => of('ResponseTime1(C)'))
          .toSorted()
          .at(-1) ?? '',
      legs: known.size,
      whole: ids.filter((id) => known.has(`${id}.b`)).length,
      listedAfterMs,
      probe: seen,
      questions,
      processor: {
        seconds: (ended - began) / 1000,
        server: after.server - before.server,
        edge: after.edge - before.edge,
      },
      memory,
    }
  } finally {
    for (const child of answering) await end(child, 'SIGKILL')
    await probe.stop()
    await edge.end()
    await rm(folder, { recursive: true, force: true })
  }
}
