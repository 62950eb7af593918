import { setTimeout as sleep } from 'node:timers/promises'
import { accountKind } from '../../../../auth/identity.ts'
import type { Feed, FeedMention, FeedPage } from '../../../../events/feed.ts'
import type { EventQuery } from '../../../../events/store.ts'
import { createWaker, type Waker } from '../../../../jobs/bell.ts'
import type { ScheduledJob, Scheduler } from '../../../../jobs/rounds.ts'
import { datastoreConflict, isFailure } from '../../../../lib/failure.ts'
import { evictOldest } from '../../../../lib/forget-oldest.ts'
import { zip } from '../../../../lib/list.ts'
import type { Statement } from '../../../../storage/db.ts'
import type { Store } from '../../../../storage/store.ts'
import { typesOf, wants } from '../rules.ts'
import type { WebhookRecord, WebhookStore } from '../store.ts'
import { createAudience } from './audience.ts'
import type { Delivery, DeliveryStore, Replay } from './store.ts'

interface Deps {
  store: Store
  rounds: Pick<Scheduler, 'isHeld'>
  feed: Feed
  hooks: Pick<WebhookStore, 'ofAccounts' | 'owners' | 'find'>
  rows: DeliveryStore
  /** Rings when there is something to be told. */
  sending: Waker
}

const eventsAtOnce = 500
const deliveriesAtOnce = 1000
// What nobody wants is noted now and then: whoever goes on looks at it again.
const notedEvery = 1000
const lookEveryMs = 1000
// What comes within this time is looked at together.
const gatherMs = 10

const maxKnown = 5000

type NewDelivery = Omit<Delivery, 'attempts'>

/** How far the feed was looked through, and how far that is noted. */
interface Place {
  seen: number
  noted: number
}

const laneOf = ({ accountId, kind, recordId }: FeedMention) => `${accountId}/${kind}/${recordId}`

export const deliveryOf = (
  hook: Pick<WebhookRecord, 'id' | 'accountId'>,
  event: FeedMention,
  { turn, now }: { turn: string; now: number },
): NewDelivery => ({
  hookId: hook.id,
  accountId: hook.accountId,
  lane: laneOf(event),
  sequence: event.sequence,
  turn,
  dueAt: now,
  since: now,
})

const hears = ({ accountId, doc }: WebhookRecord, event: FeedMention) =>
  accountId === event.accountId || (doc.include_subaccounts === true && event.above.includes(accountId))

/** Of a replay that another one has taken the place of nothing more is told. */
const unlessReplaced = (error: unknown) => {
  if (!isFailure(error, datastoreConflict)) throw error
}

/** In parts of so many deliveries; what one event brings stays together. */
const inParts = <T extends { deliveries: readonly unknown[] }>(found: readonly T[]): T[][] => {
  const parts: T[][] = []
  let size = deliveriesAtOnce
  for (const one of found) {
    if (size + one.deliveries.length > deliveriesAtOnce) {
      parts.push([])
      size = 0
    }
    parts.at(-1)?.push(one)
    size += one.deliveries.length
  }
  return parts
}

/**
 * Finds out which hooks are to be told of what is committed. One process at a time does; what it finds and how far it
 * has looked are one write, so that whoever goes on tells each hook of each event once.
 */
