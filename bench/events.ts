// node bench/events.ts [--engine=sqlite] [--streams=1000] [--rounds=5] [--seconds=4]
// What it costs to be listened to: memory of open streams, the time until all of them have an event, the rate of writes
// beside them, and with PostgreSQL the time from a commit at one process to a stream at another.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type EventStream, openEventStream } from '../test/support/servers/event-stream.ts'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import { startHelper } from './children.ts'
import { floor, load } from './measures.ts'
import { memoryOf, type Place, processorSecondsOf, type RunningServer, startServer } from './server.ts'
import { call, freeRequests, inParallel, newUserData, untold } from './stage.ts'

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    streams: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
  },
})

const streamCount = Number(options.streams)
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
const writtenAccounts = 50
const connections = 32
const fanOuts = 20
const latencies = 200

const say = (line: string) => process.stdout.write(`${line}\n`)
const verdict = (is: boolean) => (is ? 'reached' : 'MISSED')

const sorted = (values: readonly number[]) => values.toSorted((a, b) => a - b)
const quantile = (values: readonly number[], share: number) =>
  sorted(values)[Math.min(values.length - 1, Math.floor(values.length * share))] as number
const median = (values: readonly number[]) => quantile(values, 0.5)

const kilobytes = async (pid: number) => {
  // By then, memory used to open them is free.
  await sleep(3000)
  return ((await memoryOf(pid))?.now ?? Number.NaN) * 1024
}

interface Listened {
  port: number
  pid: number
}

type Path = (index: number) => string

/** Opens streams a few at a time; each counts messages and stores nothing. */
const openStreams = async (port: number, count: number, path: Path, token: string) => {
  const told = { count: 0, all: Promise.withResolvers<void>(), wanted: Number.POSITIVE_INFINITY }
  const streams: EventStream[] = []
  await inParallel([...Array(count).keys()], async (index) => {
    const stream = await openEventStream(port, path(index), { 'x-auth-token': token }, () => {
      stream.messages.length = 0
      told.count += 1
      if (told.count >= told.wanted) told.all.resolve()
    })
    streams.push(stream)
  })
  return {
    /** Resolves after this number of further messages. */
    async come(more: number) {
      told.all = Promise.withResolvers()
      told.wanted = told.count + more
      return told.all.promise
    },
    close() {
      for (const stream of streams) stream.close()
    },
  }
}

/** Memory of each of many streams, and milliseconds until all of them have what `publish` causes. */
const measureStreams = async (
  { port, pid }: Listened,
  path: Path,
  token: string,
  publish: () => Promise<void>,
) => {
  // The first of them have the program loaded that the others use.
  const first = await openStreams(port, 50, path, token)
  await sleep(500)
  first.close()
  const before = await kilobytes(pid)
  const streams = await openStreams(port, streamCount, path, token)
  const each = ((await kilobytes(pid)) - before) / streamCount
  const times: number[] = []
  for (let turn = 0; turn < fanOuts; turn += 1) {
    const all = streams.come(streamCount)
    const begun = performance.now()
    await publish()
    await all
    times.push(performance.now() - begun)
  }
  const after = ((await kilobytes(pid)) - before) / streamCount
  streams.close()
  await sleep(1000)
  return { each, after, median: median(times), most: Math.max(...times) }
}

const post = (port: number, body: string) =>
  new Promise<void>((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', method: 'POST' }, (answer) => {
      answer.resume().once('end', resolve)
    })
    sent.once('error', reject)
    sent.end(body)
  })

type Streams = Awaited<ReturnType<typeof measureStreams>>

const sayStreams = (name: string, { each, after, median: middle, most }: Streams) =>
  say(
    `    ${name}: ${each.toFixed(1)} kB each, ${after.toFixed(1)} kB after ${fanOuts} events; all have an event within` +
      ` ${middle.toFixed(0)} ms (median), ${most.toFixed(0)} ms (at most)`,
  )

const measureOpen = async (server: RunningServer, token: string, masterId: string) => {
  let turn = 0
  const path = () => `/v2/accounts/${masterId}/events?after=now&type=user.created`
  const publish = async () => {
    turn += 1
    const user = newUserData(`fan${turn}`)
    await call(server.port, 'PUT', `/v2/accounts/${masterId}/users?${untold}`, token, user)
  }
  const ours = await measureStreams(server, path, token, publish)
  const bare = startHelper<object, number>('./event-floor.ts')
  const message = `id: 1\nevent: user.created\ndata: ${JSON.stringify(newUserData('floor'))}\n\n`
  const port = await bare.run({})
  const least = await measureStreams(
    { port, pid: bare.pid },
    () => '/',
    token,
    () => post(port, message),
  )
  await bare.stop()
  say(`  ${streamCount} streams of one account`)
  sayStreams('ours', ours)
  sayStreams('bare node:http', least)
  say(
    `    ratio: memory ${(ours.each / least.each).toFixed(2)}, time ${(ours.median / least.median).toFixed(1)};` +
      ` 20 kB ${verdict(ours.each < 20)}, 250 ms ${verdict(ours.most < 250)}`,
  )
}

