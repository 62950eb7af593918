import { hash } from 'node:crypto'
import { basename, dirname } from 'node:path'
import { evictOldest } from '../../../src/lib/forget-oldest.ts'
import { isObject } from '../../../src/lib/json.ts'
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
import { beginningIdOf, type DumpFile, databaseOfFile, decodedName } from './dump-file.ts'
import type { DumpReader } from './folder-dump.ts'

// Last positions of millions of ids: 16 bytes each, keyed by half a digest.

const firstSlots = 1024

export const createLatestPlaces = () => {
  let slots = firstSlots
  let high = new Uint32Array(slots)
  let low = new Uint32Array(slots)
  // Positions are above 0; 0 marks a free slot.
  let places = new Float64Array(slots)
  let count = 0

  const slotOf = (top: number, bottom: number) => {
    let slot = bottom & (slots - 1)
    while (places[slot] !== 0 && (high[slot] !== top || low[slot] !== bottom)) slot = (slot + 1) & (slots - 1)
    return slot
  }

  const put = (top: number, bottom: number, place: number) => {
    const slot = slotOf(top, bottom)
    const before = places[slot] ?? 0
    high[slot] = top
    low[slot] = bottom
    places[slot] = place
    return before
  }

  const grow = () => {
    const old = { high, low, places }
    slots *= 2
    high = new Uint32Array(slots)
    low = new Uint32Array(slots)
    places = new Float64Array(slots)
    old.places.forEach((place, slot) => {
      if (place !== 0) put(old.high[slot] ?? 0, old.low[slot] ?? 0, place)
    })
  }

  /** Returns the previous position. */
  return (id: string, place: number): number | undefined => {
    const digest = hash('md5', id, 'buffer')
    const before = put(digest.readUInt32LE(0), digest.readUInt32LE(4), place)
    if (before !== 0) return before
    count += 1
    if (count * 3 > slots * 2) grow()
    return undefined
  }
}

// Documents may be in several files, in any order and in several revisions: the last one counts.

export interface Part {
  file: DumpFile
  from: number
  to: number | undefined
}

interface Entry {
  part: number
  item: Item
  place: number
}

interface Entries {
  all: readonly Entry[]
  latest: ReadonlyMap<string, Entry>
}

/** Recently read small databases: an import reads them several times. */
export type CachedEntries = Map<string, Promise<Entries>>

// Twice the number of databases that are imported at once.
const maxCached = 8

const placesOfPart = 2 ** 42

const textOf = (item: Item) => item.doc ?? item.text

const idOf = (item: Item) =>
  beginningIdOf(textOf(item)) ?? beginningIdOf(item.text) ?? readDocument(textOf(item))?.document.id

/** Written by couchbackup between documents. */
const isHeader = (item: Item) => {
  const { name, marker } = item.doc === undefined ? parsedRow(item.text) : {}
  return [name, marker].some((text) => typeof text === 'string' && text.startsWith('@cloudant/couchbackup'))
}

/** Whether the row marks a deleted document. */
const isOfDeleted = ({ text }: Item) => {
  const { value } = parsedRow(text)
  return isObject(value) && value.deleted === true
}

const reasonOf = (item: Item) => {
  if (item.isTooLarge) return `it has ${item.end - item.start} bytes`
  const { error } = parsedRow(item.text)
  return typeof error === 'string' ? error : 'it is not JSON, or has no id'
}

const markOf = ({ part, item }: Entry) => `${part}:${item.end}`

const entryAt = (mark: string | undefined) => {
  const [part = 0, offset = 0] = (mark ?? '').split(':').map(Number)
  return { part, offset }
}

// Size of a small database, unpacked; packed files may grow tenfold.
const maxCachedBytes = 1024 * 1024
const packedGrowth = 10

const bytesOf = ({ file, from, to }: Part) => (to === undefined ? file.bytes : to - from)

const unpackedBytesOf = (part: Part) =>
  part.to === undefined && part.file.isPacked ? bytesOf(part) * packedGrowth : bytesOf(part)

const sumOf = (parts: readonly Part[], of: (part: Part) => number) =>
  parts.reduce((sum, part) => sum + of(part), 0)

