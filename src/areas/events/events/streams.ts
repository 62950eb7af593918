import { eventJson, type FeedEvent, sequenceText } from '../../../events/events.ts'
import type { Feed } from '../../../events/feed.ts'
import type { Line } from '../../../http/response/responses.ts'
import type { Log } from '../../../lib/log.ts'
import { actorOf } from '../../../storage/audit-log.ts'
import { createHeartbeat, type Frames, startStream } from './stream.ts'

type StreamOrder = Parameters<typeof startStream>[1]

export type Streams = ReturnType<typeof createStreams>

const frameOf = (event: FeedEvent, withBefore: boolean) =>
  `id: ${sequenceText(event.sequence)}\nevent: ${event.type}\ndata: ${JSON.stringify(eventJson(event, { withBefore }))}\n\n`

/** The text of an event is made once for all streams. */
const createFrames = (): Frames => {
  const plain = new WeakMap<FeedEvent, string>()
  const whole = new WeakMap<FeedEvent, string>()
  return {
    of(event, withBefore) {
      const texts = withBefore ? whole : plain
      const text = texts.get(event) ?? frameOf(event, withBefore)
      texts.set(event, text)
      return text
    },
  }
}

export const createStreams = ({ feed, log }: { feed: Feed; log: Log }) => {
  const heartbeat = createHeartbeat()
  const tools = { feed, log, frames: createFrames(), actorOf: ({ author }: FeedEvent) => actorOf(author).id }

  return {
    /** Returns a function that ends the stream. */
    open(order: StreamOrder, line: Line): () => void {
      heartbeat.lines.add(line)
      line.write(':\n\n')
      const end = startStream(tools, order, line)
      return () => {
        heartbeat.lines.delete(line)
        end()
      }
    },

    stop: heartbeat.stop,
  }
}
