import { retryAfterOf } from './envelope.ts'
import { Unreachable } from './errors.ts'
import { growingPauses, pause } from './pauses.ts'

export type Body = string | Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

/** A request on its way to the server. */
export interface Outgoing {
  method: string
  url: string
  headers: Headers
  body?: Body | undefined
  signal?: AbortSignal | undefined
  /** Instead of the client's. */
  patienceMs?: number
}

export interface Waiting {
  why: 'unreachable' | 'overloaded' | 'throttled' | 'under_way'
  ms: number
  method: string
  url: string
}

export interface SendingOptions {
  fetch: typeof fetch
  /** How long in all a request waits to be repeated. */
  patienceMs: number
  /** How long the beginning of an answer is waited for. */
  answerWithinMs: number
  onWaiting: (waiting: Waiting) => void
}

const isRead = (method: string) => method === 'GET' || method === 'HEAD'

// Their answers tell a token, a key or digests, which are kept nowhere: a server carries them out each time they come, whatever key
// they carry. And a call that is started would ring twice.
const notTwice =
  /\/(user_auth(\/recovery)?|api_auth|auth|api_keys?|multi_factor\/(qrcode|passkeys)|edge\/freeswitch)$/
const startsCall = /\/quickcall\//

/** Whether a request may be repeated if its result is unknown. */
export const isRepeatable = (method: string, url: string, headers: Headers) => {
  const { pathname } = new URL(url)
  if (startsCall.test(pathname)) return false
  return isRead(method) || (headers.has('idempotency-key') && !notTwice.test(pathname))
}

const randomHex = (bytes: number) =>
  [...crypto.getRandomValues(new Uint8Array(bytes))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')

// `crypto.randomUUID` is missing in pages that came over plain HTTP.
export const freshKey = () => randomHex(16)

/** Writes get an idempotency key, so that a repeated request runs once. */
export const keyed = (outgoing: Outgoing): Outgoing => {
  if (isRead(outgoing.method) || outgoing.headers.has('idempotency-key')) return outgoing
  const headers = new Headers(outgoing.headers)
  headers.set('idempotency-key', freshKey())
  return { ...outgoing, headers }
}

const hasStream = ({ body }: Outgoing) => body instanceof ReadableStream

const mayRepeat = (outgoing: Outgoing) =>
  !hasStream(outgoing) && isRepeatable(outgoing.method, outgoing.url, outgoing.headers)

type Ask = { why: Waiting['why']; ms: number | undefined }

/** Why an answer asks to come again, and after how long; undefined when it is final. */
const askOf = (response: Response, outgoing: Outgoing): Ask | undefined => {
  const seconds = retryAfterOf(response)
  const ms = seconds === undefined ? undefined : seconds * 1000
  if (hasStream(outgoing)) return undefined
  if (response.status === 429) return { why: 'throttled', ms: ms ?? 1000 }
  // A request under the same key is still being carried out. Other conflicts say nothing of coming again.
  if (response.status === 409 && ms !== undefined) return { why: 'under_way', ms }
  if (response.status === 503 && mayRepeat(outgoing)) return { why: 'overloaded', ms }
  // Statuses of a proxy whose server is unreachable.
  if ((response.status === 502 || response.status === 504) && mayRepeat(outgoing))
    return { why: 'unreachable', ms }
  return undefined
}

/** Sends requests, and sends them again where that is what the server asks for or where it can do no harm. */
export const createSending = (options: SendingOptions) => {
  const attempt = async ({ method, url, headers, body, signal }: Outgoing) => {
    const late = new AbortController()
    const tooLate = () => late.abort(new Error('the server does not answer'))
    // What is large takes as long as it takes to be sent.
    const timer =
      typeof body === 'string' || body === undefined ? setTimeout(tooLate, options.answerWithinMs) : undefined
    const signals = signal ? [signal, late.signal] : [late.signal]
    const init = {
      method,
      headers,
      // The API has no redirects. A proxy must not send tokens and passwords elsewhere.
      redirect: 'error' as const,
      signal: AbortSignal.any(signals),
      ...(body === undefined ? {} : { body }),
      ...(body instanceof ReadableStream ? { duplex: 'half' as const } : {}),
    }
    try {
      return await options.fetch(url, init)
    } finally {
      clearTimeout(timer)
    }
  }

  const answerOrFault = async (outgoing: Outgoing): Promise<Response | Unreachable> => {
    try {
      return await attempt(outgoing)
    } catch (error) {
      outgoing.signal?.throwIfAborted()
      return new Unreachable(error)
    }
  }

  const askAfter = (outcome: Response | Unreachable, outgoing: Outgoing): Ask | undefined => {
    if (outcome instanceof Response) return askOf(outcome, outgoing)
    return mayRepeat(outgoing) ? { why: 'unreachable', ms: undefined } : undefined
  }

  return async (outgoing: Outgoing): Promise<Response> => {
    const pauses = growingPauses()
    let patienceMs = outgoing.patienceMs ?? options.patienceMs
    for (;;) {
      const outcome = await answerOrFault(outgoing)
      const ask = askAfter(outcome, outgoing)
      // Some proxies send `Retry-After: 0`, which would mean a busy loop.
      const ms = ask && Math.max(ask.ms ?? 0, pauses.next())
      if (ask === undefined || ms === undefined || ms > patienceMs) {
        if (outcome instanceof Unreachable) throw outcome
        return outcome
      }
      if (outcome instanceof Response) await outcome.body?.cancel()
      patienceMs -= ms
      options.onWaiting({ why: ask.why, ms, method: outgoing.method, url: outgoing.url })
      await pause(ms, outgoing.signal)
    }
  }
}

export type Send = ReturnType<typeof createSending>
