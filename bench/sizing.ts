// node bench/sizing.ts --accounts=5000 [--users=4] [--devices=5] [--numbers=3] [--calls=20] [--months=12] [--engine=sqlite]
// node bench/sizing.ts --measure | --check [--engine=postgres] [--scale=1]
//
// What so many customers need: disk, memory, connections, processes, machines. `--measure` prints the constants of
// sizing-constants.ts anew, `--check` fills three stores and holds the model against them. Users, devices and numbers
// are those of an account, calls those of a second of the busiest hour. Habits (sizing-model.ts) are options as well.
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createDatabase, startPostgres } from '../test/support/servers/postgres.ts'
import {
  type Constants,
  constants,
  type EngineName,
  engines,
  storedKinds,
  type WorkKind,
  workKinds,
} from './sizing-constants.ts'
import {
  type Habits,
  needOf,
  type Plan,
  serverBytes,
  tableBytes,
  tallyRows,
  usualHabits,
} from './sizing-model.ts'
import { type Measurement, measurePoint, type Point } from './sizing-point.ts'

const optionNames = { accounts: '1000', users: '4', devices: '5', numbers: '3', calls: '5', months: '12' }
const dashed = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
const text = (value: string | number) => ({ type: 'string' as const, default: String(value) })

const { values: options } = parseArgs({
  options: {
    ...Object.fromEntries(Object.entries(optionNames).map(([name, value]) => [name, text(value)])),
    ...Object.fromEntries(Object.entries(usualHabits).map(([name, value]) => [dashed(name), text(value)])),
    engine: { type: 'string' },
    scale: { type: 'string', default: '1' },
    measure: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
  },
})

const say = (line: string) => process.stdout.write(`${line}\n`)
const whole = (value: number) => Math.round(value).toLocaleString('en-US')
const fraction = (value: number) => value.toFixed(2)

const bytes = (value: number) =>
  value < 1e9 ? `${(value / 1e6).toFixed(value < 1e7 ? 1 : 0)} MB` : `${(value / 1e9).toFixed(1)} GB`

const numberOf = (name: string) => {
  const value = Number((options as Record<string, unknown>)[name])
  if (!(value >= 0)) throw new Error(`--${name} has to be a number, 0 or more`)
  return value
}

const isWanted = (engine: EngineName) => !options.engine || engine.toLowerCase().startsWith(options.engine)

const askedPlan = (): Plan => ({
  accounts: numberOf('accounts'),
  users: numberOf('users'),
  devices: numberOf('devices'),
  numbers: numberOf('numbers'),
  callsPerSecond: numberOf('calls'),
  months: numberOf('months'),
})

const askedHabits = () =>
  Object.fromEntries(
    Object.keys(usualHabits).map((name) => [name, numberOf(dashed(name))]),
  ) as unknown as Habits

const sayNeed = (engine: EngineName) => {
  const need = needOf(engine, askedPlan(), askedHabits())
  const { memory, machines, cores } = need
  say(`${engine} (constants of ${constants[engine].date})`)
  say(`  disk: ${bytes(need.tableBytes)} of tables and indices, and a log of ${bytes(need.logBytes)} at most`)
  say(
    `  busiest hour: ${fraction(cores.server)} cores for the servers, ${fraction(cores.database)} for the database`,
  )
  say(`  processes: ${need.processes}${need.isTooMuch ? ', and one is too few: take PostgreSQL' : ''}`)
  say(
    `  memory: ${bytes(memory.process)} a process, ${bytes(memory.processes)} in all; ${bytes(memory.database)} for the database`,
  )
  say(`  connections: ${need.connections}`)
  say(`  machines: ${machines.servers} for servers, ${machines.databases} for the database`)
}

/** Bytes a megabyte would hide, and times below a microsecond that mean nothing. */
const rounded = (value: number, step: number) => Math.max(0, Math.round(value / step) * step)

const perKind = <Kind extends WorkKind>(kinds: readonly Kind[], value: (kind: Kind) => number) =>
  Object.fromEntries(kinds.map((kind) => [kind, rounded(value(kind), 1)])) as Record<Kind, number>

const constantsOf = (engine: EngineName, measurement: Measurement): Constants => {
  const { empty, taken, tallies, logBytes, atRest, afterWork } = measurement
  const records = taken.account.count + taken.user.count + taken.device.count
  const { cachedRecordBytes } = constants[engine].memory
  const perItem = (kind: WorkKind, value: number) => value / taken[kind].count
  return {
    date: new Date().toISOString().slice(0, 10),
    emptyBytes: rounded(empty.tableBytes, 1000),
    bytes: {
      ...perKind(storedKinds, (kind) => perItem(kind, taken[kind].tableBytes - taken[kind].tallyBytes)),
      tally: rounded(tallies.bytes / tallies.rows, 1),
    },
    logBytes: engine === 'PostgreSQL' ? constants.PostgreSQL.logBytes : rounded(logBytes, 1e6),
    server: perKind(workKinds, (kind) => perItem(kind, taken[kind].serverSeconds * 1e6)),
    database: perKind(workKinds, (kind) => perItem(kind, taken[kind].databaseSeconds * 1e6)),
    memory: {
      restBytes: rounded(atRest.serverBytes, 1e6),
      workBytes: rounded(afterWork.serverBytes - atRest.serverBytes - records * cachedRecordBytes, 1e6),
      cachedRecordBytes,
      connectionBytes: rounded(afterWork.connectionBytes, 1e5),
      databaseBytes: rounded(afterWork.databaseBytes, 1e6),
    },
  }
}

