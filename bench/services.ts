// node bench/services.ts [--engine=sqlite] [--rounds=5] [--seconds=2] [--below=100000]
// services/summary of a reseller with 100,000 sub-accounts against one with 100: the goal is 1.3 times the cost at most.
// A user made in an account with 20 plans against one in an account without: 1.5 times at most.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import type { Statement } from '../src/storage/db.ts'
import { openPostgres } from '../src/storage/postgres.ts'
import { openSqlite } from '../src/storage/sqlite.ts'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import { floor, load } from './measures.ts'
import { type Place, processorSecondsOf, type RunningServer, startServer } from './server.ts'
import { call, freeRequests, newUserData } from './stage.ts'

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    below: { type: 'string', default: '100000' },
  },
})

const few = 100
const many = Number(options.below)
const planCount = 20
const makers = 8
const atOnce = 50_000

const say = (line: string) => process.stdout.write(`${line}\n`)
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] as number

const numbersFrom = `WITH RECURSIVE n (i) AS
  (SELECT CAST($1 AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < CAST($2 AS INTEGER))`

/** Sub-accounts as creating them leaves them, with a device each; ids that no two resellers share. */
const subAccounts = (reseller: string, master: string, from: number, to: number): Statement[] => [
  {
    sql: `${numbersFrom} INSERT INTO records
      (account_id, kind, id, owner_id, sort_key, created, modified, revision, doc, hidden, row_json, tally)
      SELECT CAST($3 AS TEXT) || i, 'account', CAST($3 AS TEXT) || i, '', 'sub ' || i, 63900000000, 63900000000, 'r', '{"name":"Sub"}',
        '{"tree":["' || CAST($4 AS TEXT) || '","' || CAST($5 AS TEXT) || '"],"enabled":true}', '{}', 0 FROM n`,
    params: [from, to, reseller.slice(0, 20), master, reseller],
  },
  ...[reseller, master].map((ancestor, index) => ({
    sql: `${numbersFrom} INSERT INTO account_tree (account_id, ancestor_id, distance, sort_key)
      SELECT CAST($3 AS TEXT) || i, CAST($4 AS TEXT), ${index + 1}, 'sub ' || i FROM n`,
    params: [from, to, reseller.slice(0, 20), ancestor],
  })),
  {
    sql: `${numbersFrom} INSERT INTO quantities (account_id, category, item, own, below)
      SELECT CAST($3 AS TEXT) || i, 'devices', 'sip_device', 1, 0 FROM n`,
    params: [from, to, reseller.slice(0, 20)],
  },
]

const fill = async ({ dataDir, databaseUrl }: Place, reseller: string, master: string, count: number) => {
  const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
  for (let from = 0; from < count; from += atOnce)
    await db.write({
      statements: subAccounts(reseller, master, from, Math.min(from + atOnce, count)),
      stale: [],
    })
  const sum = `INSERT INTO quantities (account_id, category, item, own, below) VALUES ($1, 'devices', 'sip_device', 0, $2)`
  await db.write({ statements: [{ sql: sum, params: [reseller, count] }], stale: [] })
  await db.close()
}

interface Stage {
  server: RunningServer
  token: string
  /** Resellers with few and with many accounts below. */
  resellers: readonly [string, string]
  /** Accounts without and with plans, and a token of an admin of each. */
  customers: readonly { id: string; token: string }[]
}

const perDevice = (rate: number) => ({ devices: { sip_device: { rate, cascade: true } } })

const perUser = (rate: number) => ({
  users: { user: { rate, discounts: { cumulative: { maximum: 5, rate: 0.5 } } }, admin: { rate } },
  devices: { _all: { rate, as: 'endpoint', exceptions: ['landline'] } },
})

const setStage = async (place: Place): Promise<Stage> => {
  const first = await startServer(place)
  const { token, masterId } = await freeRequests(first)
  const put = (path: string, data: object) => call(first.port, 'PUT', `/v2/accounts/${path}`, token, data)
  const makeAccount = async (name: string) =>
    (await put(masterId, { name, realm: `${name}.bench.example.com` })).data.id
  const makePlan = async (plan: object, index: number) =>
    (await put(`${masterId}/service_plans`, { name: `Plan ${index}`, plan })).data.id
  const assign = (id: string, add: readonly string[]) =>
    call(first.port, 'POST', `/v2/accounts/${id}/services`, token, { add })
  const resellers = [await makeAccount('few'), await makeAccount('many')] as const
  const cascading = await makePlan(perDevice(1.25), 0)
  for (const id of resellers) await assign(id, [cascading])
  const customers: { id: string; token: string }[] = []
  for (const name of ['without', 'with']) {
    const id = await makeAccount(name)
    await put(`${id}/users`, {
      first_name: 'An',
      last_name: 'Admin',
      username: 'admin',
      password: 'bench-secret',
      priv_level: 'admin',
    })
    customers.push({ id, token: '' })
  }
  const plans: string[] = []
  for (let index = 1; index <= planCount; index += 1) plans.push(await makePlan(perUser(index), index))
  await assign(customers[1]?.id as string, plans)
  await first.stop()
  for (const [index, count] of [few, many].entries())
    await fill(place, resellers[index] as string, masterId, count)
  const server = await startServer(place)
  const signedIn = await freeRequests(server)
  for (const [index, name] of ['without', 'with'].entries()) {
    const account = customers[index] as { token: string }
    const { createHash } = await import('node:crypto')
    const credentials = createHash('md5').update('admin:bench-secret').digest('hex')
    const answer = await call(server.port, 'PUT', '/v2/user_auth', '', { account_name: name, credentials })
    account.token = answer.auth_token
  }
  return { server, token: signedIn.token, resellers, customers }
}

