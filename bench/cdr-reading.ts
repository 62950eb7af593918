// node bench/cdr-reading.ts [--engine=sqlite] [--rows=10000000] [--only=pages|walk|csv|beside|stats]
// Reading the call detail records of one account: pages wherever they lie, asked for again and never again, CSV of everything against the command line
// of the database, what others notice of three exports and an import of numbers, and a chart over a year.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createHistogram, performance, type RecordableHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { cdrColumns } from '../src/areas/calls/cdrs/columns.ts'
import { tallyStatements } from '../src/areas/calls/cdrs/stats/store.ts'
import { systemClock } from '../src/lib/clock.ts'
import { gregorianUnixOffset } from '../src/lib/gregorian.ts'
import { timeKey } from '../src/lib/time-key.ts'
import { openPostgres } from '../src/storage/postgres.ts'
import { openSqlite } from '../src/storage/sqlite.ts'
import { createStore } from '../src/storage/store.ts'
import { fillCdrs } from './cdr-records.ts'
import { onEngines } from './engines.ts'
import type { LoadJob } from './load.ts'
import { floor, load } from './measures.ts'
import { memoryOf, type Place, processorSecondsOf, type RunningServer, startServer } from './server.ts'
import { freeRequests, signIn } from './stage.ts'

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    rows: { type: 'string', default: '10000000' },
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
  },
})

const rowCount = Number(options.rows)
const rounds = Number(options.rounds)
const isWanted = (part: string) => options.only === '' || options.only === part

const month = 202601
const monthStart = Date.UTC(2026, 0) / 1000 + gregorianUnixOffset
const window = `created_from=${monthStart}&created_to=${monthStart + 31 * 86_400}`

const say = (line: string) => process.stdout.write(`${line}\n`)
const verdict = (is: boolean) => (is ? 'reached' : 'MISSED')
const rate = (value: number) => `${Math.round(value).toLocaleString('en-US')}/s`

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] as number

interface Stage {
  place: Place
  accountId: string
}

interface Answer {
  status: number
  text: string
  headers: Record<string, string>
}

const agent = new Agent({ keepAlive: true })

/** With data as JSON, or with a text as CSV. */
const call = (
  { port }: { port: number },
  method: string,
  path: string,
  token: string,
  data?: object | string,
) =>
  new Promise<Answer>((resolve, reject) => {
    const isCsv = typeof data === 'string'
    const headers = { 'x-auth-token': token, 'content-type': isCsv ? 'text/csv' : 'application/json' }
    request({ port, host: '127.0.0.1', method, path, agent, headers }, async (incoming) => {
      const text = (await incoming.setEncoding('utf8').toArray()).join('')
      resolve({ status: incoming.statusCode ?? 0, text, headers: incoming.headers as Record<string, string> })
    })
      .on('error', reject)
      .end(isCsv || !data ? data : JSON.stringify({ data }))
  })

/** Runs a command whose output goes nowhere; seconds. */
const timed = async (command: string, args: readonly string[]) => {
  const begun = performance.now()
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const [status] = (await once(child, 'exit')) as [number]
  if (status !== 0) throw new Error(`${command} ended with status ${status}`)
  return (performance.now() - begun) / 1000
}

const cdrsOf = ({ accountId }: Stage) => `/v2/accounts/${accountId}/cdrs`

const csvOf = (server: RunningServer, stage: Stage, token: string) =>
  timed('curl', [
    '-sSf',
    '-o',
    '/dev/null',
    `http://127.0.0.1:${server.port}${cdrsOf(stage)}?${window}&paginate=false&accept=text/csv&auth_token=${token}`,
  ])

// The stored columns of a line: the command line does not format dates and amounts.
const rawQuery = ({ accountId }: Stage) =>
  `SELECT id, ${cdrColumns.map(({ sql }) => sql).join(', ')}, cost FROM cdrs_${month}
    WHERE account_id = '${accountId}' ORDER BY created DESC, id DESC`

const commandLineOf = (stage: Stage) => {
  const { databaseUrl, dataDir } = stage.place
  if (!databaseUrl) {
    const file = join(dataDir, 'crosspoint.db')
    return { name: 'sqlite3 -csv', run: () => timed('sqlite3', ['-readonly', '-csv', file, rawQuery(stage)]) }
  }
  const copy = `COPY (${rawQuery(stage)}) TO STDOUT`
  return { name: 'psql COPY TO STDOUT', run: () => timed('psql', ['-q', databaseUrl, '-c', copy]) }
}

