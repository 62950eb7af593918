import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** The way to a server, which can be cut and mended: a database that goes away and comes back. */
export const createCuttable = async (serverUrl: string) => {
  let target = new URL(serverUrl)
  const sockets = new Set<Socket>()
  let isCut = false
  let isSilent = false

  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    return socket
  }

  const server = createServer((incoming) => {
    keep(incoming)
    if (isCut) return void incoming.resetAndDestroy()
    const outgoing = keep(connect(Number(target.port), target.hostname))
    incoming.on('data', (bytes) => isSilent || outgoing.write(bytes))
    outgoing.on('data', (bytes) => isSilent || incoming.write(bytes))
    incoming.on('close', () => outgoing.destroy())
    outgoing.on('close', () => incoming.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const url = new URL(serverUrl)
  url.port = String((server.address() as AddressInfo).port)

  return {
    url: url.href,
    /** Breaks every connection, and refuses new ones. */
    cut() {
      isCut = true
      for (const socket of sockets) socket.resetAndDestroy()
    },
    /** Breaks every connection; new ones go to another server. */
    leadTo(otherUrl: string) {
      target = new URL(otherUrl)
      for (const socket of sockets) socket.resetAndDestroy()
    },
    /** Swallows everything from now on without breaking a connection, as a lost network does. */
    fallSilent() {
      isSilent = true
    },
    mend() {
      isCut = false
      isSilent = false
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

export type Cuttable = Awaited<ReturnType<typeof createCuttable>>
