// Members in order: `manifest.json`, `data/...` (data directory), `database/...` (pieces of the store), `SHA256SUMS` for `sha256sum -c`.
import { createHash } from 'node:crypto'
import type { Manifest } from './manifest.ts'
import { damaged, type FoundMember, type Member, readTar, writeTar } from './tar.ts'

const manifestName = 'manifest.json'
const sumsName = 'SHA256SUMS'
const dataFolder = 'data/'
const pieceName = /^database\/\d{8}$/

const lineOf = (name: string, digest: string) => `${digest}  ${name}\n`

interface Content {
  manifest: Manifest
  /** Paths in the data directory. */
  files: AsyncIterable<Member>
  pieces: AsyncIterable<Buffer>
}

async function* membersOf({ manifest, files, pieces }: Content): AsyncGenerator<Member> {
  yield { name: manifestName, content: Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`) }
  for await (const { name, content } of files) yield { name: `${dataFolder}${name}`, content }
  let number = 0
  for await (const content of pieces) {
    number += 1
    yield { name: `database/${String(number).padStart(8, '0')}`, content }
  }
}

async function* withSums(members: AsyncIterable<Member>): AsyncGenerator<Member> {
  const lines: string[] = []
  for await (const member of members) {
    lines.push(lineOf(member.name, createHash('sha256').update(member.content).digest('hex')))
    yield member
  }
  yield { name: sumsName, content: Buffer.from(lines.join('')) }
}

/** Neither compressed nor encrypted. */
export const writeArchive = (content: Content): AsyncGenerator<Uint8Array> =>
  writeTar(withSums(membersOf(content)))

interface Receiver {
  /** Comes first, and is not verified yet. */
  manifest(text: string): void
  file(name: string, content: AsyncIterable<Uint8Array>): Promise<void>
  /** The next piece of the store. */
  piece(content: AsyncIterable<Uint8Array>): Promise<void>
}

const isInside = (name: string) =>
  name.split('/').every((part) => !['', '.', '..'].includes(part)) && !/[\\\0\n]/.test(name)

const textOf = async (content: AsyncIterable<Uint8Array>) => {
  const pieces: Uint8Array[] = []
  for await (const piece of content) pieces.push(piece)
  return Buffer.concat(pieces).toString('utf8')
}

const receive = async (receiver: Receiver, { name, content }: FoundMember) => {
  if (name === manifestName) return receiver.manifest(await textOf(content))
  if (name.startsWith(dataFolder) && isInside(name))
    return receiver.file(name.slice(dataFolder.length), content)
  if (pieceName.test(name)) return receiver.piece(content)
  throw damaged('it contains entries that do not belong in a backup')
}

/** Returns when all content has been verified. */
export const readArchive = async (source: AsyncIterable<Uint8Array>, receiver: Receiver): Promise<void> => {
  const lines: string[] = []
  let sums: string | undefined
  for await (const { name, content } of readTar(source)) {
    if (sums !== undefined || (lines.length === 0) !== (name === manifestName))
      throw damaged('its entries are in the wrong order')
    if (name === sumsName) {
      sums = await textOf(content)
      continue
    }
    const hash = createHash('sha256')
    await receive(receiver, { name, content: passing(content, (piece) => hash.update(piece)) })
    lines.push(lineOf(name, hash.digest('hex')))
  }
  if (sums !== lines.join('')) throw damaged('its checksums do not match its content')
}

async function* passing(content: AsyncIterable<Uint8Array>, see: (piece: Uint8Array) => void) {
  for await (const piece of content) {
    see(piece)
    yield piece
  }
}
