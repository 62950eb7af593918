import type { Clock } from '../lib/clock.ts'
import { datastoreConflict, isFailure, isOutage } from '../lib/failure.ts'
import { type Metrics, secondsBounds } from '../lib/metrics.ts'
import { inSpan } from '../lib/trace.ts'
import { createGenerations, type GenerationOf } from './cache.ts'
import { type AccountPath, type Change, type ChangeSet, eventTypesIn, writeOf } from './change-set.ts'
import type { Database, Engine, Statement, UnrecordedStore, Write } from './db.ts'
import { type Base, findBase, isPatchable } from './entry-docs.ts'
import { createMonthlyTable, type MonthlyTable } from './monthly.ts'
import { outageInWords } from './outages.ts'
import { createRecords, type Records } from './records.ts'
import { createSealing, type Sealing } from './sealing.ts'
import { deliver, type SignalHandler } from './signal.ts'
import { type SqlWords, sqlWordsOf } from './sql-words.ts'

/** What areas are given: reads, and the one way to write. */
export interface Store extends UnrecordedStore {
  records: Records
  clock: Clock
  /** Secrets within documents. */
  sealing: Sealing
  /** A long read, beside the event loop. */
  scan: Database['scan']
  /** A part of an export. */
  csvLines: Database['csvLines']
  scanForLines: Database['scan']
  linesAtOnce: Database['linesAtOnce']
  fence: Database['fence']
  /** Why it takes no writes, where more is known than that it fails. */
  state: Database['state']
  /** How the engine says what the engines say differently. */
  words: SqlWords
  /** By what goes whatever is made of an account's records of a kind, and kept: see generations.ts. */
  generationOf: GenerationOf
  /** The table whose rows lie by month. */
  cdrs: MonthlyTable
  /**
   * Writes change sets, with their audit entries, events and errands, in one durable transaction: after everybody who
   * hears what they tell was heard, and every gate has let them through.
   */
  commit(...sets: ChangeSet[]): Promise<void>
  /** The same for records that come from another system as they are: no gate judges them, and nobody hears of them. */
  adopt(...sets: ChangeSet[]): Promise<void>
  /**
   * What keeps the store from taking writes, in words for operators; undefined when nothing does. It asks for the right
   * to write and changes nothing; after a write that found no room or no disk it writes something of some size. A server
   * on a disk that has room again goes on by itself.
   */
  writeObstacle(): Promise<string | undefined>
  /** How many writes have failed because the store had no room, or was not there. */
  outages(): number
  /** Has signals heard from now on. */
  hear(...hearings: readonly SignalHandler[]): void
  /** Says from now on where accounts stand in their tree; undefined of those that are not there. */
  locate(standingOf: StandingOf): void
  /** From now on only events of these types can be committed. */
  declareEvents(types: ReadonlySet<string>): void
  /** Where an account stands; of `system` the master account. Undefined of those that are not there. */
  standingOf: StandingOf
  /** Has a gate judge everything that is to be written from now on. */
  guard(gate: Gate): void
}

type StandingOf = (accountId: string) => Promise<AccountPath | undefined>

/**
 * Judges what is to be written, and may add what follows from its judgement; it throws to refuse. `write` does the
 * rest, so that a gate can hold others off until its judgement is stored; a gate that lets several commits through at
 * once hands the change sets of all of them to one `write`, which happens whole or not at all.
 */
export type Gate = (
  sets: readonly ChangeSet[],
  write: (sets: readonly ChangeSet[]) => Promise<void>,
) => Promise<void>

// More than a store finds room for in what it has already.
const probeBytes = 65_536
const probeName = 'probe'

const giveRoomBack: Statement[] = [{ sql: 'DELETE FROM leases WHERE name = $1', params: [probeName] }]

// The embedded store takes the lock for nothing at all; PostgreSQL would let nothing at all pass in a standby, too.
const rightToWrite: Record<Engine, readonly Statement[]> = { sqlite: [], postgres: giveRoomBack }

