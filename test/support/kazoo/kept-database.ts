// The storage of the fake CouchDB for one database: the initial documents, which may be made on demand, and
// above them later writes.
import { createHash } from 'node:crypto'
import type { SampleFile } from './sample.ts'

/** A document as it is stored. A request for its losers, files or stubs changes the text. */
export interface StoredDocument {
  id: string
  rev: string
  /** With `_id` and `_rev`, and stubs of its files. */
  text: string
  files: readonly SampleFile[]
  losers: readonly { rev: string; text: string }[]
}

/** Documents in the order of their ids' bytes, the same at each call. */
export interface Documents {
  count: number
  at(index: number): StoredDocument
  idAt(index: number): string
}

const isPlain = (text: string) => !/[\ud800-\udfff]/.test(text)

/** CouchDB's order of ids. */
export const compareIds = (one: string, other: string) => {
  if (one === other) return 0
  if (isPlain(one) && isPlain(other)) return one < other ? -1 : 1
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

export const documentsOf = (list: readonly StoredDocument[]): Documents => {
  const sorted = list.toSorted((one, other) => compareIds(one.id, other.id))
  const at = (index: number) => {
    const found = sorted[index]
    if (!found) throw new Error(`there is no document ${index}`)
    return found
  }
  return { count: sorted.length, at, idAt: (index) => at(index).id }
}

/** The first place in a list whose item is not before. */
const placeIn = (count: number, isBefore: (index: number) => boolean) => {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}

export interface Change {
  sequence: number
  id: string
  rev: string
  document: StoredDocument | undefined
}

interface Written {
  sequence: number
  rev: string
  /** Undefined: it is deleted. */
  document: StoredDocument | undefined
}

export type KeptDatabase = ReturnType<typeof createKeptDatabase>

export const createKeptDatabase = (base: Documents) => {
  const written = new Map<string, Written>()
  const log: { sequence: number; id: string }[] = []
  // Ids that are not in the base, in their order.
  const added: string[] = []
  let sequence = base.count

  const placeInBase = (id: string) => placeIn(base.count, (index) => compareIds(base.idAt(index), id) < 0)

  const inBase = (id: string) => {
    const place = placeInBase(id)
    return place < base.count && base.idAt(place) === id ? base.at(place) : undefined
  }

  const get = (id: string) => {
    const found = written.get(id)
    return found ? found.document : inBase(id)
  }

  const write = (id: string, rev: string, document: StoredDocument | undefined) => {
    if (!written.has(id) && !inBase(id)) {
      added.splice(
        placeIn(added.length, (index) => compareIds(added[index] ?? '', id) < 0),
        0,
        id,
      )
    }
    sequence += 1
    written.set(id, { sequence, rev, document })
    log.push({ sequence, id })
  }

  /** What is not deleted, from an id on, in order. */
  function* from(start: string | undefined): Generator<StoredDocument> {
    let inner = start === undefined ? 0 : placeInBase(start)
    let outer =
      start === undefined ? 0 : placeIn(added.length, (at) => compareIds(added[at] ?? '', start) < 0)
    while (inner < base.count || outer < added.length) {
      const one = inner < base.count ? base.idAt(inner) : undefined
      const other = added[outer]
      const isInner = one !== undefined && (other === undefined || compareIds(one, other) < 0)
      if (isInner) {
        const found = written.get(one)
        const document = found ? found.document : base.at(inner)
        if (document) yield document
        inner += 1
      } else {
        const document = written.get(other ?? '')?.document
        if (document) yield document
        outer += 1
      }
    }
  }

  /** Each document once, at its last change. */
  function* changes(since: number): Generator<Change> {
    for (let index = since; index < base.count; index += 1) {
      const document = base.at(index)
      if (!written.has(document.id))
        yield { sequence: index + 1, id: document.id, rev: document.rev, document }
    }
    const first = placeIn(log.length, (index) => (log[index]?.sequence ?? 0) <= since)
    for (let index = first; index < log.length; index += 1) {
      const entry = log[index]
      const found = entry && written.get(entry.id)
      if (found && found.sequence === entry.sequence) yield { ...found, id: entry.id }
    }
  }

  const count = () => {
    let there = base.count
    for (const [id, { document }] of written) there += (document ? 1 : 0) - (inBase(id) ? 1 : 0)
    return there
  }

  return { get, write, from, changes, count, sequence: () => sequence }
}

/** The next revision of a document, made of its content. */
export const nextRevision = (before: string | undefined, content: string) => {
  const generation = Number(before?.split('-')[0] ?? 0) + 1
  return `${generation}-${createHash('md5').update(content).digest('hex')}`
}
