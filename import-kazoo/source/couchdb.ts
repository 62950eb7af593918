// Documents from a CouchDB or BigCouch over HTTP: pages by key, changes, files. It only reads.
import { isObject, type Json } from '../../src/lib/json.ts'
import {
  type Connection,
  createConnection,
  Fault,
  isLastTry,
  listIn,
  objectIn,
  type Patience,
  type Place,
  pauseAfter,
  textsIn,
} from './connection.ts'
import { isDesign, parsedRow, readDocument } from './document-text.ts'
import { createFileCheck } from './file-checks.ts'
import { createItemScanner, type Item } from './items.ts'
import {
  type AttachmentName,
  type DatabaseFacts,
  DatabaseVanished,
  type Source,
  type SourceChange,
  type SourceChanges,
  type SourceDocument,
  type SourceFacts,
  type SourcePage,
  SourceTrouble,
} from './source.ts'

const mostRows = 1000
/** A page ends with so much text, however many rows its answer has: the rest of the answer is the next one. */
const pageLength = 4 * 1024 * 1024

type Engine = 'bigcouch' | 'couchdb1' | 'couchdb'

const pathOf = (database: string) => `/${encodeURIComponent(database)}`

const documentPath = (database: string, id: string) => `${pathOf(database)}/${encodeURIComponent(id)}`

const engineOf = ({ version, bigcouch }: Json): { engine: Engine; title: string } => {
  if (bigcouch !== undefined) return { engine: 'bigcouch', title: `BigCouch ${String(bigcouch)}` }
  const number = String(version)
  return { engine: number.startsWith('1.') ? 'couchdb1' : 'couchdb', title: `CouchDB ${number}` }
}

const numberIn = (value: unknown) => (typeof value === 'number' ? value : undefined)

const bytesIn = ({ sizes, other, data_size, disk_size }: Json) =>
  numberIn(isObject(sizes) ? (sizes.active ?? sizes.file) : undefined) ??
  numberIn(isObject(other) ? other.data_size : undefined) ??
  numberIn(data_size) ??
  numberIn(disk_size)

/** BigCouch has `[12, "opaque"]`, CouchDB 1 a number, later ones a text. */
const sequenceOf = (seq: unknown): string => {
  const value: unknown = Array.isArray(seq) ? seq[1] : seq
  return typeof value === 'string' ? value : JSON.stringify(value ?? 0)
}

interface Batch {
  documents: SourceDocument[]
  unreadable: { id: string; reason: string }[]
  length: number
}

const emptyBatch = (): Batch => ({ documents: [], unreadable: [], length: 0 })

interface Row {
  id: string
  /** Of a row of changes. */
  seq: unknown
  isDeleted: boolean
  document: SourceDocument | undefined
}

/** A row of an answer; one without an id is the fault that an answer breaks off with. */
const rowIn = (item: Item): Row => {
  const read = item.doc === undefined ? undefined : readDocument(item.doc)
  const { id, key, seq, deleted, error, value } = parsedRow(item.text)
  const name = typeof id === 'string' ? id : key
  if (typeof name !== 'string') throw new Fault(typeof error === 'string' ? error : 'no row')
  const isDeleted =
    deleted === true || read?.isDeleted === true || (isObject(value) && value.deleted === true)
  return { id: name, seq, isDeleted, document: read?.document }
}

/** The rows of an answer as they come, and what stood around them. */
async function* rowsOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Row, Json> {
  const scanner = createItemScanner({ place: 'within', areRows: true })
  for await (const piece of pieces) {
    for (const item of scanner.push(piece)) {
      if (item.isTooLarge)
        yield { ...rowIn({ ...item, text: beginningOfRow(item.text) }), document: undefined }
      else yield rowIn(item)
    }
  }
  const { text, isWhole } = scanner.end()
  const frame = isWhole ? objectIn(text) : undefined
  if (!frame) throw new Fault('the answer broke off')
  return frame
}

