import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const isOfStream = ({ headers }: IncomingMessage) => headers.accept === 'text/event-stream'

/** A way to a server on this machine that passes everything on, and on which event streams can be held up and broken off. */
export const openStreamWay = async (serverPort: number) => {
  const streams = new Set<ServerResponse>()
  const held = new Set<() => void>()
  let isOpen = true

  const passOn = (incoming: IncomingMessage, answer: ServerResponse) => {
    const { method = 'GET', url = '/', headers } = incoming
    const onward = request({ host: '127.0.0.1', port: serverPort, method, path: url, headers }, (found) => {
      answer.writeHead(found.statusCode ?? 502, found.headers)
      found.pipe(answer)
    })
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
    /** Streams that are asked for from now on get no answer yet. */
    holdStreams() {
      isOpen = false
    },
    /** Ends the streams that are there, as a broken line does. */
    breakStreams() {
      for (const stream of streams) stream.destroy()
    },
    letStreamsGo() {
      isOpen = true
      for (const go of held) go()
      held.clear()
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
