import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { failure, isFailure, requestTimeout, tooLarge } from '../../lib/failure.ts'

// In ms: for a whole body; between two chunks of a stream.
const bodyMs = 120_000
const silenceMs = 60_000

interface Patience {
  milliseconds: number
  renewed: boolean
}

const untilWhole: Patience = { milliseconds: bodyMs, renewed: false }
const untilSilence: Patience = { milliseconds: silenceMs, renewed: true }

const pausedResponses = new WeakMap<IncomingMessage, ServerResponse>()

/** For `Expect: 100-continue`: the client waits until the body is read. */
export const holdBody = (request: IncomingMessage, response: ServerResponse) =>
  pausedResponses.set(request, response)

const letCome = (request: IncomingMessage) => {
  if (request.headers.expect === undefined) return
  pausedResponses.get(request)?.writeContinue()
  pausedResponses.delete(request)
}

/** Undefined for chunked bodies. */
const announcedBytes = ({ headers }: IncomingMessage): number | undefined =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined

export const hasBody = (request: IncomingMessage) => announcedBytes(request) !== 0

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
  // It may reject while no chunk is awaited.
  lateness.catch(() => undefined)
  const timer = setTimeout(() => late?.(), patience.milliseconds)
  // Destroying the request would close the connection before the response.
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
    // Not awaited: a chunk may never come.
    void pieces.return?.()
  }
}

const joined = (pieces: readonly Buffer[]) => {
  const [first] = pieces
  return first && pieces.length === 1 ? first : Buffer.concat(pieces)
}

export const readBytes = async (request: IncomingMessage, limit: number): Promise<Buffer> => {
  const pieces: Buffer[] = []
  for await (const piece of piecesOf(request, limit, untilWhole)) pieces.push(piece)
  return joined(pieces)
}

export const streamBytes = (request: IncomingMessage, limit: number) => piecesOf(request, limit, untilSilence)

interface BodyLimits {
  /** Without authorization. */
  unjudged: number
  whole: number
}

/** A body that is read after authorization. */
export interface WaitingBody {
  announced: number | undefined
  unjudged: number
  read(): Promise<Buffer>
}

/** A body that came with its head needs no timers. */
const arrived = (request: IncomingMessage, announced: number | undefined): Buffer | undefined => {
  if (!request.complete || request.destroyed || request.readableLength !== announced) return undefined
  return request.read() ?? undefined
}

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

// If the server closes a connection while the client sends, the client loses the response. So the rest of a body is read,
// up to these limits.
const maxBytes = 16_000_000
const longestMilliseconds = 10_000

/** Whether the rest of the body is too long to be read. */
export const outlastsResponse = (request: IncomingMessage) =>
  !request.complete && (announcedBytes(request) ?? 0) > maxBytes

/** Ends the connection only after the request: a reset would discard the response. */
const endLate = (request: IncomingMessage, socket: Socket) => {
  const destroySoon = socket.destroySoon.bind(socket)
  socket.destroySoon = () => {
    socket.destroySoon = destroySoon
    if (request.complete) return destroySoon()
    socket.end()
    request.once('end', destroySoon)
  }
}

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
