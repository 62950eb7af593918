// Long mixed traffic against one server: memory and response times must stay stable.
import { mkdir, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { createHistogram, performance, type RecordableHistogram } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { figureOf } from '../test/support/matchers/figures.ts'
import { cdrDocument } from './cdr-records.ts'
import { chartOf } from './chart.ts'
import { memoryOf, type Place, processorSecondsOf, type RunningServer, startServer } from './server.ts'
import { newUserData, type Stage, setStage, signIn, untold } from './stage.ts'

const agent = new Agent({ keepAlive: true })
const megabyte = 1024 * 1024
const gregorianSeconds = () => Math.floor(Date.now() / 1000) + 62_167_219_200

/** The traffic: the number of callers of each kind, with a pause after each request. */
const kinds = {
  read: { callers: 6, restMs: 5 },
  list: { callers: 3, restMs: 20 },
  create: { callers: 2, restMs: 20 },
  ingest: { callers: 1, restMs: 500 },
  page: { callers: 2, restMs: 50 },
  export: { callers: 1, restMs: 5000 },
} as const

type Kind = keyof typeof kinds

const recordsAtOnce = 200

// The exported range stays the same while the store grows: every minute has the same work.
const exportedSeconds = 300

interface Session {
  port: number
  token: string
}

interface Wish {
  method: string
  path: string
  body?: { type: string; text: string }
}

/** Reads the answer to its end, and keeps nothing of it. */
const ask = ({ port, token }: Session, { method, path, body }: Wish) =>
  new Promise<void>((resolve, reject) => {
    const headers = { 'x-auth-token': token, ...(body && { 'content-type': body.type }) }
    const outgoing = request({ port, host: '127.0.0.1', method, path, agent, headers }, (answer) => {
      answer.resume()
      answer.once('end', () => {
        const { statusCode = 0 } = answer
        if (statusCode >= 200 && statusCode < 300) resolve()
        else reject(new Error(`${method} ${path}: ${statusCode}`))
      })
      answer.once('error', reject)
    })
    outgoing.once('error', reject)
    outgoing.end(body?.text)
  })

const json = (data: object) => ({ type: 'application/json', text: JSON.stringify({ data }) })

const ndjson = (accountId: string, first: number) => ({
  type: 'application/x-ndjson',
  text: Array.from({ length: recordsAtOnce }, (_, index) =>
    JSON.stringify(cdrDocument(first + index, accountId, gregorianSeconds())),
  ).join('\n'),
})

/** The next request of a kind. */
const createWishes = ({ accountIds, listedIds }: Stage) => {
  let created = 0
  let records = 0
  const oneOf = (ids: readonly string[]) => ids[Math.floor(Math.random() * ids.length)] as string
  const busiest = accountIds[0] as string
  const wishes: Record<Kind, () => Wish> = {
    read: () => ({ method: 'GET', path: `/v2/accounts/${oneOf(accountIds)}` }),
    list: () => ({ method: 'GET', path: `/v2/accounts/${oneOf(listedIds)}/users?page_size=50` }),
    create() {
      created += 1
      const path = `/v2/accounts/${oneOf(accountIds)}/users?${untold}`
      return { method: 'PUT', path, body: json(newUserData(`soak${created}`)) }
    },
    ingest() {
      records += recordsAtOnce
      return { method: 'PUT', path: '/v2/cdrs', body: ndjson(busiest, records) }
    },
    page: () => ({ method: 'GET', path: `/v2/accounts/${busiest}/cdrs?page_size=50` }),
    export() {
      const since = `created_from=${gregorianSeconds() - exportedSeconds}`
      return { method: 'GET', path: `/v2/accounts/${busiest}/cdrs?accept=text/csv&paginate=false&${since}` }
    },
  }
  return wishes
}

/** One minute of it. */
interface Minute {
  minute: number
  perSecond: number
  p50: number
  p99: number
  rss: number
  own: number
  heap: number
  processor: number
}

const heapOf = async ({ port }: Session) => {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return (figureOf(text, 'nodejs_heap_size_used_bytes') ?? Number.NaN) / megabyte
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number

// The maximum ratio of a minute of the last third to one of the first third, after the warm-up.
const maxGrowth = { rss: 1.15, p99: 1.5 }
const warmUpShare = 0.1
const warmUpMinutes = exportedSeconds / 60

/** Whether the last third is as the first. */
const verdictOf = (minutes: readonly Minute[], what: keyof typeof maxGrowth) => {
  const warmUp = Math.max(Math.ceil(minutes.length * warmUpShare), warmUpMinutes)
  // A shorter run says what it can.
  const counted = minutes.length > 2 * warmUp ? minutes.slice(warmUp) : minutes
  const third = Math.max(1, Math.floor(counted.length / 3))
  const first = median(counted.slice(0, third).map((minute) => minute[what]))
  const last = median(counted.slice(-third).map((minute) => minute[what]))
  const growth = last / first
  return { first, last, growth, isFlat: growth <= maxGrowth[what] }
}

interface Traffic {
  session: Session
  stage: Stage
  /** Nanoseconds of the reads of this minute. */
  reads: RecordableHistogram
  isOver(): boolean
  onAnswer(): void
}

const callersOf = ({ session, stage, reads, isOver, onAnswer }: Traffic) => {
  const wishes = createWishes(stage)
  const caller = async (kind: Kind) => {
    while (!isOver()) {
      const begun = performance.now()
      await ask(session, wishes[kind]())
      if (kind === 'read') reads.record(Math.max(1, Math.round((performance.now() - begun) * 1e6)))
      onAnswer()
      await sleep(kinds[kind].restMs)
    }
  }
  return Object.entries(kinds).flatMap(([kind, { callers }]) =>
    Array.from({ length: callers }, () => caller(kind as Kind)),
  )
}

interface Soak {
  minutes: number
  /** Where the chart goes. */
  chart: string
  say(line: string): void
}

const measureMinute = async (server: RunningServer, session: Session, minute: number) => {
  const memory = await memoryOf(server.pid)
  return {
    minute,
    rss: memory?.now ?? Number.NaN,
    own: memory?.own ?? Number.NaN,
    heap: await heapOf(session),
    processor: await processorSecondsOf(server.pid),
  }
}

const lineOf = ({ minute, perSecond, p50, p99, rss, own, heap, processor }: Minute) =>
  `  ${String(minute).padStart(3)} min: ${perSecond.toFixed(0)} answers/s, reads p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms, ` +
  `${rss.toFixed(0)} MB (own ${own.toFixed(0)}, heap ${heap.toFixed(0)}), ${processor.toFixed(2)} processors`

const report = async (engine: string, minutes: readonly Minute[], { chart, say }: Soak) => {
  for (const what of ['rss', 'p99'] as const) {
    const { first, last, growth, isFlat } = verdictOf(minutes, what)
    const unit = what === 'rss' ? 'MB' : 'ms'
    say(
      `  ${what}: first third ${first.toFixed(1)}, last third ${last.toFixed(1)} ${unit}, ${growth.toFixed(2)} times; at most ${maxGrowth[what]}: ${isFlat ? 'flat' : 'GROWN'}`,
    )
  }
  const of = (what: keyof Minute) => minutes.map((minute) => minute[what])
  const panels = [
    {
      title: 'Memory',
      unit: 'MB',
      lines: [
        { name: 'resident', values: of('rss') },
        { name: 'without mapped files', values: of('own') },
        { name: 'heap of the first thread', values: of('heap') },
      ],
    },
    {
      title: 'Reads of an account',
      unit: 'ms',
      lines: [
        { name: '99th percentile', values: of('p99') },
        { name: 'the middle one', values: of('p50') },
      ],
    },
    {
      title: 'Answers',
      unit: 'a second',
      lines: [{ name: 'of all kinds', values: of('perSecond') }],
    },
  ]
  await writeFile(
    chart,
    chartOf(`${engine}, ${minutes.length} minutes of mixed traffic`, of('minute'), panels),
  )
  say(`  chart: ${chart}`)
}

/** Fills a store and sends traffic for a number of minutes. */
export const soak = async (engine: string, place: Place, how: Soak): Promise<void> => {
  await mkdir(place.dataDir, { recursive: true })
  const server = await startServer(place)
  const stage = await setStage(server)
  const session = { port: server.port, token: await signIn(server) }
  const reads = createHistogram()
  let answers = 0
  let isOver = false
  const traffic = callersOf({
    session,
    stage,
    reads,
    isOver: () => isOver,
    onAnswer: () => {
      answers += 1
    },
  })
  const ended = Promise.all(traffic)
  const minutes: Minute[] = []
  how.say(`${engine}: ${how.minutes} minutes`)
  let before = await measureMinute(server, session, 0)
  try {
    for (let minute = 1; minute <= how.minutes; minute += 1) {
      const begun = performance.now()
      await Promise.race([sleep(60_000), ended])
      const seconds = (performance.now() - begun) / 1000
      session.token = await signIn(server)
      const now = await measureMinute(server, session, minute)
      const one: Minute = {
        ...now,
        perSecond: answers / seconds,
        p50: reads.percentile(50) / 1e6,
        p99: reads.percentile(99) / 1e6,
        processor: (now.processor - before.processor) / seconds,
      }
      before = now
      answers = 0
      reads.reset()
      minutes.push(one)
      how.say(lineOf(one))
    }
  } finally {
    isOver = true
    await ended
    agent.destroy()
    await server.stop()
  }
  await report(engine, minutes, how)
}
