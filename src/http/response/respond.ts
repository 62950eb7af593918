import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Failure, isOutage, unexpected } from '../../lib/failure.ts'
import { iconTypes, imageTypes } from '../../lib/image-type.ts'
import type { Json } from '../../lib/json.ts'
import { describeError } from '../../lib/log.ts'
import type { RequestContext } from '../exchange.ts'
import { routeOf } from '../request/router.ts'
import { outlastsResponse } from '../transport/body-bytes.ts'
import { onClose } from '../transport/body-writer.ts'
import { createPrettyPrinter } from './json-text.ts'
import { sendList, sendRows } from './lists.ts'
import { logRefusal, reportRefusal } from './refusals.ts'
import {
  ApiResponse,
  type EnvelopeParts,
  envelopeOf,
  envelopeTail,
  FileResponse,
  harmless,
  type Line,
  ListResponse,
  type LiveResponse,
  RawJson,
  RowsResponse,
  StreamResponse,
} from './responses.ts'
import {
  common,
  type Headers,
  inTurn,
  isUnchanged,
  type Pieces,
  send,
  sendEmpty,
  sendJson,
  sendStreamed,
  wantsPretty,
  withRoom,
  writeHead,
} from './sending.ts'

// Interval, in ms, of checks whether the client may still read.
const judgeMs = 4000
// Time, in ms, that a client gets to receive the last bytes.
const lingerMs = 5000

/**
 * Starts a response without an end. It ends when the client leaves, when `mayStill` returns false, or when the server stops.
 */
export const sendLive = (
  exchange: RequestContext,
  answer: LiveResponse,
  mayStill: () => Promise<boolean>,
) => {
  const { response, request, frame } = exchange
  const { socket } = request
  const { live } = frame.life
  exchange.done = true
  writeHead(exchange, 200, { ...answer.headers, 'content-type': answer.contentType })
  response.flushHeaders()
  if (exchange.method === 'HEAD') return void response.end()
  let isOver = false
  let close = () => {}
  let forgetDeparture = () => true

  const finish = () => {
    if (isOver) return
    isOver = true
    clearInterval(judging)
    live.delete(line.end)
    forgetDeparture()
    close()
  }

  const line: Line = {
    write(text) {
      if (!isOver) response.write(text)
    },
    get waiting() {
      return response.writableLength
    },
    drained: () =>
      new Promise((resolve) => {
        if (isOver || !response.writableNeedDrain) return resolve()
        const done = () => {
          response.off('drain', done)
          stay()
          resolve()
        }
        const stay = onClose(socket, done)
        response.once('drain', done)
      }),
    end() {
      if (isOver) return
      finish()
      response.end()
      const cut = setTimeout(() => socket.destroy(), lingerMs)
      cut.unref()
      response.once('finish', () => clearTimeout(cut))
    },
  }

  const judging = setInterval(() => {
    // A check that fails is repeated the next time.
    mayStill().then(
      (may) => void (may || line.end()),
      () => undefined,
    )
  }, judgeMs)
  judging.unref()
  if (socket.destroyed) return finish()
  forgetDeparture = onClose(socket, finish)
  live.add(line.end)
  close = answer.open(line)
  // The server stopped while this response was starting.
  if (frame.life.isOver) line.end()
}

const withoutLastSlashes = (path: string) => {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end)
}

/**
 * The path of the created record: below the path of the request, next to it (a sub-account is created at the path of its parent),
 * or below the account (devices of a user).
 */
const location = ({ frame, path, segments }: RequestContext, id: string): Headers => {
  const isRead = (place: readonly string[]) => {
    const match = frame.router.find(place)
    return match !== undefined && routeOf(match, 'GET') !== undefined
  }
  if (isRead([...segments, id])) return { location: `${withoutLastSlashes(path)}/${id}` }
  const others = [
    [...segments.slice(0, -1), id],
    [...segments.slice(0, 3), ...segments.slice(-1), id],
  ]
  const place = others.find(isRead)
  return place ? { location: `/${place.map(encodeURIComponent).join('/')}` } : {}
}

