import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const isOfStream = ({ headers }: IncomingMessage) => headers.accept === 'text/event-stream'

/**
 * A way to a server on this machine that passes everything on. Event streams can be held up and broken off on it, and the next
 * answer to a GET of a path can be held up.
 */
export const openStreamWay = async (serverPort: number) => {
  const streams = new Set<ServerResponse>()
  const held = new Set<() => void>()
  let isOpen = true
  let slow: { path: string; arrived: () => void; go: Promise<void> } | undefined

  /** Waits where the next answer of this path is held up. */
  const passSlowly = async ({ method, url }: IncomingMessage) => {
    if (method !== 'GET' || slow === undefined || url?.split('?')[0] !== slow.path) return
    const { arrived, go } = slow
    slow = undefined
    arrived()
    await go
  }

  const passOn = (incoming: IncomingMessage, answer: ServerResponse) => {
    const { method = 'GET', url = '/', headers } = incoming
    const onward = request(
      { host: '127.0.0.1', port: serverPort, method, path: url, headers },
      async (found) => {
        await passSlowly(incoming)
        answer.writeHead(found.statusCode ?? 502, found.headers)
        found.pipe(answer)
      },
    )
    onward.on('error', () => answer.destroy())
    answer.on('close', () => onward.destroy())
    incoming.pipe(onward)
  }

  const server = createServer((incoming, answer) => {
    if (!isOfStream(incoming)) return passOn(incoming, answer)
    streams.add(answer)
    answer.on('close', () => streams.delete(answer))
    if (isOpen) passOn(incoming, answer)
    else held.add(() => passOn(incoming, answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** New streams get no response yet. */
    holdStreams() {
      isOpen = false
    },
    /** Ends open streams like a broken connection. */
    breakStreams() {
      for (const stream of streams) stream.destroy()
    },
    letStreamsGo() {
      isOpen = true
      for (const go of held) go()
      held.clear()
    },
    /** Holds up the next answer of a path: `arrived` when the server has given it, and until `letGo`. */
    holdAnswer(path: string) {
      const { promise: arrived, resolve } = Promise.withResolvers<void>()
      const { promise: go, resolve: letGo } = Promise.withResolvers<void>()
      slow = { path, arrived: resolve, go }
      return { arrived, letGo }
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
