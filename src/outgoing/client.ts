import type { LookupAddress, LookupOptions } from 'node:dns'
import { lookup } from 'node:dns/promises'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { pipeline, type Readable, type Transform } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGunzip, createInflate } from 'node:zlib'
import type { Log } from '../lib/log.ts'
import { isPrivateAddress, namesHost } from '../lib/private-address.ts'
import { type Calls, httpOutcome, type Purpose, serverIn, traceHeaders } from './calls.ts'

/** Hosts inside of private networks that may be called all the same: names, addresses or CIDRs. */
type AllowedHosts = () => Promise<readonly string[]>

/** The addresses of a host, as the machine knows them. */
type LookUpAll = (host: string, options: LookupOptions & { all: true }) => Promise<LookupAddress[]>

/** A host leads into a private network, where nobody but the operator may send this server. */
class PrivateHost extends Error {}

const isAllowedAddress = (allowed: readonly string[], host: string, address: string) =>
  !isPrivateAddress(address) || namesHost(allowed, host, address)

/** The host of a URL as an address: URLs write IPv6 in brackets. */
const literalIn = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1')

/** Fails unless a literal address may be called. */
const requireAllowed = async (address: string, allowedHosts: AllowedHosts) => {
  if (isAllowedAddress(await allowedHosts(), address, address)) return
  throw new PrivateHost(`${address} is no address of the internet`)
}

/** Looks up and checks names for sockets, which connect only to the checked addresses. */
const createGuardedLookup = (lookUpAll: LookUpAll, allowedHosts: AllowedHosts): LookupFunction => {
  const find = async (host: string, options: LookupOptions) => {
    const [found, allowed] = await Promise.all([lookUpAll(host, { ...options, all: true }), allowedHosts()])
    const [first, ...others] = found.filter(({ address }) => isAllowedAddress(allowed, host, address))
    if (!first) throw new PrivateHost(`${host} leads to no address of the internet`)
    return [first, ...others] as const
  }

  return (host, options, callback) => {
    find(host, options).then(
      ([first, ...others]) =>
        options.all ? callback(null, [first, ...others]) : callback(null, first.address, first.family),
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    )
  }
}

/** How a call to somebody else's server came to nothing. */
type OutgoingFault = 'unreachable' | 'timeout' | 'too_large' | 'malformed' | 'aborted' | 'private'

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
  /** What for. */
  purpose: Exclude<Purpose, 'dns' | 'mail' | 'message_bus' | 'stripe'>
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
  /** Nobody needs what is beyond: the answer ends there, instead of failing. */
  cutsOff?: true
  /** What has asked for it, where that is not the work at hand: each a `traceparent`. */
  causes?: readonly string[]
  /** Gives the call up. */
  signal?: AbortSignal
  /** The operator itself has configured where this leads: it may lead into private networks. */
  isOperators?: true
  /** Whoever calls tells the log of failures by itself. */
  isQuiet?: boolean
}

export interface OutgoingResponse {
  status: number
  headers: Headers
  text: string
  /** The body as JSON; fails with `malformed` when it is none. */
  json(): unknown
}

/** Calls to servers of others: bounded in time and size, never redirected. */
export interface Outgoing {
  send(call: OutgoingCall): Promise<OutgoingResponse>
  /** Whether a customer may send this server to an address. Each call checks it again. */
  mayCall(url: string): Promise<boolean>
  /** Ends what is kept open. */
  close(): void
}

interface CallTarget {
  host: string
  address: URL
  headers: Record<string, string>
}

const decodedUserInfo = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new OutgoingError('malformed', 'no http address')
  }
}

const callTargetOf = (url: string): CallTarget => {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol)) throw new OutgoingError('malformed', 'no http address')
  const { username, password, host } = parsed
  parsed.username = ''
  parsed.password = ''
  const credentials = username
    ? {
        authorization: `Basic ${Buffer.from(`${decodedUserInfo(username)}:${decodedUserInfo(password)}`).toString('base64')}`,
      }
    : undefined
  return { host, address: parsed, headers: { ...credentials } }
}

const lowerCased = (headers: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const bodyOf = ({ body, json }: OutgoingCall) =>
  body ?? (json === undefined ? undefined : JSON.stringify(json))

const headersOf = (call: OutgoingCall, target: CallTarget, body: string | undefined) => ({
  accept: 'application/json',
  'accept-encoding': 'gzip, deflate',
  ...(call.json === undefined ? {} : { 'content-type': 'application/json' }),
  ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  ...target.headers,
  ...lowerCased(call.headers),
  ...traceHeaders(),
})

const decompressors: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
}

const readBounded = async (
  response: IncomingMessage,
  { maxBytes, cutsOff }: OutgoingCall,
): Promise<Buffer | undefined> => {
  if (!cutsOff && Number(response.headers['content-length'] ?? 0) > maxBytes) return undefined
  const decompressor = decompressors[response.headers['content-encoding'] ?? '']?.()
  const source: Readable = decompressor ? pipeline(response, decompressor, () => undefined) : response
  const chunks: Buffer[] = []
  let size = 0
  // Leaving the loop ends the rest.
  for await (const chunk of source) {
    size += chunk.length
    if (size > maxBytes && !cutsOff) return undefined
    chunks.push(chunk)
    if (size > maxBytes) return Buffer.concat(chunks).subarray(0, maxBytes)
  }
  return Buffer.concat(chunks)
}