const maxSmall = 1000

/** Whether a value has too many members, at all levels, for one call of JSON.stringify. */
const isLarge = (data: unknown): boolean => {
  let left = maxSmall
  const looksLarge = (value: unknown): boolean => {
    if (typeof value !== 'object' || value === null || value instanceof RawJson) return false
    const members = Array.isArray(value) ? value : Object.values(value)
    left -= members.length
    return left < 0 || members.some(looksLarge)
  }
  return looksLarge(data)
}

const roughBytesOf = (data: unknown) => {
  const members = typeof data === 'object' && data !== null ? Object.values(data) : []
  const lists = [data, ...members].filter((value) => Array.isArray(value))
  return lists.reduce((sum, list) => sum + list.length * (JSON.stringify(list[0]) ?? '').length, 0)
}

function* textsOf(value: unknown): Generator<string> {
  if (!isLarge(value)) return yield JSON.stringify(value ?? null)
  const isList = Array.isArray(value)
  let separator = ''
  yield isList ? '[' : '{'
  for (const [key, member] of isList ? value.entries() : Object.entries(value as object)) {
    if (member === undefined && !isList) continue
    yield isList ? separator : `${separator}${JSON.stringify(key)}:`
    yield* textsOf(member)
    separator = ','
  }
  yield isList ? ']' : '}'
}

const pieceLength = 60_000

/** JSON in chunks. Other requests run between them. */
async function* largePieces(data: unknown): AsyncGenerator<string> {
  let piece = ''
  for (const text of textsOf(data)) {
    piece += text
    if (piece.length < pieceLength) continue
    yield piece
    piece = ''
    await nextTurn()
  }
  yield piece
}

async function* largeAnswer(exchange: RequestContext, { data, ...rest }: EnvelopeParts): Pieces {
  const print = wantsPretty(exchange) ? createPrettyPrinter() : (text: string) => text
  yield print('{"data":')
  for await (const piece of largePieces(data)) yield print(piece)
  yield print(envelopeTail(rest)) + (wantsPretty(exchange) ? '\n' : '')
}

type Metadata = ApiResponse['fields']['metadata']

const withWarnings = (metadata: Metadata, { warnings }: RequestContext): Metadata => {
  if (warnings.length === 0) return metadata
  const known: Json = metadata instanceof RawJson ? JSON.parse(metadata.text) : { ...metadata }
  const own = Array.isArray(known.warnings) ? known.warnings : []
  return { ...known, warnings: [...own, ...warnings] }
}

const isStreamable = ({ method, claim }: RequestContext, { status = 200 }: ApiResponse['fields']) =>
  method === 'GET' && status === 200 && !claim

const sendAnswer = (exchange: RequestContext, { fields }: ApiResponse) => {
  const { data, metadata, revision, status, message, pageSize, created, headers, authToken } = fields
  const tag = fields.etag ?? revision
  const etag = tag === undefined ? undefined : `"${tag}"`
  const wire: Headers = { ...headers, ...(created ? location(exchange, created) : {}) }
  if (etag) wire.etag = etag
  if (isUnchanged(exchange, etag)) return sendEmpty(exchange, 304, wire)
  const told = withWarnings(metadata, exchange)
  const parts: EnvelopeParts = { ...common(exchange, 'success'), data, metadata: told, revision }
  if (authToken !== undefined && !exchange.route?.spec.tellsOnce)
    throw new Error(`${exchange.path} returns a token that the route does not declare`)
  if (authToken !== undefined) parts.authToken = authToken
  parts.extra = { message, page_size: pageSize }
  if (isStreamable(exchange, fields) && isLarge(data)) {
    const streamed = { ...wire, 'content-type': 'application/json' }
    return withRoom(exchange, roughBytesOf(data), () =>
      sendStreamed(exchange, streamed, largeAnswer(exchange, parts)),
    )
  }
  return sendJson(exchange, status ?? (exchange.method === 'PUT' ? 201 : 200), envelopeOf(parts), wire)
}