interface Figure {
  milliseconds: number
  microseconds: number
}

const readSummary = async ({ server, token }: Stage, reseller: string): Promise<Figure> => {
  const before = await processorSecondsOf(server.pid)
  const connections = 4
  const result = await load.run({
    port: server.port,
    connections,
    warmUpSeconds: 0.5,
    seconds: Number(options.seconds),
    before: 'GET /v2/accounts/',
    after: `/services/summary HTTP/1.1\r\nhost: localhost\r\nx-auth-token: ${token}\r\n\r\n`,
    keys: [reseller],
  })
  if (result.failures > 0) throw new Error(`${result.failures} failed: ${result.firstFailure}`)
  const spent = (await processorSecondsOf(server.pid)) - before
  return {
    milliseconds: (connections / result.perSecond) * 1000,
    microseconds: (spent / result.answers) * 1e6,
  }
}

let made = 0

const makeUsers = async (
  { server }: Stage,
  { id, token }: { id: string; token: string },
): Promise<Figure> => {
  const end = performance.now() + Number(options.seconds) * 1000
  const before = await processorSecondsOf(server.pid)
  const begun = performance.now()
  let count = 0
  const maker = async () => {
    while (performance.now() < end) {
      made += 1
      const data = { ...newUserData(`user${made}`), accept_charges: true }
      await call(server.port, 'PUT', `/v2/accounts/${id}/users?send_email_on_creation=false`, token, data)
      count += 1
    }
  }
  await Promise.all(Array.from({ length: makers }, maker))
  const spent = (await processorSecondsOf(server.pid)) - before
  return {
    milliseconds: ((performance.now() - begun) / count) * makers,
    microseconds: (spent / count) * 1e6,
  }
}

const compare = async (
  title: string,
  goal: number,
  measures: readonly [() => Promise<Figure>, () => Promise<Figure>],
) => {
  const rounds: [Figure, Figure][] = []
  for (let round = 0; round < Number(options.rounds); round += 1)
    rounds.push([await measures[0](), await measures[1]()])
  const [less, more] = [0, 1].map((side) => rounds.map((round) => round[side] as Figure)) as [
    Figure[],
    Figure[],
  ]
  const time = (figures: Figure[]) =>
    `${median(figures.map(({ milliseconds }) => milliseconds)).toFixed(2)} ms, processor ${median(figures.map(({ microseconds }) => microseconds)).toFixed(0)} us`
  const ratio = median(rounds.map(([one, other]) => other.milliseconds / one.milliseconds))
  const processor = median(rounds.map(([one, other]) => other.microseconds / one.microseconds))
  say(`  ${title}: ${time(less)} against ${time(more)}`)
  say(
    `    ratio ${ratio.toFixed(2)} (processor ${processor.toFixed(2)})  goal ${goal}: ${ratio <= goal ? 'reached' : 'MISSED'}`,
  )
}

const runEngine = async (engine: string, place: Place) => {
  say(engine)
  const stage = await setStage(place)
  const [small, large] = stage.resellers
  const [without, withPlans] = stage.customers as [Stage['customers'][0], Stage['customers'][0]]
  try {
    await compare(`summary with ${few} and ${many.toLocaleString('en-US')} below`, 1.3, [
      () => readSummary(stage, small),
      () => readSummary(stage, large),
    ])
    await compare(`a user made without and with ${planCount} plans`, 1.5, [
      () => makeUsers(stage, without),
      () => makeUsers(stage, withPlans),
    ])
  } finally {
    await stage.server.stop()
  }
}

const isWanted = (engine: string) => !options.engine || options.engine === engine
const root = await mkdtemp(join(tmpdir(), 'crosspoint-bench-'))

try {
  if (isWanted('sqlite')) await runEngine('SQLite', { dataDir: join(root, 'sqlite'), databaseUrl: undefined })
  if (isWanted('postgres')) {
    const postgres = await startPostgres({ durable: true })
    try {
      const { url } = await createDatabase(postgres.url)
      await runEngine('PostgreSQL', { dataDir: join(root, 'postgres'), databaseUrl: url })
    } finally {
      await postgres.stop()
    }
  }
} finally {
  await Promise.all([load.stop(), floor.stop()])
  await rm(root, { recursive: true, force: true })
}
