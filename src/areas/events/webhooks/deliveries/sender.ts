import { setTimeout as sleep } from 'node:timers/promises'
import { sequenceText } from '../../../../events/events.ts'
import type { Feed } from '../../../../events/feed.ts'
import type { Lease } from '../../../../jobs/leases.ts'
import type { ScheduledJob, Scheduler } from '../../../../jobs/scheduler.ts'
import type { Waker } from '../../../../jobs/waker.ts'
import { isOutage } from '../../../../lib/failure.ts'
import { evictOldest } from '../../../../lib/forget-oldest.ts'
import { createBatcher } from '../../../../lib/gathering.ts'
import { randomHex } from '../../../../lib/ids.ts'
import { inParallel } from '../../../../lib/in-parallel.ts'
import { describeError } from '../../../../lib/log.ts'
import type { Statement } from '../../../../storage/db.ts'
import type { DepsOf } from '../../../area.ts'
import { disableAfterMs } from '../rules.ts'
import { webhookSettings } from '../settings.ts'
import type { WebhookRecord, WebhookStore } from '../store.ts'
import type { Tried, WebhookSender } from './courier.ts'
import { isLeftOut, maxDeliveryLifeMs, nextTry, webhookEventOf } from './payload.ts'
import type { AttemptStore, Delivery, DeliveryStore, HookPlace } from './store.ts'

interface Deps extends DepsOf<'store' | 'settings' | 'leases' | 'log'> {
  scheduler: Pick<Scheduler, 'isHeld'>
  feed: Pick<Feed, 'one'>
  hooks: Pick<WebhookStore, 'find'>
  rows: DeliveryStore
  attempts: AttemptStore
  courier: WebhookSender
  sending: Waker
  /** After a day of failures. */
  switchOff(hook: WebhookRecord, lease: Lease): Promise<void>
}

// A slow receiver occupies one slot.
const hooksAtOnce = 200
// Slots of one account.
const turnsOfAccount = 40
// Then other webhooks get the slot.
const turnMs = 10_000
const lookedAt = 200
// Deliveries of one record in a row.
const ofLaneAtOnce = 25
const lookEveryMs = 500
// Another process delivers to this webhook.
const occupiedPauseMs = 300
// Deliveries of a disabled webhook are checked again after this time.
const deliveryLeaseMs = 60_000
const maxKnown = 10_000
const maxNoted = 100

interface Turn {
  place: HookPlace
  lease: Lease
  signal: AbortSignal
  /** Unix milliseconds; undefined: the last attempt succeeded. */
  failingSince: number | undefined
  isOver(): boolean
}

interface Note {
  /** The account whose attempts are logged: its server may be unreachable. */
  loggedBy?: string
  statements: readonly Statement[]
}

const wait = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => undefined)