const shownInPlace = new Set([...imageTypes, ...iconTypes, 'application/pdf'])

/** Uploaded files: nothing in them runs, and what is not an image is saved instead of shown. */
const fileHeaders = (contentType: string, headers: Headers): Headers => ({
  ...harmless,
  ...(shownInPlace.has(contentType) ? {} : { 'content-disposition': 'attachment' }),
  ...headers,
  'content-type': contentType,
})

const byteRange = /^bytes=(\d+)-(\d*)$/

/** An unusable range returns the whole file. */
const sendFile = (exchange: RequestContext, { bytes, contentType, headers }: FileResponse) => {
  const etag = headers.etag ?? `"${hash('sha256', bytes, 'hex').slice(0, 32)}"`
  const wire: Headers = { ...fileHeaders(contentType, headers), etag, 'accept-ranges': 'bytes' }
  if (isUnchanged(exchange, etag)) return sendEmpty(exchange, 304, wire)
  const [, from, to] = byteRange.exec(exchange.header('range') ?? '') ?? []
  const start = Number(from)
  const end = to ? Math.min(Number(to), bytes.length - 1) : bytes.length - 1
  if (from === undefined || start > end) return send(exchange, 200, bytes, wire)
  wire['content-range'] = `bytes ${start}-${end}/${bytes.length}`
  return send(exchange, 206, bytes.subarray(start, end + 1), wire)
}

const fileStreamBytes = 2_000_000

async function* inTurns(exchange: RequestContext, chunks: Pieces): Pieces {
  const iterator = chunks[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { done, value } = await inTurn(exchange, 'long', () => iterator.next())
      if (done) return
      yield value
    }
  } finally {
    await iterator.return?.()
  }
}

const sendStream = (exchange: RequestContext, { contentType, headers, chunks }: StreamResponse) =>
  withRoom(exchange, fileStreamBytes, () =>
    sendStreamed(exchange, fileHeaders(contentType, headers), inTurns(exchange, chunks)),
  )

export const respond = (exchange: RequestContext, result: unknown) => {
  if (result instanceof ListResponse) return sendList(exchange, result)
  if (result instanceof RowsResponse)
    return sendRows(exchange, result, () => withWarnings(result.metadata?.(), exchange))
  if (result instanceof FileResponse) return sendFile(exchange, result)
  if (result instanceof StreamResponse) return sendStream(exchange, result)
  return sendAnswer(exchange, result instanceof ApiResponse ? result : new ApiResponse({ data: result }))
}

/** The client left before its request was read, or the server stops and closed the connection. */
const hasLeft = ({ request, response, frame }: RequestContext, error: unknown) =>
  error === request.errored || (frame.life.isOver && response.destroyed)

/** Sends a declared failure in its envelope; any other error as 500, with a log entry. */
export const respondFailure = (exchange: RequestContext, error: unknown) => {
  const { response, frame, id } = exchange
  exchange.fault = error
  const answer = error instanceof Failure ? error.answer : undefined
  if (hasLeft(exchange, error)) return
  if (!answer || isOutage(error)) {
    frame.log.write('error', 'a request failed', {
      request_id: id,
      trace_id: exchange.trace.traceId,
      method: exchange.method,
      // Not the path: it may contain a token or a secret.
      route: exchange.route?.path,
      error: describeError(error),
    })
  }
  if (answer) logRefusal(exchange, error, answer.status)
  if (error instanceof Failure) reportRefusal(exchange, error, error.answer)
  if (response.headersSent) return void response.destroy()
  const { status, message, data, metadata, headers, extra: further } = answer ?? unexpected
  const wire: Headers = { ...headers }
  if (outlastsResponse(exchange.request)) wire.connection = 'close'
  const extra = { error: String(status), message, ...further }
  return sendJson(exchange, status, envelopeOf({ ...common(exchange, 'error'), data, metadata, extra }), wire)
}
