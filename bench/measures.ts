// The measurements and their floors.
import { join } from 'node:path'
import { startHelper } from './children.ts'
import type { FloorJob, FloorResult } from './floors.ts'
import type { LoadJob, LoadResult } from './load.ts'
import { type Place, processorSecondsOf, type RunningServer } from './server.ts'
import { call, inParallel, newUserData, type Stage, signIn, signInData, untold } from './stage.ts'

export interface Figure {
  perSecond: number
  /** Processor time of the process that answers, for each answer: other programs on the machine do not change it much. */
  processorMicroseconds?: number
  load?: LoadResult
}

export interface Round {
  ours: Figure
  /** By the floor's name. The first one is what the goal is about. */
  floors: Record<string, Figure>
}

export interface Measure {
  name: string
  /** The issue's: ours divided by the first floor. */
  goal: number | undefined
  round(tools: Deps): Promise<Round>
}

export interface Deps {
  server: RunningServer
  stage: Stage
  place: Place
  seconds: number
}

const connections = 32
const warmUpSeconds = 1

export const load = startHelper<LoadJob, LoadResult>('./load.ts')
export const floor = startHelper<FloorJob, FloorResult>('./floors.ts')

type Requests = Pick<LoadJob, 'before' | 'after' | 'keys'>

interface Target {
  port: number
  pid: number
}

export const runLoad = async ({ port, pid }: Target, requests: Requests, seconds: number) => {
  const before = await processorSecondsOf(pid)
  const result = await load.run({ port, connections, warmUpSeconds, seconds, ...requests })
  const spent = (await processorSecondsOf(pid)) - before
  return { perSecond: result.perSecond, processorMicroseconds: (spent / result.answers) * 1e6, load: result }
}

export const getRequests = (
  path: string,
  tail: string,
  keys: readonly string[],
  token: string,
): Requests => ({
  before: `GET ${path}`,
  after: `${tail} HTTP/1.1\r\nhost: localhost\r\nx-auth-token: ${token}\r\naccept: application/json\r\n\r\n`,
  keys,
})

export const putRequests = (
  path: string,
  token: string,
  body: [string, string],
  keys: Requests['keys'],
): Requests => {
  const keyLength = 'from' in keys ? 10 : 0
  const length = body[0].length + keyLength + body[1].length
  const auth = token ? `x-auth-token: ${token}\r\n` : ''
  const head = `PUT ${path} HTTP/1.1\r\nhost: localhost\r\n${auth}content-type: application/json\r\ncontent-length: ${length}\r\n\r\n`
  return { before: head + body[0], after: body[1], keys }
}

const notOurs = new Set(['connection', 'keep-alive', 'content-length', 'transfer-encoding', 'date'])

/** The answer to one of the requests, for a floor that answers alike. */
const sampleAnswer = async (port: number, path: string, token: string) => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { 'x-auth-token': token } })
  const headers = [...answer.headers].filter(([name]) => !notOurs.has(name)).flat()
  return { headers, body: await answer.text() }
}

const warm = new WeakSet<RunningServer>()

/** Has everything asked for once that will be: a short run would measure how caches are filled. */
const warmUp = async (server: RunningServer, paths: readonly string[], token: string) => {
  if (warm.has(server)) return
  warm.add(server)
  await inParallel(paths, async (path) => void (await call(server.port, 'GET', path, token)))
}

const reading =
  (
    path: (id: string) => [string, string],
    ids: (stage: Stage) => readonly string[],
    kinds: ('same bytes' | 'stringify')[],
  ) =>
  async ({ server, stage, seconds }: Deps): Promise<Round> => {
    const token = await signIn(server)
    const [before, after] = path('')
    const requests = getRequests(before, after, ids(stage), token)
    await warmUp(
      server,
      ids(stage).map((id) => before + id + after),
      token,
    )
    const ours = await runLoad(server, requests, seconds)
    const sample = await sampleAnswer(server.port, before + ids(stage)[0] + after, token)
    const floors: Record<string, Figure> = {}
    for (const kind of kinds) {
      const port = await floor.run({ kind, ...sample })
      floors[`node:http, ${kind}`] = await runLoad({ port, pid: floor.pid }, requests, seconds)
    }
    return { ours, floors }
  }

let created = 0

const creating = async ({ server, stage, place, seconds }: Deps): Promise<Round> => {
  const token = await signIn(server)
  const [head = '', tail = ''] = JSON.stringify({ data: newUserData('KEY') })
    .replaceAll('KEY@', 'k@')
    .split('"username":"KEY"')
  const body: [string, string] = [`${head}"username":"u`, `"${tail}`]
  const path = `/v2/accounts/${stage.accountIds[0]}/users?${untold}`
  const ours = await runLoad(server, putRequests(path, token, body, { from: created }), seconds)
  created += ours.load.distinctKeys
  const bytes = head.length + tail.length
  const perSecond = await floor.run({ kind: 'append', file: join(place.dataDir, 'floor'), bytes, seconds })
  return { ours, floors: { 'append + fdatasync': { perSecond } } }
}

const signingIn = async ({ server, seconds }: Deps): Promise<Round> => {
  const body: [string, string] = [JSON.stringify({ data: signInData }), '']
  const ours = await runLoad(server, putRequests('/v2/user_auth', '', body, ['']), seconds)
  const perSecond = await floor.run({ kind: 'scrypt', callers: connections, seconds })
  return { ours, floors: { 'bare scrypt': { perSecond } } }
}

export const measuresOf = (engine: 'SQLite' | 'PostgreSQL'): Measure[] => [
  {
    name: 'GET an account',
    goal: engine === 'SQLite' ? 0.75 : 0.68,
    round: reading(
      (id) => [`/v2/accounts/${id}`, ''],
      (stage) => stage.accountIds,
      ['stringify', 'same bytes'],
    ),
  },
  {
    name: 'page of 50 users',
    goal: 0.35,
    round: reading(
      (id) => [`/v2/accounts/${id}`, '/users?page_size=50'],
      (stage) => stage.listedIds,
      ['same bytes'],
    ),
  },
  { name: 'create a user, durable', goal: engine === 'SQLite' ? 2 : 0.8, round: creating },
  { name: 'sign in', goal: undefined, round: signingIn },
]
