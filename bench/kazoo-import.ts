// node bench/kazoo-import.ts [--accounts=100] [--users=1000] [--numbers=5000] [--calls=20000] [--months=6]
//
// `crosspoint import kazoo` of a generated Kazoo into a new embedded store, as an operator runs it. Before and behind it reading
// the same documents over the same connection and throwing them away: the machine's own pace changes. Keys of people are derived as they come: so the same system
// is taken over once more without people.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openSource } from '../import-kazoo/source/open.ts'
import { programOf } from '../scripts/bundle.mjs'
import { derive, hashingOfDigest } from '../src/auth/credentials.ts'
import { startServerProcess } from '../test/support/servers/server-process.ts'

const { values } = parseArgs({
  options: {
    accounts: { type: 'string', default: '100' },
    users: { type: 'string', default: '1000' },
    numbers: { type: 'string', default: '5000' },
    calls: { type: 'string', default: '20000' },
    months: { type: 'string', default: '6' },
  },
})
const { accounts, users, numbers, calls, months } = values

const program = programOf(fileURLToPath(new URL('..', import.meta.url)))
const standIn = new URL('../test/support/kazoo/serve.ts', import.meta.url).pathname
const goal = 0.5
const digestsOfUser = 2
// The most that derive at once: src/auth/deriving.
const maxThreads = 4

const say = (line: string) => process.stdout.write(`${line}\n`)
const rate = (value: number) => `${Math.round(value).toLocaleString('en-US')}/s`

const secondsOf = async (work: () => Promise<unknown>) => {
  const from = performance.now()
  await work()
  return (performance.now() - from) / 1000
}

/** Every document of every database, once; answers with how many. */
const readAll = async (url: string) => {
  const source = await openSource(url)
  let documents = 0
  for (const database of await source.databases())
    for await (const page of source.pages(database)) documents += page.documents.length
  await source.close()
  return documents
}

/** The first layer of one key, on one core. */
const secondsOfKey = () => {
  const from = performance.now()
  derive({ ...hashingOfDigest('00', 'md5', '0'.repeat(32)), toLayer: 1 })
  return (performance.now() - from) / 1000
}

const importFrom = async (url: string, dataDir: string) => {
  const env = { ...process.env, CROSSPOINT_DATA_DIR: dataDir }
  const child = spawn('/usr/bin/time', ['-f', '%M', process.execPath, program, 'import', 'kazoo', url], {
    env,
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk
  })
  child.stdout.resume()
  const [status] = await once(child, 'close')
  if (status === 1) throw new Error(errors)
  return { peakMegabytes: Number(errors.trim().split('\n').at(-1)) / 1024 }
}

interface Measured {
  documents: number
  /** Seconds of reading and throwing away, on average, and of the import. */
  reading: number
  importing: number
  peakMegabytes: number
}

/** Reads and imports a Kazoo with this number of users. */
const measure = async (people: string): Promise<Measured> => {
  const kazoo = spawn(process.execPath, [standIn, accounts, people, numbers, calls, months])
  const dataDir = await mkdtemp(join(tmpdir(), 'crosspoint-bench-'))
  try {
    const [printed] = await once(kazoo.stdout, 'data')
    const url = String(printed).trim()
    const server = await startServerProcess({}, dataDir)
    await server.end()
    let documents = 0
    const read = () =>
      secondsOf(async () => {
        documents = await readAll(url)
      })
    const before = await read()
    let peakMegabytes = 0
    const importing = await secondsOf(async () => {
      ;({ peakMegabytes } = await importFrom(url, dataDir))
    })
    return { documents, reading: (before + (await read())) / 2, importing, peakMegabytes }
  } finally {
    kazoo.kill()
    await rm(dataDir, { recursive: true, force: true })
  }
}

const tell = (what: string, { documents, reading, importing, peakMegabytes }: Measured) => {
  const [ours, floor] = [documents / importing, documents / reading]
  say(`${what}: ${documents} documents in ${importing.toFixed(0)} s, ${rate(ours)}`)
  say(`  read and thrown away ${rate(floor)}: ${(ours / floor).toFixed(2)} of it; goal ${goal}`)
  say(`  at most ${peakMegabytes.toFixed(0)} MB of memory; goal 300`)
}

say(`load ${loadavg()[0]?.toFixed(1)}`)
tell(`with ${users} people`, await measure(users))
const keys = Number(users) * digestsOfUser
const threads = Math.min(maxThreads, availableParallelism())
say(
  `  of that ${keys} keys take at least ${((keys * secondsOfKey()) / threads).toFixed(0)} s of ${threads} cores`,
)
tell('without people', await measure('0'))
