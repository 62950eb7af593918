import { isObject, type Json } from '../../src/lib/json.ts'
import {
  type Connection,
  createConnection,
  Fault,
  isLastTry,
  objectIn,
  type Patience,
  type Place,
  pauseAfter,
} from './connection.ts'
import {
  bytesIn,
  checkedFile,
  isDesign,
  pagesOf,
  parsed,
  parsedRow,
  readDocument,
  type SourceRow,
  textsIn,
} from './documents.ts'
import { createItemScanner, type Item } from './items.ts'
import {
  type AttachmentName,
  type DatabaseFacts,
  DatabaseVanished,
  type Source,
  type SourceDocument,
  type SourceFacts,
  SourceTrouble,
} from './source.ts'

const maxRows = 1000

type Engine = 'bigcouch' | 'couchdb1' | 'couchdb'

const pathOf = (database: string) => `/${encodeURIComponent(database)}`

const documentPath = (database: string, id: string) => `${pathOf(database)}/${encodeURIComponent(id)}`

const engineOf = ({ version, bigcouch }: Json): { engine: Engine; title: string } => {
  if (bigcouch !== undefined) return { engine: 'bigcouch', title: `BigCouch ${String(bigcouch)}` }
  const number = String(version)
  return { engine: number.startsWith('1.') ? 'couchdb1' : 'couchdb', title: `CouchDB ${number}` }
}

const numberIn = (value: unknown) => (typeof value === 'number' ? value : undefined)

const sizeIn = ({ sizes, other, data_size, disk_size }: Json) =>
  numberIn(isObject(sizes) ? (sizes.active ?? sizes.file) : undefined) ??
  numberIn(isObject(other) ? other.data_size : undefined) ??
  numberIn(data_size) ??
  numberIn(disk_size)

/** BigCouch has `[12, "opaque"]`, CouchDB 1 a number, later versions a text. */
const sequenceOf = (seq: unknown): string => {
  const value: unknown = Array.isArray(seq) ? seq[1] : seq
  return typeof value === 'string' ? value : JSON.stringify(value ?? 0)
}

interface Row {
  id: string
  seq: unknown
  isDeleted: boolean
  document: SourceDocument | undefined
}

/** A row without an id contains the error that broke the response off. */
const rowIn = (item: Item): Row => {
  const read = item.doc === undefined ? undefined : readDocument(item.doc)
  const { id, key, seq, deleted, error, value } = parsedRow(item.text)
  const name = typeof id === 'string' ? id : key
  if (typeof name !== 'string') throw new Fault(typeof error === 'string' ? error : 'no row')
  const isDeleted =
    deleted === true || read?.isDeleted === true || (isObject(value) && value.deleted === true)
  return { id: name, seq, isDeleted, document: read?.document }
}

/** `onEnd` receives the members around the rows. */
async function* rowsOf(
  pieces: AsyncIterable<Uint8Array>,
  onEnd: (frame: Json) => void = () => undefined,
): AsyncGenerator<Row> {
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
  onEnd(frame)
}

/** The id is the first member. */
const beginningOfRow = (text: string) =>
  /^\{"(?:id|key)":"(?:[^"\\]|\\.)*"/.exec(text)?.[0]?.concat('}') ?? '{}'

interface List {
  path(at: string | undefined, limit: number): string
  read(row: Row): Promise<SourceRow>
  /** The mark after a complete response, if not that of its last row. */
  endOf?(frame: Json): string
  /** Whether the list ends after `count` rows. */
  isEnd(frame: Json, count: number, limit: number): boolean
  /** Replaces an unreadable row; undefined: there is none. */
  skip(at: string | undefined, reason: string): Promise<SourceRow | undefined>
}

