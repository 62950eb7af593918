import { type IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WebSocket, WebSocketServer } from 'ws'
import { findCredential } from '../../auth/authenticate.ts'
import {
  Failure,
  type FailureKind,
  failure,
  forbidden,
  invalid,
  invalidCredentials,
  notFound,
  overloaded,
  requestTimeout,
  tooManyRequests,
  validationError,
} from '../../lib/failure.ts'
import { randomHex } from '../../lib/ids.ts'
import { ipv6Network } from '../../lib/network.ts'
import { crossbarSettings } from '../../settings/documents.ts'
import { RequestContext, type ServerContext, type Upgrades } from '../exchange.ts'
import { findClientAddress, readSettings } from '../pipeline.ts'
import { accessDenied, admit, assertAllowed } from '../request/checks.ts'
import { respondFailure } from '../response/respond.ts'
import { targetOf } from './client-address.ts'
import { type Counts, createSharedCounts } from './connection-limits.ts'
import {
  type Connection,
  type ConnectionLimits,
  closings,
  createWebSocket,
  type OpenWebSocket,
  type Upgrade,
} from './web-socket.ts'

/** The largest message of a client; a larger one closes its connection. */
const largestMessage = 1_000_000
const lookMilliseconds = 1000
// Then open connections are destroyed.
const leaveMilliseconds = 2000
const retryAfterSeconds = 10
const switchingProtocols = 101

const isSwitching = ({ headers, method }: IncomingMessage) =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'

const pathOf = (request: IncomingMessage) => targetOf(request).split('?', 1)[0] ?? ''

const keyForm = /^[+/0-9A-Za-z]{22}==$/

const misshapen = (header: string, rule: string, message: string) =>
  invalid({ [header]: { [rule]: { message, value: header } } })

const assertHandshake = ({ headers }: IncomingMessage) => {
  if (headers['sec-websocket-protocol'] !== undefined)
    throw misshapen('sec-websocket-protocol', 'invalid', 'There are no sub-protocols here')
  if (!keyForm.test(headers['sec-websocket-key'] ?? ''))
    throw misshapen('sec-websocket-key', 'required', 'The header is missing, or is not a key of 16 bytes')
  if (!['13', '8'].includes(headers['sec-websocket-version'] ?? ''))
    throw misshapen('sec-websocket-version', 'enum', 'Only versions 13 and 8 are supported')
}

const refusing = new Set<FailureKind>([invalidCredentials, validationError, forbidden])

/** The credential is optional. A bad one is rejected. */
const assertCredential = async (exchange: RequestContext) => {
  const { headers } = exchange.request
  const credential = findCredential({ headers, envelope: {}, query: exchange.query })
  if (!credential) return
  exchange.credential = credential
  try {
    await admit(exchange, credential)
  } catch (error) {
    if (!(error instanceof Failure) || !refusing.has(error.kind)) throw error
    const cause = 'the credential is not valid'
    // The log shows if a password was wrong.
    throw failure(forbidden, { cause }, error.cause ?? cause)
  }
}

/** Node no longer owns the connection: the response is sent and the connection ended here. */
const refuse = (exchange: RequestContext, error: unknown) => {
  const { request, response } = exchange
  if (request.socket.destroyed) return
  response.shouldKeepAlive = false
  response.assignSocket(request.socket)
  response.once('finish', () => request.socket.destroySoon())
  return respondFailure(exchange, error)
}

let protocol: WebSocketServer | undefined

/** Loaded at the first use. */
const loadProtocol = async () => {
  const { WebSocketServer } = await import('ws')
  protocol ??= new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: largestMessage,
    maxFragments: 1024,
    maxBufferedChunks: 16_384,
  })
  return protocol
}

const connectionOf = (
  { frame, clientAddress, peerAddress }: RequestContext,
  { application }: Upgrade,
  { answer, offer }: OpenWebSocket,
): Connection => {
  const id = randomHex(16)
  const settings = () => frame.settings.of(crossbarSettings)
  return {
    id,
    clientAddress,
    openedAt: frame.clock.now(),
    pay: async () => frame.throttle.payCommand(id, application, await settings()),
    admit: async (token) =>
      admit({ frame, clientAddress, peerAddress, crossbar: await settings() }, { kind: 'token', token }),
    async assertMayRead(actor, account, { endpoint, allow }) {
      if (actor.claims?.purpose !== undefined) throw accessDenied('the token is not valid for this use')
      await assertAllowed(frame, {
        actor,
        account,
        path: { account_id: account.id },
        allow,
        access: 'read',
        rule: undefined,
        method: 'GET',
        endpoint,
        endpointArguments: [],
      })
    },
    answer,
    offer,
  }
}

