import { isOutage } from '../lib/failure.ts'
import { describeError, type Log } from '../lib/log.ts'
import { feedKey } from '../storage/change-set.ts'
import type { Database } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import type { FeedEvent } from './events.ts'
import { orderedKey } from './sequencer.ts'
import { batchesOf, createFeedRows, type EventQuery, type FeedRow, type HeadRow } from './store.ts'

export interface FeedPage {
  events: FeedEvent[]
  /** Undefined: there are no more for now. */
  next: number | undefined
}

const actions = ['created', 'edited', 'deleted'] as const

/** Decides whether the rest of an event is read. */
export type FeedHead = Pick<FeedEvent, 'accountId' | 'above' | 'type' | 'kind'>

/** An event without records. */
export type FeedMention = FeedHead & Pick<FeedEvent, 'sequence' | 'recordId' | 'action'>

interface Follower {
  /** Other events are not read. */
  wants(head: FeedHead): boolean
  hear(events: readonly FeedEvent[]): void
  /** Gets events of which the first cannot be read now. */
  miss(events: readonly FeedEvent[]): void
}

/** JSON texts of public records; undefined if they are deleted or cannot be read now. */
type Texts = readonly (string | undefined)[]
type Teller = (accountId: string, ids: readonly string[]) => Promise<Texts>

interface Stretch {
  /** Events after this sequence. */
  after: number
  /** At most this number. */
  most: number
  /** Collects events whose records cannot be read now; absent: such an event fails. */
  bare?: Set<FeedEvent>
}

type Beginning = Omit<HeadRow, 'span' | 'ids' | 'bytes'>

const mentionOf = ({ sequence, accountId, tree, event, kind, recordId, action }: Beginning): FeedMention => ({
  sequence,
  accountId,
  above: tree ? tree.split(' ') : [],
  type: event,
  kind,
  recordId,
  action: actions.find((known) => known === action),
})

/** Stored records do not contain their id. */
const withId = (text: string | undefined, id: string) => {
  if (text === undefined || !text.startsWith('{')) return text
  if (text.includes('"id":') && Object.hasOwn(JSON.parse(text), 'id')) return text
  return `{"id":${JSON.stringify(id)}${text === '{}' ? '' : ','}${text.slice(1)}`
}

const eventOf = (row: FeedRow): FeedEvent => ({
  ...mentionOf(row),
  id: row.id,
  at: row.at,
  recordName: row.recordName,
  author: row.author,
  afterText: withId(row.afterDoc, row.recordId),
  beforeText: withId(row.beforeDoc, row.recordId),
})

const foldedIn = (idsText: string | undefined, last: number, after: number) => {
  const ids: string[] = JSON.parse(idsText ?? '[]')
  const first = last - ids.length + 1
  return ids
    .map((recordId, index) => ({ recordId, sequence: first + index }))
    .filter(({ sequence }) => sequence > after)
}

// Batch size of followers.
const tailAtOnce = 200
const retryMs = 500

type Rows = ReturnType<typeof createFeedRows>

