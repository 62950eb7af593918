import { CrosspointError, freshKey } from '@crosspoint/client'
import { useRef } from 'react'

/** Refused for good, with nothing done. A conflict may be one with the same request, which is still under way or was done. */
const isRefusal = (error: unknown) =>
  error instanceof CrosspointError &&
  error.status >= 400 &&
  error.status < 500 &&
  error.status !== 408 &&
  error.status !== 409

/**
 * Sends what moves money under one key until it is told what became of it: whoever presses again after an answer was lost
 * repeats the request, which is carried out once. Another wish gets another key.
 */
export const useOnce = () => {
  const open = useRef<{ wish: string; key: string }>(undefined)
  return async <Answer>(
    wish: object,
    send: (headers: { 'idempotency-key': string }) => Promise<Answer>,
  ): Promise<Answer> => {
    const text = JSON.stringify(wish)
    const key = open.current?.wish === text ? open.current.key : freshKey()
    open.current = { wish: text, key }
    try {
      const answer = await send({ 'idempotency-key': key })
      open.current = undefined
      return answer
    } catch (error) {
      if (isRefusal(error)) open.current = undefined
      throw error
    }
  }
}

export type Once = ReturnType<typeof useOnce>
