import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  crc32,
  createBrotliCompress,
  createDeflateRaw,
  createZstdCompress,
  deflateRaw,
  deflateRawSync,
  zstdCompress,
  zstdCompressSync,
} from 'node:zlib'

// Compressed bytes with an ending that is not compressed: a secret that stands in the ending changes nothing about the
// length of the rest, whatever the rest repeats of it. What is compressed is flushed, which leaves it at the border of a
// byte, and the ending follows in a block of the format's own for bytes as they are.

/** The codings that are made here, the cheapest first: bench/README.md has what each costs. */
export const codings = ['zstd', 'br', 'gzip'] as const

export type Coding = (typeof codings)[number]

/** What the last block tells of all bytes: only gzip does. */
interface Sum {
  crc: number
  length: number
}

interface Coder {
  begin: Uint8Array
  now(bytes: Uint8Array): Uint8Array
  beside(bytes: Uint8Array): Promise<Uint8Array>
  stream(): Transform
  /** The block of the bytes behind, the last one. */
  end(ending: Uint8Array, sum: Sum): Uint8Array
}

const chunkSize = 65_536

// Rows repeat what stood in the rows before: windows of 64 KB find nearly as much as larger ones, and are what each coder
// takes in memory, which would be given back to the system, and taken again, with each answer.
const zstdOptions = {
  chunkSize,
  finishFlush: constants.ZSTD_e_flush,
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 16 },
}

const brotliOptions = {
  chunkSize,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
  params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 18 },
}

const deflateOptions = { chunkSize, finishFlush: constants.Z_SYNC_FLUSH, level: 1 }

const littleEndian = (number: number, bytes: number) => {
  const written = Buffer.alloc(bytes)
  written.writeUIntLE(number, 0, bytes)
  return written
}

const nothing = Buffer.alloc(0)

/** RFC 8878, 3.1.1.1: a frame with a window of 512 KB, as level 1 has it. */
const emptyFrame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x48])

const coders: Readonly<Record<Coding, Coder>> = {
  zstd: {
    begin: nothing,
    now: (bytes) => zstdCompressSync(bytes, zstdOptions),
    beside: (bytes) => promisify(zstdCompress)(bytes, zstdOptions),
    stream: () => createZstdCompress(zstdOptions),
    // RFC 8878, 3.1.1.2: the last block, of raw bytes. Of nothing no frame has been begun.
    end: (ending, { length }) =>
      Buffer.concat([
        length === 0 ? emptyFrame : nothing,
        littleEndian(ending.length * 2 ** 3 + 1, 3),
        ending,
      ]),
  },
  br: {
    begin: nothing,
    now: (bytes) => brotliCompressSync(bytes, brotliOptions),
    beside: (bytes) => promisify(brotliCompress)(bytes, brotliOptions),
    stream: () => createBrotliCompress(brotliOptions),
    // RFC 7932, 9.2: a block that is not compressed, of which the length is told by 16 bits, and an empty last one.
    end: (ending) =>
      ending.length === 0
        ? Buffer.from([3])
        : Buffer.concat([littleEndian((ending.length - 1) * 2 ** 3 + 2 ** 19, 3), ending, Buffer.from([3])]),
  },
  gzip: {
    // RFC 1952, 2.3: deflate, without a name, a time or a system.
    begin: Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]),
    now: (bytes) => deflateRawSync(bytes, deflateOptions),
    beside: (bytes) => promisify(deflateRaw)(bytes, deflateOptions),
    stream: () => createDeflateRaw(deflateOptions),
    // RFC 1951, 3.2.4: the last block, of bytes as they are, and behind it the sum of all.
    end: (ending, { crc, length }) =>
      Buffer.concat([
        Buffer.from([1]),
        littleEndian(ending.length, 2),
        littleEndian(ending.length ^ 0xffff, 2),
        ending,
        littleEndian(crc32(ending, crc), 4),
        littleEndian((length + ending.length) % 2 ** 32, 4),
      ]),
  },
}

/** No block that is not compressed holds more in all of the formats. */
export const maxEndingBytes = 65_535

// What takes longer than a moment is compressed beside the event loop. Of less the way there and back costs more.
const maxNow = 65_536

/** What is compressed of a body, and waits for its ending: any, and more than one. */
export interface Packed {
  coding: Coding
  bytes: Uint8Array
  sum: Sum
}

export const pack = async (coding: Coding, body: Uint8Array): Promise<Packed> => {
  const coder = coders[coding]
  const bytes = body.length > maxNow ? await coder.beside(body) : coder.now(body)
  return { coding, bytes, sum: { crc: coding === 'gzip' ? crc32(body) : 0, length: body.length } }
}

