import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

// One listener for each socket, however many responses wait for its end.

const bySocket = new WeakMap<Duplex, Set<() => void>>()

const setOf = (socket: Duplex) => {
  const known = bySocket.get(socket)
  if (known) return known
  const made = new Set<() => void>()
  bySocket.set(socket, made)
  socket.once('close', () => {
    for (const end of made) end()
  })
  return made
}

/** Calls `end` when the connection closes. Returns a function that cancels it: true if it was still due. */
export const onClose = (socket: Duplex, end: () => void): (() => boolean) => {
  const ends = setOf(socket)
  ends.add(end)
  return () => ends.delete(end)
}

export interface Delivery {
  request: IncomingMessage
  response: ServerResponse
  /** Time without progress, in ms, after which the connection is closed. */
  stallMilliseconds: number
}

// Small enough to see the progress of a slow client.
const pieceBytes = 65_536

const taken = ({ request: { socket }, response, stallMilliseconds }: Delivery, piece: Uint8Array) =>
  new Promise<boolean>((resolve) => {
    const end = (isTaken: boolean) => {
      clearTimeout(timer)
      stay()
      resolve(isTaken)
    }
    const stay = onClose(socket, () => end(false))
    const timer = setTimeout(() => socket.destroy(), stallMilliseconds)
    response.write(piece, (error) => end(!error))
  })

/** Writes bytes and waits until the client has received them. False if the connection closed. */
export const handOver = async (delivery: Delivery, bytes: Uint8Array): Promise<boolean> => {
  const { socket } = delivery.request
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (socket.destroyed) return false
    if (!(await taken(delivery, bytes.subarray(at, at + pieceBytes)))) return false
  }
  return !socket.destroyed
}

/** Closes the connection of a client that does not receive the end of a response. */
export const watchEnd = ({ request: { socket }, response, stallMilliseconds }: Delivery) => {
  let seen = socket.bytesWritten
  const look = () => {
    if (socket.bytesWritten === seen) return void socket.destroy()
    seen = socket.bytesWritten
    timer.refresh()
  }
  const timer = setTimeout(look, stallMilliseconds)
  const stay = onClose(socket, () => clearTimeout(timer))
  response.once('finish', () => {
    stay()
    clearTimeout(timer)
  })
}
