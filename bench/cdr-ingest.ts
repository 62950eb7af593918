// node bench/cdr-ingest.ts [--engine=sqlite] [--records=60000] [--rounds=3] [--threads=1] [--streams=1] [--profile]
//
// Call detail records sent as NDJSON over HTTP, held against the bare insertion of the same rows, one durable transaction
// for each 500: into the same table without any index, and with the same indices. Each into its own store, in turns.
// With `--threads` so many threads of the server take them in; each request is one thread's, so send several at once (`--streams`).
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { monthOf } from '../src/lib/time-key.ts'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import type { Feeding, FeedJob } from './cdr-feed.ts'
import { fillCdrs } from './cdr-records.ts'
import { startHelper } from './children.ts'
import { printHottest } from './profile.ts'
import { memoryOf, type Place, processorSecondsOf, type RunningServer, startServer } from './server.ts'
import { signInData } from './stage.ts'

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    records: { type: 'string', default: '60000' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string' },
    streams: { type: 'string', default: '1' },
    profile: { type: 'boolean', default: false },
  },
})

const goals = { bare: 0.3, indexed: 0.6 }
const streams = Number(options.streams)
// As many for each stream.
const count = Math.ceil(Number(options.records) / streams) * streams
const feed = startHelper<FeedJob, Feeding>('./cdr-feed.ts')

const say = (line: string) => process.stdout.write(`${line}\n`)
const rate = (value: number) => `${Math.round(value).toLocaleString('en-US')}/s`

const median = (values: readonly number[]) => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] as number
}

const signIn = async ({ port }: RunningServer) => {
  const answer = await fetch(`http://127.0.0.1:${port}/v2/user_auth`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ data: signInData }),
  })
  const { auth_token: token, data } = (await answer.json()) as {
    auth_token: string
    data: { account_id: string }
  }
  return { token, accountId: data.account_id }
}

// The records of a run are two days old at most: see cdr-feed.ts.
const twoDaysMs = 2 * 86_400_000

/** A store of the newest structure with the month that the floor writes to. */
const prepareFloor = async (place: Place) => {
  await mkdir(place.dataDir, { recursive: true })
  await (await startServer(place)).stop()
  const month = Number(monthOf(Date.now() - twoDaysMs))
  await fillCdrs(place, { accountId: 'f'.repeat(32), month, count: 1 })
  return month
}

const runEngine = async (title: string, ours: Place, floor: Place) => {
  say(title)
  const month = await prepareFloor(floor)
  await mkdir(ours.dataDir, { recursive: true })
  const profileDir = options.profile ? await mkdtemp(join(tmpdir(), 'crosspoint-profile-')) : undefined
  const server = await startServer(ours, profileDir)
  const { token, accountId } = await signIn(server)
  const files = Array.from({ length: streams }, (_, index) => join(ours.dataDir, `records-${index}.ndjson`))
  const writeFiles = async (first: number) => {
    let bytes = 0
    const share = count / streams
    for (const [index, file] of files.entries())
      bytes += (
        await feed.run({ kind: 'write', file, accountId, first: first + index * share, count: share })
      ).done
    return bytes
  }
  const rates: number[] = []
  const floors: Record<keyof typeof goals, number[]> = { bare: [], indexed: [] }
  const runFloor = async (name: keyof typeof goals, batch: { accountId: string; first: number }) => {
    const isIndexed = name === 'indexed'
    const { done, processor } = await feed.run({
      kind: 'floor',
      place: floor,
      month,
      isIndexed,
      count,
      ...batch,
    })
    floors[name].push(done)
    return `${name} ${rate(done)}${floor.databaseUrl ? '' : `, ${processor.toFixed(0)} us`}`
  }
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const batch = { accountId, first: round * count }
    const bytes = await writeFiles(batch.first)
    const before = await processorSecondsOf(server.pid)
    const { done: sent } = await feed.run({ kind: 'send', files, port: server.port, token, count })
    const spent = (await processorSecondsOf(server.pid)) - before
    rates.push(sent)
    const said = [await runFloor('bare', batch), await runFloor('indexed', batch)]
    say(
      `  ${rate(sent)} of ${Math.round(bytes / count)} bytes, processor ${((spent / count) * 1e6).toFixed(0)} us each; floors: ${said.join('; ')}`,
    )
  }
  const memory = await memoryOf(server.pid)
  await server.stop()
  say(`  records over HTTP: ${rate(median(rates))}`)
  for (const name of ['bare', 'indexed'] as const) {
    const ratio = median(rates.map((sent, round) => sent / (floors[name][round] as number)))
    say(
      `  floor, ${name} batched insertion: ${rate(median(floors[name]))}  ratio ${ratio.toFixed(2)}  goal ${goals[name]}: ${ratio >= goals[name] ? 'reached' : 'MISSED'}`,
    )
  }
  if (memory) say(`  memory: ${memory.peak.toFixed(0)} MB at most`)
  if (profileDir) await printHottest(profileDir, say)
}

const isWanted = (engine: string) => !options.engine || options.engine === engine
const root = await mkdtemp(join(tmpdir(), 'crosspoint-bench-'))
const place = (name: string, databaseUrl?: string): Place => ({
  dataDir: join(root, name),
  databaseUrl,
  ...(options.threads ? { httpThreads: Number(options.threads) } : {}),
})

say(
  `${availableParallelism()} cores of ${cpus()[0]?.model}, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`,
)
try {
  if (isWanted('sqlite')) await runEngine('SQLite', place('sqlite'), place('sqlite-floor'))
  if (isWanted('postgres')) {
    const postgres = await startPostgres({ durable: true })
    try {
      const [ours, floor] = await Promise.all([createDatabase(postgres.url), createDatabase(postgres.url)])
      await runEngine('PostgreSQL', place('postgres', ours.url), place('postgres-floor', floor.url))
    } finally {
      await postgres.stop()
    }
  }
} finally {
  await feed.stop()
  await rm(root, { recursive: true, force: true })
}
