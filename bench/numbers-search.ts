// node bench/numbers-search.ts [--engine=sqlite] [--rounds=5] [--seconds=2]
// A search by prefix among 1,000,000 available numbers against one among 10,000: the goal is 1.3 times the cost at most.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { openPostgres } from '../src/storage/postgres.ts'
import { openSqlite } from '../src/storage/sqlite.ts'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import type { LoadResult } from './load.ts'
import { floor, load } from './measures.ts'
import { type Place, processorSecondsOf, type RunningServer, startServer } from './server.ts'
import { freeRequests } from './stage.ts'

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
  },
})

const sizes = [10_000, 1_000_000] as const
const goal = 1.3
// As many numbers in each area code, however many there are: every search finds the same.
const perAreaCode = 1250
const firstAreaCode = 200
const connections = 4
// Rows of one statement: it has to end before the server is taken for dead.
const atOnce = 50_000

const say = (line: string) => process.stdout.write(`${line}\n`)

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] as number

// Understood by both engines. The doc and the row are as long as those of numbers that were imported.
const fillSql = `WITH RECURSIVE n (i) AS
    (SELECT CAST($1 AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < CAST($2 AS INTEGER))
  INSERT INTO numbers (number, account_id, state, carrier, used_by, country, classifier, created, modified, revision,
    doc, hidden, row_json)
  SELECT '+1' || (${firstAreaCode} + i / ${perAreaCode}) || (2000000 + (i % ${perAreaCode}) * 37), '', 'available',
    'knm_local', '', 'US', 'did_us', 63900000000, 63900000000, '0123456789abcdef0123456789abcdef', '{}',
    '{"features":{"local":{}}}', '{"state":"available","features":["local"],"created":63900000000}' FROM n`

const fill = async ({ dataDir, databaseUrl }: Place, count: number) => {
  const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
  for (let from = 0; from < count; from += atOnce) {
    const params = [from, Math.min(from + atOnce, count)]
    await db.write({ statements: [{ sql: fillSql, params }], stale: [] })
  }
  await db.close()
}

interface Stocked {
  count: number
  server: RunningServer
  accountId: string
  token: string
}

const stock = async (place: Place, count: number): Promise<Stocked> => {
  const begun = performance.now()
  const first = await startServer(place)
  await first.stop()
  await fill(place, count)
  const server = await startServer(place)
  const { token, masterId } = await freeRequests(server)
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  say(`  ${count.toLocaleString('en-US')} numbers loaded in ${seconds} s`)
  return { count, server, accountId: masterId, token }
}

interface Figure {
  result: LoadResult
  /** Processor time of the server for each search. */
  microseconds: number
}

const measure = async ({ count, server, accountId, token }: Stocked): Promise<Figure> => {
  const codes = Math.ceil(count / perAreaCode)
  const before = await processorSecondsOf(server.pid)
  const result = await load.run({
    port: server.port,
    connections,
    warmUpSeconds: 0.5,
    seconds: Number(options.seconds),
    before: `GET /v2/accounts/${accountId}/phone_numbers?prefix=`,
    after: `&quantity=20 HTTP/1.1\r\nhost: localhost\r\nx-auth-token: ${token}\r\n\r\n`,
    keys: Array.from({ length: codes }, (_, index) => String(firstAreaCode + index)),
  })
  if (result.failures > 0) throw new Error(`${result.failures} searches failed: ${result.firstFailure}`)
  const spent = (await processorSecondsOf(server.pid)) - before
  return { result, microseconds: (spent / result.answers) * 1e6 }
}

const tell = (count: number, figures: readonly Figure[]) => {
  const milliseconds = median(figures.map(({ result }) => (connections / result.perSecond) * 1000))
  const p99 = median(figures.map(({ result }) => result.p99Ms))
  const cost = median(figures.map(({ microseconds }) => microseconds))
  say(
    `  among ${count.toLocaleString('en-US').padStart(9)}: ${milliseconds.toFixed(2)} ms each with ${connections} at once, p99 ${p99.toFixed(1)} ms, processor ${cost.toFixed(0)} us`,
  )
}

const runEngine = async (engine: string, places: readonly [Place, Place]) => {
  say(engine)
  const [small, large] = [await stock(places[0], sizes[0]), await stock(places[1], sizes[1])]
  const rounds: [Figure, Figure][] = []
  try {
    for (let round = 0; round < Number(options.rounds); round += 1)
      rounds.push([await measure(small), await measure(large)])
  } finally {
    await Promise.all([small.server.stop(), large.server.stop()])
  }
  tell(
    sizes[0],
    rounds.map(([figure]) => figure),
  )
  tell(
    sizes[1],
    rounds.map(([, figure]) => figure),
  )
  const ratio = median(rounds.map(([one, other]) => one.result.perSecond / other.result.perSecond))
  const processor = median(rounds.map(([one, other]) => other.microseconds / one.microseconds))
  say(
    `  ratio ${ratio.toFixed(2)} (processor ${processor.toFixed(2)})  goal ${goal}: ${ratio <= goal ? 'reached' : 'MISSED'}`,
  )
}

const isWanted = (engine: string) => !options.engine || options.engine === engine
const root = await mkdtemp(join(tmpdir(), 'crosspoint-bench-'))
const placeAt = (name: string, databaseUrl?: string): Place => ({ dataDir: join(root, name), databaseUrl })

try {
  if (isWanted('sqlite')) await runEngine('SQLite', [placeAt('small'), placeAt('large')])
  if (isWanted('postgres')) {
    const postgres = await startPostgres({ durable: true })
    try {
      const urls = [await createDatabase(postgres.url), await createDatabase(postgres.url)] as const
      await runEngine('PostgreSQL', [placeAt('small-pg', urls[0].url), placeAt('large-pg', urls[1].url)])
    } finally {
      await postgres.stop()
    }
  }
} finally {
  await Promise.all([load.stop(), floor.stop()])
  await rm(root, { recursive: true, force: true })
}