const headersIn = ({ rawHeaders }: IncomingMessage) => {
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] as string, rawHeaders[at + 1] as string)
  return headers
}

const parseResponse = (text: string, host: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new OutgoingError('malformed', host)
  }
}

const watchedCall = ({ method, purpose, causes = [] }: OutgoingCall, { address }: CallTarget) => ({
  purpose,
  name: `${method} ${purpose}`,
  kind: 'client' as const,
  facts: { 'http.request.method': method, ...serverIn(address.href) },
  causes,
  outcomeOf: ({ status }: OutgoingResponse) => httpOutcome(status),
  faultOf: (error: unknown) => (error instanceof OutgoingError ? error.fault : 'unreachable'),
})

// A server that was called is likely to be called again soon.
const keepAliveOptions = { keepAlive: true, timeout: 30_000 }
const maxLookingMs = 2000

interface Deps {
  log: Log
  calls: Calls
  /** Hosts of private networks that may be called for customers. */
  allowedPrivateHosts: AllowedHosts
  lookUpAll?: LookUpAll
}

const isPrivate = (error: unknown) => error instanceof PrivateHost

export const createOutgoing = ({ log, calls, allowedPrivateHosts, lookUpAll = lookup }: Deps): Outgoing => {
  const agents = { http: new http.Agent(keepAliveOptions), https: new https.Agent(keepAliveOptions) }
  const judged = createGuardedLookup(lookUpAll, allowedPrivateHosts)

  /** Judged calls have a socket each: one that leads to where only the operator may go is never shared with them. */
  const wayOf = async ({ isOperators }: OutgoingCall, { protocol, hostname }: URL) => {
    if (isOperators) return { agent: protocol === 'https:' ? agents.https : agents.http }
    const literal = literalIn(hostname)
    if (isIP(literal)) await requireAllowed(literal, allowedPrivateHosts)
    return { agent: false as const, lookup: judged }
  }

  /** The answer's head. Redirects are answers like any other: they would lead where nobody has looked. */
  const ask = async (
    call: OutgoingCall,
    target: CallTarget,
    signal: AbortSignal,
  ): Promise<IncomingMessage> => {
    const { address } = target
    const body = bodyOf(call)
    const way = await wayOf(call, address)
    const options = { method: call.method, headers: headersOf(call, target, body), signal, ...way }
    return new Promise((resolve, reject) => {
      const request = address.protocol === 'https:' ? https.request : http.request
      request(address, options, resolve)
        .on('error', reject)
        // Whoever wants to speak another protocol is understood by nobody here.
        .on('upgrade', (_response, socket) => {
          socket.destroy()
          reject(new OutgoingError('malformed', target.host))
        })
        .on('close', () => reject(new OutgoingError('unreachable', target.host)))
        .end(body)
    })
  }

  /** Fails with PrivateHost; whoever is slow to say where a name leads is not waited for. */
  const judge = async ({ hostname }: URL) => {
    const literal = literalIn(hostname)
    if (isIP(literal)) return requireAllowed(literal, allowedPrivateHosts)
    const looking = new Promise<void>((resolve, reject) =>
      judged(hostname, { all: true }, (error) => (isPrivate(error) ? reject(error) : resolve())),
    )
    await Promise.race([looking, sleep(maxLookingMs, undefined, { ref: false })])
  }

  const attempt = async (call: OutgoingCall, target: CallTarget): Promise<OutgoingResponse> => {
    const deadline = AbortSignal.timeout(call.timeoutMs)
    const signal = call.signal ? AbortSignal.any([deadline, call.signal]) : deadline
    try {
      const response = await ask(call, target, signal)
      const bytes = await readBounded(response, call)
      if (!bytes) {
        response.destroy()
        throw new OutgoingError('too_large', target.host)
      }
      const text = bytes.toString('utf8')
      return {
        status: response.statusCode ?? 0,
        headers: headersIn(response),
        text,
        json: () => parseResponse(text, target.host),
      }
    } catch (error) {
      if (error instanceof OutgoingError) throw error
      if (isPrivate(error)) throw new OutgoingError('private', target.host, error)
      if (deadline.aborted) throw new OutgoingError('timeout', target.host)
      throw new OutgoingError(signal.aborted ? 'aborted' : 'unreachable', target.host, error)
    }
  }

  return {
    async send(call) {
      const target = callTargetOf(call.url)
      try {
        return await calls.watch(watchedCall(call, target), () => attempt(call, target))
      } catch (error) {
        if (error instanceof OutgoingError && error.fault !== 'aborted' && !call.isQuiet) {
          log.write('warn', 'a call to another server failed', { host: target.host, fault: error.fault })
        }
        throw error
      }
    },

    async mayCall(url) {
      try {
        await judge(callTargetOf(url).address)
        return true
      } catch (error) {
        if (isPrivate(error) || error instanceof OutgoingError) return false
        throw error
      }
    },

    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}
