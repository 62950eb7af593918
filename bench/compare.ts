// node bench/compare.ts <checkout> [<checkout> ...] [--engine=sqlite] [--only=purchase] [--rounds=5] [--seconds=5] [--connections=32]
// The rates of this checkout against those of others (clones of older commits with `npm ci` run in them), round by
// round in turns on the same machine: what a change has cost, whatever else the machine does. Each has its own store
// of the same contents and runs with the settings that its own benchmarks run with.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import type { Feeding, FeedJob } from './cdr-feed.ts'
import { startHelper } from './children.ts'
import type { LoadJob } from './load.ts'
import { load } from './measures.ts'
import { postmasterOf, postmasterSeconds } from './postmaster.ts'
import { type Place, processorSecondsOf, type RunningServer, settled } from './server.ts'
import {
  call,
  freeOfCharge,
  freeRequests,
  inParallel,
  newUserData,
  signIn,
  signInData,
  untold,
  userData,
} from './stage.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engine: { type: 'string' },
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '32' },
  },
})

const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
const readAccounts = 500
const users = 60
const buyers = 100
const growing = 50
const recordsPerRound = 30_000
const connections = Number(options.connections)
const warmUpSeconds = 1

const say = (line: string) => process.stdout.write(`${line}\n`)

interface Contender {
  name: string
  /** Processor seconds of the database so far. */
  databaseSpent(): Promise<number>
  server: RunningServer
  place: Place
  masterId: string
  accountIds: string[]
  /** Each pays at once for what it buys, by a plan of the master account. */
  buyerIds: string[]
  /** The next number of what must not come twice. */
  next: number
}

interface Result {
  /** Includes work after the last response, such as bookings and mails. */
  perSecond: number
  /** Processor time of the server for one answer and what follows it. */
  microseconds: number
  /** The same of PostgreSQL. */
  databaseMicroseconds?: number
  p50Ms?: number
}

type Measure = (contender: Contender) => Promise<Result>

// More than any load can spend. A bucket that there is already is filled when the next second begins.
const plenty = { max_bucket_tokens: 1_000_000_000, tokens_fill_rate: 1_000_000_000 }

const settle = async (
  server: RunningServer,
  place: Place,
  { name, databaseSpent }: Pick<Contender, 'name' | 'databaseSpent'>,
): Promise<Contender> => {
  const { token, masterId } = await freeRequests(server)
  const { port } = server
  await call(port, 'PUT', '/v2/system_configs/token_buckets', token, { default: plenty })
  const accountIds: string[] = []
  await inParallel([...Array(readAccounts).keys()], async (index) => {
    const data = { name: `Account ${index}`, realm: `a${index}.bench.example.com` }
    accountIds.push((await call(port, 'PUT', `/v2/accounts/${masterId}?${untold}`, token, data)).data.id)
  })
  const [first] = accountIds as [string]
  await inParallel([...Array(users).keys()], async (index) => {
    await call(port, 'PUT', `/v2/accounts/${first}/users?${untold}`, token, userData(`user${index}`))
  })
  const fee = { rate: 0, activation_charge: 0.01 }
  const plan = { name: 'Numbers', plan: { number_carriers: { _all: fee } } }
  const made = await call(port, 'PUT', `/v2/accounts/${masterId}/service_plans`, token, plan)
  const buyerIds: string[] = []
  await inParallel([...Array(buyers).keys()], async (index) => {
    const buyer = {
      name: `Buyer ${index}`,
      realm: `buyer${index}.bench.example.com`,
      wnm_allow_additions: true,
    }
    const { data } = await call(port, 'PUT', `/v2/accounts/${masterId}?${untold}`, token, buyer)
    await call(port, 'POST', `/v2/accounts/${data.id}/services`, token, { add: [made.data.id] })
    const source = { service: 'payments', id: 'bench' }
    const usage = { type: 'credit', quantity: 1, unit: 'payment' }
    const credit = { source, usage, amount: 1_000_000 }
    await call(port, 'PUT', `/v2/accounts/${data.id}/ledgers/credit`, token, credit)
    buyerIds.push(data.id)
  })
  return { name, databaseSpent, server, place, masterId, accountIds, buyerIds, next: 0 }
}

const head = (method: string, path: string, token: string) =>
  `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nx-auth-token: ${token}\r\n`

