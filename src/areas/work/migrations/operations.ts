import { setTimeout as sleep } from 'node:timers/promises'
import type { AccountRecord, Actor } from '../../../auth/identity.ts'
import { type BatchDeps, createBatches } from '../../../batches/batches.ts'
import { badIdentifier, datastoreConflict, failure, invalid } from '../../../lib/failure.ts'
import { gregorianNow, gregorianOfUnix } from '../../../lib/gregorian.ts'
import { newId } from '../../../lib/ids.ts'
import type { Author, ChangeSet, ClaimHolder } from '../../../storage/change-set.ts'
import { committed, retrying, type Store } from '../../../storage/store.ts'
import type { Migration } from '../../area.ts'
import { createMigrationRunner } from './runner.ts'
import {
  createMigrationStore,
  isSameReach,
  type MigrationStore,
  orderedIn,
  performerOf,
  type Reach,
  runPositionIn,
  type StoredRun,
} from './store.ts'

interface Deps extends BatchDeps {
  store: Store
  migrations: Readonly<Record<string, Migration>>
}

interface MigrationRequest {
  actor: Actor
  author: Author
  account: AccountRecord
  /** The ID of the migration. */
  id: string
  moment: unknown
  reach: Reach
}

// If a run ends within this time, the response contains its result.
const answerTimeoutMs = 2000
const pollMs = 25
// Longer lists of accounts are left out.
const maxIds = 1000
const maxFailures = 100
// Runs take turns, so that short ones do not wait for long ones.
const turnMs = 300

const notNow = () =>
  invalid({
    migration: {
      failed: { message: 'Field perform_migration must be now', error: 'invalid action time', target: 'now' },
    },
  })

const notKnown = () =>
  invalid({ migration: { invalid: { message: 'There is no such migration', migration: 'not found' } } })

const viewOf = async (run: StoredRun, books: MigrationStore) => {
  const { id, state, since, succeeded: performed, failed } = run
  const { includesDescendants, includesResellers, requested, total, performer } = orderedIn(run)
  const { started, skipped, changed } = runPositionIn(run.position)
  const isDone = state === 'ended'
  const ended = isDone ? gregorianOfUnix(since / 1000) : undefined
  const statusBefore = started === undefined ? 'waiting' : 'running'
  return {
    id,
    status: isDone ? 'finished' : statusBefore,
    include_descendants: includesDescendants,
    include_resellers: includesResellers,
    requested_time: requested,
    started_time: started ?? ended,
    ended_time: ended,
    total,
    performed,
    failed,
    skipped,
    changed,
    failures: failed > 0 ? await books.failures(run, maxFailures) : [],
    ...performer,
  }
}

/** A new run, or the current one if it does the same. */
const startRun = (
  { actor, author, account, id: migration, reach }: MigrationRequest,
  { store, runs }: { store: Store; runs: MigrationStore['runs'] },
) =>
  retrying(async (): Promise<StoredRun | undefined> => {
    const key = { accountId: account.id, id: newId(store.clock.now()) }
    const latest = await runs.latest(account.id, migration)
    if (latest?.state === 'executing') {
      if (isSameReach(orderedIn(latest), reach)) return latest
      throw failure(datastoreConflict, {
        message: 'this migration is already running for other accounts. Wait until it ends',
      })
    }
    const { idempotency: _, ...kept } = author
    const { includesDescendants: include_descendants, includesResellers: include_resellers } = reach
    const detail = {
      ...reach,
      author: kept,
      performer: performerOf(actor),
      requested: gregorianNow(store.clock),
      total: include_descendants ? account.tally + 1 : 1,
    }
    await committed(store, author, (set) => {
      runs.removeEnded(set, account.id, migration)
      set.add(runs.insert(key, 'executing', { subject: migration, detail }))
      const after = JSON.stringify({ migration, include_descendants, include_resellers })
      set.record({ accountId: account.id, kind: 'migration_run', id: key.id, action: 'created', after })
    })
    return runs.run(key)
  })

export type Migrations = ReturnType<typeof createMigrations>

export const createMigrations = ({ store, migrations, ...deps }: Deps) => {
  const books = createMigrationStore(store)
  const { runs } = books
  const known = new Map(Object.entries(migrations))
  const batches = createBatches({
    ...deps,
    base: store,
    runs,
    maxConcurrentRuns: async () => 1,
    turnMs,
    work: createMigrationRunner({ store, books, log: deps.log, find: (id) => known.get(id) }),
  })

  /** The run when it has ended, or after some time. */
  const awaited = async (run: StoredRun): Promise<StoredRun> => {
    batches.wake()
    let latest = run
    for (let waited = 0; waited < answerTimeoutMs && latest.state === 'executing'; waited += pollMs) {
      await sleep(pollMs)
      latest = (await runs.run(run)) ?? latest
    }
    return latest
  }

  return {
    jobs: batches.jobs,
    stop: batches.stop,

    removeWith: async (set: ChangeSet, { accountId }: Pick<ClaimHolder, 'accountId'>) =>
      books.removeWithAccount(set, accountId),

    list: () => Object.fromEntries([...known].map(([id, { description }]) => [id, description])),

    async read(account: AccountRecord, id: string) {
      const description = known.get(id)?.description
      if (description === undefined) throw failure(badIdentifier, { cause: id })
      const performed = await books.performedOn(account.id, id)
      const run = await runs.latest(account.id, id)
      return {
        id,
        description,
        performed: performed !== undefined,
        ...(performed
          ? { performed_time: performed.at, changed: performed.changed, ...performed.performer }
          : {}),
        ...(run ? { run: await viewOf(run, books) } : {}),
      }
    },

    /** Starts a run. Returns when it has ended, or its progress after two seconds. */
    async perform(order: MigrationRequest) {
      if (order.moment !== 'now') throw notNow()
      if (!known.has(order.id)) throw notKnown()
      const started = await startRun(order, { store, runs })
      if (!started) throw failure(badIdentifier, { cause: order.account.id })
      const run = await awaited(started)
      const isDone = run.state === 'ended'
      const isListed = isDone && run.succeeded <= maxIds
      const performed = isListed ? { performed_on: await books.performedBy(run, maxIds) } : {}
      return { isDone, data: { ...performed, run: await viewOf(run, books) } }
    },
  }
}
