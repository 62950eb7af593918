import { failure, requestTimeout } from '../../lib/failure.ts'
import { traceparentOf } from '../../lib/trace.ts'
import type { RequestContext } from '../exchange.ts'
import type { StoredResponse } from '../request/idempotency.ts'
import type { Release, Room } from '../throttle/in-flight.ts'
import { type Delivery, handOver, watchEnd } from '../transport/body-writer.ts'
import { compressedBody, compressedList, compressedStream, type ListBytes, setVary } from './compressing.ts'
import { prettyPrinted } from './json-text.ts'
import { type EnvelopeParts, withoutToken, withToken } from './responses.ts'

const allowedHeaders =
  'Content-Type, Depth, User-Agent, X-File-Size, X-Requested-With, If-Modified-Since, X-File-Name, ' +
  'Cache-Control, X-Auth-Token, If-Match, If-None-Match, Authorization, X-HTTP-Method-Override, ' +
  'X-Kazoo-Cluster-ID, X-Request-ID, X-Auth-Account-ID, X-Pretty-Print, Idempotency-Key'
const exposedHeaders =
  'Content-Type, X-Auth-Token, X-Request-ID, X-Kazoo-Cluster-ID, Location, Etag, ETag, Retry-After, ' +
  'Content-Disposition, X-Next-Start-Key, X-Last-Event-ID'

/** On every response: without it a browser shows a network failure instead of the error. Flat: name, value, name, value. */
export const corsHeaders: readonly string[] = [
  'access-control-allow-origin',
  '*',
  'access-control-allow-methods',
  'GET, POST, PUT, PATCH, DELETE, OPTIONS, HEAD',
  'access-control-allow-headers',
  allowedHeaders,
  'access-control-expose-headers',
  exposedHeaders,
  'access-control-max-age',
  '86400',
]

export type Headers = Record<string, string>

const isPrivate = ({ actor, route, method }: RequestContext) => {
  if (method === 'OPTIONS') return false
  if (actor !== undefined || (method !== 'GET' && method !== 'HEAD')) return true
  return route?.spec.allow.needsToken !== false
}

export const writeHead = (exchange: RequestContext, status: number, headers: Headers) => {
  const flat = [...corsHeaders, 'x-request-id', exchange.id, 'traceparent', traceparentOf(exchange.trace)]
  flat.push('x-content-type-options', 'nosniff')
  if (headers['cache-control'] === undefined && isPrivate(exchange))
    flat.push('cache-control', 'private, no-store')
  for (const name in headers) flat.push(name, headers[name] as string)
  exchange.response.writeHead(status, flat)
}

/** The account of the caller, else the client address: its requests share one queue and one budget. */
const payerOf = ({ actor, clientAddress }: RequestContext) => actor?.accountId ?? clientAddress

const roomOf = ({ crossbar }: RequestContext): Room => ({
  bytesOfOne: crossbar.answer_bytes_per_account,
  bytesOfAll: crossbar.answer_bytes,
  waitMilliseconds: crossbar.answer_wait_s * 1000,
})

const deliveryOf = ({ request, response, crossbar }: RequestContext): Delivery => ({
  request,
  response,
  stallMilliseconds: crossbar.answer_stall_s * 1000,
})

const toldToken = ({ crossbar, actor }: RequestContext) =>
  crossbar?.include_auth_token ? actor?.token : undefined

/** Runs work in the fair queue of the caller. */
export const inTurn = async <T>(exchange: RequestContext, kind: 'short' | 'long', work: () => Promise<T>) => {
  const giveBack = await exchange.frame.turns[kind].take(payerOf(exchange))
  try {
    if (exchange.request.socket.destroyed) throw failure(requestTimeout, {})
    return await work()
  } finally {
    giveBack()
  }
}

/** Waits for memory for a response, which is reserved until it is sent. */
export const withRoom = async <T>(exchange: RequestContext, bytes: number, work: () => Promise<T>) => {
  const { frame, request } = exchange
  const giveBack = await frame.inFlight.reserve(payerOf(exchange), bytes, roomOf(exchange), request.socket)
  exchange.hasRoom = true
  try {
    return await work()
  } finally {
    giveBack()
  }
}

/** Reserves memory for a response that became larger, or fails. */
export const claimRoom = (exchange: RequestContext, bytes: number): Release =>
  exchange.frame.inFlight.claim(payerOf(exchange), bytes, roomOf(exchange), exchange.request.socket)

// Smaller responses are not counted.
const countedBytes = 16_384
// Larger ones are written in chunks, so that the progress of a slow client is visible.
const maxWriteBytes = 262_144

/** Counts a response until the client has received it. Only reads without reserved memory can be rejected. */
const count = (exchange: RequestContext, status: number, bytes: number) => {
  const { method, frame, request, response } = exchange
  const isRead = (method === 'GET' || method === 'HEAD') && status < 400
  const payer = payerOf(exchange)
  const giveBack =
    isRead && !exchange.hasRoom
      ? frame.inFlight.claim(payer, bytes, roomOf(exchange), request.socket)
      : frame.inFlight.force(payer, bytes, request.socket)
  response.once('finish', giveBack)
}

const isCounted = ({ crossbar, method }: RequestContext, bytes: number) =>
  bytes >= countedBytes && method !== 'HEAD' && crossbar !== undefined

const writeInPieces = async (exchange: RequestContext, pieces: readonly Uint8Array[]) => {
  const delivery = deliveryOf(exchange)
  for (const piece of pieces) if (!(await handOver(delivery, piece))) return
  exchange.response.end()
}

