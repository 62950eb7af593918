// Rounds of fuzzed requests, each with its own stage, and the check of every response.
import { setTimeout as sleep } from 'node:timers/promises'
import { createChance } from '../test/fuzz/chance.ts'
import { setBuckets, setPrices, signInOperator } from './api.ts'
import { createFigures } from './figures.ts'
import { type Attempt, createGenerator } from './generate.ts'
import type { Killer } from './kill.ts'
import { type Circumstances, findLeaks, isAccepted, judge, noteMove, unknownPolicies } from './model.ts'
import { answersIn, exchangeRaw, judgeRaw, rawAttemptOf } from './raw.ts'
import { readRoutes } from './routes.ts'
import type { Target } from './server.ts'
import { Builder, digestOf, type Operator, type Stage, setStage } from './stage.ts'
import { asCurl, asPrintf, Caller, type WireAnswer } from './wire.ts'

export interface Plan {
  target: Target
  seed: number
  /** Requests of a round; each round creates a new stage. */
  roundSize: number
  /** The run ends with the round in which this is passed. */
  mostRequests: number
  mostMilliseconds: number
  /** Kills backends of the database during the run; undefined: no kills. */
  killer: Killer | undefined
  say(line: string): void
}

const senders = 32
const rawSenders = 4
const rawShare = 20
const pauseMilliseconds = 5
const tellMilliseconds = 10_000
const throttledRequests = 600
// Connections of a killed backend are found broken when they are used again.
const cutMilliseconds = 5000
/** Share of the run after which the caches of the server are full. */
const warmUpShare = 0.25
const allowedGrowth = 1.2

const shownBytes = 600

/** The part of a body that a finding shows: the start, or what is around a text. */
const excerptOf = ({ body }: WireAnswer, text: string) => {
  const at = Math.max(0, body.indexOf(text) - shownBytes / 2)
  return body.toString('utf8', at, at + shownBytes)
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]

/** Every few seconds: the rate, and how much of a processor core server and load take. */
const startTelling = (target: Target, requests: () => number, say: Plan['say']) => {
  let sent = 0
  let served = 0
  let own = process.cpuUsage()
  const tell = async () => {
    const now = requests()
    const seconds = await target.processorSeconds()
    const { user, system } = process.cpuUsage(own)
    own = process.cpuUsage()
    const share = (value: number) => (value / (tellMilliseconds / 1000)).toFixed(2)
    say(
      `  ${now} requests, ${share(now - sent)}/s; cores: server ${share(seconds - served)}, load ${share((user + system) / 1e6)}`,
    )
    sent = now
    served = seconds
  }
  const timer = setInterval(() => void tell(), tellMilliseconds)
  return { stop: () => clearInterval(timer) }
}

export type Result = Awaited<ReturnType<typeof attack>>