export const createDispatcher = ({ store, rounds, feed, hooks, rows, sending }: Deps) => {
  const { clock } = store
  const bell = createWaker()
  const audience = createAudience()
  let isAsked = false
  let lastReplayed = ''
  /** By hook, and by what it was made behind: the sequence of the change that had it told of what comes. */
  const beginnings = new Map<string, number>()

  /** The first event that a question finds, however much is looked through. */
  const changeBehind = async (question: EventQuery) => {
    for (let next: number | undefined = question.after; next !== undefined; ) {
      const found: FeedPage = await feed.page({ ...question, after: next })
      if (found.events[0]) return found.events[0]
      next = found.next
    }
    return undefined
  }

  /**
   * Behind which event a hook is told: the change that made or enabled it. Undefined: that change has no place in the
   * order yet, so that everything that has one was before it.
   */
  const beginningOf = async ({ accountId, id, hidden: { after } }: WebhookRecord) => {
    const key = `${id}/${after}`
    const known = beginnings.get(key)
    if (known !== undefined) return known
    if (after < (await feed.oldest())) return after
    const change = await changeBehind({ accountId, below: false, after, limit: 1, recordId: id })
    if (!change) return undefined
    beginnings.set(key, change.sequence)
    evictOldest(beginnings, maxKnown)
    return change.sequence
  }

  /** Who may be told of events of these accounts, and behind which event. */
  const listenersOf = async (accountIds: readonly string[]) => {
    const all = await hooks.ofAccounts(accountIds)
    audience.learn(accountIds, all)
    const enabled = all.filter(({ doc }) => doc.enabled)
    const beginnings = await Promise.all(enabled.map(beginningOf))
    return [...zip(enabled, beginnings)].flatMap(([hook, begins]) =>
      begins === undefined ? [] : { hook, begins },
    )
  }

  const found = async (events: readonly FeedMention[]) => {
    const listeners = await listenersOf(audience.among(events))
    const now = clock.now()
    return events.map((event) => ({
      sequence: event.sequence,
      deliveries: listeners
        .filter(({ hook, begins }) => event.sequence > begins && hears(hook, event) && wants(hook.doc, event))
        .map(({ hook }) => deliveryOf(hook, event, { turn: '', now })),
    }))
  }

  const write = async (deliveries: readonly NewDelivery[], ...statements: readonly Statement[]) => {
    await store.writeUnrecorded([...rows.add(deliveries), ...statements])
    if (deliveries.length > 0) sending.ring()
  }

  /** Has hooks told of events; answers with how far that is noted. */
  const dispatch = async (events: readonly FeedMention[], before: number, guard: Statement) => {
    let noted = before
    for (const part of inParts(await found(events))) {
      const deliveries = part.flatMap((one) => one.deliveries)
      const last = part.at(-1)?.sequence ?? noted
      if (deliveries.length === 0) continue
      await write(deliveries, rows.reach(last), guard)
      noted = last
    }
    return noted
  }

  /** Looks at what lies behind a place; answers with whether there may be more. */
  const lookBehind = async (place: Place, guard: Statement) => {
    const { mentions, last, isFull } = await feed.behind(place.seen, {
      limit: eventsAtOnce,
      wants: audience.wants,
    })
    place.noted = await dispatch(mentions, place.noted, guard)
    place.seen = Math.max(place.seen, last)
    if (place.seen - place.noted >= notedEvery) {
      await write([], rows.reach(place.seen), guard)
      place.noted = place.seen
    }
    return isFull
  }

  const pageOf = async ({ accountId, hookId, sequence, last, turn }: Replay) => {
    const hook = await hooks.find(accountId, hookId)
    const account = await store.records.find(accountId, accountKind, accountId)
    if (!hook || !account) return { deliveries: [], next: undefined }
    const { events, next } = await feed.page({
      accountId,
      isTop: account.hidden.tree.length === 0,
      below: hook.doc.include_subaccounts === true,
      after: sequence,
      limit: eventsAtOnce,
      types: typesOf(hook.doc),
    })
    const now = clock.now()
    const meant = events.filter((event) => event.sequence <= last && wants(hook.doc, event))
    return {
      deliveries: meant.map((event) => deliveryOf(hook, event, { turn, now })),
      next: next !== undefined && next < last ? next : undefined,
    }
  }

  /** A part of what is to be told again; false when there is nothing. */
  const replaySome = async (guard: Statement) => {
    const replay = await rows.nextReplay(lastReplayed)
    if (!replay) return false
    lastReplayed = replay.turn
    await store.fence()
    const { deliveries, next } = await pageOf(replay)
    await write(deliveries, rows.replayed(replay, next), guard).catch(unlessReplaced)
    return true
  }

  const round: ScheduledJob = {
    name: 'webhooks',
    everySeconds: 1,
    // Whoever does it does not end before the server does: the others look whether somebody is at it.
    due: async () => true,
    async run(signal, guard) {
      const leave = feed.onMore(bell.ring)
      try {
        const reached = await rows.reached()
        const place: Place = { seen: reached, noted: reached }
        audience.begin(await hooks.owners())
        let isReplaying = true
        while (!signal.aborted && !(await rounds.isHeld())) {
          const isMore = await lookBehind(place, guard)
          isReplaying &&= await replaySome(guard)
          if (isMore || isReplaying) continue
          const hasRung = await bell.heard(lookEveryMs, signal)
          isReplaying = isAsked || !hasRung
          isAsked = false
          await sleep(gatherMs)
        }
      } finally {
        leave()
      }
    },
  }

  return {
    round,
    /** There is something to be told again. */
    wake() {
      isAsked = true
      bell.ring()
    },
  }
}
