// The most expensive requests of the API, asked by many clients of one account, and what others notice of them.
import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { gregorianUnixOffset } from '../src/lib/gregorian.ts'
import { fillCdrs } from './cdr-records.ts'
import { startHelper } from './children.ts'
import type { ProbeJob, ProbeResult } from './probe.ts'
import { memoryOf, type Place, type RunningServer, startServer } from './server.ts'
import { call, freeRequests } from './stage.ts'

const month = 202601
const monthStart = Date.UTC(2026, 0) / 1000 + gregorianUnixOffset
const window = `created_from=${monthStart}&created_to=${monthStart + 31 * 86_400}`

export interface ExpensiveStage {
  place: Place
  /** The account with the records, and a token of its ordinary user. */
  greedy: { accountId: string; token: string }
  /** The other account. */
  modest: { accountId: string; token: string }
}

const personIn = async (port: number, operator: string, parent: string, name: string) => {
  const account = await call(port, 'PUT', `/v2/accounts/${parent}`, operator, {
    name,
    realm: `${name}.bench.example.com`,
  })
  const accountId = account.data.id
  const password = `${name}-secret-1`
  await call(port, 'PUT', `/v2/accounts/${accountId}/users`, operator, {
    first_name: name,
    last_name: 'User',
    username: name,
    password,
  })
  const credentials = createHash('md5').update(`${name}:${password}`).digest('hex')
  const session = await call(port, 'PUT', '/v2/user_auth', '', { account_name: name, credentials })
  return { accountId, token: session.auth_token }
}

/** Two accounts, one of them with this number of call records. */
export const prepareExpensive = async (place: Place, records: number): Promise<ExpensiveStage> => {
  await mkdir(place.dataDir, { recursive: true })
  const server = await startServer(place)
  const { token, masterId } = await freeRequests(server)
  const greedy = await personIn(server.port, token, masterId, 'greedy')
  const modest = await personIn(server.port, token, masterId, 'modest')
  await server.stop()
  await fillCdrs(place, { accountId: greedy.accountId, month, count: records })
  return { place, greedy, modest }
}

interface Wish {
  path: string
  accept?: string
  /** Sent with PUT. */
  body?: string
}

/** What costs most, each on all records of the account. */
export const wishesOf = (accountId: string): Wish[] => {
  const cdrs = `/v2/accounts/${accountId}/cdrs`
  const all = `${window}&paginate=false`
  return [
    { path: `${cdrs}?${all}&is_chunked=false` },
    { path: `${cdrs}?${all}&pretty_print=true` },
    { path: `${cdrs}?${all}`, accept: 'text/csv' },
    {
      path: `${cdrs}?${all}&fields=${encodeURIComponent('["call_id","to","custom_channel_vars"]')}`,
      accept: 'text/csv',
    },
    { path: `${cdrs}?${window}&page_size=10000` },
    { path: `${cdrs}?${window}&page_size=10000`, accept: 'text/csv' },
    { path: `${cdrs}?${window}&page_size=10000&pretty_print=true` },
    { path: `${cdrs}?${window}&filter_custom_sip_headers.none=nothing` },
    { path: `${cdrs}/interaction?${all}&is_chunked=false` },
    { path: `${cdrs}/summary?${window}` },
    { path: `${cdrs}/stats?${window}&interval=hour&group_by=owner_id` },
  ]
}

const manyKeys = Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [index.toString(36), 1]))
const largeBody = JSON.stringify({ data: { name: 'Desk', ...manyKeys } })

/** Bodies with more keys than a record may have. */
export const largeBodiesOf = (accountId: string): Wish[] =>
  ['devices', 'users', 'callflows'].map((kind) => ({
    path: `/v2/accounts/${accountId}/${kind}`,
    body: largeBody,
  }))

export interface Figures extends ProbeResult {
  answers: number
  /** By status; 0: the connection broke. */
  statuses: Record<number, number>
  /** Megabytes at most. */
  peak: number
}

interface Storm {
  clients: number
  seconds: number
  /** This number of clients read the beginning of a response and then stop reading. */
  stalled: number
  wishes: readonly Wish[]
}

/** Asks, takes the answer and throws it away. */
const ask = (
  agent: Agent,
  port: number,
  { path, accept = 'application/json', body }: Wish,
  token: string,
  stalls = false,
) =>
  new Promise<number>((resolve) => {
    const method = body === undefined ? 'GET' : 'PUT'
    const headers = { 'x-auth-token': token, accept, 'content-type': 'application/json' }
    const outgoing = request({ port, host: '127.0.0.1', method, path, agent, headers }, (incoming) => {
      const end = () => resolve(incoming.complete || stalls ? (incoming.statusCode ?? 0) : 0)
      incoming.once('close', end)
      if (stalls) incoming.once('data', () => incoming.pause())
      else incoming.resume()
    })
    outgoing.on('error', () => resolve(0))
    outgoing.end(body)
  })

export const stormExpensive = async (
  server: RunningServer,
  { greedy, modest }: ExpensiveStage,
  { clients, seconds, stalled, wishes }: Storm,
): Promise<Figures> => {
  const statuses: Record<number, number> = {}
  const agent = new Agent({ keepAlive: true })
  let going = true

  const beGreedy = async (client: number) => {
    for (let turn = client; going; turn += 1) {
      const wish = wishes[turn % wishes.length] as Wish
      const status = await ask(agent, server.port, wish, greedy.token, client < stalled)
      if (!going) return
      statuses[status] = (statuses[status] ?? 0) + 1
      if (status >= 400 && status !== 413) await sleep(20)
    }
  }

  const storm = Array.from({ length: clients }, (_, client) => beGreedy(client))
  const probe = startHelper<ProbeJob, ProbeResult>('./probe.ts')
  const account = `/v2/accounts/${modest.accountId}`
  let seen: ProbeResult
  try {
    const paths = [account, `${account}/users`]
    seen = await probe.run({ port: server.port, token: modest.token, paths, seconds })
  } finally {
    going = false
    agent.destroy()
    await Promise.all([...storm, probe.stop()])
  }
  const memory = await memoryOf(server.pid)
  return {
    answers: Object.values(statuses).reduce((sum, count) => sum + count, 0),
    statuses,
    ...seen,
    peak: memory?.peak ?? Number.NaN,
  }
}

export const figuresText = ({ answers, statuses, p50, p99, longest, asked, peak }: Figures) =>
  `${answers} expensive answers ${JSON.stringify(statuses)}; ${asked} GETs of another account: ` +
  `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, at most ${longest.toFixed(0)} ms; memory at most ${peak.toFixed(0)} MB`
