import { setTimeout as sleep } from 'node:timers/promises'
import type { FeedEvent } from '../../events/events.ts'
import type { Feed } from '../../events/feed.ts'
import { masterClaim } from '../../first-start.ts'
import type { Lease, Leases } from '../../jobs/leases.ts'
import { inOneLine } from '../../jobs/queue.ts'
import type { Log } from '../../lib/log.ts'
import { inTrace } from '../../lib/trace.ts'
import type { Calls } from '../../outgoing/calls.ts'
import type { Settings } from '../../settings/settings.ts'
import { ChangeSet } from '../../storage/change-set.ts'
import { retrying, type Store } from '../../storage/store.ts'
import type { Alerts } from '../alerts/operations.ts'
import { type Broker, createBroker } from './broker.ts'
import { alertOf, hostOf, isSameTarget, type Target } from './rules.ts'
import { createCursorStore } from './store.ts'

interface Tools {
  store: Store
  settings: Settings
  leases: Leases
  feed: Feed
  log: Log
  calls: Calls
  alerts: Pick<Alerts, 'raise' | 'withdraw'>
}

// A setting takes effect, and a process that is gone is followed, within this time.
const lookMs = 1000
// What comes within this time is published together.
const gatherMs = 8
const mostAtOnce = 200
// What was published since is published again after a death: repeats are cheap, a write for each event is not.
const cursorMs = 250
const cause = 'message_bus'
// A broker that is restarted is no news.
const patienceMs = 60_000

/** What this process does while it is the one that publishes. */
interface Shift {
  lease: Lease
  target: Target
  broker: Broker
  /** Confirmed up to here. */
  position: number
  /** Of that, known to the store. */
  saved: number
}

interface Outage {
  since: number
  isRaised: boolean
}

export type MessageBus = ReturnType<typeof createMessageBus>

/**
 * Publishes every event to a broker: of all processes one at a time, in the order of the feed, from where the broker
 * has confirmed it last. What was on its way when a process or a broker died is published again.
 */
export const createMessageBus = (tools: Tools) => {
  const { store, settings, leases, feed, log, alerts, calls } = tools
  const { clock } = store
  const cursor = createCursorStore(store)
  let shift: Shift | undefined
  let outage: Outage | undefined
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let cursorTimer: NodeJS.Timeout | undefined
  let unfollow: (() => void) | undefined
  let isWoken = false
  let isStopped = false

  const wanted = async (): Promise<Target | undefined> => {
    const { url, exchange } = (await settings.of('events')).amqp
    return url === undefined ? undefined : { url, exchange }
  }

  const save = async (held: Shift) => {
    if (held.saved === held.position || held.lease.lost.aborted) return
    const { position } = held
    await cursor.write(position, held.lease.guardStatement())
    held.saved = position
  }

  const saveSoon = (held: Shift) => {
    cursorTimer ??= setTimeout(() => {
      cursorTimer = undefined
      // Whatever keeps it from being saved is met by the next one.
      save(held).catch(() => undefined)
    }, cursorMs).unref()
  }

  const commit = (add: (set: ChangeSet) => Promise<void>) =>
    retrying(async () => {
      const set = new ChangeSet({ requestId: cause })
      await add(set)
      if (set.changes.length > 0) await store.commit(set)
    })

  /** Told once for each time that nobody is there, and to operators when it lasts. */
  const noteFailure = async (target: Target, error: unknown) => {
    const reason = inOneLine(error instanceof Error ? error.message : String(error))
    const now = clock.now()
    if (!outage) log.write('warn', 'the message bus cannot be reached', { host: hostOf(target), reason })
    outage ??= { since: now, isRaised: false }
    if (outage.isRaised || now - outage.since < patienceMs) return
    const master = await store.records.claimant(masterClaim)
    if (!master) return
    await commit((set) => alerts.raise(set, cause, alertOf(hostOf(target), reason, master.accountId)))
    outage.isRaised = true
  }

  const withdraw = () => commit((set) => alerts.withdraw(set, cause))

  const noteSuccess = async (target: Target) => {
    if (!outage) return
    log.write('info', 'the message bus is reached again', { host: hostOf(target) })
    outage = undefined
    await withdraw()
  }

  /** Lets another process, or another broker, go on. */
  const end = async () => {
    const held = shift
    shift = undefined
    unfollow?.()
    unfollow = undefined
    if (!held) return
    held.broker.close()
    try {
      await save(held)
    } finally {
      await held.lease.release()
    }
  }

  const begin = async (target: Target): Promise<Shift | undefined> => {
    const lease = await leases.take(cause)
    if (!lease) return undefined
    const position = await cursor.read()
    shift = { lease, target, broker: createBroker(target, calls), position, saved: position }
    unfollow = feed.onMore(wake)
    // The one who met an outage may be gone.
    await withdraw()
    return shift
  }

  const shiftFor = async (target: Target) => {
    if (shift && (shift.lease.lost.aborted || !isSameTarget(shift.target, target))) await end()
    return shift ?? begin(target)
  }

  /** Connects anew, and goes on where the broker has confirmed it last. */
  const renew = (held: Shift) => {
    held.broker.close()
    held.broker = createBroker(held.target, calls)
  }

  const publishNext = async (held: Shift): Promise<readonly FeedEvent[]> => {
    const events = await feed.all(held.position, mostAtOnce)
    const last = events.at(-1)
    if (!last) return events
    await held.broker.publish(events)
    held.position = last.sequence
    saveSoon(held)
    await noteSuccess(held.target)
    return events
  }

  const publishAll = async (target: Target) => {
    const held = await shiftFor(target)
    while (held && !held.lease.lost.aborted && !isStopped) {
      isWoken = false
      const events = await publishNext(held)
      if (!isSameTarget(target, (await wanted()) ?? { url: '', exchange: '' })) return
      if (events.length > 0) continue
      if (!isWoken) return
      await sleep(gatherMs)
    }
  }

  const run = async () => {
    await store.fence()
    const target = await wanted()
    if (!target) {
      if (outage) await withdraw()
      outage = undefined
      return end()
    }
    try {
      await publishAll(target)
    } catch (error) {
      if (isStopped) return
      if (shift) renew(shift)
      await noteFailure(target, error)
    }
  }

  function wake() {
    isWoken = true
    if (isStopped || running) return
    // Whoever has woken it is not the one it works for.
    running = inTrace(undefined, run)
      .catch((error) => {
        // The store is not there: the next look tries again.
        log.write('warn', 'events could not be published', { reason: inOneLine(String(error)) })
      })
      .finally(() => {
        running = undefined
      })
  }

  return {
    /** To be called when the server is put together. */
    start() {
      timer = setInterval(wake, lookMs)
      timer.unref()
      wake()
    },

    async stop() {
      isStopped = true
      clearInterval(timer)
      clearTimeout(cursorTimer)
      // Whoever waits for a broker waits no longer: what it has not confirmed is published by the next one.
      shift?.broker.close()
      await running
      await end()
    },
  }
}
