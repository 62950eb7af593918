// npm run bench [-- --engine=sqlite --only=GET --rounds=3 --seconds=3 --profile]
// npm run bench -- --soak=60 [--engine=sqlite] [--chart=soak.svg]
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { onEngines } from './engines.ts'
import type { LoadResult } from './load.ts'
import { type Deps, type Figure, floor, load, type Measure, measuresOf, type Round } from './measures.ts'
import { aNumber, anEngine, readOptions } from './options.ts'
import { printHottest } from './profile.ts'
import { memoryOf, type Place, programOfSources, restingMemoryOf, startServer } from './server.ts'
import { accountCount, setStage } from './stage.ts'

const options = readOptions(
  {
    engine: { type: 'string' },
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    profile: { type: 'boolean', default: false },
    soak: { type: 'string' },
    chart: { type: 'string', default: 'soak.svg' },
  },
  { engine: anEngine, rounds: aNumber, seconds: aNumber, soak: aNumber },
)

const say = (line: string) => process.stdout.write(`${line}\n`)
const rate = (value: number) => `${Math.round(value).toLocaleString('en-US')}/s`

const median = (values: readonly number[]) => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] as number
}

const verdict = (ratio: number, goal: number | undefined) =>
  goal === undefined ? '' : `  goal ${goal}: ${ratio >= goal ? 'reached' : 'MISSED'}`

const processorRatio = (rounds: readonly Round[], kind: string) =>
  median(
    rounds.map(
      ({ ours, floors }) =>
        (floors[kind]?.processorMicroseconds ?? 0) / (ours.processorMicroseconds as number),
    ),
  )

const reportFloor = (rounds: readonly Round[], kind: string, goal: number | undefined) => {
  const floorOf = (round: Round) => round.floors[kind] as Figure
  const ratio = median(rounds.map((round) => round.ours.perSecond / floorOf(round).perSecond))
  const figure = rate(median(rounds.map((round) => floorOf(round).perSecond)))
  const cost = median(rounds.map((round) => floorOf(round).processorMicroseconds ?? 0))
  say(`    floor ${kind}: ${figure}  ratio ${ratio.toFixed(2)}${verdict(ratio, goal)}`)
  if (cost > 0) {
    say(`      processor ${cost.toFixed(1)} us each  ratio ${processorRatio(rounds, kind).toFixed(2)}`)
  }
}

const report = ({ name, goal }: Measure, rounds: readonly Round[]) => {
  const loads = rounds.map((round) => round.ours.load as LoadResult)
  const [last] = loads.slice(-1) as [LoadResult]
  const perSecond = rate(median(rounds.map((round) => round.ours.perSecond)))
  const cost = median(rounds.map((round) => round.ours.processorMicroseconds as number))
  const p99 = median(loads.map((load) => load.p99Ms))
  say(`  ${name}: ${perSecond}, p99 ${p99.toFixed(1)} ms, processor ${cost.toFixed(1)} us each`)
  for (const [index, kind] of Object.keys(rounds[0]?.floors ?? {}).entries())
    reportFloor(rounds, kind, index === 0 ? goal : undefined)
  say(`    ${last.distinctKeys} different requests; the load took ${last.generatorLoad.toFixed(2)} of a core`)
  const failed = loads.find(({ failures }) => failures > 0)
  if (failed) throw new Error(`${name}: ${failed.failures} failures, the first: ${failed.firstFailure}`)
}

const runMeasure = async (measure: Measure, base: Omit<Deps, 'server'>) => {
  const profileDir = options.profile ? await mkdtemp(join(tmpdir(), 'crosspoint-profile-')) : undefined
  const server = await startServer(base.place, profileDir)
  const rounds: Round[] = []
  for (let round = 0; round < Number(options.rounds); round += 1) {
    rounds.push(await measure.round({ ...base, server }))
  }
  const memory = await memoryOf(server.pid)
  await server.stop()
  report(measure, rounds)
  if (memory) say(`    memory under this load: ${memory.peak.toFixed(0)} MB at most`)
  if (profileDir) await printHottest(profileDir, say)
}

const maxStartProcessorMs = 320
const maxAtRest = 85

// The goal of a start from the sources: 722 ms of processor time.
const goalOfSources = maxStartProcessorMs / 722

const startOf = async (place: Place, script?: string) => {
  const server = await startServer(place, undefined, script)
  await server.stop()
  return { ms: server.startMs, processorMs: server.startProcessorMs }
}

const runStarts = async (place: Place) => {
  // It fills the cache of compiled code, as the start that set the stage did for the bundle.
  await startOf(place, programOfSources)
  const starts: Awaited<ReturnType<typeof startOf>>[] = []
  const fromSources: typeof starts = []
  for (let count = 0; count < 9; count += 1) {
    starts.push(await startOf(place))
    if (count % 3 === 0) fromSources.push(await startOf(place, programOfSources))
  }
  const ms = median(starts.map((start) => start.ms))
  const spent = median(starts.map((start) => start.processorMs))
  const spentFromSources = median(fromSources.map((start) => start.processorMs))
  say(
    `  start to first answer, ${accountCount} accounts in the store: ${ms.toFixed(0)} ms, processor ${spent.toFixed(0)} ms  goal ${maxStartProcessorMs}: ${spent < maxStartProcessorMs ? 'reached' : 'MISSED'}`,
  )
  const share = spent / spentFromSources
  say(
    `    floor the same from its sources: processor ${spentFromSources.toFixed(0)} ms  ratio ${share.toFixed(2)}  goal ${goalOfSources.toFixed(2)}: ${share < goalOfSources ? 'reached' : 'MISSED'}`,
  )
  const server = await startServer(place)
  const memory = await restingMemoryOf(server.pid)
  await server.stop()
  if (memory)
    say(
      `  memory at rest: ${memory.now.toFixed(0)} MB, ${memory.own.toFixed(0)} of it not mapped from files  goal ${maxAtRest}: ${memory.now < maxAtRest ? 'reached' : 'MISSED'}`,
    )
}

const runEngine = async (engine: 'SQLite' | 'PostgreSQL', place: Place) => {
  say(engine)
  await mkdir(place.dataDir, { recursive: true })
  const first = await startServer(place)
  const stage = await setStage(first)
  await first.stop()
  await runStarts(place)
  const seconds = Number(options.seconds)
  const measures = measuresOf(engine).filter(({ name }) => name.includes(options.only))
  for (const measure of measures) await runMeasure(measure, { stage, place, seconds })
}

/** The commit that is measured. */
const commit = () => {
  const git = (...args: string[]) => spawnSync('git', args, { encoding: 'utf8' }).stdout?.trim() ?? ''
  const hash = git('rev-parse', '--short', 'HEAD')
  if (hash === '') return 'no commit'
  return git('status', '--porcelain') === '' ? hash : `${hash} with changes`
}

say(`${commit()}, ${availableParallelism()} cores of ${cpus()[0]?.model}, Node ${process.version}`)
try {
  if (options.soak === undefined) await onEngines(options.engine, runEngine)
  else {
    const { soak } = await import('./soak.ts')
    const how = { minutes: Number(options.soak), say }
    await onEngines(options.engine ?? 'sqlite', (engine, place) =>
      soak(engine, place, { ...how, chart: options.chart }),
    )
  }
} finally {
  await Promise.all([load.stop(), floor.stop()])
}
