import type { Clock } from '../lib/clock.ts'
import { datastoreConflict, isFailure, isOutage } from '../lib/failure.ts'
import { type Metrics, secondsBounds } from '../lib/metrics.ts'
import { inSpan } from '../lib/trace.ts'
import { createGenerations } from './cache.ts'
import { type AccountPath, type Author, type Change, ChangeSet, writeOf } from './change-set.ts'
import type { Database, Engine, Statement, UnrecordedStore, Write } from './db.ts'
import { type Base, findBase, isPatchable } from './entry-docs.ts'
import { createMonthlyTable } from './monthly.ts'
import { outageInWords } from './outages.ts'
import { createRecords } from './records.ts'
import { createSealing } from './sealing.ts'
import { deliver, type SignalHandler } from './signal.ts'
import { sqlWordsOf } from './sql-words.ts'

export type Store = ReturnType<typeof createStore>

type StandingOf = (accountId: string) => Promise<AccountPath | undefined>

/**
 * Checks what is to be written, may add to it, and throws to reject. `write` does the rest, so a gate can hold others off until it is
 * stored. A gate may join several commits into one `write`.
 */
export type Gate = (
  sets: readonly ChangeSet[],
  write: (sets: readonly ChangeSet[]) => Promise<void>,
) => Promise<void>

/** Commits what `fill` adds to a new change set. Returns its result. */
export const committed = async <T>(
  store: Pick<Store, 'commit'>,
  author: Author,
  fill: (set: ChangeSet) => T | Promise<T>,
): Promise<T> => {
  const set = new ChangeSet(author)
  const result = await fill(set)
  await store.commit(set)
  return result
}

// More than a full store has left in its pages.
const probeBytes = 65_536
const probeName = 'probe'

const giveRoomBack: Statement[] = [{ sql: 'DELETE FROM leases WHERE name = $1', params: [probeName] }]

// SQLite tests the lock with no statement; PostgreSQL would accept that on a standby.
const rightToWrite: Record<Engine, readonly Statement[]> = { sqlite: [], postgres: giveRoomBack }

const takeRoom: Statement[] = [
  ...giveRoomBack,
  {
    sql: 'INSERT INTO leases (name, token, holder, expires_at) VALUES ($1, $2, $3, 0) ON CONFLICT DO NOTHING',
    params: [probeName, '', ' '.repeat(probeBytes)],
  },
]

/** Writes, and notices outages. */
const createWriting = (db: Database) => {
  let isInTrouble = false
  let outages = 0

  const writing = async (write: Write) => {
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

  return {
    writing,
    outages: () => outages,
    /** Why the store accepts no writes; undefined if it does. After an outage it tests a write of a typical size. */
    async writeObstacle() {
      try {
        await probe()
        return undefined
      } catch (error) {
        if (!isOutage(error)) throw error
        return outageInWords(error)
      }
    },
  }
}

/** Reads, and the only way to write, for areas. `cacheBytes`: of cached records. */
export const createStore = (db: Database, clock: Clock, cacheBytes?: number) => {
  const hearings = new Map<string, SignalHandler[]>()
  const gates: Gate[] = []
  const sealing = createSealing()

  const { writing, ...outages } = createWriting(db)

  const isTelling = (sets: readonly ChangeSet[]) => sets.some(({ told }) => told.length > 0)

  let standingOf: StandingOf | undefined

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
    // Gates may have added signals.
    if (isTelling(sets)) await deliver(sets, hearings)
    const standings = standingOf && (await standingsOf(sets, standingOf))
    const known = (accountId: string) => standings?.get(accountId) ?? { accountId, tree: [] }
    const large = sets.flatMap(({ changes }) => changes.filter(isPatchable))
    const bases = large.length > 0 ? await basesOf(large, known) : undefined
    const baseOf = (change: Change) => bases?.get(change)
    await writing(writeOf(sets, clock, sealing, { standingOf: known, baseOf }))
  }

  const passing = (sets: readonly ChangeSet[], [gate, ...others]: readonly Gate[]): Promise<void> =>
    gate ? gate(sets, (passed) => passing(passed, others)) : write(sets)

  const { all, scan, csvLines, scanForLines, linesAtOnce, fence, state } = db
  const unrecorded: UnrecordedStore = {
    all,
    writeUnrecorded: (statements, stale = []) => writing({ statements, stale }),
    writeAlone: (statements, stale = []) => writing({ statements, stale, isAlone: true }),
  }

  return {
    ...unrecorded,
    ...outages,
    scan,
    csvLines,
    scanForLines,
    linesAtOnce,
    fence,
    state,
    records: createRecords(db, sealing, cacheBytes),
    clock,
    sealing,
    words: sqlWordsOf(db.engine),
    generationOf: createGenerations(db),
    cdrs: createMonthlyTable(db, 'cdrs'),
    /** Writes change sets with audit entries, events and jobs in one durable transaction, after signals and gates. */
    async commit(...sets: ChangeSet[]) {
      if (isTelling(sets)) await deliver(sets, hearings)
      await passing(sets, gates)
      for (const { author } of sets) if (author.idempotency) author.idempotency.hasCommitted = true
    },
    /** The same for imported records: no gates and no signals. */
    async adopt(...sets: ChangeSet[]) {
      if (isTelling(sets)) throw new Error('an adopted change set has signals')
      await write(sets)
    },
    hear(...added: readonly SignalHandler[]) {
      for (const hearing of added)
        hearings.set(hearing.name, [...(hearings.get(hearing.name) ?? []), hearing])
    },
    /** For `system` the master account. Undefined if it does not exist. */
    standingOf: async (accountId: string) => standingOf?.(accountId),
    locate(lookUp: StandingOf) {
      standingOf = lookUp
    },
    guard: (gate: Gate) => void gates.push(gate),
  }
}

const attempts = 5

export const isConflict = (error: unknown) => isFailure(error, datastoreConflict)

// Ends a request that always conflicts.
const maxAttempts = 100

/**
 * Repeats an operation after lost races; then the 409 is thrown. `first`: 2 after one lost race. An attempt does not count if
 * `hasProgressed` says that another writer won since the one before.
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

export const measureStore = (metrics: Metrics, db: Database, store: Store) => {
  const gauge = (name: string, help: string, read: () => number, isOfThread = false) =>
    metrics.gauge(isOfThread ? { name, help, isOfThread } : { name, help }, read)
  gauge(
    'crosspoint_store_writes_waiting',
    'Writes that wait for a free writer.',
    () => db.writeLoad().waiting,
    true,
  )
  gauge('crosspoint_store_writers', 'Database connections or threads that write.', () => db.writeLoad().lanes)
  gauge('crosspoint_store_writers_busy', 'Writers that are writing.', () => db.writeLoad().busyLanes)
  const sizes = metrics.histogram({
    name: 'crosspoint_store_batch_writes',
    help: 'Writes in one commit.',
    bounds: [1, 2, 4, 8, 16, 32, 64],
  })
  const seconds = metrics.histogram({
    name: 'crosspoint_store_commit_duration_seconds',
    help: 'Seconds from the start of a commit until its writes are durable.',
    bounds: secondsBounds,
  })
  db.onBatch((batch) => {
    sizes.observe(batch.writes)
    seconds.observe(batch.seconds)
  })
  metrics.counted(
    {
      name: 'crosspoint_store_cache_lookups_total',
      help: 'Records read by ID, by cache result.',
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
      help: 'Writes that failed because the disk was full or the store was unreachable.',
    },
    () => [{ labels: [], value: store.outages() }],
  )
}