type Seats = ReturnType<typeof createSharedCounts>

/** Counts a connection for its address, or for its IPv6 /64. */
const takeSeat = (seats: Seats, address: string, limits: ConnectionLimits) => {
  const most = { ofAll: limits.connections, ofOne: limits.connectionsPerAddress }
  const leave = seats.take(ipv6Network(address, 64) ?? address, most)
  if (typeof leave === 'string') throw failure(tooManyRequests, { retryAfterSeconds })
  return leave
}

/** Checks limits, the form of the request, price and credential. */
const judge = async (exchange: RequestContext, offer: Upgrade, limits: ConnectionLimits, seats: Seats) => {
  const { frame, request } = exchange
  await readSettings(exchange)
  findClientAddress(exchange)
  const leave = takeSeat(seats, exchange.clientAddress, limits)
  // Its `close` event has passed.
  if (request.socket.destroyed) {
    leave()
    throw failure(requestTimeout, {})
  }
  request.socket.once('close', leave)
  try {
    assertHandshake(request)
    const fare = {
      clientAddress: exchange.clientAddress,
      accountId: undefined,
      endpoint: offer.application,
      method: 'GET',
      readsPublic: false,
      bringsSecret: false,
    }
    await frame.throttle.pay(fare, undefined, exchange.crossbar)
    await assertCredential(exchange)
  } catch (error) {
    leave()
    throw error
  }
}

/** Clients that switch to WebSocket at the paths of areas. */
export const createUpgrades = (offers: readonly Upgrade[], counts: Counts): Upgrades => {
  const offerAt = new Map(offers.flatMap((offer) => offer.paths.map((path) => [path, offer] as const)))
  const open = new Set<OpenWebSocket>()
  const seats = createSharedCounts('websockets', counts)
  let looking: NodeJS.Timeout | undefined
  let isStopping = false

  const look = () => {
    for (const one of open) one.look()
    if (open.size > 0) return
    clearInterval(looking)
    looking = undefined
  }

  const begin = (exchange: RequestContext, offer: Upgrade, limits: ConnectionLimits, raw: WebSocket) => {
    const { clock, log } = exchange.frame
    const socket = createWebSocket({ socket: raw, limits, clock, log })
    open.add(socket)
    raw.once('close', () => open.delete(socket))
    looking ??= setInterval(look, lookMilliseconds).unref()
    socket.begin(offer.open(connectionOf(exchange, offer, socket)))
    if (isStopping) socket.close(closings.goingAway)
  }

  const take = async (frame: ServerContext, request: IncomingMessage, head: Buffer) => {
    request.socket.on('error', () => request.socket.destroy())
    const exchange = new RequestContext(frame, request, new ServerResponse(request), randomHex(16))
    const offer = offerAt.get(exchange.path)
    const end = frame.witness(exchange, exchange.path)
    try {
      if (!offer) throw failure(notFound, {})
      if (isStopping) throw failure(overloaded, { retryAfterSeconds })
      const limits = await offer.limits()
      await judge(exchange, offer, limits, seats)
      const webSockets = protocol ?? (await loadProtocol())
      webSockets.handleUpgrade(request, request.socket, head, (raw) => {
        begin(exchange, offer, limits, raw)
        end(switchingProtocols)
      })
    } catch (error) {
      await refuse(exchange, error)
      end()
    }
  }

  return {
    openCount: () => open.size,
    isOne: (request) => isSwitching(request) && offerAt.has(pathOf(request)),
    take: (frame, request, head) => void take(frame, request, head),
    async stop() {
      isStopping = true
      for (const socket of open) socket.close(closings.goingAway)
      const deadline = performance.now() + leaveMilliseconds
      while (open.size > 0 && performance.now() < deadline) await sleep(10)
      for (const socket of open) socket.terminate()
      clearInterval(looking)
    },
  }
}
