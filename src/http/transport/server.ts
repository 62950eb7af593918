import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type Server as PlainServer,
  type ServerResponse,
} from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate as turnOfEvents } from 'node:timers/promises'
import { failure, invalid, uriTooLong } from '../../lib/failure.ts'
import { randomHex } from '../../lib/ids.ts'
import { beginTrace, inTrace, traceparentOf } from '../../lib/trace.ts'
import { type FoundPage, RequestContext, type ServerContext } from '../exchange.ts'
import { runSteps } from '../pipeline.ts'
import { respondFailure } from '../response/respond.ts'
import { envelopeOf } from '../response/responses.ts'
import { corsHeaders, settleKey } from '../response/sending.ts'
import { holdBody, passOver } from './body-bytes.ts'

const requestIdHeader = 'x-request-id'
const requestIdText = /^[\w.:@/+=-]{1,128}$/

/** X-Request-ID is used unless it contains characters that cannot be in a header or a log. */
const requestIdOf = (request: IncomingMessage) => {
  const given = request.headers[requestIdHeader]
  return typeof given === 'string' && requestIdText.test(given) ? given : randomHex(16)
}

type Server = PlainServer | TlsServer

type Handler = (request: IncomingMessage, response: ServerResponse) => void

const wrongHost = (message: string) => invalid({ host: { invalid: { message, target: 'host' } } })

// Other forms of RFC 3986 are not used by clients.
const hostText = /^(?:[\w.~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::(\d{0,5}))?$/

const isHostText = (text: string) => {
  const [whole, port = ''] = hostText.exec(text) ?? []
  return whole !== undefined && Number(port) <= 65_535
}

/** With two Host headers a proxy and this server could choose different ones. */
const requireHost = ({ headers: { host }, rawHeaders, httpVersion }: IncomingMessage) => {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
  if (hosts.length > 1) throw wrongHost('Send the header Host exactly once')
  if (host !== undefined && host !== '' && !isHostText(host))
    throw wrongHost('The header Host must be a host name or an address, and a port')
  if (host !== undefined || httpVersion === '1.0') return
  throw invalid({ host: { required: { message: 'The header Host is required', value: 'host' } } })
}

// Node's limit for the request line and all headers is twice as long.
const longestUrl = 16_000

const requireShortUrl = ({ url = '' }: IncomingMessage) => {
  if (url.length > longestUrl) throw failure(uriTooLong, { limit: longestUrl })
}

const showPage = ({ request, response, id, trace }: RequestContext, { answer }: FoundPage) => {
  response.setHeader(requestIdHeader, id)
  response.setHeader('traceparent', traceparentOf(trace))
  return answer(request, response)
}

const carryOut = async (exchange: RequestContext) => {
  const { frame, request, path, method } = exchange
  const page = method === 'OPTIONS' ? undefined : frame.pages.find(path, method)
  const end = frame.witness(exchange, page?.route)
  try {
    requireHost(request)
    requireShortUrl(request)
    await (page ? showPage(exchange, page) : runSteps(exchange))
  } catch (error) {
    await respondFailure(exchange, error)
  } finally {
    if (!request.complete) passOver(request)
    // A response that is not JSON is not stored.
    if (exchange.claim) await settleKey(exchange)
    end()
  }
}

const answer = (frame: ServerContext, request: IncomingMessage, response: ServerResponse) => {
  const exchange = new RequestContext(frame, request, response, requestIdOf(request))
  return frame.underWay.during(() => inTrace(exchange.trace, () => carryOut(exchange)))
}

/** Responses of one round of the event loop are written together at its end: waking the client costs as much as a response. */
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

/** The latest response on a connection. */
const lastAnswer = new WeakMap<Duplex, ServerResponse>()

/** Open connections, and those without a request yet. */
const openOn = new WeakMap<Server, Set<Socket>>()
const silentOn = new WeakMap<Server, Set<Socket>>()

const noteConnections = (server: Server) => {
  const [open, silent] = [new Set<Socket>(), new Set<Socket>()]
  openOn.set(server, open)
  silentOn.set(server, silent)
  const note = (socket: Socket) => {
    open.add(socket)
    silent.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      silent.delete(socket)
    })
  }
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', note)
  return silent
}

