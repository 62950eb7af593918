import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { failure, isFailure, requestTimeout, tooLarge } from '../../lib/failure.ts'

// A body has to arrive whole within the first; the second is the longest silence in one that is read as it comes.
const bodyMs = 120_000
const silenceMs = 60_000

interface Patience {
  milliseconds: number
  /** Whether every piece that arrives renews it. */
  renewed: boolean
}

const untilWhole: Patience = { milliseconds: bodyMs, renewed: false }
const untilSilence: Patience = { milliseconds: silenceMs, renewed: true }

const held = new WeakMap<IncomingMessage, ServerResponse>()

/** Its client sends no body before it is told to (`Expect: 100-continue`): it is told when the body is read. */
export const holdBody = (request: IncomingMessage, response: ServerResponse) => held.set(request, response)

const letCome = (request: IncomingMessage) => {
  if (request.headers.expect === undefined) return
  held.get(request)?.writeContinue()
  held.delete(request)
}

/** What the request says that its body has; undefined when only its end will tell. */
const announcedBytes = ({ headers }: IncomingMessage): number | undefined =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined

export const hasBody = (request: IncomingMessage) => announcedBytes(request) !== 0

/** The pieces of a body as they arrive: no more than `limit` bytes, and none that comes too late. */
async function* piecesOf(
  request: IncomingMessage,
  limit: number,
  patience: Patience,
): AsyncGenerator<Buffer> {
  if ((announcedBytes(request) ?? 0) > limit) throw failure(tooLarge, { limit })
  letCome(request)
  let late: (() => void) | undefined
  const lateness = new Promise<never>((_, reject) => {
    late = () => reject(failure(requestTimeout, {}))
  })
  // Nobody waits for it while a piece is being worked on.
  lateness.catch(() => undefined)
  const timer = setTimeout(() => late?.(), patience.milliseconds)
  // A request that is destroyed takes its connection along, and the answer with it.
  const pieces: AsyncIterableIterator<Buffer> = request.iterator({ destroyOnReturn: false })
  let size = 0
  try {
    for (;;) {
      if (patience.renewed) timer.refresh()
      const { done, value } = await Promise.race([pieces.next(), lateness])
      if (done) return
      size += value.length
      if (size > limit) throw failure(tooLarge, { limit })
      yield value
    }
  } finally {
    clearTimeout(timer)
    // Not waited for: a piece that never comes may be pending.
    void pieces.return?.()
  }
}

const joined = (pieces: readonly Buffer[]) => {
  const [first] = pieces
  return first && pieces.length === 1 ? first : Buffer.concat(pieces)
}

/** Reads the whole body, refusing more than `limit` bytes as soon as that is known. */
export const readBytes = async (request: IncomingMessage, limit: number): Promise<Buffer> => {
  const pieces: Buffer[] = []
  for await (const piece of piecesOf(request, limit, untilWhole)) pieces.push(piece)
  return joined(pieces)
}

/** The bytes of a body that its route takes as they arrive. */
export const streamBytes = (request: IncomingMessage, limit: number) => piecesOf(request, limit, untilSilence)

/** How much is read of a body. */
interface BodyLimits {
  /** Before it is known who sends it. */
  unjudged: number
  /** At all. */
  whole: number
}

/** A body that waits until it is known who sends it. */
export interface WaitingBody {
  /** Undefined when only its end will tell. */
  announced: number | undefined
  /** How large it might be without having to wait. */
  unjudged: number
  read(): Promise<Buffer>
}

/** A body that has come with its head: nobody has to wait for it, or to be told that it is late. */
const arrived = (request: IncomingMessage, announced: number | undefined): Buffer | undefined => {
  if (!request.complete || request.destroyed || request.readableLength !== announced) return undefined
  return request.read() ?? undefined
}

/** Reads a small body; of a larger one no more than shows that it is. */
export const readSmallBody = async (
  request: IncomingMessage,
  { unjudged, whole }: BodyLimits,
): Promise<Buffer | WaitingBody> => {
  const announced = announcedBytes(request)
  if (announced !== undefined && announced > whole) throw failure(tooLarge, { limit: whole })
  if (announced !== undefined && announced > unjudged)
    return { announced, unjudged, read: () => readBytes(request, whole) }
  const atHand = arrived(request, announced)
  if (atHand) return atHand
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of piecesOf(request, whole, untilWhole)) {
    pieces.push(piece)
    size += piece.length
    if (size > unjudged) {
      return {
        announced: undefined,
        unjudged,
        read: async () => joined([...pieces, await readRest(request, whole, size)]),
      }
    }
  }
  return joined(pieces)
}

const readRest = async (request: IncomingMessage, whole: number, size: number) => {
  try {
    return await readBytes(request, whole - size)
  } catch (error) {
    if (isFailure(error, tooLarge)) throw failure(tooLarge, { limit: whole })
    throw error
  }
}

// A connection that is closed while its client still sends takes the answer away from it. So the rest of a body that
// nobody wants is read away, but only so much of it and for so long.
const maxBytes = 16_000_000
const longestMilliseconds = 10_000

/** Whether the connection has to end with the answer, because more of the body may come than is read away. */
export const outlastsResponse = (request: IncomingMessage) =>
  !request.complete && (announcedBytes(request) ?? 0) > maxBytes

/** When an answer ends the connection, lets the client finish first: it would lose the answer to a reset. */
const endLate = (request: IncomingMessage, socket: Socket) => {
  const destroySoon = socket.destroySoon.bind(socket)
  socket.destroySoon = () => {
    socket.destroySoon = destroySoon
    if (request.complete) return destroySoon()
    socket.end()
    request.once('end', destroySoon)
  }
}

/** Reads away what is left of a request's body. */
export const passOver = (request: IncomingMessage) => {
  const { socket } = request
  if (request.complete || socket.destroyed) return
  endLate(request, socket)
  const cut = () => socket.destroy()
  const timer = setTimeout(cut, longestMilliseconds)
  let bytes = 0
  request.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes > maxBytes) cut()
  })
  request.once('close', () => clearTimeout(timer))
}