const sendAsItIs = async (
  exchange: RequestContext,
  status: number,
  body: string | Uint8Array,
  headers: Headers,
) => {
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  const counted = isCounted(exchange, bytes)
  if (counted) count(exchange, status, bytes)
  exchange.done = true
  headers['content-length'] = String(bytes)
  writeHead(exchange, status, headers)
  if (exchange.method === 'HEAD') return void exchange.response.end()
  if (counted && bytes > maxWriteBytes)
    return writeInPieces(exchange, [typeof body === 'string' ? Buffer.from(body) : body])
  // One byte a character means ASCII: latin1 gives the same bytes and is faster.
  exchange.response.end(body, bytes === body.length ? 'latin1' : 'utf8')
  if (counted) watchEnd(deliveryOf(exchange))
}

export const sendListBytes = async (
  exchange: RequestContext,
  list: ListBytes,
  tail: Uint8Array,
  headers: Headers,
) => {
  const pieces = await compressedList(exchange, headers, { list, tail }, toldToken(exchange))
  await sendPiecesAsTheyAre(exchange, pieces ?? [list.bytes, tail], headers)
}

const sendPiecesAsTheyAre = async (
  exchange: RequestContext,
  pieces: readonly Uint8Array[],
  headers: Headers,
) => {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const counted = isCounted(exchange, length)
  if (counted) count(exchange, 200, length)
  exchange.done = true
  headers['content-length'] = String(length)
  writeHead(exchange, 200, headers)
  const { response } = exchange
  if (exchange.method === 'HEAD') return void response.end()
  if (counted && length > maxWriteBytes) return writeInPieces(exchange, pieces)
  response.cork()
  for (const piece of pieces) response.write(piece)
  response.end()
  response.uncork()
  if (counted) watchEnd(deliveryOf(exchange))
}

export const send = async (
  exchange: RequestContext,
  status: number,
  body: string | Uint8Array,
  headers: Headers,
) => {
  const compressing =
    status === 200 ? compressedBody(exchange, headers, body, toldToken(exchange)) : undefined
  await sendAsItIs(exchange, status, (await compressing) ?? body, headers)
}

export const sendEmpty = (exchange: RequestContext, status: number, headers: Headers = {}) => {
  exchange.done = true
  if (status !== 304) headers['content-length'] = '0'
  else setVary(exchange, headers)
  writeHead(exchange, status, headers)
  exchange.response.end()
}

export const wantsPretty = (exchange: RequestContext) =>
  exchange.header('x-pretty-print') === 'true' || exchange.isTrue('pretty_print')

/** A request in progress: a route with `again` knows more the next time. */
const isProvisional = ({ route }: RequestContext, { status }: StoredResponse) =>
  status === 202 && route?.again !== undefined

/** Completes the request's key. Without a response, a repeated request gets a new one. */
export const settleKey = async (exchange: RequestContext, answer?: StoredResponse) => {
  const { claim, frame } = exchange
  exchange.claim = undefined
  if (claim)
    await frame.idempotency.settle(claim, answer && isProvisional(exchange, answer) ? undefined : answer)
}

const shaped = (exchange: RequestContext, text: string) =>
  wantsPretty(exchange) ? prettyPrinted(text) : text

export const sendJson = async (
  exchange: RequestContext,
  status: number,
  text: string,
  headers: Headers = {},
) => {
  headers['content-type'] = 'application/json'
  if (exchange.claim)
    await settleKey(exchange, { status, headers, ...withoutToken(text, exchange.actor?.token) })
  await send(exchange, status, shaped(exchange, text), headers)
}

/** The stored response with the token of this request. */
export const sendCached = (exchange: RequestContext, { status, headers, body, tokenAt }: StoredResponse) => {
  const token = toldToken(exchange)
  const text = tokenAt === undefined || token === undefined ? body : withToken(body, tokenAt, token)
  return send(exchange, status, shaped(exchange, text), { ...headers, 'idempotent-replayed': 'true' })
}

export const common = (
  exchange: RequestContext,
  status: 'success' | 'error',
): Omit<EnvelopeParts, 'data'> => ({
  status,
  requestId: exchange.id,
  node: exchange.frame.node,
  now: exchange.frame.clock.now(),
  version: exchange.actor ? exchange.frame.version : undefined,
  authToken: toldToken(exchange),
  tokens: exchange.tokens,
})

const matchesTag = (header = '', etag: string) =>
  header
    .split(',')
    .some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag.replace(/^W\//, ''))

export const isUnchanged = (exchange: RequestContext, etag: string | undefined) =>
  etag !== undefined &&
  (exchange.method === 'GET' || exchange.method === 'HEAD') &&
  matchesTag(exchange.header('if-none-match'), etag)

/** Chunks of a response: bytes that the sender may release, or text. */
export type Pieces = AsyncIterable<string | Uint8Array>

/** Streams a response. The head waits for the first chunk, so that an earlier failure gets its own status. */
export const sendStreamed = async (exchange: RequestContext, headers: Headers, pieces: Pieces) => {
  const delivery = deliveryOf(exchange)
  for await (const piece of await compressedStream(exchange, headers, pieces, toldToken(exchange))) {
    if (!exchange.done) {
      exchange.done = true
      writeHead(exchange, 200, headers)
      if (exchange.method === 'HEAD') break
    }
    if (!(await handOver(delivery, typeof piece === 'string' ? Buffer.from(piece) : piece))) return
  }
  if (!exchange.done) return sendAsItIs(exchange, 200, '', headers)
  exchange.response.end()
}
