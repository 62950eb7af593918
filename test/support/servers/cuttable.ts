import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

const lengthOf = (bytes: Buffer) => (bytes.length < 5 ? undefined : 1 + bytes.readUInt32BE(1))

const isNotification = (message: Buffer) => message.at(0) === 0x41
const isCommitAnswer = (message: Buffer) =>
  message.at(0) === 0x43 && message.toString('latin1', 5) === 'COMMIT\0'

/** Passes on whole messages of the PostgreSQL protocol. */
const inMessages = (pass: (message: Buffer) => void) => {
  let rest = Buffer.alloc(0)
  return (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    for (
      let length = lengthOf(rest);
      length !== undefined && length <= rest.length;
      length = lengthOf(rest)
    ) {
      pass(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
  }
}

/** A proxy to a server that can be interrupted: for a database that fails and recovers. */
export const createCuttable = async (serverUrl: string) => {
  let target = new URL(serverUrl)
  const isPostgres = target.protocol.startsWith('postgres')
  const sockets = new Set<Socket>()
  let isCut = false
  let isSilent = false
  let heldCommits: (() => void)[] | undefined

  /** A delayed response delays all later responses of its connection. A delayed notification delays nothing else. */
  const toClient = (client: Socket) => {
    let isHeld = false
    return inMessages((message) => {
      isHeld = heldCommits !== undefined && (isHeld || isCommitAnswer(message))
      if (heldCommits && (isHeld || isNotification(message))) heldCommits.push(() => client.write(message))
      else client.write(message)
    })
  }

  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.setNoDelay()
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    return socket
  }

  const server = createServer((incoming) => {
    keep(incoming)
    if (isCut) return void incoming.resetAndDestroy()
    const outgoing = keep(connect(Number(target.port), target.hostname))
    incoming.on('data', (bytes) => isSilent || outgoing.write(bytes))
    const pass = isPostgres ? toClient(incoming) : (bytes: Buffer) => incoming.write(bytes)
    outgoing.on('data', (bytes: Buffer) => isSilent || pass(bytes))
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
    /** Delays the responses of PostgreSQL to COMMIT, and its notifications. */
    holdCommits() {
      heldCommits = []
    },
    letCommitsGo() {
      const held = heldCommits ?? []
      heldCommits = undefined
      for (const go of held) go()
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