/** Sends one delivery and stores the result. */
const createAttempts = ({ store, feed, log, rows, attempts, courier }: Deps) => {
  const { clock } = store

  const note = createBatcher(
    maxNoted,
    async (all: readonly Note[]) => {
      await store.writeUnrecorded(all.flatMap(({ statements }) => statements))
      return all.map(() => undefined)
    },
    ({ loggedBy = '' }) => loggedBy,
  )

  const rest = (delivery: Delivery, dueAt: number | undefined) =>
    dueAt === undefined ? [rows.forget(delivery)] : rows.postpone(delivery, dueAt)

  const consequences = (turn: Turn, delivery: Delivery, { dueAt, verdict }: Tried): Statement[] => {
    if (verdict !== 'success') return [...rest(delivery, dueAt), rows.failing(turn.place, clock.now())]
    return [
      ...rest(delivery, dueAt),
      ...(turn.failingSince === undefined ? [] : [rows.sound(delivery.hookId)]),
    ]
  }

  /** The result counts more than the log of attempts: otherwise a delivery would be repeated until the log can be written. */
  const settle = async (
    { accountId }: Delivery,
    attempt: Tried['attempt'],
    statements: readonly Statement[],
  ) => {
    try {
      await note({ loggedBy: accountId, statements: [attempts.add(accountId, attempt), ...statements] })
    } catch (error) {
      if (!isOutage(error)) throw error
      await note({ statements })
    }
  }

  /** A fault of this server is retried as if the receiver had not responded. */
  const noteFault = async (delivery: Delivery, error: unknown): Promise<undefined> => {
    const { hookId, accountId, attempts: tries, since } = delivery
    const facts = { hook_id: hookId, account_id: accountId, error: describeError(error) }
    log.write('error', 'a webhook delivery failed', facts)
    const dueAt = nextTry({ attempts: tries + 1, since, now: clock.now() })
    await note({ statements: rest(delivery, dueAt) })
  }

  const send = async (turn: Turn, hook: WebhookRecord, { sequence, attempts: tries, since }: Delivery) => {
    const found = await feed.one(sequence)
    const event = found && webhookEventOf(found)
    // The event has expired.
    if (!event || isLeftOut(hook.doc, event)) return 'nothing'
    const { trace } = found.author
    const delivery = { eventId: sequenceText(sequence), event, trace, attempts: tries, since }
    return courier.send(hook, delivery, turn.signal)
  }

  /** Returns whether the next delivery of the record may follow. */
  return async (turn: Turn, hook: WebhookRecord, delivery: Delivery): Promise<boolean> => {
    const tried = await send(turn, hook, delivery).catch((error) => noteFault(delivery, error))
    if (!tried) return false
    if (tried === 'nothing') {
      await note({ statements: [rows.forget(delivery)] })
      return true
    }
    await settle(delivery, tried.attempt, consequences(turn, delivery, tried))
    turn.failingSince = tried.verdict === 'success' ? undefined : (turn.failingSince ?? clock.now())
    return tried.dueAt === undefined
  }
}

const isDone = (turn: Turn) => turn.signal.aborted || turn.isOver()

/** Serves a webhook for one turn. `hold`: its deliveries need not be checked for a while. */
const createTurns = (deps: Deps, hold: (hookId: string) => void) => {
  const { store, settings, hooks, rows, switchOff } = deps
  const { clock } = store
  const deliver = createAttempts(deps)

  /** A failed delivery is repeated before later ones of the record. */
  const sendLane = async (turn: Turn, hook: WebhookRecord, lane: string) => {
    const waiting = await rows.ofLane(hook.id, lane, ofLaneAtOnce)
    const [first] = waiting
    if (first && first.dueAt > clock.now()) return rows.lineUp(first)
    for (const delivery of waiting) {
      if (isDone(turn) || !(await deliver(turn, hook, delivery))) return
    }
  }

  /** A lane with many deliveries must not hide others. */
  const dueLanes = async (hookId: string, most: number) => {
    const lanes = new Set<string>()
    while (lanes.size < most) {
      const found = await rows.dueLanes(hookId, clock.now(), [...lanes], lookedAt)
      for (const lane of found) lanes.add(lane)
      if (found.length < lookedAt) break
    }
    return lanes
  }

  return async (turn: Turn) => {
    const { hookId, accountId } = turn.place
    while (!isDone(turn)) {
      // Another process may have changed the webhook.
      await store.fence()
      const { deliveries_at_once: atOnce } = await settings.of(webhookSettings)
      const lanes = await dueLanes(hookId, atOnce)
      if (lanes.size === 0) return
      const hook = await hooks.find(accountId, hookId)
      if (!hook) return store.writeUnrecorded(rows.forgetHook(hookId))
      if (!hook.doc.enabled) {
        hold(hookId)
        // Deliveries of a disabled webhook wait for three days in total.
        return rows.forgetBefore(hookId, clock.now() - maxDeliveryLifeMs, turn.signal)
      }
      await inParallel(
        lanes,
        atOnce,
        (lane) => sendLane(turn, hook, lane),
        () => isDone(turn),
      )
      const { failingSince } = turn
      if (failingSince !== undefined && clock.now() - failingSince >= disableAfterMs)
        await switchOff(hook, turn.lease)
    }
  }
}

