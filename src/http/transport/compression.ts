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

// Compressed bytes with an uncompressed ending, so that a secret there does not change the length of the rest. The compressor is
// flushed to a byte boundary; the ending follows in the format's block for raw bytes.

/** The cheapest first: bench/README.md has their costs. */
export const codings = ['zstd', 'br', 'gzip'] as const

export type Coding = (typeof codings)[number]

interface Sum {
  crc: number
  length: number
}

interface Coder {
  begin: Uint8Array
  now(bytes: Uint8Array): Uint8Array
  beside(bytes: Uint8Array): Promise<Uint8Array>
  stream(): Transform
  end(ending: Uint8Array, sum: Sum): Uint8Array
}

const chunkSize = 65_536

// Rows repeat the rows before: a window of 64 KB is nearly as good as a larger one and takes little memory.
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
    // RFC 8878, 3.1.1.2: the last block, of raw bytes. Without data no frame has begun.
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
    // RFC 7932, 9.2: an uncompressed block, whose length has 16 bits, and an empty last one.
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
    // RFC 1951, 3.2.4: the last block, stored, and the checksum of all.
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

/** The largest uncompressed block of all formats. */
export const maxEndingBytes = 65_535

// Longer bodies are compressed in a thread. For shorter ones that costs more.
const maxNow = 65_536

/** A compressed body without its ending. */
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

export const closed = ({ coding, bytes, sum }: Packed, ending: Uint8Array): readonly Uint8Array[] => [
  coders[coding].begin,
  bytes,
  coders[coding].end(ending, sum),
]

export const compressed = async (coding: Coding, body: Uint8Array, ending: Uint8Array) =>
  Buffer.concat(closed(await pack(coding, body), ending))

const written = (stream: Transform, bytes: Uint8Array) =>
  new Promise<void>((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()))
  })

export interface Piece {
  bytes: Uint8Array
  isEnding: boolean
}

/** Compresses chunk by chunk: the next is read when the compressed one was taken. */
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

/** Encodings of static files, the smallest first. */
export const encodings = ['br', 'gzip'] as const

export type Encoding = (typeof encodings)[number]

interface Acceptance {
  /** From 0 to 1. */
  weightOf(coding: string): number
  /** Undefined if the header does not contain it: then named codings are preferred. */
  identity: number | undefined
}

const maxCodings = 32

const acceptedCoding = /^\s*([\w!#$%&'*+.^`|~-]+)\s*(?:;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?$/i

/** Invalid parts are ignored. */
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
  /** The client does not accept an uncompressed response. */
  isRequired: boolean
}

/** The preferred coding; undefined for none. */
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

/** The smallest accepted file; undefined for the uncompressed one. */
export const encodingFor = (
  { headers }: IncomingMessage,
  atHand: readonly Encoding[],
): Encoding | undefined => {
  const accepted = headers['accept-encoding']
  const taken = atHand.filter((one) => codingFor(String(accepted ?? ''), [one]))
  return encodings.find((one) => taken.includes(one))
}

export const tagOf = (etag: string, encoding: Encoding | undefined) =>
  encoding ? `${etag.slice(0, -1)}-${encoding}"` : etag

export const hasAlready = ({ headers }: IncomingMessage, etag: string) =>
  (headers['if-none-match'] ?? '')
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === '*' || tag === etag)
