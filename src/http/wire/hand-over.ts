import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { giveBack } from '../../storage/give-back.ts'

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
