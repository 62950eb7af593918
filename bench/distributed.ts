// Compares a store on Citus (a coordinator and two workers on this machine) with one PostgreSQL server of the
// same version.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { distributeStorage } from '../src/storage/distribution/distribute.ts'
import { connectTo, runnerOn } from '../src/storage/postgres-dump.ts'
import { citusPrograms, startCitus } from '../test/support/servers/citus.ts'
import { startPostgres } from '../test/support/servers/postgres.ts'
import { startHelper } from './children.ts'
import type { LoadJob, LoadResult } from './load.ts'
import { type RunningServer, startServer } from './server.ts'
import { call, freeRequests, inParallel, signIn, untold } from './stage.ts'

const { values } = parseArgs({
  options: {
    accounts: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
  },
})
const [accounts, rounds, seconds] = [values.accounts, values.rounds, values.seconds].map(Number) as [
  number,
  number,
  number,
]

/** Sub-accounts of the middle of the tree for each of its accounts. */
const resellers = 20
const numbersOfMaster = 200
const connections = 16

interface Stage {
  server: RunningServer
  token: string
  masterId: string
  resellerIds: string[]
  accountIds: string[]
}

const fill = async (server: RunningServer): Promise<Stage> => {
  const { port } = server
  const { token, masterId } = await freeRequests(server)
  const make = async (parentId: string, name: string) => {
    const data = { name, realm: `${name}.bench.example.com` }
    return (await call(port, 'PUT', `/v2/accounts/${parentId}?${untold}`, token, data)).data.id
  }
  const resellerIds: string[] = []
  for (let index = 0; index < resellers; index += 1)
    resellerIds.push(await make(masterId, `reseller${index}`))
  const accountIds: string[] = []
  await inParallel(
    Array.from({ length: accounts }, (_, index) => index),
    async (index) => {
      accountIds.push(await make(resellerIds[index % resellers] ?? masterId, `customer${index}`))
    },
  )
  const numbers = Array.from(
    { length: numbersOfMaster },
    (_, index) => `+1415555${String(index).padStart(4, '0')}`,
  )
  await call(port, 'PUT', `/v2/accounts/${masterId}/phone_numbers/collection`, token, { numbers })
  return { server, token, masterId, resellerIds, accountIds }
}

type Requests = Pick<LoadJob, 'before' | 'after' | 'keys'>

const read = (path: string, keys: readonly string[], tail: string, { token }: Stage): Requests => ({
  before: `GET ${path}`,
  after: `${tail} HTTP/1.1\r\nhost: localhost\r\nx-auth-token: ${token}\r\naccept: application/json\r\n\r\n`,
  keys,
})

// A key is written with ten digits.
const keyDigits = 10
let nextKey = 1

/** Requests whose bodies have a unique key between two texts. */
const write = (paths: readonly string[], head: string, tail: string, { token }: Stage): Requests => {
  const bytes = head.length + keyDigits + tail.length
  nextKey += 1_000_000
  return {
    before: paths.map(
      (path) =>
        `PUT ${path} HTTP/1.1\r\nhost: localhost\r\nx-auth-token: ${token}\r\ncontent-type: application/json\r\n` +
        `content-length: ${bytes}\r\n\r\n${head}`,
    ),
    after: tail,
    keys: { from: nextKey },
  }
}

/** 2026-11-24, in Gregorian seconds. */
const day = 63_962_784_000

