import { eventJson, type FeedEvent, sequenceText, typeFilter } from '../../../events/events.ts'
import type { FeedHead } from '../../../events/feed.ts'
import type { Line } from '../../../http/response/responses.ts'
import { describeError } from '../../../lib/log.ts'
import { actorOf } from '../../../storage/audit-log.ts'
import type { DepsOf } from '../../area.ts'
import type { EventFilter } from './question.ts'

// Bytes that a live reader may have pending before the stream ends.
const maxWaiting = 262_144
// Missed events are read in batches, and written while fewer bytes than this are pending.
const readAtOnce = 100
const maxMissedWaiting = 65_536
// A reader that takes none of the missed events for this time is disconnected.
const stallMs = 30_000
const heartbeatMs = 10_000
const retryMs = 1000

const headFilter = ({ accountId, below, isTop, types = [] }: EventFilter) => {
  const isType = typeFilter(types)
  return (head: FeedHead) =>
    (head.accountId === accountId || (below && (isTop || head.above.includes(accountId)))) &&
    isType(head.type)
}

const restFilter =
  ({ recordId, actorId, from, to }: EventFilter) =>
  (event: FeedEvent) =>
    (recordId === undefined || event.recordId === recordId) &&
    (actorId === undefined || actorOf(event.author).id === actorId) &&
    (from === undefined || event.at >= from) &&
    (to === undefined || event.at < to)

interface Deps extends DepsOf<'feed' | 'log'> {
  frameOf: ReturnType<typeof createFrames>
}

interface StreamOrder {
  wanted: EventFilter
  after: number
  withBefore: boolean
}

/** Writes missed events, then new ones, in order and once each. Returns a function that ends the stream. */
const startStream = (
  { feed, frameOf, log }: Deps,
  { wanted, after, withBefore }: StreamOrder,
  line: Line,
) => {
  const isMeant = headFilter(wanted)
  const isWanted = restFilter(wanted)
  let place = after
  let isOver = false
  // Events during the catch-up are read from the store.
  let isLive = false
  let unfollow: (() => void) | undefined

  const end = () => {
    isOver = true
    unfollow?.()
  }

  /** A slow reader gets the sequence where it can continue. */
  const cut = () => {
    if (isOver) return
    end()
    line.write(`event: lagging\ndata: ${JSON.stringify({ after: sequenceText(place) })}\n\n`)
    line.end()
  }

  const isNext = (event: FeedEvent) => !isOver && event.sequence > place && isWanted(event)

  const write = (event: FeedEvent) => {
    line.write(frameOf(event, withBefore))
    place = event.sequence
  }

  const hear = (events: readonly FeedEvent[]) => {
    if (!isLive) return
    for (const event of events) {
      if (!isNext(event)) continue
      if (line.waiting > maxWaiting) return cut()
      write(event)
    }
  }

  const miss = (events: readonly FeedEvent[]) => {
    if (isLive && events.some(isNext)) cut()
  }

  const isTaken = async () => {
    const stalled = setTimeout(cut, stallMs)
    await line.drained()
    clearTimeout(stalled)
    return !isOver
  }

  const writeMissed = async (events: readonly FeedEvent[]) => {
    for (const event of events) {
      if (!isNext(event)) continue
      write(event)
      if (line.waiting > maxMissedWaiting && !(await isTaken())) return
    }
  }

  /** Reads the store up to the position of the live feed. */
  const catchUp = async () => {
    for (;;) {
      const told = feed.position()
      const { events, next } = await feed.page({ ...wanted, withBefore, after: place, limit: readAtOnce })
      await writeMissed(events)
      if (isOver) return
      if (next !== undefined) place = Math.max(place, next)
      else if (feed.position() === told) {
        place = Math.max(place, told)
        // No event comes between these two lines.
        isLive = true
        return
      }
    }
  }

  const begin = async () => {
    try {
      unfollow = await feed.follow({ wants: isMeant, hear, miss })
      if (isOver) unfollow()
      else await catchUp()
    } catch (error) {
      log.write('warn', 'a stream of events could not be read', { error: describeError(error) })
      setTimeout(cut, retryMs).unref()
    }
  }

  void begin()
  return end
}

export type Streams = ReturnType<typeof createStreams>

/** The text of an event is made once for all streams. */
const createFrames = () => {
  const plain = new WeakMap<FeedEvent, string>()
  const whole = new WeakMap<FeedEvent, string>()
  return (event: FeedEvent, withBefore: boolean) => {
    const texts = withBefore ? whole : plain
    const known = texts.get(event)
    if (known !== undefined) return known
    const data = JSON.stringify(eventJson(event, { withBefore }))
    const text = `id: ${sequenceText(event.sequence)}\nevent: ${event.type}\ndata: ${data}\n\n`
    texts.set(event, text)
    return text
  }
}

const comment = ':\n\n'

export const createStreams = (deps: DepsOf<'feed' | 'log'>) => {
  const frameOf = createFrames()
  const lines = new Set<Line>()
  // A comment now and then keeps proxies from closing idle streams.
  const heartbeat = setInterval(() => {
    for (const line of lines) line.write(comment)
  }, heartbeatMs).unref()

  return {
    /** Returns a function that ends the stream. */
    open(order: StreamOrder, line: Line): () => void {
      lines.add(line)
      line.write(comment)
      const end = startStream({ ...deps, frameOf }, order, line)
      return () => {
        lines.delete(line)
        end()
      }
    },

    stop: () => clearInterval(heartbeat),
  }
}
