import type { WebSocket } from 'ws'
import type { AccountRecord, Actor } from '../../auth/identity.ts'
import type { Policy } from '../../auth/policies.ts'
import type { Clock } from '../../lib/clock.ts'
import { describeError, type Log } from '../../lib/log.ts'

/** A client that has switched to WebSocket. */
export interface Connection {
  readonly id: string
  readonly clientAddress: string
  /** Unix milliseconds. */
  readonly openedAt: number
  /** Fails if the bucket of the connection cannot pay a command. */
  pay(): Promise<unknown>
  /** Checks a token as in a request from the client's address. */
  admit(token: string): Promise<Actor>
  /** Fails unless the actor might read this by GET. */
  assertMayRead(actor: Actor, account: AccountRecord, as: { endpoint: string; allow: Policy }): Promise<void>
  answer(text: string): void
  /** A message that the client did not request: dropped while the client reads too slowly. */
  offer(text: string): void
}

export interface Session {
  /** Handles a message. The next one waits until it resolves. */
  hear(text: string): Promise<void>
  /** Otherwise the connection is closed when it is idle. */
  isInUse(): boolean
  end(): void
}

export interface ConnectionLimits {
  connections: number
  connectionsPerAddress: number
  /** Messages that wait to be handled. More are not read. */
  unanswered: number
  /** Messages that wait to be sent, and their bytes: beyond these, offers are dropped. */
  queued: number
  queuedBytes: number
  /** Closes the connection after this number of dropped offers in a row. */
  dropped: number
  idleSeconds: number
  pingSeconds: number
}

export interface Upgrade {
  paths: readonly string[]
  /** The name in prices, and the bucket of each connection. */
  application: string
  limits(): Promise<ConnectionLimits>
  open(connection: Connection): Session
}

/** RFC 6455, 7.4. */
export const closings = {
  goingAway: [1001, 'the server is shutting down'],
  notText: [1003, 'messages must be text'],
  idle: [1000, 'the message has no action'],
  tooSlow: [1013, 'events were dropped: the client reads too slowly'],
  fault: [1011, 'the server failed'],
} as const

type Closing = (typeof closings)[keyof typeof closings]

// Then the connection is destroyed.
const leaveMilliseconds = 5000
// Bytes of messages that wait to be handled; the last one may exceed the limit.
const maxWaitingBytes = 1_000_000

interface Deps {
  socket: WebSocket
  limits: ConnectionLimits
  clock: Clock
  log: Log
}

/** Terminates a connection that does not respond to pings. */
const createPings = ({ socket, limits: { pingSeconds }, clock }: Deps) => {
  let heardAt = clock.now()
  let pingedAt: number | undefined
  const alive = () => {
    heardAt = clock.now()
    pingedAt = undefined
  }
  socket.on('ping', alive)
  socket.on('pong', alive)

  return {
    heard(now: number) {
      heardAt = now
    },
    look(now: number) {
      if (pingedAt !== undefined && now - pingedAt >= pingSeconds * 1000) return socket.terminate()
      if (pingedAt !== undefined || now - heardAt < pingSeconds * 1000) return
      pingedAt = now
      if (socket.readyState === socket.OPEN) socket.ping()
    },
  }
}

/** A WebSocket with bounded buffers: messages are read as fast as they are handled. */
export const createWebSocket = (deps: Deps) => {
  const { socket, limits, clock, log } = deps
  const pings = createPings(deps)
  const waiting: string[] = []
  let waitingBytes = 0
  let session: Session | undefined
  let isHearing = false
  let sending = 0
  let dropped = 0
  let askedAt = clock.now()

  const close = ([code, reason]: Closing) => {
    waiting.length = 0
    if (socket.readyState !== socket.OPEN) return
    socket.close(code, reason)
    const timer = setTimeout(() => socket.terminate(), leaveMilliseconds).unref()
    socket.once('close', () => clearTimeout(timer))
    // The close frame of a paused client could not be read.
    socket.resume()
  }

  const isFull = () => {
    const { queued, queuedBytes } = limits
    // Without buffered bytes the system has taken all messages.
    return socket.bufferedAmount > 0 && (sending >= queued || socket.bufferedAmount >= queuedBytes)
  }

  const isOverfed = () => waiting.length >= limits.unanswered || waitingBytes >= maxWaitingBytes || isFull()

  const resumeReading = () => {
    if (socket.isPaused && !isOverfed()) socket.resume()
  }

  const readOn = () => {
    resumeReading()
    if (waiting.length > 0) void hearAll()
  }

  const sent = () => {
    sending -= 1
    readOn()
  }

  const send = (text: string) => {
    if (socket.readyState !== socket.OPEN) return
    sending += 1
    socket.send(text, sent)
  }

  const hearAll = async () => {
    if (isHearing || !session) return
    isHearing = true
    try {
      // A client that does not read its answers gets no further ones.
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
    resumeReading()
  }

  const take = (text: string) => {
    askedAt = clock.now()
    pings.heard(askedAt)
    waiting.push(text)
    waitingBytes += text.length
    if (isOverfed()) socket.pause()
    void hearAll()
  }

  socket.on('message', (bytes: Buffer, isBinary) =>
    isBinary ? close(closings.notText) : take(bytes.toString('utf8')),
  )
  // After an invalid frame or a too large message ws closes the connection.
  socket.on('error', () => undefined)

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

    /** To be called about every second. */
    look() {
      const now = clock.now()
      if (session?.isInUse() === false && now - askedAt >= limits.idleSeconds * 1000)
        return close(closings.idle)
      // The pong of a paused client cannot be read.
      if (!socket.isPaused) pings.look(now)
    },

    close,
    terminate: () => socket.terminate(),
  }
}

export type OpenWebSocket = ReturnType<typeof createWebSocket>