const createHandler = (server: Server, frame: ServerContext): Handler => {
  const gather = createGathering()
  const silent = noteConnections(server)
  return (request, response) => {
    const { socket } = request
    // The connection ends with an earlier response.
    if (!socket.writable) return
    lastAnswer.set(socket, response)
    silent.delete(request.socket)
    if (frame.life.isEnding || !server.listening) response.shouldKeepAlive = false
    gather(socket)
    void answer(frame, request, response)
  }
}

interface ParseFailure {
  status: number
  reason: string
  /** `message` of the envelope, if not `parse_error`. */
  word?: string
  message: string
}

const noRequest: ParseFailure = { status: 400, reason: 'Bad Request', message: 'this is not an HTTP request' }
const tooLongUrl: ParseFailure = {
  status: 414,
  reason: 'URI Too Long',
  message: `the URL is longer than ${longestUrl} characters`,
}
const headTooLarge = 'Request Header Fields Too Large'
const tooLargeHead: ParseFailure = { status: 431, reason: headTooLarge, message: 'headers too large' }
const lateMessage = 'the request did not arrive in time'
const tooLate: ParseFailure = { status: 408, reason: 'Request Timeout', message: lateMessage }
const notAllowed = { reason: 'Method Not Allowed', message: 'method not allowed' }
const noProxy: ParseFailure = { status: 405, word: 'invalid_method', ...notAllowed }

interface ParseError extends NodeJS.ErrnoException {
  rawPacket?: Buffer
  bytesParsed?: number
}

/** Whether the request line is too long, as far as the last packet shows it. */
const isInUrl = ({ rawPacket, bytesParsed = 0 }: ParseError) => {
  const parsed = rawPacket?.toString('latin1', 0, Math.max(bytesParsed, 64)) ?? ''
  return /^[A-Z-]+ [^\n]*$/.test(parsed.slice(parsed.lastIndexOf('\n', bytesParsed - 1) + 1))
}

const parseFailureOf = (error: ParseError): ParseFailure => {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return tooLate
  if (error.code === 'HPE_HEADER_OVERFLOW') return isInUrl(error) ? tooLongUrl : tooLargeHead
  return noRequest
}

const refusalText = (
  { node, clock }: ServerContext,
  { status, reason, word = 'parse_error', message }: ParseFailure,
) => {
  const requestId = randomHex(16)
  const body = envelopeOf({
    status: 'error',
    data: { message },
    extra: { error: String(status), message: word },
    requestId,
    node,
    now: clock.now(),
  })
  const traceparent = traceparentOf(beginTrace(undefined, undefined))
  const headers = [...corsHeaders, requestIdHeader, requestId, 'traceparent', traceparent]
  headers.push('content-type', 'application/json', 'connection', 'close')
  let head = `HTTP/1.1 ${status} ${reason}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
  for (let at = 0; at < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${head}\r\n${body}`
}

// A client that continues to send is disconnected after this time.
const lingerMilliseconds = 2000

/** Invalid requests get the envelope as well: after the running responses, and only if their request has no response yet. */
const createRefusing = (frame: ServerContext) => {
  const refused = new WeakSet<Duplex>()

  const refuse = (failing: ParseFailure, socket: Duplex) => {
    if (!socket.writable) return void socket.destroy()
    socket.end(refusalText(frame, failing))
    const timer = setTimeout(() => socket.destroy(), lingerMilliseconds)
    socket.once('close', () => clearTimeout(timer))
  }

  return (failing: ParseFailure, socket: Duplex) => {
    if (refused.has(socket)) return
    refused.add(socket)
    const last = lastAnswer.get(socket)
    if (!socket.writable) return void socket.destroy()
    if (!last || (last.writableFinished && last.req.complete)) return refuse(failing, socket)
    if (last.req.complete) return void last.once('finish', () => refuse(failing, socket))
    // The body of the last request is invalid.
    if (!last.headersSent) return refuse(failing, socket)
    if (last.writableFinished) return void socket.destroy()
    last.once('finish', () => socket.destroy())
  }
}

