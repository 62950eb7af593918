// npm run attack [-- --minutes=30 --requests=1000000 --engine=sqlite --seed=1 --round=20000]
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { aNumber, anEngine, readOptions } from '../bench/options.ts'
import { startDnsServer } from '../test/support/servers/dns-server.ts'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import { attack, type Result } from './campaign.ts'
import { startKilling } from './kill.ts'
import { type Place, startTarget } from './server.ts'

const options = readOptions(
  {
    minutes: { type: 'string', default: '30' },
    requests: { type: 'string', default: '1000000000' },
    engine: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    round: { type: 'string', default: '20000' },
  },
  { minutes: aNumber, requests: aNumber, engine: anEngine, seed: aNumber, round: aNumber },
)

const say = (line: string) => process.stdout.write(`${line}\n`)
const engines = options.engine ? [options.engine] : ['sqlite', 'postgres']

const attackOn = async (place: Place): Promise<Result> => {
  await mkdir(place.dataDir, { recursive: true })
  const target = await startTarget(place)
  const killer = place.databaseUrl ? await startKilling(place.databaseUrl) : undefined
  try {
    const result = await attack({
      target,
      seed: Number(options.seed),
      roundSize: Number(options.round),
      mostRequests: Number(options.requests),
      mostMilliseconds: (Number(options.minutes) * 60_000) / engines.length,
      killer,
      say,
    })
    if (killer) result.lines.push(`backends killed: ${killer.kills()}`)
    return result
  } finally {
    await killer?.stop()
    await target.stop()
  }
}

const report = ({ faults, lines }: Result) => {
  for (const line of lines) say(`  ${line}`)
  for (const { kind, what, times } of faults) say(`  ${kind.toUpperCase()} ${times} x ${what}`)
  const leaks = faults.filter(({ kind }) => kind === 'leak').length
  say(`  kinds of leaks: ${leaks}, of other faults: ${faults.length - leaks}`)
}

const runEngine = async (engine: string, root: string) => {
  const dataDir = join(root, engine)
  if (engine !== 'postgres') return attackOn({ dataDir, databaseUrl: undefined, dnsServer: names.text })
  const postgres = await startPostgres()
  try {
    const { url: databaseUrl } = await createDatabase(postgres.url)
    return await attackOn({ dataDir, databaseUrl, dnsServer: names.text })
  } finally {
    await postgres.stop()
  }
}

const names = await startDnsServer()
const root = await mkdtemp(join(tmpdir(), 'crosspoint-attack-'))
// The server notices the end of this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    rmSync(root, { recursive: true, force: true })
    process.exit(1)
  })
}
say(`seed ${options.seed}`)
try {
  for (const engine of engines) {
    say(engine)
    const result = await runEngine(engine, root)
    report(result)
    if (result.faults.length > 0) process.exitCode = 1
  }
} finally {
  await names.close()
  await rm(root, { recursive: true, force: true })
}
