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
} from '../wire/compression.ts'

// Which answers are compressed. The length of a compressed answer tells what in it is repeated: where a secret stands
// beside what somebody else could write (the name of a caller, say), whoever sees the lengths could find it letter by
// letter. So the caller's token, which stands at the end, is sent as it is behind the rest, and answers that may show
// other secrets are not compressed.

type Headers = Record<string, string>
type Pieces = AsyncIterable<string | Uint8Array>

// What fits into the first packets of a connection comes no sooner when it is shorter.
const leastBytes = 16_384

const compressible = new Set(['application/json', 'text/csv', 'application/x-ndjson'])

const isOpen = ({ method, route, crossbar }: RequestContext, headers: Headers) =>
  (method === 'GET' || method === 'HEAD') &&
  route !== undefined &&
  !route.spec.tellsOnce &&
  !route.spec.tellsSecrets &&
  crossbar.answer_compression &&
  // Parts of files are named by their bytes.
  headers['accept-ranges'] === undefined

const mayBeCompressed = (exchange: RequestContext, headers: Headers) =>
  compressible.has(headers['content-type'] ?? '') && isOpen(exchange, headers)

/** Whether records are shown as they are kept, secrets and all, and not by the rows of their list. */
const showsRecords = ({ listPlan }: RequestContext) =>
  listPlan === undefined || listPlan.fields !== undefined || listPlan.fullDocs

/** Tells caches that others get it in another coding. */
export const setVary = (exchange: RequestContext, headers: Headers) => {
  if (!isOpen(exchange, headers)) return
  headers.vary = headers.vary === undefined ? 'Accept-Encoding' : `${headers.vary}, Accept-Encoding`
}

/** The coding of an answer of that length. */
const codingOf = (exchange: RequestContext, headers: Headers, bytes: number): Coding | undefined => {
  const accepted = exchange.header('accept-encoding')
  const isLong = bytes >= leastBytes
  // Most answers are short and their clients take them as they are.
  if (!isLong && !accepted?.includes('=0')) return undefined
  if (!mayBeCompressed(exchange, headers)) return undefined
  setVary(exchange, headers)
  const choice = codingFor(accepted, codings)
  return isLong || choice?.isRequired ? choice?.coding : undefined
}

/** What is compressed is other bytes, which mean the same: a tag that is the revision says so. */
const tellCoding = (headers: Headers, coding: Coding) => {
  headers['content-encoding'] = coding
  const { etag } = headers
  if (etag?.startsWith('"')) headers.etag = `W/${etag}`
}

const bytesOf = (piece: string | Uint8Array) => (typeof piece === 'string' ? Buffer.from(piece) : piece)

/** The bytes before the caller's token, and those from there on. */
const splitAt = (bytes: Buffer, token: string | undefined): [Buffer, Buffer] => {
  const at = token === undefined ? -1 : bytes.lastIndexOf(token)
  return at < 0 ? [bytes, bytes.subarray(bytes.length)] : [bytes.subarray(0, at), bytes.subarray(at)]
}

const tokenKey = '"auth_token"'

/** Whether what is to be compressed may have a secret in it. Of rows that lists show it is known that they have none. */
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

/** A body as the client would rather have it; undefined: as it is. `headers` tell what was done. */
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

/** The rows of a list, and their compressed form in each coding, which may be cached. */
export interface ListBytes {
  bytes: Uint8Array
  packed(coding: Coding): Promise<Packed>
}

/** The same for a list, in pieces: its rows are compressed, and the rest of the envelope is sent as it is. */
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
  // Without the token: its key is in the tail, and a row with a key of that name must not end the search for secrets.
  if (showsSecret(exchange, headers, front, undefined)) return undefined
  tellCoding(headers, coding)
  return packed(coding).then((front) => closed(front, tail))
}

/** Where nothing is kept back, a piece is its sender's own until the next is asked for: exports give their memory back then. */
async function* plainly(pieces: Pieces): AsyncGenerator<Piece> {
  for await (const piece of pieces) yield { bytes: bytesOf(piece), isEnding: false }
}

/** The last piece has the token in it. */
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

/** As many pieces as tell whether it is long: copies, which nobody takes back. */
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

/** The same for a body that comes in pieces. Its length is not known, but whether it begins long. */
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