const takeRoom: Statement[] = [
  ...giveRoomBack,
  {
    sql: 'INSERT INTO leases (name, token, holder, expires_at) VALUES ($1, $2, $3, 0) ON CONFLICT DO NOTHING',
    params: [probeName, '', ' '.repeat(probeBytes)],
  },
]

/** `cacheBytes`: of records that are kept at hand, where that is not what a server keeps. */
export const createStore = (db: Database, clock: Clock, cacheBytes?: number): Store => {
  const hearings = new Map<string, SignalHandler[]>()
  const gates: Gate[] = []
  const sealing = createSealing()

  let isInTrouble = false
  let outages = 0

  const noticing = async (write: Write) => {
    try {
      await inSpan({ name: 'store commit', kind: 'internal' }, () => db.write(write))
    } catch (error) {
      if (isOutage(error)) {
        isInTrouble = true
        outages += 1
      }
      throw error
    }
  }

  const probe = async () => {
    const probes = isInTrouble ? [takeRoom, giveRoomBack] : [rightToWrite[db.engine]]
    for (const statements of probes) await db.write({ statements, stale: [] })
    isInTrouble = false
  }

  const isTelling = (sets: readonly ChangeSet[]) => sets.some(({ told }) => told.length > 0)

  let standingOf: StandingOf | undefined
  let eventTypes: ReadonlySet<string> | undefined

  const assertDeclared = (set: ChangeSet) => {
    const unknown = eventTypesIn(set).find((type) => eventTypes?.has(type) === false)
    if (unknown !== undefined) throw new Error(`no area declares the event ${unknown}`)
  }

  const standingsOf = async (sets: readonly ChangeSet[], lookUp: StandingOf) => {
    const standings = new Map<string, AccountPath>()
    for (const { changes, happenings, newcomers } of sets) {
      for (const { accountId } of [...changes, ...happenings]) {
        if (standings.has(accountId)) continue
        const born = newcomers.get(accountId)
        const standing = born ? { accountId, tree: born.tree } : await lookUp(accountId)
        standings.set(accountId, standing ?? { accountId, tree: [] })
      }
    }
    return standings
  }

  const basesOf = async (changes: readonly Change[], known: (accountId: string) => AccountPath) => {
    const bases = new Map<Change, Base | undefined>()
    for (const change of changes) {
      const accountId = change.tree ? change.accountId : known(change.accountId).accountId
      bases.set(change, await findBase(db.all, accountId, change, clock.now()))
    }
    return bases
  }

  const write = async (sets: readonly ChangeSet[]) => {
    for (const set of sets) assertDeclared(set)
    // Gates have things to tell as well.
    if (isTelling(sets)) await deliver(sets, hearings)
    const standings = standingOf && (await standingsOf(sets, standingOf))
    const known = (accountId: string) => standings?.get(accountId) ?? { accountId, tree: [] }
    const large = sets.flatMap(({ changes }) => changes.filter(isPatchable))
    const bases = large.length > 0 ? await basesOf(large, known) : undefined
    const baseOf = (change: Change) => bases?.get(change)
    await noticing(writeOf(sets, clock, sealing, { standingOf: known, baseOf }))
  }

  const passing = (sets: readonly ChangeSet[], [gate, ...others]: readonly Gate[]): Promise<void> =>
    gate ? gate(sets, (passed) => passing(passed, others)) : write(sets)

  return {
    records: createRecords(db, sealing, cacheBytes),
    clock,
    sealing,
    all: db.all,
    scan: db.scan,
    csvLines: db.csvLines,
    scanForLines: db.scanForLines,
    linesAtOnce: db.linesAtOnce,
    fence: db.fence,
    state: db.state,
    words: sqlWordsOf(db.engine),
    generationOf: createGenerations(db),
    cdrs: createMonthlyTable(db, 'cdrs'),
    async commit(...sets) {
      // A write that nobody has to hear of begins at once: what comes together is written together.
      if (isTelling(sets)) await deliver(sets, hearings)
      await passing(sets, gates)
      for (const { author } of sets) if (author.idempotency) author.idempotency.hasCommitted = true
    },
    async adopt(...sets) {
      if (isTelling(sets)) throw new Error('a change set that is adopted has something to tell')
      await write(sets)
    },
    writeUnrecorded: (statements, stale = []) => noticing({ statements, stale }),
    writeAlone: (statements, stale = []) => noticing({ statements, stale, isAlone: true }),
    async writeObstacle() {
      try {
        await probe()
        return undefined
      } catch (error) {
        if (!isOutage(error)) throw error
        return outageInWords(error)
      }
    },
    outages: () => outages,
    hear(...added) {
      for (const hearing of added)
        hearings.set(hearing.name, [...(hearings.get(hearing.name) ?? []), hearing])
    },
    standingOf: async (accountId) => standingOf?.(accountId),
    locate(lookUp) {
      standingOf = lookUp
    },
    declareEvents(types) {
      eventTypes = types
    },
    guard: (gate) => void gates.push(gate),
  }
}

