// node bench/move.ts [--calls=1000000] [--kills=0]
// `crosspoint move` from SQLite to PostgreSQL and back: the goal is 600 s for 1,000,000 call records each way. With
// --kills each way is interrupted that many times by kill -9, at random moments.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openDurable } from '../src/storage/sqlite-open.ts'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import { aNumber, readOptions } from './options.ts'

const options = readOptions(
  { calls: { type: 'string', default: '1000000' }, kills: { type: 'string', default: '0' } },
  { calls: aNumber, kills: aNumber },
)
const calls = Number(options.calls)
const goalSeconds = 600
const patternCalls = 2000
const longestRunMs = 20_000

const say = (line: string) => process.stdout.write(`${line}\n`)
const program = fileURLToPath(new URL('../bin/crosspoint.mjs', import.meta.url))

const start = (environment: Record<string, string>, ...args: string[]) =>
  spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'ignore', 'inherit'],
  })

const run = async (environment: Record<string, string>, ...args: string[]) => {
  const [status] = await once(start(environment, ...args), 'close')
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}`)
}

/** Doubles the call records of the demo until there are enough, each with its own id. */
const multiply = (file: string) => {
  const db = openDurable(file)
  const months = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'cdrs_2*'")
    .all()
    .map(({ name }) => String(name))
  const countIn = (name: string) => Number(db.prepare(`SELECT count(*) AS rows FROM ${name}`).get()?.rows)
  const count = () => months.reduce((sum, name) => sum + countIn(name), 0)
  const columnsOf = (table: string) =>
    db
      .prepare('SELECT name FROM pragma_table_info(?)')
      .all(table)
      .map(({ name }) => (name === 'id' ? "id || '-' || ?1" : name))
      .join(', ')
  for (let round = 1, made = count(); made < calls; round += 1, made = count())
    for (const name of months) {
      const more = Math.ceil(Math.min(countIn(name), ((calls - made) * countIn(name)) / made))
      db.prepare(`INSERT INTO ${name} SELECT ${columnsOf(name)} FROM ${name} LIMIT ${more}`).run(
        String(round),
      )
    }
  const made = count()
  db.close()
  return made
}

/** Answers with the seconds of the run that completes the move, or of all if none was killed. */
const move = async (environment: Record<string, string>, to: string) => {
  for (let kill = 0; kill < Number(options.kills); kill += 1) {
    const child = start(environment, 'move', '--to', to)
    const closed = once(child, 'close')
    await Promise.race([closed, sleep(Math.random() * longestRunMs)])
    child.kill('SIGKILL')
    await closed
  }
  const began = performance.now()
  await run(environment, 'move', '--to', to)
  return (performance.now() - began) / 1000
}

const tell = (way: string, seconds: number) =>
  say(
    `${way}: ${seconds.toFixed(0)} s (goal ${goalSeconds}: ${seconds <= goalSeconds ? 'reached' : 'MISSED'})`,
  )

const root = await mkdtemp(join(tmpdir(), 'crosspoint-bench-'))
const postgres = await startPostgres({ durable: true })
try {
  const [old, back] = [join(root, 'old'), join(root, 'back')]
  const { url } = await createDatabase(postgres.url)
  await run({ CROSSPOINT_DATA_DIR: old }, 'demo', '--calls', String(patternCalls))
  say(`${multiply(join(old, 'crosspoint.db'))} call records`)
  tell('to PostgreSQL', await move({ CROSSPOINT_DATA_DIR: old }, url))
  const onPostgres = { CROSSPOINT_DATA_DIR: old, CROSSPOINT_DATABASE_URL: url }
  tell('to SQLite', await move(onPostgres, `sqlite:${back}`))
} finally {
  await postgres.stop()
  await rm(root, { recursive: true, force: true })
}