const pointOf = (point: Partial<Point> & Pick<Point, 'account'>): Point => ({
  user: 0,
  device: 0,
  number: 0,
  leg: 0,
  chargedLeg: 0,
  change: 0,
  signIn: 20,
  days: usualHabits.daysAMonth,
  get: 2000,
  page: 200,
  ...point,
})

const measuredPoint = pointOf({
  account: 2000,
  user: 6000,
  device: 6000,
  number: 4000,
  leg: 30_000,
  chargedLeg: 20_000,
  change: 6000,
  get: 20_000,
  page: 1000,
})

const scaled = (count: number) => Math.round(count * numberOf('scale'))

const checkedPoints = [
  pointOf({
    account: scaled(500),
    user: scaled(2000),
    device: scaled(2000),
    number: scaled(1000),
    leg: scaled(20_000),
    change: scaled(1000),
  }),
  pointOf({
    account: scaled(2000),
    user: scaled(2000),
    device: scaled(2000),
    leg: scaled(20_000),
    chargedLeg: scaled(20_000),
  }),
  pointOf({ account: scaled(8000), user: scaled(8000), leg: scaled(60_000) }),
]

const sayRow = (name: string, model: number, measured: number, words: (value: number) => string) =>
  say(`    ${name}: model ${words(model)}, measured ${words(measured)}, ratio ${fraction(model / measured)}`)

const sayCheck = (engine: EngineName, point: Point, measurement: Measurement) => {
  const { full, taken, tallies, logBytes, atRest, afterWork } = measurement
  const { memory, server, database, ...known } = constants[engine]
  const { account, user, device, leg, chargedLeg } = point
  const seconds = (costs: Record<WorkKind, number>) =>
    workKinds.reduce((sum, kind) => sum + (costs[kind] * point[kind]) / 1e6, 0)
  const spent = (part: 'serverSeconds' | 'databaseSeconds') =>
    workKinds.reduce((sum, kind) => sum + taken[kind][part], 0)
  say(
    `  ${whole(account)} accounts, ${whole(user)} users, ${whole(device)} devices, ${whole(leg + chargedLeg)} call records`,
  )
  sayRow('tables and indices', tableBytes(engine, point), full.tableBytes, bytes)
  sayRow('rows of statistics', tallyRows(point, usualHabits), tallies.rows, whole)
  say(`    log: at most ${bytes(known.logBytes)}, measured ${bytes(logBytes)}`)
  sayRow('memory at rest', memory.restBytes, atRest.serverBytes, bytes)
  sayRow('memory after work', serverBytes(engine, account + user + device), afterWork.serverBytes, bytes)
  sayRow('server, seconds', seconds(server), spent('serverSeconds'), whole)
  sayCosts(measurement, 'serverSeconds')
  if (engine === 'PostgreSQL') {
    sayRow('database, seconds', seconds(database), spent('databaseSeconds'), whole)
    sayCosts(measurement, 'databaseSeconds')
    sayRow('memory of a connection', memory.connectionBytes, afterWork.connectionBytes, bytes)
    say(`    connections: at most ${usualHabits.connectionsOfProcess}, measured ${afterWork.connections}`)
  }
}

/** Processor time of one of each. */
const sayCosts = ({ taken }: Measurement, part: 'serverSeconds' | 'databaseSeconds') => {
  const kinds = workKinds.filter((kind) => taken[kind].count > 0)
  const costs = kinds.map((kind) => `${kind} ${whole((taken[kind][part] / taken[kind].count) * 1e6)}`)
  say(`      microseconds each: ${costs.join(', ')}`)
}

const withStore = async <T>(
  engine: EngineName,
  work: (place: Parameters<typeof measurePoint>[0]) => Promise<T>,
) => {
  const root = await mkdtemp(join(tmpdir(), 'crosspoint-bench-'))
  const postgres = engine === 'PostgreSQL' ? await startPostgres({ durable: true }) : undefined
  try {
    const databaseUrl = postgres && (await createDatabase(postgres.url)).url
    return await work({ dataDir: join(root, 'data'), databaseUrl })
  } finally {
    await postgres?.stop()
    await rm(root, { recursive: true, force: true })
  }
}

const measure = async (engine: EngineName) => {
  const measurement = await withStore(engine, (place) => measurePoint(place, measuredPoint))
  say(`${engine}: ${JSON.stringify(constantsOf(engine, measurement), undefined, 2)}`)
}

const check = async (engine: EngineName) => {
  say(engine)
  for (const point of checkedPoints)
    sayCheck(engine, point, await withStore(engine, (place) => measurePoint(place, point)))
}

const act = options.measure ? measure : options.check ? check : async (engine: EngineName) => sayNeed(engine)

if (options.measure || options.check)
  say(
    `${availableParallelism()} cores of ${cpus()[0]?.model}, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`,
  )
for (const engine of engines.filter(isWanted)) await act(engine)
process.exit(0)
