import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { announcedBytes } from './body-bytes.ts'

// A connection that is closed while its client still sends takes the answer away from it. So the rest of a body that
// nobody wants is read away, but only so much of it and for so long.
const maxBytes = 16_000_000
const longestMilliseconds = 10_000

/** Whether the connection has to end with the answer, because more of the body may come than is read away. */
export const outlastsResponse = (request: IncomingMessage) =>
  !request.complete && (announcedBytes(request) ?? 0) > maxBytes

/** When an answer ends the connection, lets the client finish first: it would lose the answer to a reset. */
const endLate = (request: IncomingMessage, socket: Socket) => {
  const destroySoon = socket.destroySoon.bind(socket)
  socket.destroySoon = () => {
    socket.destroySoon = destroySoon
    if (request.complete) return destroySoon()
    socket.end()
    request.once('end', destroySoon)
  }
}

/** Reads away what is left of a request's body. */
export const passOver = (request: IncomingMessage) => {
  const { socket } = request
  if (request.complete || socket.destroyed) return
  endLate(request, socket)
  const cut = () => socket.destroy()
  const timer = setTimeout(cut, longestMilliseconds)
  let bytes = 0
  request.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes > maxBytes) cut()
  })
  request.once('close', () => clearTimeout(timer))
}