export const attack = async (plan: Plan) => {
  const { target, seed, say } = plan
  const routes = readRoutes()
  const generator = createGenerator(routes, seed)
  const figures = createFigures(say)
  const signedIn = await signInOperator(target.port)
  const operator: Operator = { ...signedIn, api: signedIn.operator }
  await setPrices(operator.api)
  const build = new Builder(operator)
  const begunAt = performance.now()
  const memory: { at: number; megabytes: number }[] = []
  let isThrottled = false

  const circumstances = (): Circumstances => {
    const since = plan.killer?.sinceKill()
    return { isStoreCut: since !== undefined && since < cutMilliseconds, isThrottled }
  }

  const storyOf = ({ persona, request }: Attempt, index: number, answer?: WireAnswer, text = '') => {
    const told = answer ? `\n      ${answer.status} ${excerptOf(answer, text)}` : ''
    return `seed ${seed}, request ${index}, ${persona.title}:\n      ${asCurl(target.port, request).slice(0, 3000)}${told}`
  }

  const titleOf = ({ aim, request, refused }: Attempt) =>
    refused?.title ??
    (aim.operation ? `${aim.operation.method} ${aim.operation.path}` : `${request.method}, bent`)

  const judgeOne = (attempt: Attempt, index: number, answer: WireAnswer) => {
    const { persona, aim, request } = attempt
    const title = titleOf(attempt)
    figures.answered(answer.status, answer.ms, request, title)
    for (const leak of findLeaks(persona, build.tenants, answer.body, request.body))
      figures.fault('leak', `${title}: ${leak.replace(/\d+/g, 'N')}`, () =>
        storyOf(attempt, index, answer, leak.split(' ', 1)[0]),
      )
    if (attempt.refused && isAccepted(attempt.refused, answer))
      figures.fault('accepted', title, () => storyOf(attempt, index, answer))
    for (const fault of judge(persona, aim, request.method, answer, circumstances()))
      figures.fault('fault', `${title}: ${fault}`, () => storyOf(attempt, index, answer))
  }

  const sendOne = async (caller: Caller, attempt: Attempt, index: number) => {
    noteMove(attempt.persona, attempt.request, build.tenants.values())
    try {
      judgeOne(attempt, index, await caller.send(attempt.request))
    } catch (error) {
      const what = `${titleOf(attempt)}: ${error instanceof Error ? error.message : error}`
      figures.fault('cut', what, () => storyOf(attempt, index))
    }
  }

  const sendRound = async (stage: Stage, from: number, size: number) => {
    let next = from
    const sender = async () => {
      const caller = new Caller(target.port)
      while (next < from + size && target.isAlive()) {
        const index = next
        next += 1
        await sendOne(caller, generator.attemptOf(stage, index), index)
      }
      caller.close()
    }
    let isOver = false
    const rawSender = async (_none: unknown, lane: number) => {
      for (let index = from + lane; !isOver; index += rawSenders) {
        // One of this number of requests: each opens its own connection.
        while (!isOver && figures.raw() * rawShare > figures.requests()) await sleep(pauseMilliseconds)
        await sendRaw(index)
      }
    }
    const raw = Promise.all(Array.from({ length: rawSenders }, rawSender))
    plan.killer?.setActive(!isThrottled)
    await Promise.all(Array.from({ length: senders }, sender))
    plan.killer?.setActive(false)
    isOver = true
    await raw
  }

  const sendRaw = async (index: number) => {
    const attempt = rawAttemptOf(createChance((Math.imul(seed + 1, 0x27d4eb2f) ^ index) >>> 0))
    const received = await exchangeRaw(target.port, attempt)
    figures.answeredRaw((answersIn(received) ?? []).map(({ status }) => status))
    for (const fault of judgeRaw(attempt, received, circumstances().isStoreCut)) {
      const kind = fault.includes('smuggled') ? 'smuggled' : 'fault'
      figures.fault(kind, `${attempt.title}: ${fault}`, () => {
        const head = received.toString('latin1').slice(0, 800)
        return `seed ${seed}, bytes ${index}:\n      ${asPrintf(target.port, attempt.bytes.subarray(0, 2000))}\n      ${JSON.stringify(head)}`
      })
    }
  }

  const readLog = () => {
    for (const line of target.takeLog()) {
      if (/cnry\d+xsecrz/i.test(line)) figures.fault('log', 'a secret in the log', () => line.slice(0, 2000))
      if (!line.includes('"level":"error"') || circumstances().isStoreCut) continue
      const message = /"message":"([^"]*)"/.exec(line)?.[1]
      figures.fault('log', `an error in the log: ${message}`, () => line.slice(0, 3000))
    }
  }

  const digests = async (stage: Stage) => {
    const found = await Promise.all(stage.victims.map((victim) => digestOf(operator.api, victim)))
    return Object.assign({}, ...found) as Record<string, string>
  }

  const compare = (before: Record<string, string>, after: Record<string, string>) => {
    for (const [path, text] of Object.entries(before)) {
      if (after[path] === text) continue
      const what = `${path.replace(/[0-9a-f]{32}/g, '{id}')} of a user who was not attacked`
      figures.fault('changed', what, () => `seed ${seed}, ${path}\n      ${text}\n      ${after[path]}`)
    }
  }

  const runRound = async (round: number) => {
    const builtAt = performance.now()
    const stage = await setStage(build, operator)
    const buildMs = performance.now() - builtAt
    const before = await digests(stage)
    const from = round * plan.roundSize
    const sentAt = performance.now()
    await sendRound(stage, from, Math.min(plan.roundSize, plan.mostRequests - from))
    const seconds = (performance.now() - sentAt) / 1000
    if (!target.isAlive()) return
    compare(before, await digests(stage))
    readLog()
    const megabytes = await target.memory()
    if (megabytes !== undefined) memory.push({ at: progress(), megabytes })
    say(
      `round ${round + 1}: ${figures.requests()} requests, the last ones at ${Math.round(plan.roundSize / seconds)}/s, ${megabytes?.toFixed(0)} MB, stage in ${buildMs.toFixed(0)} ms, ${figures.faults().length} kinds of fault`,
    )
    return stage
  }

  const progress = () =>
    Math.max(figures.requests() / plan.mostRequests, (performance.now() - begunAt) / plan.mostMilliseconds)

  /** With prices: refusals are what is asked for, and nothing else may come of it. */
  const runThrottled = async (stage: Stage) => {
    // Small tables without writes in the meantime, however slow the machine is; the operator pays no charges.
    await setBuckets(operator.api, { max_bucket_tokens: 20, tokens_fill_rate: 1, tokens_fill_time: 'hour' })
    await setPrices(operator.api, { token_costs: { system_configs: 0 } })
    isThrottled = true
    const refusedBefore = figures.statuses.get(429) ?? 0
    await sendRound(stage, 1_000_000_000, throttledRequests)
    const refused = (figures.statuses.get(429) ?? 0) - refusedBefore
    if (refused === 0)
      figures.fault('fault', 'no request was throttled', () => `${throttledRequests} requests`)
    await setPrices(operator.api)
    say(`throttled: ${refused} of ${throttledRequests} requests were refused`)
    readLog()
  }

  const judgeMemory = () => {
    const warm = memory.filter(({ at }) => at >= warmUpShare)
    const first = median(warm.slice(0, 3).map(({ megabytes }) => megabytes))
    const last = median(warm.slice(-3).map(({ megabytes }) => megabytes))
    if (warm.length < 6 || first === undefined || last === undefined)
      return 'the run is too short to check memory'
    const text = `memory: ${first.toFixed(0)} MB after warm-up, ${last.toFixed(0)} MB at the end`
    if (last > first * allowedGrowth) figures.fault('memory', 'grows', () => text)
    return text
  }

  const telling = startTelling(target, figures.requests, say)
  let stage: Stage | undefined
  let round = 0
  do {
    stage = await runRound(round)
    round += 1
  } while (stage && progress() < 1)
  if (stage) await runThrottled(stage)
  if (!target.isAlive()) figures.fault('fault', 'the server exited', () => target.takeLog().join('\n'))
  telling.stop()
  const unjudged = unknownPolicies(routes.operations)
  operator.api.close()
  const seconds = (performance.now() - begunAt) / 1000
  return {
    faults: figures.faults(),
    statuses: figures.statuses,
    unjudged,
    lines: [
      ...figures.lines(),
      judgeMemory(),
      `${seconds.toFixed(0)} s, ${Math.round(figures.requests() / seconds)} requests/s with everything`,
      ...(unjudged.length > 0 ? [`policies that the model does not know: ${unjudged.join('; ')}`] : []),
    ],
  }
}
