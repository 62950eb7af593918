import { hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, resolve, sep } from 'node:path'
import type { Json } from '../../src/lib/json.ts'
import { SourceTrouble } from './source.ts'

/** All bytes that come, unless they are more. */
export const bytesIn = async (
  pieces: AsyncIterable<Uint8Array>,
  mostBytes: number,
): Promise<Buffer | 'too large'> => {
  const all: Uint8Array[] = []
  let length = 0
  for await (const piece of pieces) {
    length += piece.length
    if (length > mostBytes) return 'too large'
    all.push(piece)
  }
  return Buffer.concat(all)
}

// These CouchDB stores compressed, and the digest that it tells is of that.
const isCompressed = (type: unknown) => /^text\/|^application\/(?:javascript|json|xml)/.test(String(type))

/** What differs between the bytes of a file and what its document says of it, in words; undefined: nothing. */
export const flawOfFile = (
  bytes: Buffer,
  { length, digest, content_type: type }: Json,
): string | undefined => {
  if (typeof length === 'number' && bytes.length !== length)
    return `has ${bytes.length} bytes instead of ${length}`
  const told = /^md5-(.+)$/.exec(String(digest))?.[1]
  return told !== undefined && !isCompressed(type) && told !== hash('md5', bytes, 'base64')
    ? 'is not what its digest says'
    : undefined
}

export const checkedFile = (bytes: Buffer, facts: Json, what: string): Buffer => {
  const flaw = flawOfFile(bytes, facts)
  if (flaw !== undefined) throw new SourceTrouble(`${what} ${flaw}`)
  return bytes
}

const isFile = (path: string) =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  )

/** The first of some paths below a folder where a file is. A dump is written by others: no name in it leads out of its folder. */
export const fileBelow = async (folder: string, paths: readonly (readonly string[])[]) => {
  const root = resolve(folder)
  for (const path of paths) {
    const found = resolve(root, ...path)
    if (found.startsWith(root + sep) && (await isFile(found))) return found
  }
  return undefined
}

/** The bytes of a file on the disk, checked against what its document says of them. */
export const bytesOfFile = async (path: string, facts: Json, mostBytes: number) => {
  const bytes = await bytesIn(createReadStream(path), mostBytes)
  return bytes === 'too large' ? bytes : checkedFile(bytes, facts, `the file ${basename(path)}`)
}
