// node bench/threads.ts [--threads=1,2] [--rounds=3] [--seconds=5]
// What further threads that answer requests bring on the embedded store: answers a second, and the processor time of the
// whole process for each. The server and the load share the machine's cores: no more can be shown than they have.
import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { onEngines } from './engines.ts'
import { floor, getRequests, load, putRequests, runLoad } from './measures.ts'
import { memoryOf, type Place, type RunningServer, startServer } from './server.ts'
import { newUserData, type Stage, setStage, signIn, untold } from './stage.ts'

const { values: options } = parseArgs({
  options: {
    threads: { type: 'string', default: '1,2' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
  },
})

const say = (line: string) => process.stdout.write(`${line}\n`)
const counts = options.threads.split(',').map(Number)
const seconds = Number(options.seconds)

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number

interface Figure {
  perSecond: number
  microseconds: number
  p99: number
}

type Measure = (server: RunningServer, stage: Stage, token: string) => Promise<Figure>

const loaded = async (server: RunningServer, requests: Parameters<typeof runLoad>[1]): Promise<Figure> => {
  const { perSecond, processorMicroseconds, load: result } = await runLoad(server, requests, seconds)
  if (result.failures > 0) throw new Error(result.firstFailure)
  return { perSecond, microseconds: processorMicroseconds, p99: result.p99Ms }
}

let created = 0

const measures: Readonly<Record<string, Measure>> = {
  'GET an account': (server, stage, token) =>
    loaded(server, getRequests('/v2/accounts/', '', stage.accountIds, token)),
  'page of 50 users': (server, stage, token) =>
    loaded(server, getRequests('/v2/accounts/', '/users?page_size=50', stage.listedIds, token)),
  async 'create a user'(server, stage, token) {
    const [head = '', tail = ''] = JSON.stringify({ data: newUserData('KEY') })
      .replaceAll('KEY@', 'k@')
      .split('"username":"KEY"')
    const path = `/v2/accounts/${stage.accountIds[0]}/users?${untold}`
    const body: [string, string] = [`${head}"username":"u`, `"${tail}`]
    const figure = await loaded(server, putRequests(path, token, body, { from: created }))
    created += 1_000_000
    return figure
  },
}

const round = async (place: Place, stage: Stage, httpThreads: number) => {
  const server = await startServer({ ...place, httpThreads })
  const token = await signIn(server)
  const figures: Record<string, Figure> = {}
  for (const [name, measure] of Object.entries(measures)) figures[name] = await measure(server, stage, token)
  const memory = await memoryOf(server.pid)
  await server.stop()
  return { figures, peak: memory?.peak ?? Number.NaN }
}

type Round = Awaited<ReturnType<typeof round>>

const report = (rounds: ReadonlyMap<number, readonly Round[]>) => {
  const of = (threads: number, name: string, what: keyof Figure) =>
    median((rounds.get(threads) ?? []).map(({ figures }) => (figures[name] as Figure)[what]))
  for (const name of Object.keys(measures)) {
    say(`  ${name}`)
    for (const threads of counts) {
      const perSecond = of(threads, name, 'perSecond')
      const ratio = perSecond / of(counts[0] as number, name, 'perSecond')
      const cost = of(threads, name, 'microseconds').toFixed(0)
      const late = of(threads, name, 'p99').toFixed(1)
      say(
        `    ${threads} threads: ${perSecond.toFixed(0)}/s (${ratio.toFixed(2)}), processor ${cost} us each, p99 ${late} ms`,
      )
    }
  }
  for (const threads of counts)
    say(`  ${threads} threads: ${median((rounds.get(threads) ?? []).map(({ peak }) => peak)).toFixed(0)} MB`)
}

await onEngines('sqlite', async (_engine, place) => {
  await mkdir(place.dataDir, { recursive: true })
  const first = await startServer(place)
  const stage = await setStage(first)
  await first.stop()
  const rounds = new Map(counts.map((threads) => [threads, [] as Round[]]))
  for (let turn = 0; turn < Number(options.rounds); turn += 1)
    for (const threads of counts) rounds.get(threads)?.push(await round(place, stage, threads))
  say(`${availableParallelism()} cores, ${seconds} s each, ${options.rounds} rounds in turns`)
  report(rounds)
})
await Promise.all([load.stop(), floor.stop()])
