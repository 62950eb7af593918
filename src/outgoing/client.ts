import type { Log } from '../lib/log.ts'

/** How a call to somebody else's server came to nothing. */
type OutgoingFault = 'unreachable' | 'timeout' | 'too_large' | 'malformed' | 'aborted'

/** Its message names no more of the address than the host: paths and queries hold keys. */
export class OutgoingError extends Error {
  readonly fault: OutgoingFault

  constructor(fault: OutgoingFault, host: string, reason?: unknown) {
    super(`${host}: ${fault}`, reason === undefined ? undefined : { cause: reason })
    this.name = 'OutgoingError'
    this.fault = fault
  }
}

export interface OutgoingCall {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** A user and password in it are sent as Basic credentials. */
  url: string
  /** Sent as JSON. */
  json?: unknown
  /** Instead of `json`: bytes as they are to be sent, for bodies that are signed. */
  body?: string
  headers?: Readonly<Record<string, string>>
  /** For all of it, from the look-up of the name to the last byte of the answer. */
  timeoutMs: number
  /** Of the answer, decompressed. */
  maxBytes: number
  /** Gives the call up. */
  signal?: AbortSignal
}

export interface OutgoingAnswer {
  status: number
  headers: Headers
  text: string
  /** The body as JSON; fails with `malformed` when it is none. */
  json(): unknown
}

/** Calls to servers of others: bounded in time and size, never redirected. */
export interface Outgoing {
  send(call: OutgoingCall): Promise<OutgoingAnswer>
}

interface Target {
  host: string
  address: string
  headers: Record<string, string>
}

const targetOf = (url: string): Target => {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol)) throw new OutgoingError('malformed', 'no http address')
  const { username, password, host } = parsed
  parsed.username = ''
  parsed.password = ''
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const credentials = username
    ? { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
    : undefined
  return { host, address: parsed.href, headers: { ...credentials } }
}

const requestOf = (call: OutgoingCall, target: Target, signal: AbortSignal): RequestInit => {
  const body = call.body ?? (call.json === undefined ? undefined : JSON.stringify(call.json))
  const type = call.json === undefined ? undefined : { 'content-type': 'application/json' }
  return {
    method: call.method,
    headers: { accept: 'application/json', ...type, ...target.headers, ...call.headers },
    // A redirect would lead to an address that nobody configured: it is an answer like any other.
    redirect: 'manual',
    signal,
    ...(body === undefined ? {} : { body }),
  }
}

const readBounded = async (response: Response, maxBytes: number): Promise<Buffer | undefined> => {
  if (Number(response.headers.get('content-length') ?? 0) > maxBytes) {
    await response.body?.cancel()
    return undefined
  }
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the rest.
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const parse = (text: string, host: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new OutgoingError('malformed', host)
  }
}

export const createOutgoing = (log: Log): Outgoing => {
  const attempt = async (call: OutgoingCall, target: Target): Promise<OutgoingAnswer> => {
    const deadline = AbortSignal.timeout(call.timeoutMs)
    const signal = call.signal ? AbortSignal.any([deadline, call.signal]) : deadline
    try {
      const response = await fetch(target.address, requestOf(call, target, signal))
      const bytes = await readBounded(response, call.maxBytes)
      if (!bytes) throw new OutgoingError('too_large', target.host)
      const text = bytes.toString('utf8')
      const { status, headers } = response
      return { status, headers, text, json: () => parse(text, target.host) }
    } catch (error) {
      if (error instanceof OutgoingError) throw error
      if (deadline.aborted) throw new OutgoingError('timeout', target.host)
      throw new OutgoingError(signal.aborted ? 'aborted' : 'unreachable', target.host, error)
    }
  }

  return {
    async send(call) {
      const target = targetOf(call.url)
      try {
        return await attempt(call, target)
      } catch (error) {
        if (error instanceof OutgoingError && error.fault !== 'aborted') {
          log.write('warn', 'a call to another server failed', { host: target.host, fault: error.fault })
        }
        throw error
      }
    },
  }
}