const measures: Record<string, { goal?: number; of(stage: Stage): Requests }> = {
  'create an account': {
    goal: 0.6,
    of: (stage) =>
      write(
        stage.resellerIds.map((id) => `/v2/accounts/${id}?${untold}`),
        '{"data":{"name":"Made',
        '"}}',
        stage,
      ),
  },
  'page of children': {
    goal: 0.5,
    of: (stage) => read('/v2/accounts/', stage.resellerIds, '/children', stage),
  },
  'page of descendants': {
    goal: 0.5,
    of: (stage) => read('/v2/accounts/', [stage.masterId], '/descendants', stage),
  },
  'page of numbers': {
    goal: 0.5,
    of: (stage) => read('/v2/accounts/', [stage.masterId], '/phone_numbers', stage),
  },
  'summary of services': {
    goal: 0.5,
    of: (stage) => read('/v2/accounts/', stage.accountIds, '/services/summary', stage),
  },
  'take in a call': {
    of: (stage) =>
      write(
        ['/v2/cdrs'],
        '{"data":[{"call_id":"c',
        `","timestamp":${day},"duration_seconds":30,"billing_seconds":20,"custom_channel_vars":{"account_id":"${stage.accountIds[0]}"}}]}`,
        stage,
      ),
  },
  'page of calls': {
    of: (stage) =>
      read(
        '/v2/accounts/',
        stage.accountIds.slice(0, 1),
        `/cdrs?created_from=${day - 1}&created_to=${day + 86_400}`,
        stage,
      ),
  },
  'statistics of calls': {
    of: (stage) =>
      read(
        '/v2/accounts/',
        stage.accountIds.slice(0, 1),
        `/cdrs/stats?created_from=${day - 1}&created_to=${day + 86_400}`,
        stage,
      ),
  },
}

const load = startHelper<LoadJob, LoadResult>('./load.ts')

const perSecond = async (stage: Stage, requests: Requests) => {
  const job = { port: stage.server.port, connections, warmUpSeconds: 1, seconds, ...requests }
  const result = await load.run(job)
  if (result.failures > 0) throw new Error(`${result.failures} failed: ${result.firstFailure}`)
  return result.perSecond
}

const median = (numbers: readonly number[]) =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN

const shown = (rate: number) => `${Math.round(rate).toLocaleString('en-US')}/s`

const perform = async (programs: string) => {
  const folders = [await mkdtemp(join(tmpdir(), 'crosspoint-')), await mkdtemp(join(tmpdir(), 'crosspoint-'))]
  const postgres = await startPostgres({ durable: true, programs })
  const citus = await startCitus(programs, { durable: true })
  const plainPlace = { dataDir: folders[0] as string, databaseUrl: postgres.url }
  const citusPlace = { dataDir: folders[1] as string, databaseUrl: citus.url }
  // Makes the tables, which are then distributed without a server.
  await (await startServer(citusPlace)).stop()
  const client = await connectTo(citus.url)
  await distributeStorage(runnerOn(client), () => undefined)
  await client.end()
  const plain = await fill(await startServer(plainPlace))
  const distributed = await fill(await startServer(citusPlace))
  try {
    process.stdout.write('measure | Citus | PostgreSQL | ratio | goal\n')
    for (const [name, { goal, of }] of Object.entries(measures)) {
      for (const stage of [plain, distributed]) stage.token = await signIn(stage.server)
      const pairs: [number, number][] = []
      for (let round = 0; round < rounds; round += 1)
        pairs.push([await perSecond(distributed, of(distributed)), await perSecond(plain, of(plain))])
      const rates = [median(pairs.map(([ours]) => ours)), median(pairs.map(([, theirs]) => theirs))] as const
      const ratio = median(pairs.map(([ours, theirs]) => ours / theirs))
      process.stdout.write(
        `${name} | ${shown(rates[0])} | ${shown(rates[1])} | ${ratio.toFixed(2)} | ${goal ?? ''}\n`,
      )
    }
  } finally {
    for (const stage of [plain, distributed]) await stage.server.stop()
    await load.stop()
    await citus.close()
    await postgres.stop()
    for (const folder of folders) await rm(folder, { recursive: true, force: true })
  }
}

if (citusPrograms) await perform(citusPrograms)
else {
  process.stdout.write('left out: no PostgreSQL with Citus is installed in /usr/lib/postgresql\n')
  await load.stop()
}
