import {
  createServer,
  type IncomingMessage,
  type Server as PlainServer,
  type ServerResponse,
} from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { invalid } from '../../lib/failure.ts'
import { randomHex } from '../../lib/ids.ts'
import { envelopeOf } from '../answer/envelope.ts'
import { respondFailure, settleKey } from '../answer/respond.ts'
import { Exchange, type Frame } from '../exchange.ts'
import { runSteps } from '../pipeline.ts'
import { corsHeaders } from './cors.ts'

const requestIdText = /^[\w.:@/+=-]{1,128}$/

/** The client's X-Request-ID is used as it is, unless it could not stand in a header or a log. */
const requestIdOf = (request: IncomingMessage) => {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && requestIdText.test(given) ? given : randomHex(16)
}

/** A plain or a TLS listener. */
type Server = PlainServer | TlsServer

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

const requireHost = ({ headers, httpVersion }: IncomingMessage) => {
  if (headers.host !== undefined || httpVersion === '1.0') return
  throw invalid({ host: { required: { message: 'The header Host is required', value: 'host' } } })
}

const answer = async (frame: Frame, request: IncomingMessage, response: ServerResponse) => {
  const exchange = new Exchange(frame, request, response, requestIdOf(request))
  try {
    requireHost(request)
    const page = frame.pages.find(exchange.path)
    if (page && exchange.method !== 'OPTIONS') return await page(request, response)
    await runSteps(exchange)
  } catch (error) {
    await respondFailure(exchange, error)
  } finally {
    // An answer that is no JSON is not kept, and neither is one that nobody waited for.
    if (exchange.claim) await settleKey(exchange)
  }
  if (!frame.log.enabled('debug')) return
  frame.log.write('debug', 'request', {
    request_id: exchange.id,
    method: exchange.method,
    path: exchange.path,
    status: response.statusCode,
    client: exchange.clientAddress,
  })
}

/**
 * Answers that are ready within one turn of the event loop are written together at its end: waking the other side
 * costs as much as making the answer, and this way it is woken once.
 */
const createGathering = () => {
  let corked: Duplex[] = []
  const release = () => {
    const sockets = corked
    corked = []
    for (const socket of sockets) socket.uncork()
  }
  return (socket: Duplex) => {
    if (corked.length === 0) setImmediate(release)
    corked.push(socket)
    socket.cork()
  }
}

export const createHandler = (frame: Frame): Handler => {
  const gather = createGathering()
  return (request, response) => {
    gather(request.socket)
    void answer(frame, request, response)
  }
}

const parseFailures: Record<string, { status: number; reason: string; message: string }> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'Request Header Fields Too Large',
    message: 'headers too large',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    reason: 'Request Timeout',
    message: 'the request did not arrive in time',
  },
}

/** Bytes that are no HTTP request get the envelope as well. */
const answerClientError = (frame: Frame) => (error: NodeJS.ErrnoException, socket: Duplex) => {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const { status, reason, message } = parseFailures[error.code ?? ''] ?? {
    status: 400,
    reason: 'Bad Request',
    message: 'this is not an HTTP request',
  }
  const requestId = randomHex(16)
  const body = envelopeOf({
    status: 'error',
    data: { message },
    extra: { error: String(status), message: 'parse_error' },
    requestId,
    node: frame.node,
    now: frame.clock.now(),
  })
  const headers = [
    ...corsHeaders,
    'x-request-id',
    requestId,
    'content-type',
    'application/json',
    'connection',
    'close',
  ]
  let head = `HTTP/1.1 ${status} ${reason}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
  for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`
  socket.end(`${head}\r\n${body}`)
}

// How long a body may take is bodies.ts' to say; answers may take as long as the client reads.
const timeouts = { headersTimeout: 15_000, requestTimeout: 0, keepAliveTimeout: 72_000 }
// Node would answer without an envelope.
const judgedHere = { requireHostHeader: false }

/** What plain and TLS listeners have in common. */
export const equip = <S extends Server>(server: S, frame: Frame): S => {
  Object.assign(server, timeouts, judgedHere)
  server.on('clientError', answerClientError(frame))
  // An expectation that nobody knows is no reason to refuse a request.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  return server
}

export const createPlainServer = (frame: Frame, handler: Handler) =>
  equip(createServer({ noDelay: true }, handler), frame)

export const listen = (server: Server, host: string, port: number) =>
  new Promise<number>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(address && typeof address === 'object' ? address.port : port)
    })
  })

// What is in flight gets this long to finish.
const drainMilliseconds = 10_000

/** Stops taking connections, lets requests in flight finish, then closes. */
export const drain = (server: Server) =>
  new Promise<void>((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), drainMilliseconds)
    server.close(() => {
      clearTimeout(force)
      resolve()
    })
    server.closeIdleConnections()
  })