const measureCsv = async (server: RunningServer, stage: Stage, token: string) => {
  const floorCommand = commandLineOf(stage)
  const goal = stage.place.databaseUrl ? 0.7 : 0.9
  const ours: number[] = []
  const theirs: number[] = []
  const ratios: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const seconds = await csvOf(server, stage, token)
    const floorSeconds = await floorCommand.run()
    ours.push(rowCount / seconds)
    theirs.push(rowCount / floorSeconds)
    ratios.push(floorSeconds / seconds)
  }
  const ratio = median(ratios)
  const memory = await memoryOf(server.pid)
  say(`  CSV of everything: ${rate(median(ours))} rows`)
  say(
    `    floor ${floorCommand.name}: ${rate(median(theirs))} rows  ratio ${ratio.toFixed(2)}  goal ${goal}: ${verdict(ratio >= goal)}`,
  )
  if (memory) say(`    memory: ${memory.peak.toFixed(0)} MB at most  goal 200: ${verdict(memory.peak < 200)}`)
}

const placeKey = (secondsIntoMonth: number) =>
  Buffer.from(JSON.stringify([timeKey(monthStart + secondsIntoMonth), ''])).toString('base64url')

const secondsOfLoad = { warmUp: 1, measured: 3 }

const loadOf = async (
  port: number,
  pid: number,
  path: string,
  token: string,
  keys: LoadJob['keys'] = [''],
) => {
  const before = await processorSecondsOf(pid)
  const result = await load.run({
    port,
    connections: 32,
    warmUpSeconds: secondsOfLoad.warmUp,
    seconds: secondsOfLoad.measured,
    before: `GET ${path}`,
    after: ` HTTP/1.1\r\nhost: localhost\r\nx-auth-token: ${token}\r\naccept: application/json\r\n\r\n`,
    keys,
  })
  if (result.failures > 0) throw new Error(result.firstFailure)
  const spent = (await processorSecondsOf(pid)) - before
  return { ...result, processorMicroseconds: (spent / result.answers) * 1e6 }
}

const notOurs = new Set(['connection', 'keep-alive', 'content-length', 'transfer-encoding', 'date'])

/** The answer to a request, for a floor that answers alike. */
const sampleOf = async (server: RunningServer, path: string, token: string) => {
  const { headers, text } = await call(server, 'GET', path, token)
  const own = Object.entries(headers).filter(([name]) => !notOurs.has(name))
  return { headers: own.flat(), body: text }
}

// More than are asked for in one measure, or all there are.
const maxSteps = 20_000

/** Start keys of pages next to each other, none of which comes twice; of each round others. */
const stepsOf = (round: number) => {
  const spread = 28 * 86_400
  const pages = Math.floor(rowCount / 50)
  const each = Math.min(maxSteps, Math.floor(pages / rounds))
  return Array.from({ length: each }, (_, step) =>
    placeKey(spread - Math.floor(((round * each + step) * spread) / pages)),
  )
}

/** Pages of a walk that asks for none of them again. */
const measureWalk = async (server: RunningServer, stage: Stage, token: string) => {
  const list = `${cdrsOf(stage)}?${window}&page_size=50`
  const { headers, body } = await sampleOf(server, list, token)
  const floorPort = await floor.run({ kind: 'same bytes', headers, body })
  const ratios: number[] = []
  const costs: number[] = []
  const rates: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const steps = stepsOf(round)
    const ours = await loadOf(server.port, server.pid, `${list}&start_key=`, token, { inOrder: steps })
    const bare = await loadOf(floorPort, floor.pid, '/', token)
    rates.push(ours.perSecond)
    costs.push(ours.processorMicroseconds)
    ratios.push(bare.processorMicroseconds / ours.processorMicroseconds)
    if (ours.distinctKeys < ours.answers)
      say(`  the walk came to its end and began again: more --rows are needed`)
  }
  const ratio = median(ratios)
  say(
    `  a walk that never asks for a page of 50 again: ${rate(median(rates))}, ${median(costs).toFixed(0)} us each`,
  )
  say(
    `    floor node:http, prebuilt bytes, by processor: ratio ${ratio.toFixed(3)}  goal 0.05: ${verdict(ratio >= 0.05)}`,
  )
}