export const createFileDump = (database: string, parts: readonly Part[], kept: CachedEntries): DumpReader => {
  const isSmall = sumOf(parts, unpackedBytesOf) <= maxCachedBytes
  // Positions of documents with files; built on first use.
  let withFiles: Promise<Map<string, Entry>> | undefined

  const isOfDatabase = (item: Item) => {
    const { db } = parsedRow(item.text)
    return typeof db === 'string' && decodedName(db) === database
  }

  async function* entriesOfFiles(mark?: string): AsyncGenerator<readonly Entry[]> {
    const first = entryAt(mark)
    for (const [part, { file, from, to }] of parts.entries()) {
      if (part < first.part) continue
      const begin = part === first.part ? Math.max(from, first.offset) : from
      for await (const items of file.items(begin, to)) {
        const own = file.form.hasDatabases ? items.filter(isOfDatabase) : items
        yield own.map((item) => ({ part, item, place: part * placesOfPart + item.start + 1 }))
      }
    }
  }

  const readSmall = async (): Promise<Entries> => {
    const all: Entry[] = []
    const latest = new Map<string, Entry>()
    for await (const some of entriesOfFiles()) {
      for (const entry of some) {
        all.push(entry)
        const id = idOf(entry.item)
        if (id !== undefined) latest.set(id, entry)
      }
    }
    return { all, latest }
  }

  const small = () => {
    const known = kept.get(database)
    if (known) return known
    const reading = readSmall()
    kept.set(database, reading)
    reading.catch(() => kept.delete(database))
    evictOldest(kept, maxCached)
    return reading
  }

  async function* entries(mark?: string): AsyncGenerator<readonly Entry[]> {
    if (!isSmall) return yield* entriesOfFiles(mark)
    const { part, offset } = entryAt(mark)
    const isBehind = (entry: Entry) =>
      entry.part > part || (entry.part === part && entry.item.start >= offset)
    const { all } = await small()
    yield mark === undefined ? all : all.filter(isBehind)
  }

  /** Positions of outdated revisions, in order. */
  const replaced = async (mark: string | undefined) => {
    if (isSmall) {
      const { all, latest } = await small()
      if (latest.size === all.length) return []
    }
    const remember = createLatestPlaces()
    const earlier: number[] = []
    for await (const some of entries(mark)) {
      for (const { item, place } of some) {
        const id = idOf(item)
        const before = id === undefined ? undefined : remember(id, place)
        if (before !== undefined) earlier.push(before)
      }
    }
    return earlier.sort((one, other) => one - other)
  }

  const read = (item: Item): ReadDocument | undefined =>
    item.isTooLarge ? undefined : readDocument(textOf(item))

  async function* rows(after?: string): AsyncGenerator<SourceRow> {
    const left = await replaced(after)
    let next = 0
    for await (const some of entries(after)) {
      for (const entry of some) {
        const { item, place } = entry
        const mark = markOf(entry)
        if (left[next] === place) {
          next += 1
          yield { mark }
        } else
          yield rowOf(mark, read(item), () =>
            isHeader(item) || isOfDeleted(item)
              ? undefined
              : { id: idOf(item) ?? `at byte ${item.start}`, reason: reasonOf(item) },
          )
      }
    }
  }

  const findFiles = async () => {
    const found = new Map<string, Entry>()
    for await (const some of entries()) {
      for (const entry of some) {
        const id = idOf(entry.item)
        if (id === undefined) continue
        const { item, part, place } = entry
        if (textOf(item).includes('"_attachments"'))
          found.set(id, { part, place, item: { ...item, text: '', doc: undefined } })
        else found.delete(id)
      }
    }
    return found
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

  return {
    bytes: sumOf(parts, bytesOf),
    rows,
    async document(id) {
      if (isSmall) {
        const entry = (await small()).latest.get(id)
        const found = entry && read(entry.item)
        return found && !found.isDeleted ? found.document : undefined
      }
      let last: ReadDocument | undefined
      for await (const some of entries())
        for (const { item } of some) if (idOf(item) === id) last = read(item)
      return last && !last.isDeleted ? last.document : undefined
    },
    async attachment(id, name, mostBytes) {
      withFiles ??= findFiles()
      const entry = (await withFiles).get(id)
      const file = parts[entry?.part ?? -1]?.file
      const item = entry && (await file?.item(entry.item.start, entry.item.end))
      const found = item && read(item)
      const stubs = found?.document.fields?._attachments
      const facts = isObject(stubs) ? stubs[name] : undefined
      if (!found || !file || !isObject(facts)) return undefined
      const bytes = bytesWithin(found.whole, name)
      if (bytes)
        return bytes.length > mostBytes
          ? 'too large'
          : checkedFile(bytes, facts, `a file of ${id} in ${database}`)
      const path = await besideDump(file.path, id, name)
      return path === undefined ? undefined : bytesOfFile(path, facts, mostBytes)
    },
  }
}
