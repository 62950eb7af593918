// The old store of a move: it takes no writes from the start of the copy.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../config/config.ts'
import { createOrder } from '../../events/order.sql.ts'
import { createLeases, type Leases } from '../../jobs/leases.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Database } from '../../storage/db.ts'
import {
  closeStore,
  hasUnorderedEntries,
  readScheduleLeases,
  reopenStore,
} from '../../storage/moving/marks.ts'
import { Refusal } from '../../storage/saved-store.ts'
import type { Store } from '../../storage/store.ts'
import { createCommandLog } from '../command-log.ts'
import { openStore } from '../open-store.ts'
import { requireKey } from './places.ts'

interface OldStore {
  store: Store
  db: Database
  leases: Leases
}

const orderPauseMs = 100

/** Numbers all audit entries: the engines sort unnumbered ones differently. */
const orderEntries = async ({ store, leases }: OldStore) => {
  const lease = await leases.take('feed')
  // A server is doing it.
  if (!lease) return sleep(orderPauseMs)
  const order = createOrder(store)
  while ((await order.placeNext(lease.guardStatement(), [])) > 0);
  await lease.release()
}

const jobPauseMs = 200
// Longer jobs, such as tasks, are interrupted and continue on the new store.
const maxJobWaitMs = 30_000

/** Waits for scheduled jobs in progress, so that sent mail is recorded as sent. */
const awaitScheduledJobs = async ({ db, leases }: OldStore) => {
  const end = performance.now() + maxJobWaitMs
  let running = await readScheduleLeases(db)
  for (;;) {
    const held = await Promise.all(running.map(({ name }) => leases.isHeld(name)))
    const tokens = new Set((await readScheduleLeases(db)).map(({ token }) => token))
    running = running.filter(({ token }, index) => held[index] && tokens.has(token))
    if (running.length === 0 || performance.now() > end) return
    await sleep(jobPauseMs)
  }
}

/** The store stays closed when this process ends. */
export const closeOldStore = async (old: OldStore, tables: readonly string[]) => {
  await awaitScheduledJobs(old)
  for (;;) {
    await orderEntries(old)
    await closeStore(old.db, tables)
    if (!(await hasUnorderedEntries(old.db))) return
    // Written in between.
    await reopenStore(old.db)
  }
}

/** Only one process may move a store. */
export const withOldStore = async <T>(config: Config, work: (old: OldStore) => Promise<T>): Promise<T> => {
  requireKey(config.dataDir)
  const { store, db, close } = await openStore(config, systemClock)
  const leases = createLeases(store, systemClock, createCommandLog(config, 'warn'))
  try {
    if (!(await leases.take('move'))) throw new Refusal('another `crosspoint move` of this store is running')
    return await work({ store, db, leases })
  } finally {
    await leases.stop()
    await close()
  }
}