/** The events of rows; some rows contain many. */
const createUnfolding = ({ sealing }: Store, rows: Rows) => {
  const tellers = new Map<string, Teller>()

  /** Undefined if another server of the store is unreachable. The store may be distributed. */
  const textsIfThere = async (read: () => Promise<Texts>): Promise<Texts | undefined> => {
    try {
      return await read()
    } catch (error) {
      if (!isOutage(error)) throw error
    }
    // Fails if the whole store is unreachable.
    await rows.newest()
    return read().catch((error) => {
      if (isOutage(error)) return undefined
      throw error
    })
  }

  /** The events after a sequence of a row that contains many. */
  const partsOf = async (row: FeedRow, { after, most, bare }: Stretch): Promise<FeedEvent[]> => {
    const whole = eventOf(row)
    const parts = foldedIn(row.afterDoc, row.sequence, after).slice(0, most)
    const ids = parts.map(({ recordId }) => recordId)
    const read = async (): Promise<Texts> => (await tellers.get(whole.type)?.(whole.accountId, ids)) ?? []
    const texts = bare ? await textsIfThere(read) : await read()
    const { kind } = whole
    const events = parts.map((part, index) => ({
      ...whole,
      ...part,
      afterText: sealing.masked({ kind, id: part.recordId }, texts?.[index]),
    }))
    if (!texts) for (const event of events) bare?.add(event)
    return events
  }

  /** `isCut`: there is more in the rows. */
  const unfold = async (folded: readonly FeedRow[], { after, most, bare }: Stretch) => {
    const events: FeedEvent[] = []
    for (const row of folded) {
      if (events.length >= most) return { events, isCut: true }
      if (row.span === undefined) events.push(eventOf(row))
      else events.push(...(await partsOf(row, { after, most: most - events.length, ...(bare && { bare }) })))
      if ((events.at(-1)?.sequence ?? row.sequence) < row.sequence) return { events, isCut: true }
    }
    return { events, isCut: false }
  }

  return { tellers, unfold }
}

type Unfold = ReturnType<typeof createUnfolding>['unfold']

const feedReads = (rows: Rows, unfold: Unfold) => {
  /** Fewer than the limit if they are large. */
  const all = async (after: number, limit: number): Promise<FeedEvent[]> => {
    const [part = []] = batchesOf(await rows.headsBehind(after, limit))
    return (await unfold(await rows.whole(part, false), { after, most: limit })).events
  }

  return {
    all,

    async page(question: EventQuery): Promise<FeedPage> {
      const { limit, withBefore = false } = question
      const { heads, begin, last, isFull } = await rows.page(question)
      const [part = [], ...others] = batchesOf(heads)
      const whole = await rows.whole(part, withBefore)
      const { events, isCut } = await unfold(whole, { after: begin, most: limit })
      const lastShown = events.at(-1)?.sequence
      if (isCut) return { events, next: lastShown }
      if (others.length > 0) return { events, next: part.at(-1)?.sequence }
      if (events.length === limit && lastShown !== undefined && (isFull || lastShown < last))
        return { events, next: lastShown }
      return { events, next: isFull ? last : undefined }
    },

    /** Undefined: expired. */
    async one(sequence: number): Promise<FeedEvent | undefined> {
      const [event] = await all(sequence - 1, 1)
      return event?.sequence === sequence ? event : undefined
    },

    /** Wanted events of `limit` rows, without their records. `last`: the last sequence that was looked at. */
    async behind(after: number, { limit, wants }: { limit: number; wants: Follower['wants'] }) {
      const heads = await rows.headsBehind(after, limit)
      const mentions: FeedMention[] = []
      for (const head of heads) {
        if (mentions.length >= limit)
          return { mentions, last: head.sequence - (head.span ?? 1), isFull: true }
        const mention = mentionOf(head)
        if (!wants(mention)) continue
        if (head.span === undefined) mentions.push(mention)
        else
          for (const part of foldedIn(head.ids, head.sequence, after)) mentions.push({ ...mention, ...part })
      }
      return { mentions, last: heads.at(-1)?.sequence ?? after, isFull: heads.length === limit }
    },

    newest: rows.newest,

    /** Resolves when earlier commits have their sequence, or after a timeout. */
    settled: rows.settled,

    /** Events up to this sequence have expired. */
    oldest: rows.forgotten,
  }
}

const deliver = (follower: Follower, wanted: readonly FeedEvent[], bare: ReadonlySet<FeedEvent>) => {
  const missed = wanted.findIndex((event) => bare.has(event))
  const whole = missed < 0 ? wanted : wanted.slice(0, missed)
  if (whole.length > 0) follower.hear(whole)
  if (missed >= 0) follower.miss(wanted.slice(missed))
}

