import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

// What ends with a connection. An answer that waits for its turn on it hears of nothing by itself, and a listener for
// each of many answers would be too many for one socket.

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

/** Has `end` called when the connection closes. Answers with what takes that back: true when it had been due still. */
export const onClose = (socket: Duplex, end: () => void): (() => boolean) => {
  const ends = setOf(socket)
  ends.add(end)
  return () => ends.delete(end)
}

/** An answer on its way to its client. */
export interface Delivery {
  request: IncomingMessage
  response: ServerResponse
  /** A client that takes nothing for so long is cut off. */
  stallMilliseconds: number
}

// So small that a slow client is seen to take something. The system tells of it when a third of its own buffer is free.
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

/** Writes bytes and waits until the client has taken them. False when it has gone, or was cut off. */
export const handOver = async (delivery: Delivery, bytes: Uint8Array): Promise<boolean> => {
  const { socket } = delivery.request
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    if (socket.destroyed) return false
    if (!(await taken(delivery, bytes.subarray(at, at + pieceBytes)))) return false
  }
  return !socket.destroyed
}

/** Cuts off a client that does not take an answer whose last byte is written. */
export const watchEnd = ({ request: { socket }, response, stallMilliseconds }: Delivery) => {
  let seen = socket.bytesWritten
  const look = () => {
    // Earlier answers on the connection may still be under way.
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