/** Creates a second, of accounts in turn; `first` has no more than ten digits. */
const writeRate = async (
  { port, pid }: RunningServer,
  token: string,
  accountIds: readonly string[],
  first: number,
) => {
  const document = JSON.stringify({ data: newUserData('KEY') }).replaceAll('KEY@', 'k@')
  const [before, after] = document.split('"username":"KEY"') as [string, string]
  const body = [`${before}"username":"u`, `"${after}`] as const
  const length = body[0].length + 10 + body[1].length
  const head = (id: string) =>
    `PUT /v2/accounts/${id}/users?${untold} HTTP/1.1\r\nhost: localhost\r\nx-auth-token: ${token}\r\n` +
    `content-type: application/json\r\ncontent-length: ${length}\r\n\r\n${body[0]}`
  const spent = await processorSecondsOf(pid)
  const result = await load.run({
    port,
    connections,
    warmUpSeconds: 1,
    seconds,
    before: accountIds.map(head),
    after: body[1],
    keys: { from: first },
  })
  if (result.failures > 0) throw new Error(result.firstFailure)
  const microseconds = (((await processorSecondsOf(pid)) - spent) / result.answers) * 1e6
  return { ...result, microseconds }
}

const measureWrites = async (server: RunningServer, token: string, masterId: string) => {
  const accountIds: string[] = []
  await inParallel([...Array(writtenAccounts).keys()], async (index) => {
    const account = { name: `Account ${index}`, realm: `w${index}.bench.example.com` }
    accountIds.push(
      (await call(server.port, 'PUT', `/v2/accounts/${masterId}?${untold}`, token, account)).data.id,
    )
  })
  const path: Path = (index) => `/v2/accounts/${accountIds[index % writtenAccounts]}/events?after=now`
  let next = 0
  for (const count of [writtenAccounts, streamCount]) {
    const results: { alone: number; beside: number }[] = []
    for (let round = 0; round < rounds; round += 1) {
      const measure = async () => {
        const result = await writeRate(server, token, accountIds, next)
        next += result.distinctKeys
        return result.perSecond
      }
      const alone = await measure()
      const streams = await openStreams(server.port, count, path, token)
      results.push({ alone, beside: await measure() })
      streams.close()
      await sleep(1000)
    }
    const ratio = median(results.map(({ alone, beside }) => beside / alone))
    const told = count / writtenAccounts
    say(
      `  creates beside ${count} streams of ${writtenAccounts} accounts, each event to ${told} of them:` +
        ` ${Math.round(median(results.map(({ beside }) => beside)))}/s,` +
        ` alone ${Math.round(median(results.map(({ alone }) => alone)))}/s; ratio ${ratio.toFixed(2)}` +
        (told === 1 ? `, 0.9 ${verdict(ratio >= 0.9)}` : ''),
    )
  }
}

const measureAcross = async (server: RunningServer, place: Place, token: string, masterId: string) => {
  const other = await startServer(place)
  const streams = await openStreams(
    other.port,
    1,
    () => `/v2/accounts/${masterId}/events?after=now&type=user.created`,
    token,
  )
  const times: number[] = []
  for (let turn = 0; turn < latencies; turn += 1) {
    const told = streams.come(1)
    await call(
      server.port,
      'PUT',
      `/v2/accounts/${masterId}/users?${untold}`,
      token,
      newUserData(`across${turn}`),
    )
    // The response confirms the commit; the event may have arrived earlier.
    const begun = performance.now()
    await told
    times.push(performance.now() - begun)
    await sleep(Math.random() * 50)
  }
  streams.close()
  await other.stop()
  const p99 = quantile(times, 0.99)
  say(
    `  from the answer at one process to a stream at another: ${median(times).toFixed(0)} ms (median),` +
      ` ${p99.toFixed(0)} ms (p99); 100 ms ${verdict(p99 < 100)}`,
  )
}

const root = await mkdtemp(join(tmpdir(), 'crosspoint-bench-'))

const runEngine = async (engine: string, databaseUrl: string | undefined) => {
  say(engine)
  const place = { dataDir: join(root, engine), databaseUrl }
  await mkdir(place.dataDir)
  const server = await startServer(place)
  const { token, masterId } = await freeRequests(server)
  // All streams come from one address here.
  const limits = { max_connections: 4 * streamCount, max_connections_per_address: 4 * streamCount }
  await call(server.port, 'PATCH', '/v2/system_configs/crossbar', token, { default: limits })
  await measureOpen(server, token, masterId)
  await measureWrites(server, token, masterId)
  if (databaseUrl) await measureAcross(server, place, token, masterId)
  await server.stop()
}

try {
  if (!options.engine || options.engine === 'sqlite') await runEngine('SQLite', undefined)
  if (!options.engine || options.engine === 'postgres') {
    const postgres = await startPostgres({ durable: true })
    try {
      await runEngine('PostgreSQL', (await createDatabase(postgres.url)).url)
    } finally {
      await postgres.stop()
    }
  }
} finally {
  await load.stop()
  await floor.stop()
  await rm(root, { recursive: true, force: true })
}
process.exit(0)
