// node bench/lists.ts [--engine=sqlite] [--accounts=100000] [--seconds=3] [--profile] [--only=pages|whole|memory]
// Lists of accounts: a page below an account with a hundred others and below one with many, whole lists, plain,
// compressed and never asked for again, pages of 500 call records, and the memory that a mixed load of whole lists takes.
import { mkdir } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { systemClock } from '../src/lib/clock.ts'
import { openPostgres } from '../src/storage/postgres.ts'
import { openSqlite } from '../src/storage/sqlite.ts'
import { createStore } from '../src/storage/store.ts'
import { copies } from '../test/support/world/many-accounts.ts'
import { fillCdrs } from './cdr-records.ts'
import { onEngines } from './engines.ts'
import { postmasterOf, postmasterSeconds } from './postmaster.ts'
import { printHottest } from './profile.ts'
import { memoryOf, type Place, processorSecondsOf, type RunningServer, startServer } from './server.ts'
import { accountData, call, freeRequests, signIn, untold } from './stage.ts'

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string' },
    accounts: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
    profile: { type: 'boolean', default: false },
  },
})

const many = Number(options.accounts)
const few = 100
const listed = 1000
const legs = 20_000
const month = 202601
const window = 'created_from=63934444800&created_to=63937123200'
const atOnce = 25_000

const say = (line: string) => process.stdout.write(`${line}\n`)
const isWanted = (part: string) => options.only === '' || options.only === part

const openStore = ({ dataDir, databaseUrl }: Place) => {
  const db = databaseUrl ? openPostgres(databaseUrl) : openSqlite(join(dataDir, 'crosspoint.db'))
  return { db, store: createStore(db, systemClock) }
}

interface Stage {
  /** Accounts by how many there are below them. */
  crowds: Readonly<Record<number, string>>
  legsOf: string
}

/** An account with one below it, of which the others will be copies. */
const plantCrowd = async (port: number, token: string, masterId: string, count: number) => {
  const create = async (parent: string, name: string) => {
    const data = {
      ...accountData(count),
      name,
      realm: `${name.toLowerCase().replace(' ', '')}.bench.example.com`,
    }
    return (await call(port, 'PUT', `/v2/accounts/${parent}?${untold}`, token, data)).data.id
  }
  const id = await create(masterId, `Crowd${count}`)
  return { id, template: await create(id, `Crowd${count}x 000000`) }
}

