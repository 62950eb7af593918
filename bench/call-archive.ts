// node bench/call-archive.ts [--engine=sqlite|postgres] [--rows=1000000]
// A month of one account in the store and then in Parquet files: what a page, a record and the archiving itself cost.
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { createArchiveFiles, createArchiveMetrics } from '../src/areas/calls/cdrs/archive/files.ts'
import { createCallArchive } from '../src/areas/calls/cdrs/archive/operations.ts'
import { createArchiveReading } from '../src/areas/calls/cdrs/archive/reading.ts'
import { createArchiveRegister } from '../src/areas/calls/cdrs/archive/store.ts'
import { createInteractionStore } from '../src/areas/calls/cdrs/interactions.sql.ts'
import { createCdrStore } from '../src/areas/calls/cdrs/store.ts'
import { systemClock } from '../src/lib/clock.ts'
import { gregorianUnixOffset } from '../src/lib/gregorian.ts'
import { createLog } from '../src/lib/log.ts'
import { createMetrics } from '../src/lib/metrics.ts'
import { openDirectory } from '../src/object-store/open.ts'
import type { Settings } from '../src/settings/settings.ts'
import { openPostgres } from '../src/storage/postgres.ts'
import { openSqlite } from '../src/storage/sqlite.ts'
import { createStore } from '../src/storage/store.ts'
import { upgradeStorage } from '../src/storage/upgrades.ts'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import { fillCdrs } from './cdr-records.ts'

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    rows: { type: 'string', default: '1000000' },
  },
})

const records = Number(options.rows)
const month = 202501
const from = Date.UTC(2025, 0) / 1000 + gregorianUnixOffset
const to = from + 31 * 86_400
const accountId = '0123456789abcdef0123456789abcdef'
const pages = 40

const say = (line: string) => process.stdout.write(`${line}\n`)
const places = Array.from({ length: pages }, (_, at) => from + Math.floor(((at + 0.5) / pages) * (to - from)))

/** Milliseconds that it takes for each place: the middle one and the longest. */
const timed = async (work: (time: number) => Promise<unknown>) => {
  const found: number[] = []
  for (const time of places) {
    const began = performance.now()
    await work(time)
    found.push(performance.now() - began)
  }
  found.sort((a, b) => a - b)
  return `${found[pages >> 1]?.toFixed(1)} ms, longest ${found.at(-1)?.toFixed(1)} ms`
}

const delays = monitorEventLoopDelay({ resolution: 1 })

/** How long other work had to wait since it was asked last. */
const delayTold = () => {
  const told = `other work waited ${(delays.percentile(99) / 1e6).toFixed(0)} ms at the 99th percentile, at most ${(delays.max / 1e6).toFixed(0)}`
  delays.reset()
  return told
}

const folder = await mkdtemp(join(tmpdir(), 'call-archive-'))
const server = options.engine === 'postgres' ? await startPostgres() : undefined
const databaseUrl = server && (await createDatabase(server.url)).url
const open = () => (databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(folder, 'crosspoint.db')))

const first = open()
await upgradeStorage(first, systemClock)
await first.close()
await fillCdrs({ dataDir: folder, databaseUrl }, { accountId, month, count: records })

const db = open()
const store = createStore(db, systemClock)
const log = createLog({ logLevel: 'warn', logFormat: 'json', logColors: false }, systemClock, (line) =>
  process.stderr.write(line),
)
const objects = openDirectory(folder)
const register = createArchiveRegister(store)
const metrics = createArchiveMetrics(createMetrics())

const readings = async (title: string) => {
  delays.reset()
  // Nothing is remembered of readings before.
  const files = createArchiveFiles({ objects, register, metrics, log })
  const reading = createArchiveReading(register, files)
  const legs = createCdrStore(store, reading)
  const interactions = createInteractionStore(store, reading)
  const scope = { accountId, from, to, questions: [] }
  const page = (time: number) => ({ after: { time, mark: '' }, limit: 51, descending: true, long: false })
  const ids: string[] = []
  const began = performance.now()
  await legs.batch(scope, page(places[7] ?? from))
  say(`${title}: the first page ${(performance.now() - began).toFixed(1)} ms`)
  const pageTime = await timed(async (time) => {
    const { items } = await legs.batch(scope, page(time))
    ids.push(...items.slice(0, 1).map(({ id }) => id))
  })
  say(`${title}: a page of 50 ${pageTime}`)
  say(`${title}: a page of 50 interactions ${await timed((time) => interactions.batch(scope, page(time)))}`)
  const queue = [...ids]
  say(`${title}: a record by its id ${await timed(async () => legs.find(accountId, queue.shift() ?? ''))}`)
  say(`${title}: ${Math.round(process.memoryUsage().rss / 1e6)} MB of memory; ${delayTold()}`)
}

delays.enable()
await readings('store')

const { job } = createCallArchive({
  store,
  settings: { of: async () => ({ archive_after_months: 1 }) } as unknown as Settings,
  objects,
  register,
  files: createArchiveFiles({ objects, register, metrics, log }),
  metrics,
  log,
})
let maxMemory = 0
const watch = setInterval(() => {
  maxMemory = Math.max(maxMemory, process.memoryUsage().rss)
}, 50)
delays.reset()
const began = performance.now()
await job.run(new AbortController().signal, {
  sql: 'DELETE FROM scheduled_jobs WHERE name = $1',
  params: [''],
})
clearInterval(watch)
const seconds = (performance.now() - began) / 1000
const made = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.parquet'))
const sizes = await Promise.all(made.map(async (name) => (await stat(join(folder, name))).size))
const bytes = sizes.reduce((sum, size) => sum + size, 0)
say(
  `archived ${records} records in ${seconds.toFixed(1)} s: ${made.length} files, ${(bytes / records).toFixed(0)} bytes a record, at most ${Math.round(maxMemory / 1e6)} MB of memory`,
)
say(`archiving: ${delayTold()}`)

await readings('files')

await db.close()
await server?.stop()
await rm(folder, { recursive: true, force: true })
