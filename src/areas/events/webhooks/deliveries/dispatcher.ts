import { accountKind } from '../../../../auth/identity.ts'
import { callRecords } from '../../../../events/events.ts'
import type { FeedHead, FeedMention, FeedPage } from '../../../../events/feed.ts'
import { createFollower } from '../../../../events/follower.ts'
import { createMark } from '../../../../events/marks.sql.ts'
import type { EventQuery } from '../../../../events/store.ts'
import type { Scheduler } from '../../../../jobs/scheduler.ts'
import type { Waker } from '../../../../jobs/waker.ts'
import { datastoreConflict, isFailure } from '../../../../lib/failure.ts'
import { evictOldest } from '../../../../lib/forget-oldest.ts'
import { inParts } from '../../../../lib/list.ts'
import type { Statement } from '../../../../storage/db.ts'
import type { DepsOf } from '../../../area.ts'
import { typesOf, wants, webhookKind } from '../rules.ts'
import type { HookOwner, WebhookRecord, WebhookStore } from '../store.ts'
import type { Delivery, DeliveryStore, Replay } from './store.ts'

interface Deps extends DepsOf<'store' | 'feed' | 'log'> {
  scheduler: Pick<Scheduler, 'isHeld'>
  hooks: Pick<WebhookStore, 'ofAccounts' | 'owners' | 'find'>
  rows: DeliveryStore
  sending: Waker
}

const eventsAtOnce = 500
const deliveriesAtOnce = 1000
// Unwanted events move the mark only once in this number.
const notedEvery = 1000

const maxKnown = 5000

type NewDelivery = Omit<Delivery, 'attempts'>

interface DispatcherState {
  guard: Statement
  /** The sequence up to which the feed was read, and the one that the mark has. */
  seen: number
  noted: number
  /** There may be replays to continue. */
  isReplaying: boolean
  /** A write has failed, so that the mark may be elsewhere. */
  isUnsure: boolean
}

const isAboutCallRecords = ({ doc }: Pick<WebhookRecord, 'doc'>) => doc.hook.startsWith('cdr')

/** Accounts with webhooks, so that other events are not read. The feed keeps it up to date. */
const createAudience = () => {
  /** By account with hooks: whether one of them wants call records. */
  const known = new Map<string, boolean>()

  return {
    begin(owners: readonly HookOwner[]) {
      known.clear()
      for (const { accountId, wantsCallRecords } of owners) known.set(accountId, wantsCallRecords)
    },

    /** Replaces what is known of accounts by their current webhooks. */
    learn(accountIds: readonly string[], hooks: readonly WebhookRecord[]) {
      const ofAccount = Map.groupBy(hooks, ({ accountId }) => accountId)
      for (const id of accountIds) {
        const own = ofAccount.get(id)
        if (own) known.set(id, own.some(isAboutCallRecords))
        else known.delete(id)
      }
    },

    among: (events: readonly FeedHead[]) =>
      [...new Set(events.flatMap(({ accountId, above }) => [accountId, ...above]))].filter((id) =>
        known.has(id),
      ),

    wants({ accountId, above, type, kind }: FeedHead): boolean {
      // The new settings of the webhook are not known yet.
      if (kind === webhookKind) known.set(accountId, true)
      const isWanted = (id: string) => (type === callRecords ? known.get(id) === true : known.has(id))
      return isWanted(accountId) || above.some(isWanted)
    },
  }
}

export const deliveryOf = (
  hook: Pick<WebhookRecord, 'id' | 'accountId'>,
  { accountId, kind, recordId, sequence }: FeedMention,
  { turn, now }: { turn: string; now: number },
): NewDelivery => ({
  hookId: hook.id,
  accountId: hook.accountId,
  lane: `${accountId}/${kind}/${recordId}`,
  sequence,
  turn,
  dueAt: now,
  since: now,
})

const hears = ({ accountId, doc }: WebhookRecord, event: FeedMention) =>
  accountId === event.accountId || (doc.include_subaccounts === true && event.above.includes(accountId))

/** A newer replay has replaced this one. */
const unlessReplaced = (error: unknown) => {
  if (!isFailure(error, datastoreConflict)) throw error
}

