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

/** Hosts in private networks that may be called: names, addresses or CIDRs. */
type AllowedHosts = () => Promise<readonly string[]>

type LookUpAll = (host: string, options: LookupOptions & { all: true }) => Promise<LookupAddress[]>

/** Only the operator may configure calls into private networks. */
class PrivateHost extends Error {}

const isAllowedAddress = (allowed: readonly string[], host: string, address: string) =>
  !isPrivateAddress(address) || namesHost(allowed, host, address)

/** URLs have IPv6 in brackets. */
const literalIn = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1')

const requireAllowed = async (address: string, allowedHosts: AllowedHosts) => {
  if (isAllowedAddress(await allowedHosts(), address, address)) return
  throw new PrivateHost(`${address} is not a public address`)
}

/** Looks up and checks names for sockets, which connect only to the checked addresses. */
const createGuardedLookup = (lookUpAll: LookUpAll, allowedHosts: AllowedHosts): LookupFunction => {
  const find = async (host: string, options: LookupOptions) => {
    const [found, allowed] = await Promise.all([lookUpAll(host, { ...options, all: true }), allowedHosts()])
    const [first, ...others] = found.filter(({ address }) => isAllowedAddress(allowed, host, address))
    if (!first) throw new PrivateHost(`${host} resolves to no public address`)
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

type OutgoingFault = 'unreachable' | 'timeout' | 'too_large' | 'malformed' | 'aborted' | 'private'

/** Its message contains only the host: paths and queries may contain keys. */
export class OutgoingError extends Error {
  readonly fault: OutgoingFault

  constructor(fault: OutgoingFault, host: string, reason?: unknown) {
    super(`${host}: ${fault}`, reason === undefined ? undefined : { cause: reason })
    this.name = 'OutgoingError'
    this.fault = fault
  }
}

export interface OutgoingCall {
  purpose: Exclude<Purpose, 'dns' | 'mail' | 'message_bus' | 'stripe'>
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** A user and password in it are sent as Basic credentials. */
  url: string
  /** Sent as JSON. */
  json?: unknown
  /** Instead of `json`, for signed bodies. */
  body?: string
  headers?: Readonly<Record<string, string>>
  /** From the look-up of the name to the last byte of the response. */
  timeoutMs: number
  /** The maximum size of the decompressed response. */
  maxBytes: number
  /** A longer response is cut off and does not fail. */
  cutsOff?: true
  /** The `traceparent` of each request that caused it, if not the current trace. */
  causes?: readonly string[]
  signal?: AbortSignal
  /** The operator configured the address: it may be in a private network. */
  isOperators?: true
  /** The caller logs failures. */
  isQuiet?: boolean
}

export interface OutgoingResponse {
  status: number
  headers: Headers
  text: string
  /** Fails with `malformed`. */
  json(): unknown
}

export type Outgoing = ReturnType<typeof createOutgoing>

interface CallTarget {
  host: string
  address: URL
  headers: Record<string, string>
}

const decodedUserInfo = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new OutgoingError('malformed', 'not an http URL')
  }
}

const callTargetOf = (url: string): CallTarget => {
  const parsed = URL.parse(url)
  if (!parsed || !/^https?:$/.test(parsed.protocol)) throw new OutgoingError('malformed', 'not an http URL')
  const { username, password, host } = parsed
  parsed.username = ''
  parsed.password = ''
  if (!username) return { host, address: parsed, headers: {} }
  const credentials = Buffer.from(`${decodedUserInfo(username)}:${decodedUserInfo(password)}`)
  return { host, address: parsed, headers: { authorization: `Basic ${credentials.toString('base64')}` } }
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

const keepAliveOptions = { keepAlive: true, timeout: 30_000 }
const maxLookingMs = 2000

interface Deps {
  log: Log
  calls: Calls
  allowedPrivateHosts: AllowedHosts
  lookUpAll?: LookUpAll
}

const isPrivate = (error: unknown) => error instanceof PrivateHost

/** Calls to other systems: bounded in time and size, never redirected. */
export const createOutgoing = ({ log, calls, allowedPrivateHosts, lookUpAll = lookup }: Deps) => {
  const agents = { http: new http.Agent(keepAliveOptions), https: new https.Agent(keepAliveOptions) }
  const judged = createGuardedLookup(lookUpAll, allowedPrivateHosts)

  /** Calls for customers have a socket each: they never share a connection into a private network. */
  const wayOf = async ({ isOperators }: OutgoingCall, { protocol, hostname }: URL) => {
    if (isOperators) return { agent: protocol === 'https:' ? agents.https : agents.http }
    const literal = literalIn(hostname)
    if (isIP(literal)) await requireAllowed(literal, allowedPrivateHosts)
    return { agent: false as const, lookup: judged }
  }

  /** Redirects are not followed: their address is not checked. */
  const ask = async (call: OutgoingCall, target: CallTarget, signal: AbortSignal) => {
    const { address } = target
    const body = bodyOf(call)
    const way = await wayOf(call, address)
    const options = { method: call.method, headers: headersOf(call, target, body), signal, ...way }
    return new Promise<IncomingMessage>((resolve, reject) => {
      const request = address.protocol === 'https:' ? https.request : http.request
      request(address, options, resolve)
        .on('error', reject)
        .on('upgrade', (_response, socket) => {
          socket.destroy()
          reject(new OutgoingError('malformed', target.host))
        })
        .on('close', () => reject(new OutgoingError('unreachable', target.host)))
        .end(body)
    })
  }

  /** Fails with PrivateHost. A slow look-up counts as allowed: each call checks it again. */
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
    async send(call: OutgoingCall): Promise<OutgoingResponse> {
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

    /** Whether customers may configure this address. Each call checks it again. */
    async mayCall(url: string) {
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
