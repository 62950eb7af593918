// A reader of server-sent events over a real socket.
import { type ClientRequest, get, type IncomingMessage } from 'node:http'
import { eventually } from '../run/eventually.ts'

/** A message of a stream. */
export interface StreamMessage {
  id?: string
  event?: string
  data: string
}

const messageIn = (block: string): StreamMessage | undefined => {
  const lines = block.split('\n').filter((line) => !line.startsWith(':') && line !== '')
  if (lines.length === 0) return undefined
  const fields = lines.map((line): [string, string] => {
    const [name = '', value = ''] = line.split(/: (.*)/s)
    return [name, value]
  })
  return { data: '', ...Object.fromEntries(fields) }
}

export interface EventStream {
  response: IncomingMessage
  messages: StreamMessage[]
  /** Comments, which keep the line open. */
  comments(): number
  /** Stops reading, so that the data stay in the buffers. */
  pause(): void
  resume(): void
  /** The first messages, once this number has arrived. */
  come(count: number): Promise<StreamMessage[]>
  /** Resolves when the other side has ended it. */
  ended: Promise<void>
  close(): void
}

/** Opens a stream like a browser does. */
export const openEventStream = async (
  port: number,
  path: string,
  headers: Record<string, string>,
  onMessage: (message: StreamMessage) => void = () => undefined,
): Promise<EventStream> => {
  const messages: StreamMessage[] = []
  let comments = 0
  let text = ''
  const { request, response } = await new Promise<{ request: ClientRequest; response: IncomingMessage }>(
    (resolve, reject) => {
      const request = get({ port, path, headers: { accept: 'text/event-stream', ...headers } }, (response) =>
        resolve({ request, response }),
      )
      request.on('error', reject)
    },
  )
  response.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const message = messageIn(block)
      if (!message) comments += 1
      else {
        messages.push(message)
        onMessage(message)
      }
    }
  })
  response.on('error', () => undefined)
  const ended = new Promise<void>((resolve) => void response.once('close', resolve))
  return {
    response,
    messages,
    comments: () => comments,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    come: (count) =>
      eventually(
        () => messages,
        ({ length }) => length >= count,
      ),
    ended,
    close: () => void request.destroy(),
  }
}
