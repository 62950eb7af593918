import { CrosspointError, freshKey } from '@crosspoint/client'
import { useRef } from 'react'

/** Final refusals without an effect. A 409 may mean that the same request is still running or has run. */
const isRefusal = (error: unknown) =>
  error instanceof CrosspointError &&
  error.status >= 400 &&
  error.status < 500 &&
  error.status !== 408 &&
  error.status !== 409

/**
 * Sends a payment request with one idempotency key until its result is known: a repeated click repeats the
 * request, which runs once. A changed request gets a new key.
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
