// node bench/number-import.ts [--engine=sqlite] [--rows=100000]
// number_management.import against the same rows written by one prepared statement in transactions of 1,000:
// the goal is 12 times as long at most, audit entries, events and output included, in 200 MB, with the p99 of an
// account GET beside it under 15 ms.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { openDurable } from '../src/storage/sqlite-open.ts'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import { memoryOf, type Place, processorSecondsOf, type RunningServer, startServer } from './server.ts'
import { freeRequests } from './stage.ts'

const { values: options } = parseArgs({
  options: { engine: { type: 'string' }, rows: { type: 'string', default: '100000' } },
})

const rowCount = Number(options.rows)
const goal = 12
const goalMegabytes = 200
const goalP99Ms = 15
const perTransaction = 1000
const pauseBetweenGetsMs = 2

const say = (line: string) => process.stdout.write(`${line}\n`)
const verdict = (is: boolean) => (is ? 'reached' : 'MISSED')

const agent = new Agent({ keepAlive: true, maxSockets: 2 })

interface Answer {
  status: number
  text: string
}

const call = ({ port }: RunningServer, method: string, path: string, token: string, csv?: string) =>
  new Promise<Answer>((resolve, reject) => {
    const headers = { 'x-auth-token': token, ...(csv ? { 'content-type': 'text/csv' } : {}) }
    const outgoing = request({ port, host: '127.0.0.1', method, path, agent, headers }, async (incoming) => {
      const text = (await incoming.setEncoding('utf8').toArray()).join('')
      resolve({ status: incoming.statusCode ?? 0, text })
    })
    outgoing.on('error', reject)
    outgoing.end(csv)
  })

const metadataOf = ({ text }: Answer) => JSON.parse(text).metadata as Record<string, number | string>

/** Reads the account again and again until told to stop; answers with the milliseconds that each took. */
const readBeside = async (server: RunningServer, path: string, token: string, signal: AbortSignal) => {
  const times: number[] = []
  while (!signal.aborted) {
    const begun = performance.now()
    await call(server, 'GET', path, token)
    times.push(performance.now() - begun)
    await sleep(pauseBetweenGetsMs)
  }
  return times
}

const p99 = (times: readonly number[]) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] as number

const numberAt = (index: number) => `+1415${5_000_000 + index}`
const csv = ['e164', ...Array.from({ length: rowCount }, (_, index) => numberAt(index))].join('\n')

const importAll = async (server: RunningServer) => {
  const { token, masterId } = await freeRequests(server)
  const made = await call(server, 'PUT', '/v2/tasks?category=number_management&action=import', token, csv)
  if (made.status !== 201) throw new Error(made.text)
  const path = `/v2/tasks/${metadataOf(made).id}`
  // Signing in derives a key, which takes more memory for a moment than all the rest: the highest from here on counts.
  await writeFile(`/proc/${server.pid}/clear_refs`, '5').catch(() => undefined)
  const reading = new AbortController()
  const processorBefore = await processorSecondsOf(server.pid)
  const begun = performance.now()
  await call(server, 'PATCH', path, token)
  const beside = readBeside(server, `/v2/accounts/${masterId}`, token, reading.signal)
  for (;;) {
    const { status, success_count: done } = metadataOf(await call(server, 'GET', path, token))
    if (status !== 'executing') {
      if (status !== 'success' || done !== rowCount)
        throw new Error(`the import ended with ${status}, ${done}`)
      break
    }
    await sleep(20)
  }
  const seconds = (performance.now() - begun) / 1000
  const processor = (await processorSecondsOf(server.pid)) - processorBefore
  reading.abort()
  const memory = await memoryOf(server.pid)
  return {
    seconds,
    processor,
    p99Ms: p99(await beside),
    gets: (await beside).length,
    peak: memory?.peak ?? 0,
  }
}

const columns =
  'number, account_id, state, carrier, used_by, country, classifier, created, modified, revision, doc, hidden, row_json'
const copySql = (place: (at: number) => string) =>
  `INSERT INTO numbers_floor (${columns}) VALUES (${columns.split(', ').map((_, at) => place(at + 1))})`

