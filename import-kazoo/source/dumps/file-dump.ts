import { hash } from 'node:crypto'
import { basename, dirname } from 'node:path'
import { isObject } from '../../../src/lib/json.ts'
import { decodedDatabaseName } from '../../documents/database-names.ts'
import {
  bytesOfFile,
  bytesWithin,
  checkedFile,
  fileBelow,
  parsedRow,
  type ReadDocument,
  readDocument,
  rowOf,
  type SourceRow,
} from '../documents.ts'
import type { Item } from '../items.ts'
import { beginningIdOf, type DumpFile, databaseOfFile } from './dump-file.ts'
import type { DumpReader } from './folder-dump.ts'

const firstSlots = 1024

/** Last positions of millions of ids: 16 bytes each, keyed by half a digest. */
export const createLatestPlaces = () => {
  let keys = new BigUint64Array(firstSlots)
  // Positions are above 0; 0 marks a free slot.
  let places = new Float64Array(firstSlots)
  let count = 0

  const put = (key: bigint, place: number) => {
    const last = places.length - 1
    let slot = Number(BigInt.asUintN(32, key)) & last
    while (places[slot] !== 0 && keys[slot] !== key) slot = (slot + 1) & last
    const before = places[slot] ?? 0
    keys[slot] = key
    places[slot] = place
    return before
  }

  const grow = () => {
    const old = { keys, places }
    keys = new BigUint64Array(places.length * 2)
    places = new Float64Array(keys.length)
    for (const [slot, place] of old.places.entries()) if (place !== 0) put(old.keys[slot] ?? 0n, place)
  }

  /** Returns the previous position. */
  return (id: string, place: number): number | undefined => {
    const before = put(hash('md5', id, 'buffer').readBigUInt64LE(0), place)
    if (before !== 0) return before
    count += 1
    if (count * 3 > places.length * 2) grow()
    return undefined
  }
}

// Documents may be in several files, in any order and in several revisions: the last one counts.

export interface Part {
  file: DumpFile
  from: number
  to: number | undefined
}

interface Place {
  part: number
  start: number
  end: number
}

const placesOfPart = 2 ** 42

const positionOf = (part: number, { start }: Item) => part * placesOfPart + start + 1

const textOf = (item: Item) => item.doc ?? item.text

const idOf = (item: Item) =>
  beginningIdOf(textOf(item)) ?? beginningIdOf(item.text) ?? readDocument(textOf(item))?.document.id

const read = (item: Item): ReadDocument | undefined =>
  item.isTooLarge ? undefined : readDocument(textOf(item))

/** Headers of couchbackup, and rows that mark a deleted document. */
const hasNoDocument = (item: Item) => {
  const { name, marker, value } = parsedRow(item.text)
  if (isObject(value) && value.deleted === true) return true
  const titles = item.doc === undefined ? [name, marker] : []
  return titles.some((text) => typeof text === 'string' && text.startsWith('@cloudant/couchbackup'))
}

const reasonOf = (item: Item) => {
  if (item.isTooLarge) return `it has ${item.end - item.start} bytes`
  const { error } = parsedRow(item.text)
  return typeof error === 'string' ? error : 'it is not JSON, or has no id'
}

/** Some tools write files of a document into a folder named after it. */
const besideDump = (path: string, id: string, name: string) => {
  const names = [id, encodeURIComponent(id)]
  const folders = [[], [databaseOfFile(basename(path))], [basename(path).replace(/\.[^.]*$/, '')]]
  return fileBelow(
    dirname(path),
    folders.flatMap((folder) => names.map((folderName) => [...folder, folderName, name])),
  )
}

export const createFileDump = (database: string, parts: readonly Part[]): DumpReader => {
  // Positions of documents with files; built on first use.
  let withFiles: Promise<Map<string, Place>> | undefined

  const isOfDatabase = (item: Item) => {
    const { db } = parsedRow(item.text)
    return typeof db === 'string' && decodedDatabaseName(db) === database
  }

  async function* itemsBehind(mark = ''): AsyncGenerator<{ part: number; items: readonly Item[] }> {
    const [firstPart = 0, offset = 0] = mark.split(':').map(Number)
    for (const [part, { file, from, to }] of parts.entries()) {
      if (part < firstPart) continue
      const begin = part === firstPart ? Math.max(from, offset) : from
      for await (const items of file.items(begin, to))
        yield { part, items: file.form.hasDatabases ? items.filter(isOfDatabase) : items }
    }
  }

  /** Positions of outdated revisions, in order. */
  const replaced = async (mark: string | undefined) => {
    const remember = createLatestPlaces()
    const earlier: number[] = []
    for await (const { part, items } of itemsBehind(mark))
      for (const item of items) {
        const id = idOf(item)
        const before = id === undefined ? undefined : remember(id, positionOf(part, item))
        if (before !== undefined) earlier.push(before)
      }
    return earlier.sort((one, other) => one - other)
  }

  async function* rows(after?: string): AsyncGenerator<SourceRow> {
    const outdated = Iterator.from(await replaced(after))
    let next = outdated.next().value
    for await (const { part, items } of itemsBehind(after))
      for (const item of items) {
        const mark = `${part}:${item.end}`
        if (next === positionOf(part, item)) {
          next = outdated.next().value
          yield { mark }
        } else
          yield rowOf(mark, read(item), () =>
            hasNoDocument(item)
              ? undefined
              : { id: idOf(item) ?? `at byte ${item.start}`, reason: reasonOf(item) },
          )
      }
  }

  const findFiles = async () => {
    const found = new Map<string, Place>()
    for await (const { part, items } of itemsBehind())
      for (const item of items) {
        const id = idOf(item)
        if (id === undefined) continue
        if (textOf(item).includes('"_attachments"')) found.set(id, { part, start: item.start, end: item.end })
        else found.delete(id)
      }
    return found
  }

  return {
    bytes: parts.reduce((sum, { file, from, to = file.bytes }) => sum + to - from, 0),
    rows,
    async document(id) {
      let last: ReadDocument | undefined
      for await (const { items } of itemsBehind())
        for (const item of items) if (idOf(item) === id) last = read(item)
      return last && !last.isDeleted ? last.document : undefined
    },
    async attachment(id, name, mostBytes) {
      withFiles ??= findFiles()
      const place = (await withFiles).get(id)
      const file = parts[place?.part ?? -1]?.file
      const item = place && (await file?.item(place.start, place.end))
      const found = item && read(item)
      const stubs = found?.document.fields?._attachments
      const facts = isObject(stubs) ? stubs[name] : undefined
      if (!found || !file || !isObject(facts)) return undefined
      const bytes = bytesWithin(found.whole, name)
      if (bytes && bytes.length > mostBytes) return 'too large'
      if (bytes) return checkedFile(bytes, facts, `a file of ${id} in ${database}`)
      const path = await besideDump(file.path, id, name)
      return path === undefined ? undefined : bytesOfFile(path, facts, mostBytes)
    },
  }
}