/** The same, and somebody hears of each before it is given. Whoever stops reading ends it. */
async function* watched<Value, End>(
  values: AsyncGenerator<Value, End>,
  hear: (value: Value) => void,
): AsyncGenerator<Value, End> {
  try {
    let next = await values.next()
    while (!next.done) {
      hear(next.value)
      yield next.value
      next = await values.next()
    }
    return next.value
  } finally {
    await values.return(undefined as End)
  }
}

/** The id is the first that a row says. */
const beginningOfRow = (text: string) =>
  /^\{"(?:id|key)":"(?:[^"\\]|\\.)*"/.exec(text)?.[0]?.concat('}') ?? '{}'

const createReading = (connection: Connection, database: string) => {
  const { host, patience } = connection

  const vanished = () => new DatabaseVanished(`${host}: the database ${database} is not there any more`)

  const answerTo = async (path: string) => {
    const answer = await connection.ask(path)
    if (answer.isThere) return answer
    connection.leave(answer)
    throw vanished()
  }

  /** A document by itself; undefined when it is not there. */
  const single = async (id: string): Promise<{ document?: SourceDocument; reason: string }> => {
    const answer = await connection.text(
      `${documentPath(database, id)}?conflicts=true`,
      `a document of ${database}`,
    )
    if ('missing' in answer) return { reason: answer.missing }
    const read = readDocument(answer.text)
    return read ? { document: read.document, reason: '' } : { reason: 'it is not JSON' }
  }

  /** What a list names and does not give is asked for once by itself. */
  const add = async (batch: Batch, { id, document, isDeleted }: Row) => {
    if (isDesign(id) || isDeleted) return
    const found = document ? { document, reason: '' } : await single(id)
    if (found.document) {
      batch.documents.push(found.document)
      batch.length += found.document.text.length
    } else if (found.reason !== 'deleted') batch.unreadable.push({ id, reason: found.reason })
  }

  const listPath = (after: string | undefined, limit: number, query: string) => {
    const from = after === undefined ? '' : `&skip=1&startkey=${encodeURIComponent(JSON.stringify(after))}`
    return `${pathOf(database)}/_all_docs?limit=${limit}${query}${from}`
  }

  /** The id behind one, without its document. */
  const idBehind = (after: string | undefined) =>
    connection.again(database, async () => {
      const { pieces } = await answerTo(listPath(after, 1, ''))
      for await (const { id } of rowsOf(pieces())) return id
      return undefined
    })

  /** Pages to the end or to a fault; each tells how many rows there were. */
  async function* answers(after: string | undefined, limit: number): AsyncGenerator<SourcePage, number> {
    const { pieces } = await answerTo(listPath(after, limit, '&include_docs=true&conflicts=true'))
    let batch = emptyBatch()
    let last = after
    let count = 0
    const page = (more: Pick<SourcePage, 'isLast'> = {}): SourcePage => {
      const { documents, unreadable } = batch
      batch = emptyBatch()
      return { documents, unreadable, mark: last ?? '', ...more }
    }
    try {
      for await (const row of rowsOf(pieces())) {
        await add(batch, row)
        last = row.id
        count += 1
        if (batch.length >= pageLength) yield page()
      }
    } catch (error) {
      // What has come is read; the rest is asked for again.
      if (error instanceof Fault && last !== after && last !== undefined) yield page()
      throw error
    }
    if (count > 0) yield page(count < limit ? { isLast: true } : {})
    return count
  }

  async function* pages(from: string | undefined): AsyncGenerator<SourcePage> {
    let after = from
    let limit = mostRows
    let faults = 0
    for (;;) {
      const before = after
      try {
        const count = yield* watched(answers(after, limit), ({ mark }) => {
          after = mark
        })
        if (count < limit) return
        faults = 0
        limit = Math.min(mostRows, limit * 2)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        faults = after === before ? faults + 1 : 1
        limit = faults < 4 ? Math.max(1, Math.floor(limit / 2)) : 1
        if (!isLastTry(faults)) await patience.pause(pauseAfter(faults))
        else {
          // Where the names can be read, it is this one document that cannot.
          const id = await idBehind(after)
          if (id === undefined) return
          faults = 0
          after = id
          yield { documents: [], unreadable: [{ id, reason: error.message }], mark: id }
        }
      }
    }
  }

  const changeOf = async ({ id, isDeleted, document }: Row): Promise<SourceChange | undefined> => {
    if (isDesign(id)) return undefined
    if (isDeleted) return { id, deleted: true }
    const found = document ?? (await single(id)).document
    return found ? { deleted: false, ...found } : { id, deleted: true }
  }

  async function* changesBehind(
    since: string,
    limit: number,
  ): AsyncGenerator<SourceChanges, { count: number; pending: unknown }> {
    const query = `include_docs=true&conflicts=true&limit=${limit}&since=${encodeURIComponent(since)}`
    const { pieces } = await answerTo(`${pathOf(database)}/_changes?${query}`)
    const rows = rowsOf(pieces())
    let changes: SourceChange[] = []
    let length = 0
    let count = 0
    try {
      let next = await rows.next()
      while (!next.done) {
        const change = await changeOf(next.value)
        if (change) {
          changes.push(change)
          length += change.deleted ? 0 : change.text.length
        }
        count += 1
        if (length >= pageLength) {
          yield { changes, sequence: sequenceOf(next.value.seq) }
          changes = []
          length = 0
        }
        next = await rows.next()
      }
      const { last_seq: lastSequence, pending } = next.value
      if (count > 0) yield { changes, sequence: sequenceOf(lastSequence) }
      return { count, pending }
    } finally {
      await rows.return({})
    }
  }

  async function* changes(from: string): AsyncGenerator<SourceChanges> {
    let since = from
    let limit = mostRows
    let faults = 0
    for (;;) {
      const before = since
      try {
        const { count, pending } = yield* watched(changesBehind(since, limit), ({ sequence }) => {
          since = sequence
          faults = 0
        })
        // Shards that repeat themselves may never answer with nothing.
        if (count === 0 || pending === 0 || since === before) return
        limit = mostRows
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        faults += 1
        limit = Math.max(1, Math.floor(limit / 2))
        if (isLastTry(faults))
          throw new SourceTrouble(`${host}: changes of ${database} cannot be read: ${error.message}`)
        await patience.pause(pauseAfter(faults))
      }
    }
  }

  return { pages, changes, single }
}