/** All bytes of a body, in pieces; `ending` stands behind what is packed as it is. */
export const closed = ({ coding, bytes, sum }: Packed, ending: Uint8Array): readonly Uint8Array[] => [
  coders[coding].begin,
  bytes,
  coders[coding].end(ending, sum),
]

/** A body at once. */
export const compressed = async (coding: Coding, body: Uint8Array, ending: Uint8Array) =>
  Buffer.concat(closed(await pack(coding, body), ending))

const written = (stream: Transform, bytes: Uint8Array) =>
  new Promise<void>((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()))
  })

/** A piece of a body: bytes that are to be compressed, or the ending, behind which nothing comes. */
export interface Piece {
  bytes: Uint8Array
  isEnding: boolean
}

/**
 * A body in pieces, one after the other: the next is asked for when the one before is compressed, and what that came to
 * is taken. So no more than a piece is ever in memory.
 */
export async function* compressedPieces(
  coding: Coding,
  pieces: AsyncIterable<Piece>,
): AsyncGenerator<Uint8Array> {
  const coder = coders[coding]
  const stream = coder.stream()
  const made: Uint8Array[] = [coder.begin]
  const sum = { crc: 0, length: 0 }
  let ending: Uint8Array = nothing
  stream.on('data', (bytes) => made.push(bytes))
  try {
    for await (const { bytes, isEnding } of pieces) {
      if (isEnding) {
        ending = bytes
        continue
      }
      if (coding === 'gzip') sum.crc = crc32(bytes, sum.crc)
      sum.length += bytes.length
      await written(stream, bytes)
      yield* made.splice(0)
    }
    const ended = once(stream, 'end')
    stream.end()
    await ended
    yield* made
    yield coder.end(ending, sum)
  } finally {
    stream.destroy()
  }
}

/** Kinds of compression of which files are at hand, the smallest first. */
export const encodings = ['br', 'gzip'] as const

export type Encoding = (typeof encodings)[number]

/** What a client would like: how much of each coding, and whether it takes what is not coded. */
interface Acceptance {
  /** From 0, not at all, to 1. */
  weightOf(coding: string): number
  /** Undefined where the client does not say: then it takes it, and anything that it names before. */
  identity: number | undefined
}

// Nobody has so many codings: what comes behind these is passed over.
const maxCodings = 32

const acceptedCoding = /^\s*([\w!#$%&'*+.^`|~-]+)\s*(?:;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i

/** Reads an Accept-Encoding header. Parts of it that cannot be read are passed over. */
const readAcceptance = (header: string): Acceptance => {
  const weights = new Map<string, number>()
  for (const part of header.split(',', maxCodings)) {
    const [, name, weight = '1'] = acceptedCoding.exec(part) ?? []
    if (name !== undefined) weights.set(name.toLowerCase().replace(/^x-gzip$/, 'gzip'), Number(weight))
  }
  const others = weights.get('*')
  return {
    weightOf: (coding) => weights.get(coding) ?? others ?? 0,
    identity: weights.get('identity') ?? (others === 0 ? 0 : undefined),
  }
}

interface Choice<Coding> {
  coding: Coding
  /** What is not coded would not be taken. */
  isRequired: boolean
}

/** The coding that a client likes best, of several the first at hand; undefined: it is sent as it is. */
export const codingFor = <Coding extends string>(
  header: string | undefined,
  atHand: readonly Coding[],
): Choice<Coding> | undefined => {
  if (header === undefined) return undefined
  const { weightOf, identity } = readAcceptance(header)
  let coding: Coding | undefined
  for (const one of atHand) if (weightOf(one) > (coding ? weightOf(coding) : 0)) coding = one
  if (coding === undefined || weightOf(coding) < (identity ?? 0)) return undefined
  return { coding, isRequired: identity === 0 }
}

/** The smallest of those at hand that a client takes; undefined: it has to be sent as it is. */
export const encodingFor = (
  { headers }: IncomingMessage,
  atHand: readonly Encoding[],
): Encoding | undefined => {
  const accepted = headers['accept-encoding']
  const taken = atHand.filter((one) => codingFor(String(accepted ?? ''), [one]))
  return encodings.find((one) => taken.includes(one))
}

/** What is sent compressed is not the same bytes, and has a tag of its own. */
export const tagOf = (etag: string, encoding: Encoding | undefined) =>
  encoding ? `${etag.slice(0, -1)}-${encoding}"` : etag

/** Whether a client has just what it asks for: a list of tags, or `*`. */
export const hasAlready = ({ headers }: IncomingMessage, etag: string) =>
  (headers['if-none-match'] ?? '')
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === '*' || tag === etag)