/** Delivers new events to followers. */
const createTail = (rows: Rows, unfold: Unfold, log: Log) => {
  const followers = new Set<Follower>()
  let position = 0
  let reading: Promise<void> | undefined
  let isBehind = false

  const deliverToAll = (events: readonly FeedEvent[], bare: ReadonlySet<FeedEvent>) => {
    for (const follower of followers) {
      const wanted = events.filter((event) => follower.wants(event))
      if (wanted.length === 0) continue
      try {
        deliver(follower, wanted, bare)
      } catch (error) {
        log.write('error', 'a reader of the feed failed', { error: describeError(error) })
      }
    }
  }

  /** A row with many events is delivered in parts. */
  const deliverRows = async (read: readonly FeedRow[], begin: number) => {
    for (let after: number | undefined = begin; after !== undefined; ) {
      const place: number = after
      const left = read.filter(({ sequence }) => sequence > place)
      const bare = new Set<FeedEvent>()
      const { events, isCut }: Awaited<ReturnType<Unfold>> = await unfold(left, {
        after: place,
        most: tailAtOnce,
        bare,
      })
      const last = events.at(-1)?.sequence
      // Set at the same time: readers of the store compare it, and a later failure must not repeat events.
      position = Math.max(position, last ?? 0)
      if (events.length > 0) deliverToAll(events, bare)
      after = isCut ? last : undefined
    }
  }

  const isWanted = (head: FeedHead) => followers.values().some(({ wants }) => wants(head))

  const readOn = async () => {
    do {
      isBehind = false
      const end = await rows.newest()
      while (position < end && followers.size > 0) {
        const begin = position
        const heads = await rows.headsBehind(begin, tailAtOnce, end)
        const wanted = heads.filter((head) => isWanted(mentionOf(head)))
        for (const part of batchesOf(wanted)) await deliverRows(await rows.whole(part, true), begin)
        position = Math.max(position, heads.length < tailAtOnce ? end : (heads.at(-1)?.sequence ?? end))
      }
      if (followers.size === 0) position = Math.max(position, end)
    } while (isBehind && followers.size > 0)
  }

  const wake = () => {
    isBehind = true
    if (followers.size === 0 || reading) return
    reading = readOn()
      .catch((error) => {
        log.write('warn', 'the feed could not be read', { error: describeError(error) })
        // No other event may wake it.
        setTimeout(wake, retryMs).unref()
      })
      .finally(() => {
        reading = undefined
        if (isBehind && followers.size > 0) wake()
      })
  }

  return {
    wake,

    /** Followers have all events up to this one. */
    position: () => position,

    /** Delivers events later than `position()`, in order, whichever process committed them. Returns a function that ends it. */
    async follow(follower: Follower): Promise<() => void> {
      const end = await rows.newest()
      // Other followers may have begun at the same time.
      if (followers.size === 0) position = Math.max(position, end)
      followers.add(follower)
      wake()
      return () => void followers.delete(follower)
    },
  }
}

interface Deps {
  store: Store
  db: Pick<Database, 'onStale' | 'placesAppends'>
  log: Log
}

export type Feed = ReturnType<typeof createFeed>

/** All events in one order that never changes and has no gaps. */
export const createFeed = ({ store, db, log }: Deps) => {
  const rows = createFeedRows(store)
  const { tellers, unfold } = createUnfolding(store, rows)
  const { wake, ...tail } = createTail(rows, unfold, log)
  const readers = new Set<() => void>()

  const newsKey = db.placesAppends ? feedKey : orderedKey
  db.onStale((keys) => {
    if (keys !== 'everything' && !keys.includes(newsKey)) return
    wake()
    for (const reader of readers) reader()
  })

  return {
    ...feedReads(rows, unfold),
    ...tail,

    /** Sets how the records of a type whose events share one row are read. */
    unfolds: (type: string, teller: Teller) => void tellers.set(type, teller),

    /** Calls the reader when there are new events. Returns a function that ends it. */
    onMore(reader: () => void): () => void {
      readers.add(reader)
      return () => void readers.delete(reader)
    },
  }
}