/** Sends queued deliveries. One process at a time serves a webhook, so that deliveries of one record stay in order. */
export const createSender = (deps: Deps): ScheduledJob => {
  const { store, leases, scheduler, log, hooks, rows, sending } = deps
  const { clock } = store
  const turns = new Map<string, { accountId: string; turn: Promise<void> }>()
  /** Disabled webhooks, and until when (Unix milliseconds) their deliveries are not checked. */
  const held = new Map<string, number>()
  const begun = new Map<string, number>()
  let lastLookedAt = ''
  /** No further work begins in a slot. */
  let isEnding = false

  const serve = createTurns(deps, (hookId) => {
    held.set(hookId, clock.now() + deliveryLeaseMs)
    evictOldest(held, maxKnown)
  })

  const take = async (place: HookPlace, signal: AbortSignal) => {
    const lease = await leases.take(`webhook/${place.hookId}`)
    if (!lease) return wait(occupiedPauseMs, signal)
    const begun = performance.now()
    try {
      await serve({
        place,
        lease,
        signal: AbortSignal.any([signal, lease.lost]),
        failingSince: await rows.failingSince(place.hookId),
        isOver: () => isEnding || performance.now() - begun > turnMs,
      })
    } finally {
      await lease.release()
    }
  }

  /** Slow receivers of one account leave slots for others. */
  const mayBegin = ({ accountId, hookId }: HookPlace) =>
    !turns.has(hookId) &&
    turns
      .values()
      .filter((turn) => turn.accountId === accountId)
      .take(turnsOfAccount)
      .toArray().length < turnsOfAccount

  const isHeld = async ({ accountId, hookId }: HookPlace) =>
    (held.get(hookId) ?? 0) > clock.now() && (await hooks.find(accountId, hookId))?.doc.enabled === false

  const begin = ({ hookId, accountId }: HookPlace, signal: AbortSignal) => {
    begun.delete(hookId)
    begun.set(hookId, performance.now())
    evictOldest(begun, maxKnown)
    const turn = take({ hookId, accountId }, signal)
      .catch(async (error) => {
        if (signal.aborted) return
        const facts = { hook_id: hookId, account_id: accountId, error: describeError(error) }
        log.write('error', 'a webhook delivery failed', facts)
        await wait(lookEveryMs, signal)
      })
      .finally(() => {
        turns.delete(hookId)
        sending.ring()
      })
    turns.set(hookId, { accountId, turn })
  }

  const beginTurns = async (signal: AbortSignal) => {
    if (turns.size >= hooksAtOnce) return
    const due = await rows.dueHooks(clock.now(), lastLookedAt, hooksAtOnce)
    const isMore = due.length === hooksAtOnce
    lastLookedAt = isMore ? (due.at(-1)?.hookId ?? '') : ''
    const longestWithoutTurn = due.toSorted((a, b) => (begun.get(a.hookId) ?? 0) - (begun.get(b.hookId) ?? 0))
    for (const place of longestWithoutTurn) {
      if (turns.size >= hooksAtOnce) return
      if (mayBegin(place) && !(await isHeld(place))) begin(place, signal)
    }
    if (isMore) sending.ring()
  }

  return {
    // Each process has its own job.
    name: `webhook deliveries of ${randomHex(8)}`,
    everySeconds: 1,
    due: async () => true,
    async run(signal) {
      isEnding = false
      while (!signal.aborted && !(await scheduler.isHeld())) {
        await beginTurns(signal)
        await sending.heard(lookEveryMs, signal)
      }
      isEnding = true
      await Promise.all(turns.values().map(({ turn }) => turn))
    },
  }
}