const attempts = 5

export const isConflict = (error: unknown) => isFailure(error, datastoreConflict)

// A request that others outrun so often has no chance; without a limit one that always conflicts would never end.
const maxAttempts = 100

/**
 * Repeats read-decide-commit when another writer was faster; after a few lost races the 409 goes to the caller. `first`: 2
 * for who has lost one already. Where `hasProgressed` says that the last attempt found another state than the one before,
 * it was a race that another writer won: that attempt does not count.
 */
export const retrying = async <T>(
  operation: (attempt: number) => Promise<T>,
  first = 1,
  hasProgressed: () => boolean = () => false,
): Promise<T> => {
  let attempt = first
  for (let count = 1; ; count += 1) {
    try {
      return await operation(attempt)
    } catch (error) {
      if (!isConflict(error)) throw error
      if (!hasProgressed()) attempt += 1
      if (attempt > attempts || count === maxAttempts) throw error
    }
  }
}

/** Tells of the store how much waits to be written, how fast it is, and how often a record was at hand. */
export const measureStore = (metrics: Metrics, db: Database, store: Store) => {
  metrics.gauge(
    {
      name: 'crosspoint_store_writes_waiting',
      help: 'Writes that wait for a lane.',
      isOfThread: true,
    },
    () => db.writeLoad().waiting,
  )
  metrics.gauge(
    { name: 'crosspoint_store_lanes', help: 'Connections or threads that write.' },
    () => db.writeLoad().lanes,
  )
  metrics.gauge(
    { name: 'crosspoint_store_lanes_busy', help: 'Those of them that are at work.' },
    () => db.writeLoad().busyLanes,
  )
  const sizes = metrics.histogram({
    name: 'crosspoint_store_batch_writes',
    help: 'Writes that a thread handed on together, for one durable commit.',
    bounds: [1, 2, 4, 8, 16, 32, 64],
  })
  const seconds = metrics.histogram({
    name: 'crosspoint_store_commit_duration_seconds',
    help: 'Seconds from the moment a batch of writes was handed on until it was durable.',
    bounds: secondsBounds,
  })
  db.onBatch((batch) => {
    sizes.observe(batch.writes)
    seconds.observe(batch.seconds)
  })
  metrics.counted(
    {
      name: 'crosspoint_store_cache_lookups_total',
      help: 'Records looked up by their id, by whether they were at hand.',
      labels: ['result'],
    },
    () => {
      const { hits, misses } = store.records.lookups()
      return [
        { labels: ['hit'], value: hits },
        { labels: ['miss'], value: misses },
      ]
    },
  )
  metrics.counted(
    {
      name: 'crosspoint_store_outages_total',
      help: 'Writes that failed because the store had no room, or was not there.',
    },
    () => [{ labels: [], value: store.outages() }],
  )
}
