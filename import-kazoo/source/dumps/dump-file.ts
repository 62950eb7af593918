import { createReadStream, readFileSync } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import { decodedDatabaseName } from '../../documents/database-names.ts'
import { parsed } from '../documents.ts'
import { createItemScanner, type Item } from '../items.ts'
import { SourceTrouble } from '../source.ts'

interface DumpForm {
  place: 'within' | 'listed'
  areRows: boolean
  hasDatabases: boolean
}

const documentsWithin: DumpForm = { place: 'within', areRows: false, hasDatabases: false }
const rowsWithin: DumpForm = { place: 'within', areRows: true, hasDatabases: false }
const documentsListed: DumpForm = { place: 'listed', areRows: false, hasDatabases: false }
const rowsListed: DumpForm = { place: 'listed', areRows: true, hasDatabases: false }
const ownLines: DumpForm = { place: 'listed', areRows: true, hasDatabases: true }

// By the first key of the outermost object: couchdb-dump, PHP dump, `_all_docs`, our lines, couchbackup,
// lines of documents and rows.
const objects: Readonly<Record<string, DumpForm>> = {
  new_edits: documentsWithin,
  docs: documentsWithin,
  total_rows: rowsWithin,
  offset: rowsWithin,
  update_seq: rowsWithin,
  rows: rowsWithin,
  db: ownLines,
  name: documentsListed,
  marker: documentsListed,
  _id: documentsListed,
  id: rowsListed,
  key: rowsListed,
}

const firstKey = (text: string) => /^\s*\{\s*"([^"\\]*)"/.exec(text)?.[1]

const begun = (beginning: string) => beginning.replace(/^\ufeff/, '').trimStart()

const isJson = (beginning: string) => /^[{[]/.test(begun(beginning))

/** Undefined if it is none. */
export const formOf = (beginning: string): DumpForm | undefined => {
  const text = begun(beginning)
  if (text.startsWith('{')) return objects[firstKey(text) ?? '']
  if (!text.startsWith('[')) return undefined
  // A list of documents is couchbackup's; one of rows is Kazoo's archive of a month.
  const key = firstKey(text.slice(1))
  return key === 'id' || key === 'key' ? rowsListed : documentsListed
}

const isGzip = (bytes: Uint8Array) => bytes[0] === 0x1f && bytes[1] === 0x8b

export const databaseOfFile = (fileName: string) =>
  decodedDatabaseName(
    fileName.replace(/\.gz$/i, '').replace(/\.(?:json|ndjson|jsonl|txt|couch|backup|dump)$/i, ''),
  )

const beginningId = /^\{\s*"(?:_id|id)"\s*:\s*("(?:[^"\\]|\\.)*")/

/** Fast path: the id is mostly the first member. */
export const beginningIdOf = (text: string): string | undefined => {
  const found = beginningId.exec(text)?.[1]
  const id = found === undefined ? undefined : parsed(found)
  return typeof id === 'string' ? id : undefined
}

// Reads items of a dump file from any position, counted in unpacked bytes.

const beginningBytes = 4096
const pieceBytes = 256 * 1024

const unpacked = (path: string): AsyncIterable<Buffer> =>
  pipeline(createReadStream(path, { highWaterMark: pieceBytes }), createGunzip(), () => undefined)

/** Unlinked, so that it ends with the process: a dump contains credentials. */
const unnamedFile = async (): Promise<FileHandle> => {
  const folder = await mkdtemp(join(tmpdir(), 'crosspoint-import-'))
  try {
    return await open(join(folder, 'unpacked'), 'wx+', 0o600)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function* piecesOf(file: FileHandle, from: number, to: number): AsyncGenerator<Buffer> {
  for (let at = from; at < to; ) {
    const { buffer: room, bytesRead } = await file.read(Buffer.allocUnsafe(pieceBytes), { position: at })
    if (bytesRead === 0) return
    yield room.subarray(0, Math.min(bytesRead, to - at))
    at += bytesRead
  }
}

async function* between(pieces: AsyncIterable<Buffer>, from: number, to: number): AsyncGenerator<Buffer> {
  let passed = 0
  for await (const piece of pieces) {
    const some = piece.subarray(Math.max(0, from - passed), Math.max(0, to - passed))
    passed += piece.length
    if (some.length > 0) yield some
    if (passed >= to) return
  }
}

const brokenOff = (path: string) =>
  new SourceTrouble(`${basename(path)} is incomplete: the dump was interrupted`)

const faultOf = (error: unknown, path: string) =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('Z_') ? brokenOff(path) : error

const createBytes = (path: string, { isPacked, bytes }: { isPacked: boolean; bytes: number }) => {
  let plain: FileHandle | undefined

  const pieces = (start: number, end: number): AsyncIterable<Buffer> | Iterable<Buffer> => {
    if (start >= end) return []
    if (plain) return piecesOf(plain, start, end)
    if (isPacked) return between(unpacked(path), start, end)
    // For small files a synchronous read is faster than a thread.
    if (bytes <= pieceBytes) return [readFileSync(path).subarray(start, end)]
    return createReadStream(path, { start, end: end - 1, highWaterMark: pieceBytes })
  }

  return {
    async *from(start: number, end = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
      try {
        yield* pieces(start, end)
      } catch (error) {
        throw faultOf(error, path)
      }
    },
    /** Unpacks a packed file, so that positions are found fast. */
    async unpack() {
      if (!isPacked || plain) return
      const file = await unnamedFile()
      try {
        await file.writeFile(unpacked(path))
      } catch (error) {
        await file.close()
        throw faultOf(error, path)
      }
      plain = file
    },
    async close() {
      await plain?.close()
      plain = undefined
    },
  }
}

/** Undefined if it is no dump. */
export const openDumpFile = async (path: string, bytes: number) => {
  if (bytes === 0) throw new SourceTrouble(`${basename(path)} is empty: the dump was interrupted`)
  const first = await buffer(createBytes(path, { isPacked: false, bytes }).from(0, beginningBytes))
  const isPacked = isGzip(first)
  const content = createBytes(path, { isPacked, bytes })
  const beginning = isPacked ? await buffer(content.from(0, beginningBytes)) : first
  const text = beginning.toString('utf8')
  const form = formOf(text)
  if (!form && isJson(text)) throw new SourceTrouble(`${basename(path)} has an unknown dump format`)
  if (!form) return undefined
  const { areRows } = form
  return {
    path,
    bytes,
    form,
    async *items(from: number, to?: number): AsyncGenerator<Item[]> {
      // After the beginning, items have no list around them.
      const place = from === 0 ? form.place : 'listed'
      const scanner = createItemScanner({ place, areRows, offset: from })
      for await (const piece of content.from(from, to)) yield scanner.push(piece)
      const { isHalf, isWhole } = scanner.end()
      if (isHalf || (place === 'within' && !isWhole)) throw brokenOff(path)
    },
    async item(start: number, end: number): Promise<Item | undefined> {
      const scanner = createItemScanner({ place: 'listed', areRows, offset: start })
      for await (const piece of content.from(start, end)) {
        const [found] = scanner.push(piece)
        if (found) return found
      }
      return undefined
    },
    unpack: content.unpack,
    close: content.close,
  }
}

export type DumpFile = NonNullable<Awaited<ReturnType<typeof openDumpFile>>>
