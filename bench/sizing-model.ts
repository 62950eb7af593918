// The resources that a number of customers needs. Pure arithmetic: bench/sizing.ts measures the constants.
import {
  constants,
  type EngineName,
  type StoredKind,
  storedKinds,
  type WorkKind,
  workKinds,
} from './sizing-constants.ts'

/** The contents of a store; legs are spread evenly over the busy quarter hours of the days. */
export interface Holdings extends Record<StoredKind, number> {
  days: number
}

export interface Plan {
  accounts: number
  users: number
  devices: number
  numbers: number
  /** In the busiest hour. */
  callsPerSecond: number
  months: number
}

/** How customers use it: assumptions, none of which is measured. */
export const usualHabits = {
  legsPerCall: 2,
  /** Shares of the legs. */
  chargedShare: 0.25,
  /** The calls of a day in multiples of the busiest hour. */
  busyHoursADay: 8,
  daysAMonth: 22,
  /** GETs, and lists of 50 rows, of a user in the busiest hour. */
  getsAnHour: 12,
  pagesAnHour: 4,
  /** In the busiest hour one in eight of a day's. */
  signInsADay: 1,
  changesAMonth: 2,
  coresOfMachine: 4,
  connectionsOfProcess: 10,
}

export type Habits = typeof usualHabits

const hourSeconds = 3600
// The rest is a reserve: beyond this load, waiting times grow faster than the load.
const bestUse = 0.5
const cacheBytes = 160_000_000
const commandsBeside = 1
const leastServers = 2
const databaseMachines = 2
const quartersAnHour = 4
/** Different directions and causes of the calls of an account. */
const directions = 2
const causes = 4

/** The expected number of non-empty cells if this number of items is spread randomly. */
const occupied = (cells: number, things: number) =>
  cells === 0 ? 0 : cells * (1 - Math.exp(-things / cells))

/** Rows of statistics: by quarter of an hour and by day, for the account, its directions, causes, users and devices. */
export const tallyRows = (
  { account, user, device, leg, chargedLeg, days }: Holdings,
  { busyHoursADay, legsPerCall }: Habits,
) => {
  if (account === 0) return 0
  const legs = (leg + chargedLeg) / account
  const calls = legs / legsPerCall
  const groups: [groups: number, things: number][] = [
    [1, calls],
    [directions, legs],
    [causes, legs],
    [user / account, calls],
    [device / account, calls],
  ]
  const rowsIn = (periods: number) =>
    groups.reduce((sum, [count, things]) => sum + occupied(count * periods, things), 0)
  return account * (rowsIn(days * busyHoursADay * quartersAnHour) + rowsIn(days))
}

/** Tables and indices, without the write-ahead log. */
export const tableBytes = (engine: EngineName, holdings: Holdings, habits = usualHabits) => {
  const { emptyBytes, bytes } = constants[engine]
  const ofKinds = storedKinds.reduce((sum, kind) => sum + bytes[kind] * holdings[kind], 0)
  return emptyBytes + ofKinds + bytes.tally * tallyRows(holdings, habits)
}

/** Memory of one server after some work. */
export const serverBytes = (engine: EngineName, records: number) => {
  const { restBytes, workBytes, cachedRecordBytes } = constants[engine].memory
  return restBytes + workBytes + Math.min(cacheBytes, records * cachedRecordBytes)
}

/** The contents of a store after all retained months. */
export const holdingsOf = (plan: Plan, habits = usualHabits): Holdings => {
  const users = plan.accounts * plan.users
  const days = habits.daysAMonth * plan.months
  const callsADay = plan.callsPerSecond * hourSeconds * habits.busyHoursADay
  const legs = callsADay * days * habits.legsPerCall
  return {
    account: plan.accounts,
    user: users,
    device: plan.accounts * plan.devices,
    number: plan.accounts * plan.numbers,
    leg: legs * (1 - habits.chargedShare),
    chargedLeg: legs * habits.chargedShare,
    change: users * habits.changesAMonth * plan.months,
    days,
  }
}

/** In the busiest hour, each second. */
const workASecond = (plan: Plan, habits: Habits): Partial<Record<WorkKind, number>> => {
  const users = plan.accounts * plan.users
  const legs = plan.callsPerSecond * habits.legsPerCall
  const daily = 1 / habits.busyHoursADay / hourSeconds
  return {
    leg: legs * (1 - habits.chargedShare),
    chargedLeg: legs * habits.chargedShare,
    get: (users * habits.getsAnHour) / hourSeconds,
    page: (users * habits.pagesAnHour) / hourSeconds,
    signIn: users * habits.signInsADay * daily,
    change: ((users * habits.changesAMonth) / habits.daysAMonth) * daily,
  }
}

/** Cores that are at work, on average. */
const coresOf = (work: Partial<Record<WorkKind, number>>, costs: Record<WorkKind, number>) =>
  workKinds.reduce((sum, kind) => sum + ((work[kind] ?? 0) * costs[kind]) / 1e6, 0)

export interface Need {
  tableBytes: number
  logBytes: number
  /** In the busiest hour, on average. */
  cores: { server: number; database: number }
  processes: number
  memory: { atRest: number; process: number; processes: number; database: number }
  connections: number
  machines: { servers: number; databases: number }
  /** An embedded store has one process: this plan wants more. */
  isTooMuch: boolean
}

/** The resources on an engine after all retained months. */
export const needOf = (engine: EngineName, plan: Plan, habits = usualHabits): Need => {
  const holdings = holdingsOf(plan, habits)
  const work = workASecond(plan, habits)
  const { server, database, memory, logBytes } = constants[engine]
  const cores = { server: coresOf(work, server), database: coresOf(work, database) }
  // Separate threads derive sign-in keys next to the event loop.
  const eventLoop = cores.server - ((work.signIn ?? 0) * server.signIn) / 1e6
  const wanted = Math.max(1, Math.ceil(eventLoop / bestUse))
  const isEmbedded = engine === 'SQLite'
  const servers = isEmbedded
    ? 1
    : Math.max(leastServers, Math.ceil(cores.server / bestUse / habits.coresOfMachine))
  const processes = isEmbedded ? 1 : Math.max(wanted, servers)
  const connections = isEmbedded ? 0 : (processes + commandsBeside) * habits.connectionsOfProcess
  const records = holdings.account + holdings.user + holdings.device
  const ofProcess = serverBytes(engine, records)
  return {
    tableBytes: tableBytes(engine, holdings, habits),
    logBytes,
    cores,
    processes,
    memory: {
      atRest: memory.restBytes,
      process: ofProcess,
      processes: ofProcess * processes,
      database: memory.databaseBytes + connections * memory.connectionBytes,
    },
    connections,
    machines: { servers, databases: isEmbedded ? 0 : databaseMachines },
    isTooMuch: isEmbedded && wanted > 1,
  }
}