/** The rows that the import made, written by one prepared statement into a table with the same indexes. */
const floorOnSqlite = (file: string) => {
  const db = openDurable(file)
  const definitions = db
    .prepare(
      "SELECT sql FROM sqlite_master WHERE tbl_name = 'numbers' AND sql IS NOT NULL ORDER BY type DESC",
    )
    .all() as { sql: string }[]
  for (const { sql } of definitions) db.exec(sql.replaceAll(/\bnumbers(_\w+)?\b/g, 'numbers_floor$1'))
  const rows = db
    .prepare(`SELECT ${columns} FROM numbers`)
    .all()
    .map((row) => Object.values(row))
  const insert = db.prepare(copySql((at) => `?${at}`))
  const begun = performance.now()
  for (let from = 0; from < rows.length; from += perTransaction) {
    db.exec('BEGIN IMMEDIATE')
    for (const row of rows.slice(from, from + perTransaction)) insert.run(...row)
    db.exec('COMMIT')
  }
  const seconds = (performance.now() - begun) / 1000
  db.close()
  return seconds
}

const floorOnPostgres = async (connectionString: string) => {
  const client = new Client({ connectionString, pipeline: true } as never)
  await client.connect()
  await client.query('CREATE TABLE numbers_floor (LIKE numbers INCLUDING ALL)')
  const { rows } = await client.query({ text: `SELECT ${columns} FROM numbers`, rowMode: 'array' })
  const text = copySql((at) => `$${at}`)
  const begun = performance.now()
  for (let from = 0; from < rows.length; from += perTransaction) {
    const some = rows.slice(from, from + perTransaction)
    // Sent in this order, without waiting in between.
    const begin = client.query('BEGIN')
    const sent = some.map((values) => client.query({ name: 'insert', text, values: values as unknown[] }))
    await Promise.all([begin, ...sent, client.query('COMMIT')])
  }
  const seconds = (performance.now() - begun) / 1000
  await client.end()
  return seconds
}

const measure = async (engine: string, place: Place) => {
  await mkdir(place.dataDir, { recursive: true })
  const server = await startServer(place)
  const ours = await importAll(server)
  await server.stop()
  const floorSeconds = place.databaseUrl
    ? await floorOnPostgres(place.databaseUrl)
    : floorOnSqlite(join(place.dataDir, 'crosspoint.db'))
  const ratio = ours.seconds / floorSeconds
  say(`${engine}: import of ${rowCount.toLocaleString('en-US')} numbers`)
  say(
    `  ours ${ours.seconds.toFixed(1)} s (${Math.round(rowCount / ours.seconds)}/s), processor ${ours.processor.toFixed(1)} s`,
  )
  say(
    `  floor ${floorSeconds.toFixed(2)} s  ratio ${ratio.toFixed(1)}  goal ${goal}: ${verdict(ratio <= goal)}`,
  )
  say(
    `  memory at most ${ours.peak.toFixed(0)} MB  goal ${goalMegabytes}: ${verdict(ours.peak < goalMegabytes)}`,
  )
  say(
    `  GET during the import: p99 ${ours.p99Ms.toFixed(1)} ms of ${ours.gets}  goal ${goalP99Ms}: ${verdict(ours.p99Ms < goalP99Ms)}`,
  )
}

const isWanted = (engine: string) => !options.engine || options.engine === engine
const root = await mkdtemp(join(tmpdir(), 'crosspoint-bench-'))
try {
  if (isWanted('sqlite')) await measure('SQLite', { dataDir: join(root, 'sqlite'), databaseUrl: undefined })
  if (isWanted('postgres')) {
    const postgres = await startPostgres({ durable: true })
    const database = await createDatabase(postgres.url)
    try {
      await measure('PostgreSQL', { dataDir: join(root, 'postgres'), databaseUrl: database.url })
    } finally {
      await postgres.stop()
    }
  }
} finally {
  agent.destroy()
  await rm(root, { recursive: true, force: true })
}