const fillStage = async (place: Place): Promise<Stage> => {
  await mkdir(place.dataDir, { recursive: true })
  const server = await startServer(place)
  const { token, masterId } = await freeRequests(server)
  const counts = [few, listed, many]
  const crowds: Record<number, string> = {}
  const templates: [template: string, count: number][] = []
  for (const count of counts) {
    const { id, template } = await plantCrowd(server.port, token, masterId, count)
    crowds[count] = id
    templates.push([template, count])
  }
  await server.stop()
  const { db, store } = openStore(place)
  for (const [template, count] of templates)
    for (let from = 1; from < count; from += atOnce)
      await store.writeUnrecorded(copies(template, from, Math.min(from + atOnce, count)))
  await db.close()
  const legsOf = crowds[few] as string
  await fillCdrs(place, { accountId: legsOf, month, count: legs })
  if (place.databaseUrl) {
    // Statistics that the database would gather later.
    const client = new Client({ connectionString: place.databaseUrl })
    await client.connect()
    await client.query('VACUUM ANALYZE')
    await client.end()
  }
  return { crowds, legsOf }
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** Bytes of the answer, as they come over the wire. */
const read = ({ port }: RunningServer, path: string, token: string, coding: string | undefined) =>
  new Promise<number>((resolve, reject) => {
    const accepted = coding === undefined ? {} : { 'accept-encoding': coding }
    request(
      { port, host: '127.0.0.1', path, agent, headers: { 'x-auth-token': token, ...accepted } },
      (incoming) => {
        let bytes = 0
        incoming.on('data', (piece: Buffer) => {
          bytes += piece.length
        })
        incoming.on('end', () =>
          incoming.statusCode === 200 ? resolve(bytes) : reject(new Error(`${path}: ${incoming.statusCode}`)),
        )
      },
    )
      .on('error', reject)
      .end()
  })

interface Running {
  server: RunningServer
  token: string
  postmaster: number | undefined
}

const clients = 8

/** The same question again and again, by some clients at once. */
const measure = async (
  { server, token, postmaster }: Running,
  name: string,
  path: string | (() => string),
  coding?: string,
) => {
  const ask = () => read(server, typeof path === 'string' ? path : path(), token, coding)
  for (let round = 0; round < 10; round += 1) await ask()
  const before = [await processorSecondsOf(server.pid), await postmasterSeconds(postmaster)] as const
  const begun = performance.now()
  const until = begun + Number(options.seconds) * 1000
  let answers = 0
  let bytes = 0
  const client = async () => {
    while (performance.now() < until) {
      bytes = await ask()
      answers += 1
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const seconds = (performance.now() - begun) / 1000
  const spent = (now: number, then: number) => Math.round(((now - then) / answers) * 1e6)
  const ours = spent(await processorSecondsOf(server.pid), before[0])
  const theirs = spent(await postmasterSeconds(postmaster), before[1])
  const database = postmaster === undefined ? '' : `, PostgreSQL ${theirs} us`
  say(
    `    ${name}: ${Math.round(answers / seconds)}/s, ${ours} us${database}, ${(bytes / 1000).toFixed(1)} kB`,
  )
}

const measurePages = async (running: Running, { crowds, legsOf }: Stage) => {
  for (const count of [few, many])
    for (const list of ['children', 'descendants']) {
      const path = `/v2/accounts/${crowds[count]}/${list}?page_size=50`
      await measure(running, `page of 50 ${list} of ${count.toLocaleString('en-US')}`, path)
      await measure(running, '  ascending', `${path}&ascending=true`)
    }
  const page = `/v2/accounts/${legsOf}/cdrs?page_size=500&${window}`
  for (const coding of [undefined, 'zstd', 'br', 'gzip'])
    await measure(running, `page of 500 call records, ${coding ?? 'plain'}`, page, coding)
  for (const coding of [undefined, 'zstd', 'br', 'gzip'])
    await measure(
      running,
      `page of 50 call records, ${coding ?? 'plain'}`,
      page.replace('=500', '=50'),
      coding,
    )
}

/** The whole list, asked for from another place before its beginning each time: what is kept is of no use. */
const neverRepeated = (path: string) => {
  let asked = 0
  return () => {
    asked += 1
    return `${path}&ascending=true&start_key=${Buffer.from(JSON.stringify(['', `${asked}`])).toString('base64url')}`
  }
}

const measureWhole = async (running: Running, { crowds }: Stage) => {
  for (const list of ['children', 'descendants']) {
    const path = `/v2/accounts/${crowds[listed]}/${list}?paginate=false`
    const name = `whole list of ${listed.toLocaleString('en-US')} ${list}`
    for (const coding of [undefined, 'zstd', 'gzip'])
      await measure(running, `${name}, ${coding ?? 'plain'}`, path, coding)
    await measure(running, '  never repeated', neverRepeated(path))
  }
}

/** Whole lists of everything at once: the most that the process ever held. */
const measureMemory = async ({ server, token }: Running, { crowds, legsOf }: Stage) => {
  const paths = [
    `/v2/accounts/${crowds[many]}/descendants?paginate=false`,
    `/v2/accounts/${crowds[listed]}/children?paginate=false`,
    `/v2/accounts/${legsOf}/cdrs?paginate=false&${window}`,
    `/v2/accounts/${legsOf}/cdrs?paginate=false&accept=text/csv&${window}`,
    `/v2/accounts/${legsOf}/cdrs?page_size=5000&${window}`,
    `/v2/accounts/${crowds[many]}/children?page_size=5000`,
  ]
  const until = performance.now() + 4000 * Number(options.seconds)
  let turn = 0
  const client = async () => {
    while (performance.now() < until) {
      turn += 1
      await read(server, paths[turn % paths.length] as string, token, turn % 2 === 0 ? 'gzip' : undefined)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const { peak = Number.NaN, own = Number.NaN } = (await memoryOf(server.pid)) ?? {}
  say(
    `    whole lists, ${clients} clients: ${Math.round(peak)} MB at most, ${Math.round(own)} MB private memory afterwards`,
  )
}

const runEngine = async (engine: string, place: Place) => {
  say(`${engine}, ${many.toLocaleString('en-US')} accounts`)
  const stage = await fillStage(place)
  const postmaster = place.databaseUrl === undefined ? undefined : await postmasterOf(place.databaseUrl)
  const parts = { pages: measurePages, whole: measureWhole, memory: measureMemory }
  for (const [name, part] of Object.entries(parts).filter(([one]) => isWanted(one))) {
    const profileDir = options.profile
      ? join(tmpdir(), `crosspoint-profile-${name}-${process.pid}`)
      : undefined
    const server = await startServer(place, profileDir)
    await part({ server, token: await signIn(server), postmaster }, stage)
    agent.destroy()
    await server.stop()
    if (profileDir) await printHottest(profileDir, say)
  }
}

await onEngines(options.engine, runEngine)