const measurePages = async (server: RunningServer, stage: Stage, token: string) => {
  const list = `${cdrsOf(stage)}?${window}&page_size=50`
  const spread = 28 * 86_400
  const pages = [
    { name: 'first', path: list },
    { name: 'middle', path: `${list}&start_key=${placeKey(spread / 2)}` },
    { name: 'last', path: `${list}&start_key=${placeKey(3600 + Math.ceil((60 * spread) / rowCount) + 600)}` },
  ]
  const rates = new Map(pages.map(({ name }) => [name, [] as number[]]))
  const ratios: number[] = []
  const costs: number[] = []
  const bareCosts: number[] = []
  const { headers, body } = await sampleOf(server, list, token)
  const floorPort = await floor.run({ kind: 'same bytes', headers, body })
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, path } of pages) {
      const { perSecond, processorMicroseconds } = await loadOf(server.port, server.pid, path, token)
      rates.get(name)?.push(perSecond)
      costs.push(processorMicroseconds)
    }
    const bare = await loadOf(floorPort, floor.pid, '/', token)
    bareCosts.push(bare.processorMicroseconds)
    ratios.push(bare.processorMicroseconds / (costs.at(-1) as number))
  }
  const medians = pages.map(({ name }) => median(rates.get(name) as number[]))
  const spreadOf = Math.max(...medians) / Math.min(...medians)
  const texts = pages.map(({ name }, index) => `${name} ${rate(medians[index] as number)}`)
  say(`  page of 50 that is asked for again, ${(body.length / 1024).toFixed(0)} KB: ${texts.join(', ')}`)
  say(`    slowest to fastest 1 : ${spreadOf.toFixed(2)}  goal 1.15: ${verdict(spreadOf <= 1.15)}`)
  say(
    `    processor: ours ${median(costs).toFixed(0)} us each, the floor's ${median(bareCosts).toFixed(0)} us`,
  )
  say(
    `    floor node:http, prebuilt bytes, by processor: ratio ${median(ratios).toFixed(2)}  goal 0.35: ${verdict(median(ratios) >= 0.35)}`,
  )
}

const inMilliseconds = (histogram: RecordableHistogram) => ({
  p50: histogram.percentile(50) / 1000,
  p99: histogram.percentile(99) / 1000,
  max: histogram.max / 1000,
})

const recordOne = async (ask: () => Promise<Answer>, histogram: RecordableHistogram) => {
  const begun = performance.now()
  const { status } = await ask()
  if (status !== 200) throw new Error(`a small GET answered ${status}`)
  histogram.record(Math.max(1, Math.round((performance.now() - begun) * 1000)))
}

/** Response times of the server and of the floor in turns, during other work. */
const latenciesDuring = async (
  asks: Record<'ours' | 'bare', () => Promise<Answer>>,
  busy: Promise<unknown>,
) => {
  const [ours, bare] = [createHistogram(), createHistogram()]
  let going = true
  const end = busy.finally(() => {
    going = false
  })
  await sleep(200)
  while (going) {
    await recordOne(asks.ours, ours)
    await sleep(2)
    await recordOne(asks.bare, bare)
    await sleep(2)
  }
  await end
  return { ours: inMilliseconds(ours), bare: inMilliseconds(bare) }
}

const importedNumbers = 50_000

/** A task that imports numbers, from its upload to its end. */
const importNumbers = async (server: RunningServer, token: string) => {
  const numbers = Array.from({ length: importedNumbers }, (_, index) => `+1415${5_000_000 + index}`)
  const csv = ['e164', ...numbers].join('\n')
  const ask = async (method: string, path: string, body?: string) =>
    JSON.parse((await call(server, method, path, token, body)).text).metadata
  const { id } = await ask('PUT', '/v2/tasks?category=number_management&action=import', csv)
  await ask('PATCH', `/v2/tasks/${id}`)
  for (;;) {
    const { status } = await ask('GET', `/v2/tasks/${id}`)
    if (status === 'success') return
    if (status !== 'executing') throw new Error(`the import ended with ${status}`)
    await sleep(50)
  }
}

const latencyText = ({ p50, p99, max }: ReturnType<typeof inMilliseconds>) =>
  `p50 ${p50.toFixed(2)}, p99 ${p99.toFixed(2)}, at most ${max.toFixed(1)} ms`

