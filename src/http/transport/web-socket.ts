import type { WebSocket } from 'ws'
import type { AccountRecord, Actor } from '../../auth/identity.ts'
import type { Policy } from '../../auth/policies.ts'
import type { Clock } from '../../lib/clock.ts'
import { describeError, type Log } from '../../lib/log.ts'

// What an area is to the wire that serves clients over WebSocket, and the wire to it.

/** A client that has switched to WebSocket. */
export interface Connection {
  readonly id: string
  readonly clientAddress: string
  /** Unix milliseconds. */
  readonly openedAt: number
  /** Takes the price of a command from the bucket of the connection, or fails. */
  pay(): Promise<unknown>
  /** The actor behind a token, judged as for a request from where the client is; or the failure. */
  admit(token: string): Promise<Actor>
  /** Fails unless the actor might read this by GET. */
  assertMayRead(actor: Actor, account: AccountRecord, as: { endpoint: string; allow: Policy }): Promise<void>
  /** What the client asked for. */
  answer(text: string): void
  /** What it did not ask for here and now: dropped while more waits for a slow reader than it may. */
  offer(text: string): void
}

/** What is said with one client. */
export interface Session {
  /** Hears one message; the next one comes when that is done. */
  hear(text: string): Promise<void>
  /** Whether it waits for something: who does not, and says nothing, is sent away. */
  isInUse(): boolean
  end(): void
}

/** What connections may take. */
export interface ConnectionLimits {
  connections: number
  connectionsPerAddress: number
  /** Messages that wait to be heard; more are not read. */
  unanswered: number
  /** Offered messages that wait for the client, and bytes. */
  queued: number
  queuedBytes: number
  /** Offers dropped in a row: then the connection is closed. */
  dropped: number
  idleSeconds: number
  pingSeconds: number
}

/** What is served at some paths to clients that switch to WebSocket. */
export interface Upgrade {
  paths: readonly string[]
  /** The word that prices know an upgrade and its commands by, and the bucket of each connection. */
  application: string
  limits(): Promise<ConnectionLimits>
  open(connection: Connection): Session
}

/** What connections are closed with: RFC 6455, 7.4. */
export const closings = {
  goingAway: [1001, 'the server is about to end'],
  notText: [1003, 'messages are text'],
  idle: [1000, 'nothing was asked for'],
  tooSlow: [1013, 'events were dropped: the client reads too slowly'],
  fault: [1011, 'the server failed'],
} as const

type Closing = (typeof closings)[keyof typeof closings]

// Who does not take leave, or does not read that it is asked to, is cut off.
const leaveMilliseconds = 5000
// Messages that wait to be heard are held as they came: so much of them, and one more.
const maxWaitingBytes = 1_000_000

interface Deps {
  socket: WebSocket
  limits: ConnectionLimits
  clock: Clock
  log: Log
}

/**
 * One WebSocket, whose buffers are bounded both ways: what the client says is read as fast as it is answered, and
 * what it does not read is dropped.
 */
export const createWebSocket = ({ socket, limits, clock, log }: Deps) => {
  const waiting: string[] = []
  let waitingBytes = 0
  let session: Session | undefined
  let isHearing = false
  let underWay = 0
  let dropped = 0
  let askedAt = clock.now()
  let heardAt = clock.now()
  let pingedAt: number | undefined

  const close = ([code, reason]: Closing) => {
    // What still waits is not heard any more.
    waiting.length = 0
    if (socket.readyState !== socket.OPEN) return
    socket.close(code, reason)
    const timer = setTimeout(() => socket.terminate(), leaveMilliseconds).unref()
    socket.once('close', () => clearTimeout(timer))
    // It may have been stopped from reading, and the other side's leave has to be read.
    socket.resume()
  }

  const isFull = () => {
    const { queued, queuedBytes } = limits
    // What the system has taken waits for nobody here.
    return socket.bufferedAmount > 0 && (underWay >= queued || socket.bufferedAmount >= queuedBytes)
  }

  const sent = () => {
    underWay -= 1
    readOn()
  }

  const send = (text: string) => {
    if (socket.readyState !== socket.OPEN) return
    underWay += 1
    socket.send(text, sent)
  }

  const isOverfed = () => waiting.length >= limits.unanswered || waitingBytes >= maxWaitingBytes || isFull()

  const readOn = () => {
    if (socket.isPaused && !isOverfed()) socket.resume()
    if (waiting.length > 0) void hearAll()
  }

  const hearAll = async () => {
    if (isHearing || !session) return
    isHearing = true
    try {
      // Who does not read the answers is heard no further.
      while (waiting.length > 0 && !isFull()) {
        const text = waiting[0] as string
        await session.hear(text)
        waiting.shift()
        waitingBytes -= text.length
      }
    } catch (error) {
      log.write('error', 'a message could not be answered', { error: describeError(error) })
      close(closings.fault)
    } finally {
      isHearing = false
    }
    if (socket.isPaused && !isOverfed()) socket.resume()
  }

  const take = (text: string) => {
    askedAt = clock.now()
    heardAt = askedAt
    waiting.push(text)
    waitingBytes += text.length
    if (isOverfed()) socket.pause()
    void hearAll()
  }

  const alive = () => {
    heardAt = clock.now()
    pingedAt = undefined
  }

  socket.on('message', (bytes: Buffer, isBinary) =>
    isBinary ? close(closings.notText) : take(bytes.toString('utf8')),
  )
  socket.on('ping', alive)
  socket.on('pong', alive)
  // Broken frames and messages that are too large: ws closes with what they are, and says so here.
  socket.on('error', () => undefined)

  const lookAtPing = (now: number) => {
    const { pingSeconds } = limits
    if (pingedAt !== undefined && now - pingedAt >= pingSeconds * 1000) return socket.terminate()
    if (pingedAt !== undefined || now - heardAt < pingSeconds * 1000) return
    pingedAt = now
    if (socket.readyState === socket.OPEN) socket.ping()
  }

  return {
    answer: send,

    offer(text: string) {
      if (!isFull()) {
        dropped = 0
        return send(text)
      }
      dropped += 1
      if (dropped > limits.dropped) close(closings.tooSlow)
    },

    begin(begun: Session) {
      session = begun
      socket.once('close', () => {
        waiting.length = 0
        begun.end()
      })
      readOn()
    },

    /** To be called every second or so. */
    look() {
      const now = clock.now()
      if (session?.isInUse() === false && now - askedAt >= limits.idleSeconds * 1000)
        return close(closings.idle)
      // What is not read of it cannot say that it lives.
      if (!socket.isPaused) lookAtPing(now)
    },

    close,
    terminate: () => socket.terminate(),
  }
}

export type OpenWebSocket = ReturnType<typeof createWebSocket>
