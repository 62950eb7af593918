import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease, Leases } from '../jobs/leases.ts'
import { describeError, type Log } from '../lib/log.ts'
import { feedKey, systemScope } from '../storage/change-set.ts'
import { cacheKey, type Database } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import { createOrder, maxEventsPerBatch } from './order.sql.ts'

/** Wakes readers of the feed. */
export const orderedKey = cacheKey(systemScope, 'feed', 'ordered')

// Entries of this time are numbered together.
const gatherMs = 20
// Finds entries without a wake-up, and dead processes.
const idlePollMs = 1000

interface Deps {
  store: Store
  db: Pick<Database, 'onStale'>
  leases: Leases
  log: Log
}

/** Numbers entries where the store does not, in one process at a time. Entries without a number are shown to no reader, so that readers miss nothing. */
export const createSequencer = ({ store, db, leases, log }: Deps) => {
  const order = createOrder(store)
  let lease: Lease | undefined
  let running: Promise<void> | undefined
  let isWoken = false
  let isStopped = false

  const hold = async () => {
    if (lease && !lease.lost.aborted) return lease
    lease = await leases.take('feed')
    order.forget()
    return lease
  }

  const placeAll = async () => {
    const held = await hold()
    if (!held) return
    while (!held.lost.aborted) {
      isWoken = false
      if ((await order.placeNext(held.guardStatement(), [orderedKey])) === maxEventsPerBatch) continue
      if (!isWoken || isStopped) return
      await sleep(gatherMs)
    }
  }

  const run = async () => {
    try {
      await sleep(gatherMs)
      await placeAll()
    } catch (error) {
      // The next look tries again.
      log.write('warn', 'committed events could not be ordered', { error: describeError(error) })
    }
  }

  const wake = () => {
    isWoken = true
    if (isStopped || running) return
    running = run().finally(() => {
      running = undefined
    })
  }

  const timer = setInterval(wake, idlePollMs)
  timer.unref()
  db.onStale((keys) => {
    if (keys === 'everything' || keys.includes(feedKey)) wake()
  })

  return {
    wake,
    /** Numbers what was committed before, and lets another process continue. */
    async stop() {
      clearInterval(timer)
      isStopped = true
      await running
      if (lease) await placeAll().catch(() => undefined)
    },
  }
}