const run = async (
  { server, databaseSpent }: Contender,
  before: LoadJob['before'],
  tail: string,
  keys: readonly string[] | { from: number },
) => {
  const spentBefore = await processorSecondsOf(server.pid)
  const databaseBefore = await databaseSpent()
  const { port } = server
  const result = await load.run({ port, connections, warmUpSeconds, seconds, before, after: tail, keys })
  if (result.failures > 0) throw new Error(result.firstFailure)
  const after = await settled(() => processorSecondsOf(server.pid))
  const microseconds = ((after.spent - spentBefore) / result.answers) * 1e6
  const databaseMicroseconds = (((await databaseSpent()) - databaseBefore) / result.answers) * 1e6
  // Includes the warm-up, because its later work cannot be separated.
  const perSecond = result.answers / (seconds + warmUpSeconds + after.seconds)
  return { ...result, microseconds, databaseMicroseconds, perSecond }
}

/** Sends the same request with another key of ten digits each time. */
const runCounted = async (contender: Contender, before: LoadJob['before'], after: string, from = 0) => {
  const result = await run(contender, before, after, { from: from + contender.next })
  contender.next += result.distinctKeys
  return result
}

const bodyHead = (length: number) => `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`

const feed = startHelper<FeedJob, Feeding>('./cdr-feed.ts')

const purchase = async (contender: Contender, buyerIds: readonly string[]) => {
  const token = await signIn(contender.server)
  const body = JSON.stringify({ data: {}, accept_charges: true })
  const requests = buyerIds.map((id) =>
    head('PUT', `/v2/accounts/${id}/phone_numbers/%2B1KEY`, token).split('KEY'),
  ) as [string, string][]
  const befores = requests.map(([before]) => before)
  const [[, after]] = requests as [[string, string]]
  return runCounted(contender, befores, after + bodyHead(body.length) + body, 4_155_000_000)
}

// Of `plenty`: what is paid for is counted, and nothing is refused.
const priced = { token_costs: 1, user_auth_tokens: 1, api_auth_tokens: 1 }

const signingIn = async (contender: Contender, path: string, data: object) => {
  const { port } = contender.server
  const token = await signIn(contender.server)
  const set = (section: string, values: object) =>
    call(port, 'PATCH', `/v2/system_configs/${section}`, token, { default: values })
  await set('crossbar', priced)
  const body = JSON.stringify({ data })
  const request = `PUT ${path} HTTP/1.1\r\nhost: localhost\r\n${bodyHead(body.length)}${body}`
  const result = await run(contender, request, '', [''])
  await set('crossbar', freeOfCharge)
  return result
}

const measures: Record<string, Measure> = {
  'GET an account': async (contender) => {
    const token = await signIn(contender.server)
    const [before, after] = head('GET', '/v2/accounts/KEY', token).split('KEY') as [string, string]
    return run(contender, before, `${after}\r\n`, contender.accountIds)
  },
  'page of 50 users': async (contender) => {
    const token = await signIn(contender.server)
    const path = `/v2/accounts/${contender.accountIds[0]}/users?page_size=50`
    return run(contender, head('GET', path, token), '\r\n', [''])
  },
  'create a user': async (contender) => {
    const token = await signIn(contender.server)
    const document = JSON.stringify({ data: newUserData('KEY') }).replaceAll('KEY@', 'k@')
    const [before, after] = document.split('"username":"KEY"') as [string, string]
    const body = [`${before}"username":"u`, `"${after}`] as const
    const length = body[0].length + 10 + body[1].length
    // Spread over many accounts, because an account has a maximum number of users.
    const befores = contender.accountIds
      .slice(1, 1 + growing)
      .map((id) => head('PUT', `/v2/accounts/${id}/users?${untold}`, token) + bodyHead(length) + body[0])
    return runCounted(contender, befores, body[1])
  },
  'purchase a number, 100 payers': (contender) => purchase(contender, contender.buyerIds),
  'purchase a number, one payer': (contender) => purchase(contender, contender.buyerIds.slice(0, 1)),
  'sign in with a password': (contender) => signingIn(contender, '/v2/user_auth', signInData),
  'sign in with an API key': async (contender) => {
    const { server, masterId } = contender
    const { data } = await call(server.port, 'GET', `/v2/accounts/${masterId}/api_key`, await signIn(server))
    return signingIn(contender, '/v2/api_auth', { api_key: (data as unknown as { api_key: string }).api_key })
  },
  'ingest of call detail records': async (contender) => {
    const { server, place, masterId } = contender
    const token = await signIn(server)
    const file = join(place.dataDir, 'records.ndjson')
    const first = contender.next
    contender.next += recordsPerRound
    await feed.run({ kind: 'write', file, accountId: masterId, first, count: recordsPerRound })
    const spentBefore = await processorSecondsOf(server.pid)
    const { done: perSecond } = await feed.run({
      kind: 'send',
      files: [file],
      port: server.port,
      token,
      count: recordsPerRound,
    })
    const after = await settled(() => processorSecondsOf(server.pid))
    const took = recordsPerRound / perSecond + after.seconds
    const microseconds = ((after.spent - spentBefore) / recordsPerRound) * 1e6
    return { perSecond: recordsPerRound / took, microseconds }
  },
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] as number

