// node bench/calls.ts [--engine=sqlite] [--devices=1000] [--rate=50] [--seconds=60] [--talk=5]
//
// Calls of registered phones at ten addresses through Debian's Kamailio beside a real server, all limits as they are shipped. It needs kamailio with its modules (docs/guides/kamailio.md)
// and sip-tester.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import { carryCalls, measureDecisions, prepareCalls } from './carried-calls.ts'
import { memoryOf, type Place, startServer } from './server.ts'

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    devices: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '50' },
    seconds: { type: 'string', default: '60' },
    talk: { type: 'string', default: '5' },
  },
})

const say = (line: string) => process.stdout.write(`${line}\n`)
const verdict = (is: boolean) => (is ? 'reached' : 'MISSED')
const loadNow = () => loadavg()[0]?.toFixed(1)

const runEngine = async (title: string, place: Place) => {
  const [devices, perSecond, seconds, talk] = [
    options.devices,
    options.rate,
    options.seconds,
    options.talk,
  ].map(Number) as [number, number, number, number]
  say(`${title}, ${devices} phones, ${perSecond} calls a second for ${seconds} s, each of ${talk} s`)
  await mkdir(place.dataDir, { recursive: true })
  const server = await startServer(place)
  try {
    const stage = await prepareCalls(server, devices)
    const decisions = await measureDecisions(server, stage)
    say(
      `  a packet authorized from memory, registered: p50 ${decisions.p50} us, p99 ${decisions.p99} us of ${decisions.packets}, processor ${Math.round(decisions.processor)} us each  goal 1000 us at p99: ${verdict(decisions.p99 < 1000)}`,
    )
    const carried = await carryCalls(server, stage, { perSecond, seconds, talkMs: talk * 1000 })
    const { begun, succeeded, failed, repeated, legs, whole, probe, processor } = carried
    say(
      `  SIPp: ${begun} calls, ${succeeded} succeeded, ${failed} failed, ${repeated} packets sent again; set up in ${carried.setUp} on average  goal none failed: ${verdict(failed === 0 && succeeded === begun)}`,
    )
    say(
      `  records: ${legs} legs, ${whole} whole calls, all listed ${Math.round(carried.listedAfterMs)} ms after the last call  goal as many: ${verdict(whole === succeeded && legs === 2 * succeeded)}`,
    )
    say(
      `  GET /v2/edge, one after the other: p50 ${probe.p50.toFixed(1)} ms, p99 ${probe.p99.toFixed(1)} ms of ${probe.asked}  goal 10 ms at p99: ${verdict(probe.p99 < 10)}`,
    )
    for (const [route, { all, soon }] of Object.entries(carried.questions))
      say(`  ${route}, at the server: ${all} questions, ${((100 * soon) / all).toFixed(2)} % within 10 ms`)
    const share = (spent: number) =>
      `${(spent / processor.seconds).toFixed(2)} of a core, ${((1000 * spent) / succeeded).toFixed(1)} ms a call`
    say(`  processor: server ${share(processor.server)}; Kamailio ${share(processor.edge)}`)
    const { half, end } = carried.memory
    const inMemory = ({ processes, shared }: typeof half) =>
      `${processes.toFixed(0)} MB, ${shared.toFixed(1)} MB of the shared memory in use`
    say(`  memory of Kamailio: ${inMemory(half)} after half of the calls, ${inMemory(end)} at the end`)
    const memory = await memoryOf(server.pid)
    if (memory) say(`  memory of the server: ${memory.peak.toFixed(0)} MB at most`)
  } finally {
    await server.stop()
  }
}

const root = await mkdtemp(join(tmpdir(), 'crosspoint-bench-'))
say(`${availableParallelism()} cores of ${cpus()[0]?.model}, Node ${process.version}, load ${loadNow()}`)
try {
  if (options.engine === 'sqlite')
    await runEngine('SQLite', { dataDir: join(root, 'sqlite'), databaseUrl: undefined })
  else {
    const postgres = await startPostgres({ durable: true })
    try {
      const database = await createDatabase(postgres.url)
      await runEngine('PostgreSQL', { dataDir: join(root, 'postgres'), databaseUrl: database.url })
    } finally {
      await postgres.stop()
    }
  }
  say(`load at the end ${loadNow()}`)
} finally {
  await rm(root, { recursive: true, force: true })
}
