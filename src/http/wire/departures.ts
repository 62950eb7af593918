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
