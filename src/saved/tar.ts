// The container of a backup: POSIX tar, so that any machine can take one apart. Names of more than 100 bytes stand in a
// pax header before their member.
import { Refusal } from '../storage/saved-store.ts'
import { damaged } from './damage.ts'

export interface Member {
  name: string
  content: Buffer
}

export interface FoundMember {
  name: string
  /** Has to be read to its end before the next member is asked for. */
  content: AsyncIterable<Buffer>
}

const blockBytes = 512
const longestName = 100
// What eleven octal digits can say.
const largestMember = 0o77777777777
// Names that are longer than a path can be are no names.
const mostPaxBytes = 16_384
const fileType = '0'
const paxType = 'x'
const at = { name: 0, mode: 100, size: 124, time: 136, sum: 148, type: 156, magic: 257 } as const
const sumBytes = 8

const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`

/** The sum of a header's bytes, its own place taken for spaces. */
const sumOf = (header: Buffer) => {
  let sum = 0
  for (const [index, byte] of header.entries())
    sum += index >= at.sum && index < at.sum + sumBytes ? 32 : byte
  return sum
}

const headerOf = (name: string, size: number, type: string) => {
  if (size > largestMember) throw new Refusal(`${name} is too large for a backup`)
  const header = Buffer.alloc(blockBytes)
  // Cut after so many bytes, and not characters: behind them are other fields.
  Buffer.from(name).copy(header, at.name, 0, longestName)
  header.write(octal(0o600, 7), at.mode)
  header.write(octal(size, 11), at.size)
  header.write(octal(0, 11), at.time)
  header.write(type, at.type)
  header.write('ustar\u000000', at.magic)
  header.write(`${sumOf(header).toString(8).padStart(6, '0')}\0 `, at.sum)
  return header
}

const padded = (content: Buffer) => Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes)

/** `LENGTH path=NAME\n`, where the length counts its own digits. */
const paxRecord = (name: string) => {
  const rest = Buffer.byteLength(` path=${name}\n`)
  let length = rest + 1
  while (String(length).length + rest !== length) length = String(length).length + rest
  return Buffer.from(`${length} path=${name}\n`)
}

function* blocksOf({ name, content }: Member): Generator<Buffer> {
  if (Buffer.byteLength(name) > longestName) {
    const pax = paxRecord(name)
    yield headerOf('pax', pax.length, paxType)
    yield pax
    yield padded(pax)
  }
  yield headerOf(name, content.length, fileType)
  yield content
  yield padded(content)
}

/** The bytes of a tar file with these members. */
export async function* writeTar(members: AsyncIterable<Member>): AsyncGenerator<Buffer> {
  for await (const member of members) yield* blocksOf(member)
  yield Buffer.alloc(2 * blockBytes)
}

/** Bytes by number, from pieces as they come. */
const createTaker = (source: AsyncIterable<Uint8Array>) => {
  const pieces = source[Symbol.asyncIterator]()
  let rest = Buffer.alloc(0)

  const more = async () => {
    const { value, done } = await pieces.next()
    if (done) throw damaged('it ends too early')
    rest = rest.length === 0 ? Buffer.from(value) : Buffer.concat([rest, value])
  }

  const take = (most: number) => {
    const taken = rest.subarray(0, most)
    rest = rest.subarray(taken.length)
    return taken
  }

  return {
    async exactly(bytes: number): Promise<Buffer> {
      while (rest.length < bytes) await more()
      return take(bytes)
    },
    async *inPieces(bytes: number): AsyncGenerator<Buffer> {
      for (let left = bytes; left > 0; ) {
        if (rest.length === 0) await more()
        const piece = take(left)
        left -= piece.length
        yield piece
      }
    },
    /** Whatever follows: decompressing and decrypting tell at the end whether all was there. */
    async drain() {
      for (;;) if ((await pieces.next()).done) return
    },
  }
}

const textAt = (header: Buffer, from: number, length: number) => {
  const field = header.subarray(from, from + length)
  const end = field.indexOf(0)
  return field.toString('utf8', 0, end < 0 ? length : end)
}

const numberAt = (header: Buffer, from: number, length: number) => {
  const text = textAt(header, from, length).trim()
  if (!/^[0-7]+$/.test(text)) throw damaged('a header of it cannot be read')
  return Number.parseInt(text, 8)
}

const readHeader = (header: Buffer) => {
  if (textAt(header, at.magic, 5) !== 'ustar' || numberAt(header, at.sum, sumBytes) !== sumOf(header))
    throw damaged('a header of it cannot be read')
  return {
    name: textAt(header, at.name, longestName),
    size: numberAt(header, at.size, 12),
    type: textAt(header, at.type, 1),
  }
}

const nameInPax = (pax: Buffer) => {
  const name = /^\d+ path=([^\n]+)\n$/.exec(pax.toString('utf8'))?.[1]
  if (name === undefined) throw damaged('a name of it cannot be read')
  return name
}

/** The members of a tar file as `writeTar` makes it; refuses everything else. */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<FoundMember> {
  const taker = createTaker(source)
  const skipPadding = (size: number) => taker.exactly((blockBytes - (size % blockBytes)) % blockBytes)
  let longName: string | undefined
  for (;;) {
    const block = await taker.exactly(blockBytes)
    if (block.every((byte) => byte === 0)) break
    const { name, size, type } = readHeader(block)
    if (type === paxType) {
      if (size > mostPaxBytes) throw damaged('a name of it cannot be read')
      longName = nameInPax(await taker.exactly(size))
    } else if (type === fileType) {
      yield { name: longName ?? name, content: taker.inPieces(size) }
      longName = undefined
    } else throw damaged('it holds what no backup holds')
    await skipPadding(size)
  }
  await taker.drain()
}
