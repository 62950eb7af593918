// How a phone of the tests reaches an edge: over UDP, TCP or WebSocket.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import { WebSocket } from 'ws'

export interface Link {
  /** Its own port. */
  port: number
  /** In `Via`. */
  protocol: 'UDP' | 'TCP' | 'WS'
  /** What the phone calls its own address: host and port. */
  sentBy: string
  /** Parameters of its contact. */
  parameters: string
  send(text: string | Uint8Array): void
  onMessage(take: (text: string) => void): void
  /** Does nothing if it is closed. */
  close(): void
}

export const openUdpLink = async (edgePort: number, address: string): Promise<Link> => {
  const socket = createSocket('udp4')
  socket.bind(0, address)
  await once(socket, 'listening')
  const { port } = socket.address()
  let isOpen = true
  return {
    port,
    protocol: 'UDP',
    sentBy: `${address}:${port}`,
    parameters: '',
    send: (text) => socket.send(text, edgePort, '127.0.0.1'),
    onMessage: (take) => void socket.on('message', (packet) => take(packet.toString())),
    close() {
      if (isOpen) socket.close()
      isOpen = false
    },
  }
}

/** The whole messages at the beginning of a stream, and the rest of it. Line ends between messages are keep-alives. */
const messagesIn = (stream: string): [messages: string[], rest: string] => {
  const messages: string[] = []
  let rest = stream.trimStart()
  for (let end = rest.indexOf('\r\n\r\n'); end >= 0; end = rest.indexOf('\r\n\r\n')) {
    const length = Number(/^content-length: *(\d+)/im.exec(rest.slice(0, end))?.[1] ?? 0)
    if (rest.length < end + 4 + length) break
    messages.push(rest.slice(0, end + 4 + length))
    rest = rest.slice(end + 4 + length).trimStart()
  }
  return [messages, rest]
}

/** A phone that opens one connection, and listens at no port. */
export const openTcpLink = async (edgePort: number): Promise<Link> => {
  const socket = connect(edgePort, '127.0.0.1')
  await once(socket, 'connect')
  const port = socket.localPort ?? 0
  let stream = ''
  // Tests close connections that the edge still writes to.
  socket.on('error', () => undefined)
  return {
    port,
    protocol: 'TCP',
    sentBy: `127.0.0.1:${port}`,
    parameters: ';transport=tcp',
    send: (text) => void socket.write(text),
    onMessage: (take) =>
      void socket.on('data', (chunk) => {
        const [messages, rest] = messagesIn(stream + chunk.toString())
        stream = rest
        for (const message of messages) take(message)
      }),
    close: () => void socket.destroy(),
  }
}

/** A browser, which does not know its own address. */
export const openWebSocketLink = async (webPort: number): Promise<Link> => {
  const socket = new WebSocket(`ws://127.0.0.1:${webPort}/ws`, 'sip')
  await once(socket, 'open')
  socket.on('error', () => undefined)
  return {
    port: 0,
    protocol: 'WS',
    sentBy: 'browser.invalid',
    parameters: ';transport=ws',
    send: (text) => socket.send(text),
    onMessage: (take) => void socket.on('message', (bytes) => take(String(bytes))),
    close: () => socket.terminate(),
  }
}
