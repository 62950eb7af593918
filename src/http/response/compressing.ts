import { namesSecret } from '../../lib/secrets.ts'
import type { RequestContext } from '../exchange.ts'
import {
  type Coding,
  closed,
  codingFor,
  codings,
  compressed,
  compressedPieces,
  maxEndingBytes,
  type Packed,
  type Piece,
} from '../transport/compression.ts'

// The length of a compressed response shows what is repeated in it. An attacker who controls a part of it (a caller's name) could
// find a secret letter by letter. So the caller's token at the end is not compressed, nor are responses with other secrets.

type Headers = Record<string, string>
type Pieces = AsyncIterable<string | Uint8Array>

// Shorter responses fit into the first packets of a connection anyway.
const leastBytes = 16_384

const compressible = new Set(['application/json', 'text/csv', 'application/x-ndjson'])

const isOpen = ({ method, route, crossbar }: RequestContext, headers: Headers) =>
  (method === 'GET' || method === 'HEAD') &&
  route !== undefined &&
  !route.spec.tellsOnce &&
  !route.spec.tellsSecrets &&
  crossbar.answer_compression &&
  // Ranges of files count bytes.
  headers['accept-ranges'] === undefined

const mayBeCompressed = (exchange: RequestContext, headers: Headers) =>
  compressible.has(headers['content-type'] ?? '') && isOpen(exchange, headers)

/** Whether whole records are shown, with their secrets, and not only the rows of the list. */
const showsRecords = ({ listPlan }: RequestContext) =>
  listPlan === undefined || listPlan.fields !== undefined || listPlan.fullDocs

export const setVary = (exchange: RequestContext, headers: Headers) => {
  if (!isOpen(exchange, headers)) return
  headers.vary = headers.vary === undefined ? 'Accept-Encoding' : `${headers.vary}, Accept-Encoding`
}

const codingOf = (exchange: RequestContext, headers: Headers, bytes: number): Coding | undefined => {
  const accepted = exchange.header('accept-encoding')
  const isLong = bytes >= leastBytes
  if (!isLong && !accepted?.includes('=0')) return undefined
  if (!mayBeCompressed(exchange, headers)) return undefined
  setVary(exchange, headers)
  const choice = codingFor(accepted, codings)
  return isLong || choice?.isRequired ? choice?.coding : undefined
}

/** The compressed bytes differ but mean the same: the ETag becomes a weak one. */
const tellCoding = (headers: Headers, coding: Coding) => {
  headers['content-encoding'] = coding
  const { etag } = headers
  if (etag?.startsWith('"')) headers.etag = `W/${etag}`
}

const bytesOf = (piece: string | Uint8Array) => (typeof piece === 'string' ? Buffer.from(piece) : piece)

const splitAt = (bytes: Buffer, token: string | undefined): [Buffer, Buffer] => {
  const at = token === undefined ? -1 : bytes.lastIndexOf(token)
  return at < 0 ? [bytes, bytes.subarray(bytes.length)] : [bytes.subarray(0, at), bytes.subarray(at)]
}

const tokenKey = '"auth_token"'

/** Rows of lists contain no secrets. */
const showsSecret = (
  exchange: RequestContext,
  headers: Headers,
  front: Buffer,
  token: string | undefined,
) => {
  if (token !== undefined && front.includes(token)) return true
  if (!showsRecords(exchange)) return false
  if (headers['content-type'] !== 'application/json') return true
  const text = front.toString()
  return namesSecret(token === undefined ? text : text.slice(0, text.lastIndexOf(tokenKey)))
}

/** The compressed body and its headers; undefined if the client gets it as it is. */
export const compressedBody = (
  exchange: RequestContext,
  headers: Headers,
  body: string | Uint8Array,
  token: string | undefined,
): Promise<Buffer> | undefined => {
  const coding = codingOf(exchange, headers, body.length)
  if (coding === undefined) return undefined
  const [front, ending] = splitAt(Buffer.from(bytesOf(body)), token)
  if (ending.length > maxEndingBytes || showsSecret(exchange, headers, front, token)) return undefined
  tellCoding(headers, coding)
  return compressed(coding, front, ending)
}

export interface ListBytes {
  bytes: Uint8Array
  packed(coding: Coding): Promise<Packed>
}

export const compressedList = (
  exchange: RequestContext,
  headers: Headers,
  { list: { bytes, packed }, tail }: { list: ListBytes; tail: Uint8Array },
  token: string | undefined,
): Promise<readonly Uint8Array[]> | undefined => {
  const coding = codingOf(exchange, headers, bytes.length + tail.length)
  if (coding === undefined || tail.length > maxEndingBytes) return undefined
  const front = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (token !== undefined && front.includes(token)) return undefined
  // Not with the token: its key is in the tail, so the last such key in a row would end the search for secrets.
  if (showsSecret(exchange, headers, front, undefined)) return undefined
  tellCoding(headers, coding)
  return packed(coding).then((front) => closed(front, tail))
}

/** Without a held-back piece, each belongs to its sender until the next is requested: exports free their memory then. */
async function* plainly(pieces: Pieces): AsyncGenerator<Piece> {
  for await (const piece of pieces) yield { bytes: bytesOf(piece), isEnding: false }
}

/** The last piece contains the token. */
async function* withEnding(pieces: Pieces, token: string): AsyncGenerator<Piece> {
  let last: Uint8Array | undefined
  for await (const piece of pieces) {
    if (last) yield { bytes: last, isEnding: false }
    last = bytesOf(piece)
  }
  const [front, ending] = splitAt(Buffer.from(last ?? ''), token)
  yield { bytes: front, isEnding: false }
  yield { bytes: ending, isEnding: true }
}

/** Copies of enough pieces to know whether the body is long. */
const beginningOf = async (iterator: AsyncIterator<string | Uint8Array>) => {
  const pieces: Buffer[] = []
  let bytes = 0
  while (bytes < leastBytes) {
    const { done, value } = await iterator.next()
    if (done) return { pieces, bytes }
    const piece = Buffer.from(value as string)
    pieces.push(piece)
    bytes += piece.length
  }
  return { pieces, bytes }
}

async function* resumed(
  beginning: readonly Buffer[],
  iterator: AsyncIterator<string | Uint8Array>,
): AsyncGenerator<string | Uint8Array> {
  try {
    yield* beginning
    for (;;) {
      const { done, value } = await iterator.next()
      if (done) return
      yield value
    }
  } finally {
    await iterator.return?.()
  }
}

/** Compresses a body whose length is not known. */
export const compressedStream = async (
  exchange: RequestContext,
  headers: Headers,
  pieces: Pieces,
  token: string | undefined,
): Promise<Pieces> => {
  if (exchange.listPlan && showsRecords(exchange)) return pieces
  if (!mayBeCompressed(exchange, headers)) return pieces
  const iterator = pieces[Symbol.asyncIterator]()
  const beginning = await beginningOf(iterator)
  const coding = codingOf(exchange, headers, beginning.bytes)
  const all = resumed(beginning.pieces, iterator)
  if (coding === undefined) return all
  tellCoding(headers, coding)
  const isEnvelope = headers['content-type'] === 'application/json'
  return compressedPieces(coding, isEnvelope && token !== undefined ? withEnding(all, token) : plainly(all))
}
