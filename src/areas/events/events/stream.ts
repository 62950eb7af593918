import { type FeedEvent, sequenceText, typeFilter } from '../../../events/events.ts'
import type { Feed, FeedHead } from '../../../events/feed.ts'
import type { Line } from '../../../http/answer/answers.ts'
import { describeError, type Log } from '../../../lib/log.ts'
import type { Wanted } from './question.ts'

// Bytes that a reader may have left behind before it is cut off.
const maxWaiting = 262_144
// What it missed is read in parts of so many, and written as it is taken: so much may wait then.
const readAtOnce = 100
const maxMissedWaiting = 65_536
// A reader that does not take what it missed for so long is cut off.
const stallMs = 30_000
const heartbeatMs = 10_000
const retryMs = 1000

/** Texts of events as they go over the line, made once for all streams. */
export interface Frames {
  of(event: FeedEvent, withBefore: boolean): string
}

/** Sends a comment to all streams now and then, so that nobody in between takes them for dead. */
export const createHeartbeat = () => {
  const lines = new Set<Line>()
  const timer = setInterval(() => {
    for (const line of lines) line.write(':\n\n')
  }, heartbeatMs)
  timer.unref()
  return { lines, stop: () => clearInterval(timer) }
}

/** Whether events that begin so are meant, as far as that can be said. */
const headFilter = ({ accountId, below, isTop, types = [] }: Wanted) => {
  const isType = typeFilter(types)
  return (head: FeedHead) =>
    (head.accountId === accountId || (below && (isTop || head.above.includes(accountId)))) &&
    isType(head.type)
}

/** Whether one of those is meant. */
const restFilter =
  ({ recordId, actorId, from, to }: Wanted, actorOf: (event: FeedEvent) => string | undefined) =>
  (event: FeedEvent) =>
    (recordId === undefined || event.recordId === recordId) &&
    (actorId === undefined || actorOf(event) === actorId) &&
    (from === undefined || event.at >= from) &&
    (to === undefined || event.at < to)

interface Deps {
  feed: Feed
  frames: Frames
  actorOf: (event: FeedEvent) => string | undefined
  log: Log
}

interface StreamOrder {
  wanted: Wanted
  /** The sequence behind which it begins. */
  after: number
  withBefore: boolean
}

/** Writes what was missed, and then what comes, in order and each once. Answers with what ends it. */
export const startStream = (
  { feed, frames, actorOf, log }: Deps,
  { wanted, after, withBefore }: StreamOrder,
  line: Line,
) => {
  const isMeant = headFilter(wanted)
  const isWanted = restFilter(wanted, actorOf)
  let place = after
  let isOver = false
  // What comes while the store is read is in the store: it is written from there.
  let isLive = false
  let unfollow: (() => void) | undefined

  const end = () => {
    isOver = true
    unfollow?.()
  }

  /** The reader does not keep up, or the store with it: it is told where to go on, and comes back when it likes. */
  const cut = () => {
    if (isOver) return
    end()
    line.write(`event: lagging\ndata: ${JSON.stringify({ after: sequenceText(place) })}\n\n`)
    line.end()
  }

  const isNext = (event: FeedEvent) => !isOver && event.sequence > place && isWanted(event)

  const write = (event: FeedEvent) => {
    line.write(frames.of(event, withBefore))
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

  /** What was missed waits for the reader. */
  const writeMissed = async (events: readonly FeedEvent[]) => {
    for (const event of events) {
      if (!isNext(event)) continue
      write(event)
      if (line.waiting > maxMissedWaiting && !(await isTaken())) return
    }
  }

  /** Reads on from the store until nothing is left up to where those who follow have been told. */
  const catchUp = async () => {
    for (;;) {
      const told = feed.position()
      const { events, next } = await feed.page({ ...wanted, withBefore, after: place, limit: readAtOnce })
      await writeMissed(events)
      if (isOver) return
      if (next !== undefined) place = Math.max(place, next)
      else if (feed.position() === told) {
        place = Math.max(place, told)
        // In the same moment: what is told from now on is behind it.
        isLive = true
        return
      }
    }
  }

  const follow = async () => {
    unfollow = await feed.follow({ wants: isMeant, hear, miss })
    if (isOver) return unfollow()
    await catchUp()
  }

  const begin = async () => {
    try {
      await follow()
    } catch (error) {
      log.write('warn', 'a stream of events could not be read', { error: describeError(error) })
      setTimeout(cut, retryMs).unref()
    }
  }

  void begin()
  return end
}