// body-bytes.ts limits the time for a body, body-writer.ts the time without progress of a response.
const timeouts = { headersTimeout: 15_000, requestTimeout: 0, keepAliveTimeout: 72_000 }
const judgedHere = { requireHostHeader: false }

/** Connections of plain and TLS listeners. */
export const listenerOptions = {
  noDelay: true,
  maxHeaderSize: 2 * longestUrl,
  connectionsCheckingInterval: 5000,
}

/** Sets up a plain or TLS listener. */
export const equip = <S extends Server>(server: S, frame: ServerContext): S => {
  const handler = createHandler(server, frame)
  Object.assign(server, timeouts, judgedHere)
  server.on('connection', frame.places.admit)
  server.on('request', handler)
  // While earlier responses are sent, an upgrade would come between them: it is served as a request.
  const shouldUpgradeCallback = (request: IncomingMessage) =>
    frame.upgrades.isOne(request) && lastAnswer.get(request.socket)?.writableFinished !== false
  Object.assign(server, { shouldUpgradeCallback })
  server.on('upgrade', (request, _socket, head) => frame.upgrades.take(frame, request, head))
  const refuse = createRefusing(frame)
  server.on('clientError', (error: ParseError, socket) =>
    error.code === 'ECONNRESET' ? socket.destroy() : refuse(parseFailureOf(error), socket),
  )
  server.on('connect', (_request, socket) => {
    // Node no longer handles errors and data of this connection.
    socket.on('error', () => socket.destroy())
    socket.resume()
    refuse(noProxy, socket)
  })
  // Unknown expectations are ignored.
  server.on('checkExpectation', handler)
  server.on('checkContinue', (request, response) => {
    holdBody(request, response)
    handler(request, response)
  })
  return server
}

export const createPlainServer = (frame: ServerContext) => equip(createServer(listenerOptions), frame)

/** `isShared`: the system divides connections between threads. */
interface ListeningPlace {
  host: string
  port: number
  isShared: boolean
}

/** Returns the port. */
export const listen = (server: Server, { host, port, isShared }: ListeningPlace) =>
  new Promise<number>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, reusePort: isShared }, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(address && typeof address === 'object' ? address.port : port)
    })
  })

/** Fails if the port is in use. Otherwise two processes of one user could share it, and the system would divide connections. */
export const assertFree = async ({ host, port }: { host: string; port: number }) => {
  if (port === 0) return
  const probe = createServer()
  await listen(probe, { host, port, isShared: false })
  await new Promise((resolve) => probe.close(resolve))
}

// For running requests. Supervisors kill a process after half a minute.
const drainMilliseconds = 20_000

// A new connection may send a request within this time. Reserve connections of browsers never do.
const silenceMilliseconds = 1000

/** Closes the connection after a response that started before the server was about to end. */
const endBehindAnswer = (socket: Socket) => {
  const answer = lastAnswer.get(socket)
  if (!answer || answer.writableFinished) return
  if (answer.headersSent) answer.once('finish', () => socket.destroySoon())
  else answer.shouldKeepAlive = false
}

/** Takes no new connections, waits for running requests, and closes. */
export const drain = async (server: Server) => {
  // Connections that the system accepted are taken first: closing would reset them.
  await turnOfEvents()
  const closed = once(server, 'close')
  server.close()
  const force = setTimeout(() => server.closeAllConnections(), drainMilliseconds)
  const hangUp = setTimeout(() => {
    // Not connections with a partial request, and WebSockets, which close themselves.
    for (const socket of silentOn.get(server) ?? []) if (socket.bytesRead === 0) socket.destroy()
  }, silenceMilliseconds)
  for (const socket of openOn.get(server) ?? []) endBehindAnswer(socket)
  await closed
  clearTimeout(force)
  clearTimeout(hangUp)
}
