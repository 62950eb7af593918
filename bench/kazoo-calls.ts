// node bench/kazoo-calls.ts [--engine=sqlite] [--records=200000] [--accounts=100] [--months=24] [--at-once=2] [--rounds=3]
//
// `crosspoint import kazoo` of a dump, a file a database, into a new store, as an operator runs it. Beside it what of that
// brings call records in: from the file to the disk; reading the dump and throwing it away; and the bare insertion of the
// same rows into the same tables with the same indices.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { programOf } from '../scripts/bundle.mjs'
import { environment, nodeOptions } from '../scripts/server-process.mjs'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import { startServerProcess } from '../test/support/servers/server-process.ts'
import { startHelper } from './children.ts'
import type { Dump, KazooJob } from './kazoo-calls-work.ts'
import { memoryOf, type Place, processorSecondsOf } from './server.ts'

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    records: { type: 'string', default: '200000' },
    accounts: { type: 'string', default: '100' },
    months: { type: 'string', default: '24' },
    'at-once': { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
  },
})

const program = programOf(new URL('..', import.meta.url).pathname)
const goal = 10_000
const goalMegabytes = 300
const records = Number(options.records)

const say = (line: string) => process.stdout.write(`${line}\n`)
const rate = (value: number) => `${Math.round(value).toLocaleString('en-US')}/s`

const median = (values: readonly number[]) => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] as number
}

/** Runs a job in a separate process and returns its cost. */
const measured = async (job: KazooJob) => {
  const helper = startHelper<KazooJob, number>('./kazoo-calls-work.ts', {
    execArgv: [...nodeOptions],
    env: { ...process.env, ...environment },
  })
  try {
    const result = await helper.run(job)
    const [memory, processor] = [await memoryOf(helper.pid), await processorSecondsOf(helper.pid)]
    return { result, perSecond: records / result, peak: memory?.peak, processor }
  } finally {
    await helper.stop()
  }
}

/** What GNU time prints of a command. */
const timed = /^(\S+) (\S+) (\S+) (\S+)$/

/** Takes the dump over as an operator does, into a store that was started once; answers with what that took. */
const commanded = async ({ dataDir, databaseUrl }: Place, folder: string) => {
  const settings = databaseUrl ? { CROSSPOINT_DATABASE_URL: databaseUrl } : {}
  const server = await startServerProcess(settings, dataDir)
  await server.end()
  const child = spawn(
    '/usr/bin/time',
    ['-f', '%e %U %S %M', process.execPath, program, 'import', 'kazoo', folder],
    { env: { ...process.env, ...settings, CROSSPOINT_DATA_DIR: dataDir } },
  )
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
  })
  child.stdout.resume()
  const [status] = await once(child, 'close')
  const [, seconds, user, system, kilobytes] = timed.exec(errors.trim().split('\n').at(-1) ?? '') ?? []
  if (status === 1 || seconds === undefined) throw new Error(errors)
  return {
    perSecond: records / Number(seconds),
    processor: Number(user) + Number(system),
    peak: Number(kilobytes) / 1024,
  }
}

const microseconds = (processor: number) => `${((processor / records) * 1e6).toFixed(0)} us`

const runEngine = async (title: string, dump: Dump, place: (name: string) => Promise<Place>) => {
  say(title)
  const ours: number[] = []
  const floors: number[] = []
  const reads: number[] = []
  const peaks: number[] = []
  for (let round = 0; round < Number(options.rounds); round += 1) {
    const [commands, parts, bares] = [
      await place(`command-${round}`),
      await place(`ours-${round}`),
      await place(`floor-${round}`),
    ]
    const reading = await measured({ kind: 'read', ...dump })
    const bare = await measured({ kind: 'floor', place: bares, ...dump })
    const accountsAtOnce = Number(options['at-once'])
    const imported = await measured({ kind: 'import', place: parts, accountsAtOnce, ...dump })
    const command = await commanded(commands, dump.folder)
    ours.push(command.perSecond)
    floors.push(bare.perSecond)
    reads.push(reading.perSecond)
    peaks.push(command.peak)
    say(
      `  the command ${rate(command.perSecond)}, processor ${microseconds(command.processor)} each, ${command.peak.toFixed(0)} MB at most; its way in alone ${rate(imported.perSecond)}, ${microseconds(imported.processor)}, ${imported.peak?.toFixed(0)} MB; reading alone ${rate(reading.perSecond)}, ${microseconds(reading.processor)}; bare insertion ${rate(bare.perSecond)}; load ${loadavg()[0]?.toFixed(1)}`,
    )
    for (const { dataDir } of [commands, parts, bares]) await rm(dataDir, { recursive: true, force: true })
  }
  const [middle, most] = [median(ours), Math.max(...peaks)]
  const isReached = middle >= goal && most < goalMegabytes
  say(
    `  median ${rate(middle)}, of reading alone ${(middle / median(reads)).toFixed(2)}, of bare insertion ${(middle / median(floors)).toFixed(2)}; at most ${most.toFixed(0)} MB; goal ${rate(goal)} in ${goalMegabytes} MB: ${isReached ? 'reached' : 'MISSED'}`,
  )
}

const isWanted = (engine: string) => !options.engine || options.engine === engine
const root = await mkdtemp(join(tmpdir(), 'crosspoint-bench-'))
const dump: Dump = {
  folder: join(root, 'dump'),
  records,
  accounts: Number(options.accounts),
  months: Number(options.months),
}

say(
  `${availableParallelism()} cores of ${cpus()[0]?.model}, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`,
)
try {
  const { result: bytes } = await measured({ kind: 'write', ...dump })
  say(
    `${records} records of ${Math.round(bytes / records)} bytes in ${dump.accounts * dump.months} databases`,
  )
  if (isWanted('sqlite'))
    await runEngine('SQLite', dump, async (name) => ({ dataDir: join(root, name), databaseUrl: undefined }))
  if (isWanted('postgres')) {
    const postgres = await startPostgres({ durable: true })
    try {
      await runEngine('PostgreSQL', dump, async (name) => ({
        dataDir: join(root, name),
        databaseUrl: (await createDatabase(postgres.url)).url,
      }))
    } finally {
      await postgres.stop()
    }
  }
} finally {
  await rm(root, { recursive: true, force: true })
}