/** Further figures: PostgreSQL's share, and the response time. */
const beside = (results: readonly Result[]) => {
  const [first] = results
  const ofDatabase = median(results.map(({ databaseMicroseconds = 0 }) => databaseMicroseconds))
  const p50 = median(results.map(({ p50Ms = 0 }) => p50Ms))
  return (
    (ofDatabase > 0 ? `, of PostgreSQL ${ofDatabase.toFixed(0)} us` : '') +
    (first?.p50Ms === undefined ? '' : `, half within ${p50.toFixed(1)} ms`)
  )
}

const compare = async (name: string, measure: Measure, contenders: readonly Contender[]) => {
  const results = new Map<Contender, Result[]>(contenders.map((contender) => [contender, []]))
  for (let round = 0; round < rounds; round += 1) {
    // The order alternates by round, so that a machine that gets slower favours no build.
    const order = round % 2 === 0 ? contenders : contenders.toReversed()
    for (const contender of order) results.get(contender)?.push(await measure(contender))
  }
  const [ours] = contenders as [Contender]
  const of = (contender: Contender) => results.get(contender) as Result[]
  say(`  ${name} (load of the machine ${loadavg()[0]?.toFixed(1)})`)
  for (const contender of contenders) {
    const ratio = (value: (result: Result) => number) =>
      median(of(ours).map((result, at) => value(result) / value(of(contender)[at] as Result))).toFixed(2)
    const rates = of(contender).map(({ perSecond }) => Math.round(perSecond))
    const cost = median(of(contender).map(({ microseconds }) => microseconds))
    say(
      `    ${contender.name}: ${median(rates)}/s of ${rates.join(', ')}; processor ${cost.toFixed(0)} us each` +
        beside(of(contender)) +
        (contender === ours
          ? ''
          : `; ours to this: rate ${ratio((r) => r.perSecond)}, processor ${ratio((r) => r.microseconds)}`),
    )
  }
}

const checkouts = [resolve(import.meta.dirname, '..'), ...positionals.map((path) => resolve(path))]
const root = await mkdtemp(join(tmpdir(), 'crosspoint-bench-'))

const runEngine = async (
  engine: string,
  databaseUrl: () => Promise<string | undefined>,
  databaseSpent: Contender['databaseSpent'] = async () => 0,
) => {
  say(`${engine}, ${rounds} rounds of ${seconds} s`)
  const contenders: Contender[] = []
  const servers: RunningServer[] = []
  try {
    for (const [at, checkout] of checkouts.entries()) {
      const place = { dataDir: join(root, `${engine}-${at}`), databaseUrl: await databaseUrl() }
      await mkdir(place.dataDir)
      const { startServer } = (await import(
        join(checkout, 'bench', 'server.ts')
      )) as typeof import('./server.ts')
      const name = at === 0 ? 'ours' : basename(checkout)
      const server = await startServer(place)
      servers.push(server)
      contenders.push(await settle(server, place, { name, databaseSpent }))
    }
    for (const [name, measure] of Object.entries(measures))
      if (name.includes(options.only)) await compare(name, measure, contenders)
  } finally {
    for (const server of servers) await server.stop()
  }
}

try {
  if (!options.engine || options.engine === 'sqlite') await runEngine('SQLite', async () => undefined)
  if (!options.engine || options.engine === 'postgres') {
    const postgres = await startPostgres({ durable: true })
    try {
      const pid = await postmasterOf(postgres.url)
      const databaseSpent = () => postmasterSeconds(pid)
      await runEngine('PostgreSQL', async () => (await createDatabase(postgres.url)).url, databaseSpent)
    } finally {
      await postgres.stop()
    }
  }
} finally {
  await load.stop()
  await feed.stop()
  await rm(root, { recursive: true, force: true })
}
process.exit(0)