const createReading = (connection: Connection, database: string) => {
  const { host, patience } = connection

  const vanished = () => new DatabaseVanished(`${host}: the database ${database} is not there any more`)

  const answerTo = async (path: string) => {
    const answer = await connection.ask(path)
    if (answer.isThere) return answer
    connection.leave(answer)
    throw vanished()
  }

  const single = async (id: string): Promise<{ document?: SourceDocument; reason: string }> => {
    const answer = await connection.text(
      `${documentPath(database, id)}?conflicts=true`,
      `a document of ${database}`,
    )
    if ('missing' in answer) return { reason: answer.missing }
    const read = readDocument(answer.text)
    return read ? { document: read.document, reason: '' } : { reason: 'it is not JSON' }
  }

  /** A document that is missing in a list is requested by id. */
  const readRow = async (
    mark: string,
    { id, isDeleted, document }: Row,
    isChange: boolean,
  ): Promise<SourceRow> => {
    if (isDesign(id)) return { mark }
    if (isDeleted) return { mark, gone: id }
    const found = document ? { document, reason: '' } : await single(id)
    if (found.document) return { mark, document: found.document }
    return isChange || found.reason === 'deleted'
      ? { mark, gone: id }
      : { mark, unreadable: { id, reason: found.reason } }
  }

  const listPath = (after: string | undefined, limit: number, query: string) => {
    const from = after === undefined ? '' : `&skip=1&startkey=${encodeURIComponent(JSON.stringify(after))}`
    return `${pathOf(database)}/_all_docs?limit=${limit}${query}${from}`
  }

  const idBehind = (after: string | undefined) =>
    connection.again(database, async () => {
      const { pieces } = await answerTo(listPath(after, 1, ''))
      for await (const { id } of rowsOf(pieces())) return id
      return undefined
    })

  const allDocuments: List = {
    path: (after, limit) => listPath(after, limit, '&include_docs=true&conflicts=true'),
    read: (row) => readRow(row.id, row, false),
    isEnd: (_, count, limit) => count < limit,
    // The names are readable, so only this document is not.
    async skip(after, reason) {
      const id = await idBehind(after)
      return id === undefined ? undefined : { mark: id, unreadable: { id, reason } }
    },
  }

  const allChanges: List = {
    path: (since = '0', limit) =>
      `${pathOf(database)}/_changes?include_docs=true&conflicts=true&limit=${limit}&since=${encodeURIComponent(since)}`,
    read: (row) => readRow(sequenceOf(row.seq), row, true),
    endOf: ({ last_seq: sequence }) => sequenceOf(sequence),
    isEnd: ({ pending }) => pending === 0,
    skip(_, reason) {
      throw new SourceTrouble(`${host}: changes of ${database} cannot be read: ${reason}`)
    },
  }

  /** After a fault it continues with smaller requests. */
  async function* rows(list: List, from: string | undefined): AsyncGenerator<SourceRow> {
    let at = from
    let limit = maxRows
    let faults = 0
    for (;;) {
      const before = at
      try {
        let count = 0
        let frame: Json = {}
        const { pieces } = await answerTo(list.path(at, limit))
        for await (const row of rowsOf(pieces(), (end) => {
          frame = end
        })) {
          const read = await list.read(row)
          at = read.mark
          count += 1
          yield read
        }
        if (count > 0 && list.endOf) {
          at = list.endOf(frame)
          yield { mark: at }
        }
        // Repeating shards may never return an empty list.
        if (at === before || list.isEnd(frame, count, limit)) return
        faults = 0
        limit = Math.min(maxRows, limit * 2)
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        faults = at === before ? faults + 1 : 1
        limit = faults < 4 ? Math.max(1, Math.floor(limit / 2)) : 1
        if (!isLastTry(faults)) {
          await patience.pause(pauseAfter(faults))
          continue
        }
        const skipped = await list.skip(at, error.message)
        if (!skipped) return
        faults = 0
        at = skipped.mark
        yield skipped
      }
    }
  }

  return {
    pages: (after?: string) => pagesOf(rows(allDocuments, after)),
    changes: (since: string) => pagesOf(rows(allChanges, since)),
    single,
  }
}

const readFile = async (
  connection: Connection,
  { database, id, name }: AttachmentName,
  mostBytes: number,
): Promise<Buffer | 'too large' | undefined> => {
  const what = `a file of ${id} in ${database}`
  const described = await connection.text(documentPath(database, id), `a document of ${database}`)
  const files = 'text' in described ? objectIn(described.text)?._attachments : undefined
  const facts = isObject(files) ? files[name] : undefined
  if (!isObject(facts)) return undefined
  return connection.again(what, async () => {
    const path = `${documentPath(database, id)}/${encodeURIComponent(name)}`
    const answer = await connection.ask(path, { headers: { accept: '*/*' } })
    if (!answer.isThere) {
      connection.leave(answer)
      throw new SourceTrouble(`${connection.host}: ${what} went while it was read`)
    }
    const bytes = await bytesIn(answer.pieces(), mostBytes)
    return bytes === 'too large' ? bytes : checkedFile(bytes, facts, `${connection.host}: ${what}`)
  })
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
  const names = 'text' in answer ? textsIn(parsed(answer.text)) : []
  if (names.length === 0) throw new SourceTrouble(`${connection.host} does not list its databases`)
  if (names.some((name) => name.startsWith('shards/')))
    throw new SourceTrouble(
      `${connection.host} shows the shards of one node: name the port that all nodes share (5984)`,
    )
  return [...new Set(names)].sort()
}

const databaseFactsIn = (said: Json): DatabaseFacts => ({
  documents: numberIn(said.doc_count),
  bytes: sizeIn(said),
  sequence: sequenceOf(said.update_seq),
})

const databaseFacts = async (
  connection: Connection,
  database: string,
): Promise<DatabaseFacts | undefined> => {
  const answer = await connection.text(pathOf(database), database)
  return 'missing' in answer ? undefined : databaseFactsIn(objectIn(answer.text) ?? {})
}

export const openCouchdb = async (place: Place, patience: Patience): Promise<Source> => {
  const connection = createConnection(place, patience)
  const facts = await factsOf(connection)
  return {
    facts,
    databases: () => namesFrom(connection),
    database: (database) => databaseFacts(connection, database),
    pages: (database, after) => createReading(connection, database).pages(after),
    changes: (database, since) => createReading(connection, database).changes(since),
    document: async (database, id) => (await createReading(connection, database).single(id)).document,
    attachment: (name, mostBytes) => readFile(connection, name, mostBytes),
    close: async () => connection.close(),
  }
}