/** Finds the change that created or enabled a webhook: it gets later events. */
const createBeginnings = (feed: Deps['feed']) => {
  /** By webhook and `after`. */
  const beginnings = new Map<string, number>()

  /** The first matching event. */
  const changeBehind = async (question: EventQuery) => {
    for (let next: number | undefined = question.after; next !== undefined; ) {
      const found: FeedPage = await feed.page({ ...question, after: next })
      if (found.events[0]) return found.events[0]
      next = found.next
    }
    return undefined
  }

  /** Undefined: the change has no sequence yet. */
  return async ({ accountId, id, hidden: { after } }: WebhookRecord) => {
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
}

const createDeliveries = ({ store, feed, hooks, rows, sending }: Deps) => {
  const { clock } = store
  const audience = createAudience()
  const beginningOf = createBeginnings(feed)

  const listenersOf = async (accountIds: readonly string[]) => {
    const all = await hooks.ofAccounts(accountIds)
    audience.learn(accountIds, all)
    const enabled = all.filter(({ doc }) => doc.enabled)
    const found = await Promise.all(enabled.map(async (hook) => ({ hook, begins: await beginningOf(hook) })))
    return found.flatMap(({ hook, begins }) => (begins === undefined ? [] : { hook, begins }))
  }

  return {
    audience,

    async of(events: readonly FeedMention[]) {
      const listeners = await listenersOf(audience.among(events))
      const now = clock.now()
      return events.map((event) => ({
        sequence: event.sequence,
        deliveries: listeners
          .filter(
            ({ hook, begins }) => event.sequence > begins && hears(hook, event) && wants(hook.doc, event),
          )
          .map(({ hook }) => deliveryOf(hook, event, { turn: '', now })),
      }))
    },

    async replayed({ accountId, hookId, sequence, last, turn }: Replay) {
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
    },

    async write(deliveries: readonly NewDelivery[], ...statements: readonly Statement[]) {
      await store.writeUnrecorded([...rows.add(deliveries), ...statements])
      if (deliveries.length > 0) sending.ring()
    },
  }
}

/** Queues a delivery for each webhook that wants an event. Deliveries and the position in the feed are written together. */
export const createDispatcher = (deps: Deps) => {
  const { store, feed, hooks, rows } = deps
  const mark = createMark(store, 'webhooks')
  const { audience, ...deliveries } = createDeliveries(deps)
  let lastReplayed = ''

  /** Writes deliveries and the position. */
  const reach = async (state: DispatcherState, sequence: number, found: readonly NewDelivery[]) => {
    await deliveries.write(found, mark.moveTo(sequence), state.guard)
    state.noted = sequence
  }

  /** Reads the next events of the feed; returns whether there may be more. */
  const readNext = async (state: DispatcherState) => {
    const { mentions, last, isFull } = await feed.behind(state.seen, {
      limit: eventsAtOnce,
      wants: audience.wants,
    })
    // Before the writes: if a later one fails, the mark may already be behind this event.
    state.isReplaying ||= mentions.some(({ type }) => type === 'webhook.replayed')
    // Deliveries of one event stay together.
    const parts = inParts(await deliveries.of(mentions), deliveriesAtOnce, (one) => one.deliveries.length)
    for (const part of parts) {
      const found = part.flatMap((one) => one.deliveries)
      if (found.length > 0) await reach(state, part.at(-1)?.sequence ?? state.noted, found)
    }
    state.seen = Math.max(state.seen, last)
    if (state.seen - state.noted >= notedEvery) await reach(state, state.seen, [])
    return isFull
  }

  /** Returns false if there are no replays. */
  const replaySome = async (guard: Statement) => {
    const replay = await rows.nextReplay(lastReplayed)
    if (!replay) return false
    lastReplayed = replay.turn
    await store.fence()
    const { deliveries: found, next } = await deliveries.replayed(replay)
    await deliveries.write(found, rows.replayed(replay, next), guard).catch(unlessReplaced)
    return true
  }

  return createFollower<object, DispatcherState>(deps, {
    name: 'webhooks',
    complaint: 'webhooks could not be queued',
    gatherMs: 10,
    wanted: async () => ({}),
    begin: async (_wanted, guard) => ({ guard, seen: 0, noted: 0, isReplaying: true, isUnsure: true }),
    async next(state) {
      if (state.isUnsure) {
        state.seen = await mark.read()
        state.noted = state.seen
        audience.begin(await hooks.owners())
      }
      state.isUnsure = true
      const isMore = await readNext(state)
      state.isReplaying &&= await replaySome(state.guard)
      state.isUnsure = false
      return isMore || state.isReplaying
    },
    end: async () => undefined,
  }).job
}
