import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

// A megabyte of an export is garbage as soon as it is sent, and nothing else that an export makes would let the
// collector look for it: tens of megabytes would wait to be found.
const giveBack = ({ buffer }: Uint8Array) => {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/** Writes bytes that have a buffer to themselves and are nobody's afterwards, and waits until the client has taken them. False when it has gone. */
export const handOver = async (response: ServerResponse, bytes: Uint8Array): Promise<boolean> => {
  if (response.destroyed) return false
  const left = new AbortController()
  const written = new Promise<boolean>((resolve) => {
    response.write(bytes, (error) => resolve(!error))
  })
  const gone = once(response, 'close', { signal: left.signal }).then(
    () => false,
    () => false,
  )
  const isWritten = await Promise.race([written, gone])
  left.abort()
  if (isWritten) giveBack(bytes)
  return isWritten && !response.destroyed
}
