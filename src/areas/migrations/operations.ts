import { setTimeout as sleep } from 'node:timers/promises'
import type { AccountRecord, Actor } from '../../auth/identity.ts'
import type { Round, Rounds } from '../../jobs/rounds.ts'
import { failure } from '../../lib/failure.ts'
import { gregorianNow } from '../../lib/gregorian.ts'
import { newId } from '../../lib/ids.ts'
import type { Log } from '../../lib/log.ts'
import type { Attached } from '../../storage/attachment.ts'
import { type Author, ChangeSet } from '../../storage/change-set.ts'
import { retrying, type Store } from '../../storage/store.ts'
import { isSameReach, performerOf, type Reach } from './rules.ts'
import { createRunner, type Work } from './runner.ts'
import { createMigrationStore, type Run } from './store.ts'

/** Something that can be put right in accounts. */
export interface Migration extends Work {
  description: string
}

interface Tools {
  store: Store
  rounds: Rounds
  log: Log
  migrations: Readonly<Record<string, Migration>>
}

interface Order {
  actor: Actor
  author: Author
  account: AccountRecord
  /** The id of the migration. */
  id: string
  /** What the client sent for `perform_migration`. */
  moment: unknown
  reach: Reach
}

// A run that ends within it is answered with its outcome.
const patienceMs = 2000
const pauseMs = 25
// More ids than these are not listed.
const mostIds = 1000
const mostFailures = 100
const runsAtOnce = 50

const roundName = 'migrations'

export type Migrations = ReturnType<typeof createMigrations>

/** Migrations of accounts: what there is, what was performed, and runs that go on in the background. */
export const createMigrations = ({ store, rounds, log, migrations }: Tools) => {
  const books = createMigrationStore(store)
  const known = new Map(Object.entries(migrations))
  const runner = createRunner({ store, books, log, find: (id) => known.get(id) })

  const statusOf = ({ started, ended }: Run) => {
    if (ended !== undefined) return 'finished'
    return started === undefined ? 'waiting' : 'running'
  }

  const view = async (run: Run) => ({
    id: run.id,
    status: statusOf(run),
    include_descendants: run.includesDescendants,
    include_resellers: run.includesResellers,
    requested_time: run.requested,
    ...(run.started === undefined ? {} : { started_time: run.started }),
    ...(run.ended === undefined ? {} : { ended_time: run.ended }),
    total: run.total,
    performed: run.performed,
    failed: run.failed,
    skipped: run.skipped,
    changed: run.changed,
    failures: run.failed > 0 ? await books.failures(run, mostFailures) : [],
    ...run.performer,
  })

  /** The run that is asked for: a new one, or the one that does the same already. */
  const enter = ({ actor, author, account, id, reach }: Order): Promise<Run | undefined> =>
    retrying(async () => {
      const place = { accountId: account.id, id: newId(store.clock.now()) }
      const open = await books.open(account.id, id)
      if (open && isSameReach(open, reach)) return open
      if (open)
        throw failure('datastore_conflict', { message: 'this migration is running here, for other accounts' })
      const { idempotency: _, ...kept } = author
      const set = new ChangeSet(author)
      books.add(set, {
        ...place,
        ...reach,
        migration: id,
        author: kept,
        performer: performerOf(actor),
        requested: gregorianNow(store.clock),
        total: reach.includesDescendants ? account.tally + 1 : 1,
      })
      const after = JSON.stringify({
        migration: id,
        include_descendants: reach.includesDescendants,
        include_resellers: reach.includesResellers,
      })
      set.record({ accountId: account.id, kind: 'migration_run', id: place.id, action: 'created', after })
      await store.commit(set)
      return books.find(place)
    })

  /** The run when it has ended, or as it is after a while. */
  const awaited = async (run: Run): Promise<Run> => {
    rounds.nudge(roundName)
    let latest = run
    for (let waited = 0; waited < patienceMs && latest.ended === undefined; waited += pauseMs) {
      await sleep(pauseMs)
      latest = (await books.find(run)) ?? latest
    }
    return latest
  }

  /** Runs take turns, so that a short one does not wait for a long one to end. */
  const round: Round = {
    name: roundName,
    everySeconds: 2,
    due: async () => (await books.waiting(1)).length > 0,
    async run(signal, guard) {
      for (;;) {
        const runs = await books.waiting(runsAtOnce)
        if (runs.length === 0) return
        for (const run of runs) {
          if (signal.aborted) return
          await runner.advance(run, guard)
        }
      }
    },
  }

  const leaving: Attached = {
    async removeWith(set, { accountId }) {
      books.removeWithAccount(set, accountId)
    },
  }

  return {
    round,
    /** What goes with an account that is removed. */
    leaving,

    list: () => Object.fromEntries([...known].map(([id, { description }]) => [id, description])),

    /** Whether the account went through a migration, by whom and when; and its last run from here, if any. */
    async read(account: AccountRecord, id: string) {
      const description = known.get(id)?.description
      if (description === undefined) throw failure('bad_identifier', { cause: id })
      const performed = await books.performedOn(account.id, id)
      const run = await books.latest(account.id, id)
      return {
        id,
        description,
        performed: performed !== undefined,
        ...(performed
          ? { performed_time: performed.at, changed: performed.changed, ...performed.performer }
          : {}),
        ...(run ? { run: await view(run) } : {}),
      }
    },

    /** Has it performed. Answers when that is done, or after two seconds with how far it is. */
    async perform(order: Order) {
      if (order.moment !== 'now') throw failure('migration_failed', { error: 'invalid action time' })
      if (!known.has(order.id)) throw failure('migration_invalid', {})
      const entered = await enter(order)
      if (!entered) throw failure('bad_identifier', { cause: order.account.id })
      const run = await awaited(entered)
      const isDone = run.ended !== undefined
      const isShort = run.performed <= mostIds
      return {
        isDone,
        data: {
          ...(isDone && isShort ? { performed_on: await books.performedBy(run, mostIds) } : {}),
          run: await view(run),
        },
      }
    },
  }
}