/** Files, checked against what their document says of them. */
const createFiles = (connection: Connection) => {
  const { host } = connection

  const described = async ({ database, id, name }: AttachmentName) => {
    const answer = await connection.text(documentPath(database, id), `a document of ${database}`)
    if ('missing' in answer) return undefined
    const files = objectIn(answer.text)?._attachments
    const file = isObject(files) ? files[name] : undefined
    return isObject(file) ? file : undefined
  }

  /** Behind a fault it goes on with what has not been given yet. */
  async function* bytesOf({ database, id, name }: AttachmentName, facts: Json): AsyncGenerator<Uint8Array> {
    const check = createFileCheck(facts)
    const trouble = (what: string) => new SourceTrouble(`${host}: a file of ${id} in ${database} ${what}`)
    let faults = 0
    const path = `${documentPath(database, id)}/${encodeURIComponent(name)}`
    for (;;) {
      try {
        const answer = await connection.ask(path, { headers: { accept: '*/*' } })
        if (!answer.isThere) {
          connection.leave(answer)
          throw trouble('went while it was read')
        }
        let passed = 0
        for await (const piece of answer.pieces()) {
          const fresh = piece.subarray(Math.max(0, check.given() - passed))
          passed += piece.length
          if (fresh.length === 0) continue
          check.add(fresh)
          yield fresh
        }
        break
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        faults += 1
        if (isLastTry(faults)) throw trouble(`cannot be read: ${error.message}`)
        await connection.patience.pause(pauseAfter(faults))
      }
    }
    const flaw = check.flaw()
    if (flaw) throw trouble(flaw)
  }

  return async (name: AttachmentName) => {
    const facts = await described(name)
    return facts && bytesOf(name, facts)
  }
}

const factsOf = async (connection: Connection): Promise<SourceFacts> => {
  const answer = await connection.text('/', 'its version')
  const said = 'text' in answer ? objectIn(answer.text) : undefined
  if (said?.couchdb === undefined) throw new SourceTrouble(`${connection.host} is no CouchDB`)
  const { engine, title } = engineOf(said)
  return { kind: 'couchdb', title: `${title} at ${connection.host}`, engine, canFollow: true }
}