const measureBeside = async (server: RunningServer, stage: Stage, token: string) => {
  const path = `/v2/accounts/${stage.accountId}`
  const { headers, body } = await sampleOf(server, path, token)
  const floorPort = await floor.run({ kind: 'same bytes', headers, body })
  const asks = {
    ours: () => call(server, 'GET', path, token),
    bare: () => call({ port: floorPort }, 'GET', '/', token),
  }
  // The first run is a warm-up.
  await latenciesDuring(asks, sleep(2000))
  const alone = await latenciesDuring(asks, sleep(5000))
  const begun = performance.now()
  const ends: string[] = []
  const timedTo = async (name: string, work: Promise<unknown>) => {
    await work
    ends.push(`${name} ${((performance.now() - begun) / 1000).toFixed(1)}`)
  }
  const exports = [1, 2, 3].map((number) => timedTo(`export ${number}`, csvOf(server, stage, token)))
  const work = [...exports, timedTo('import', importNumbers(server, token))]
  const beside = await latenciesDuring(asks, Promise.all(work))
  const memory = await memoryOf(server.pid)
  say(`  account GET alone: ${latencyText(alone.ours)}`)
  say(`    floor node:http, prebuilt bytes: ${latencyText(alone.bare)}`)
  say(
    `  account GET during three exports and an import: ${latencyText(beside.ours)}  goal p99 10: ${verdict(beside.ours.p99 < 10)}`,
  )
  say(`    floor node:http, prebuilt bytes, during the same: ${latencyText(beside.bare)}`)
  say(`    ended after: ${ends.join(', ')} s`)
  if (memory) say(`    memory: ${memory.peak.toFixed(0)} MB at most  goal 300: ${verdict(memory.peak < 300)}`)
}

const users = 50
const quartersOfYear = 4 * 24 * 365

/** A year of statistics: every user calls in every quarter of an hour. */
const fillTallies = async ({ place, accountId }: Stage) => {
  const db = place.databaseUrl
    ? openPostgres(place.databaseUrl)
    : openSqlite(join(place.dataDir, 'crosspoint.db'))
  const store = createStore(db, systemClock)
  for (let from = 0; from < quartersOfYear; from += 96) {
    const legs = Array.from({ length: 96 * users }, (_, index) => ({
      account_id: accountId,
      created: monthStart - (from + (index % 96)) * 900,
      owner_id: `user ${Math.floor(index / 96)}`,
      call_direction: index % 2 === 0 ? 'inbound' : 'outbound',
      hangup_cause: 'NORMAL_CLEARING',
      authorizing_id: null,
      duration_seconds: 60,
      billing_seconds: 50,
      cost: 10,
    }))
    await store.writeUnrecorded(tallyStatements(store.words, legs as never))
  }
  await db.close()
}

const charts = [
  'interval=month',
  'interval=day&utc_offset=3600',
  'interval=hour',
  'interval=month&group_by=owner_id&utc_offset=3600',
  'interval=day&group_by=owner_id&utc_offset=3600',
]

const measureStats = async (server: RunningServer, stage: Stage, token: string) => {
  const year = `created_from=${monthStart - 364 * 86_400}&created_to=${monthStart}`
  for (const chart of charts) {
    const times: number[] = []
    let rows = 0
    for (let round = 0; round < 5; round += 1) {
      const begun = performance.now()
      const answer = await call(server, 'GET', `${cdrsOf(stage)}/stats?${year}&${chart}`, token)
      times.push(performance.now() - begun)
      if (answer.status !== 200) throw new Error(answer.text)
      rows = JSON.parse(answer.text).data.length
    }
    say(`  chart over a year, ${users} users, ${chart}: ${rows} rows in ${median(times).toFixed(0)} ms`)
  }
}

const prepare = async (place: Place): Promise<Stage> => {
  await mkdir(place.dataDir, { recursive: true })
  const server = await startServer(place)
  const { token, masterId } = await freeRequests(server)
  const made = await call(server, 'PUT', `/v2/accounts/${masterId}`, token, {
    name: 'Bench',
    realm: 'cdrs.bench.example.com',
  })
  await server.stop()
  const stage = { place, accountId: JSON.parse(made.text).data.id as string }
  const begun = performance.now()
  await fillCdrs(place, { accountId: stage.accountId, month, count: rowCount })
  if (isWanted('stats')) await fillTallies(stage)
  say(`  filled in ${((performance.now() - begun) / 1000).toFixed(0)} s`)
  return stage
}

const measures = {
  pages: measurePages,
  walk: measureWalk,
  csv: measureCsv,
  beside: measureBeside,
  stats: measureStats,
}

const runEngine = async (engine: string, place: Place) => {
  say(`${engine}, ${rowCount.toLocaleString('en-US')} records of one account`)
  const stage = await prepare(place)
  for (const [name, measure] of Object.entries(measures)) {
    if (!isWanted(name)) continue
    const server = await startServer(place)
    await measure(server, stage, await signIn(server))
    await server.stop()
  }
}

try {
  await onEngines(options.engine, runEngine)
} finally {
  agent.destroy()
  await Promise.all([load.stop(), floor.stop()])
}