const namesFrom = async (connection: Connection): Promise<string[]> => {
  const answer = await connection.text('/_all_dbs', 'the list of databases')
  const names = 'text' in answer ? textsIn(answer.text) : []
  if (names.length === 0) throw new SourceTrouble(`${connection.host} does not list its databases`)
  if (names.some((name) => name.startsWith('shards/')))
    throw new SourceTrouble(
      `${connection.host} shows the shards of one node: name the port that all nodes share (5984)`,
    )
  return [...new Set(names)].sort()
}

const databaseFactsIn = (said: Json): DatabaseFacts => ({
  documents: numberIn(said.doc_count),
  bytes: bytesIn(said),
  sequence: sequenceOf(said.update_seq),
})

const databaseFacts = async (
  connection: Connection,
  database: string,
): Promise<DatabaseFacts | undefined> => {
  const answer = await connection.text(pathOf(database), database)
  return 'missing' in answer ? undefined : databaseFactsIn(objectIn(answer.text) ?? {})
}

// CouchDB answers no more by default.
const mostAtOnce = 100
// A fault may pass. Behind so many in a row it is the server's manner.
const mostFaults = 2

/**
 * What is said of databases: those that are asked for at once go with one question where the server knows that
 * (CouchDB 2.2), and one by one where it does not, or does not allow it.
 */
const createDatabaseFacts = (connection: Connection, { engine }: SourceFacts) => {
  let faults = engine === 'couchdb' ? 0 : mostFaults
  let asked: { name: string; found: PromiseWithResolvers<DatabaseFacts | undefined> }[] = []

  /** Undefined: the server does not answer that, or not now. */
  const together = async (names: readonly string[]) => {
    try {
      const answer = await connection.ask('/_dbs_info', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ keys: names }),
      })
      const text = await connection.textOf(answer)
      const found = answer.isThere && text !== undefined ? listIn(text) : undefined
      return found && new Map(found.filter(isObject).map(({ key, info }) => [key, info]))
    } catch (error) {
      if (error instanceof Fault || error instanceof SourceTrouble) return undefined
      throw error
    }
  }

  const infosOf = async (names: readonly string[]) => {
    if (names.length === 1 || faults >= mostFaults) return undefined
    const infos = await together(names)
    faults = infos ? 0 : faults + 1
    return infos
  }

  const answerAll = async (all: typeof asked) => {
    const infos = await infosOf(all.map(({ name }) => name))
    for (const { name, found } of all) {
      const info = infos?.get(name)
      // What is not told of is asked for by itself: it may be gone, or unreadable for now.
      found.resolve(isObject(info) ? databaseFactsIn(info) : await databaseFacts(connection, name))
    }
  }

  const answer = async () => {
    const all = asked
    asked = []
    try {
      for (let at = 0; at < all.length; at += mostAtOnce) await answerAll(all.slice(at, at + mostAtOnce))
    } catch (error) {
      // The server is away: nobody waits until it was asked for each of the others, again and again.
      for (const { found } of all) found.reject(error)
    }
  }

  return (name: string): Promise<DatabaseFacts | undefined> => {
    const found = Promise.withResolvers<DatabaseFacts | undefined>()
    if (asked.length === 0) queueMicrotask(() => void answer())
    asked.push({ name, found })
    return found.promise
  }
}

/** A CouchDB, asked for what it is. */
export const openCouchdb = async (place: Place, patience: Patience): Promise<Source> => {
  const connection = createConnection(place, patience)
  const facts = await factsOf(connection)
  const readFile = createFiles(connection)
  return {
    facts,
    databases: () => namesFrom(connection),
    database: createDatabaseFacts(connection, facts),
    pages: (database, after) => createReading(connection, database).pages(after),
    changes: (database, since) => createReading(connection, database).changes(since),
    document: async (database, id) => (await createReading(connection, database).single(id)).document,
    attachment: readFile,
    close: async () => connection.close(),
  }
}
