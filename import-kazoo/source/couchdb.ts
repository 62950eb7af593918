import { isObject, type Json } from '../../src/lib/json.ts'
import {
  type Connection,
  createConnection,
  Fault,
  isLastTry,
  type Patience,
  type Place,
  pauseAfter,
} from './connection.ts'
import {
  bytesIn,
  checkedFile,
  isDesign,
  objectIn,
  pagesOf,
  parsed,
  parsedRow,
  readDocument,
  type SourceRow,
  textsIn,
} from './documents.ts'
import { createItemScanner, type Item } from './items.ts'
import {
  DatabaseVanished,
  type Source,
  type SourceDocument,
  type SourceFacts,
  SourceTrouble,
} from './source.ts'

const maxRows = 1000

const pathOf = (database: string) => `/${encodeURIComponent(database)}`

const documentPath = (database: string, id: string) => `${pathOf(database)}/${encodeURIComponent(id)}`

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

/** The id is the first member. */
const beginningOfRow = (text: string) =>
  /^\{"(?:id|key)":"(?:[^"\\]|\\.)*"/.exec(text)?.[0]?.concat('}') ?? '{}'

/** A row without an id contains the error that broke the response off. */
const rowIn = (item: Item) => {
  const read = item.doc === undefined ? undefined : readDocument(item.doc)
  const text = item.isTooLarge ? beginningOfRow(item.text) : item.text
  const { id, key, seq, deleted, error, value } = parsedRow(text)
  const name = typeof id === 'string' ? id : key
  if (typeof name !== 'string') throw new Fault(typeof error === 'string' ? error : 'no row')
  const isDeleted =
    deleted === true || read?.isDeleted === true || (isObject(value) && value.deleted === true)
  return { id: name, seq, isDeleted, document: read?.document }
}

type Row = ReturnType<typeof rowIn>

/** `onEnd` receives the members around the rows. */
async function* rowsOf(
  pieces: AsyncIterable<Uint8Array>,
  onEnd: (frame: Json) => void = () => undefined,
): AsyncGenerator<Row> {
  const scanner = createItemScanner({ place: 'within', areRows: true })
  for await (const piece of pieces) for (const item of scanner.push(piece)) yield rowIn(item)
  const { text, isWhole } = scanner.end()
  const frame = isWhole ? objectIn(text) : undefined
  if (!frame) throw new Fault('the response ended early')
  onEnd(frame)
}

interface List {
  path(at: string | undefined, limit: number): string
  markOf(row: Row): string
  /** A change whose document is missing is a deletion. */
  isOfChanges: boolean
  /** The mark after a complete response, if not that of its last row. */
  endOf?(frame: Json): string
  /** Whether the list ends after `count` rows. */
  isEnd(frame: Json, count: number, limit: number): boolean
  /** Replaces an unreadable row; undefined: there is none. */
  skip(at: string | undefined, reason: string): Promise<SourceRow | undefined>
}

/** Requests of one database. */
const createRequests = (connection: Connection, database: string) => ({
  async pieces(path: string) {
    const answer = await connection.ask(path)
    if (answer.status === 200) return answer.pieces()
    answer.leave()
    throw new DatabaseVanished(`${connection.host}: the database ${database} no longer exists`)
  },

  async single(id: string): Promise<{ document?: SourceDocument; reason: string }> {
    const path = `${documentPath(database, id)}?conflicts=true`
    const answer = await connection.text(path, `a document of ${database}`)
    if ('missing' in answer) return { reason: answer.missing }
    const read = readDocument(answer.text)
    return read ? { document: read.document, reason: '' } : { reason: 'it is not JSON' }
  },
})

type Requests = ReturnType<typeof createRequests>

const documentList = (connection: Connection, database: string, { pieces }: Requests): List => {
  const listPath = (after: string | undefined, limit: number, query: string) => {
    const from = after === undefined ? '' : `&skip=1&startkey=${encodeURIComponent(JSON.stringify(after))}`
    return `${pathOf(database)}/_all_docs?limit=${limit}${query}${from}`
  }
  const idBehind = (after: string | undefined) =>
    connection.again(database, async () => {
      for await (const { id } of rowsOf(await pieces(listPath(after, 1, '')))) return id
      return undefined
    })
  return {
    path: (after, limit) => listPath(after, limit, '&include_docs=true&conflicts=true'),
    markOf: ({ id }) => id,
    isOfChanges: false,
    isEnd: (_, count, limit) => count < limit,
    // The names are readable, so only this document is not.
    async skip(after, reason) {
      const id = await idBehind(after)
      return id === undefined ? undefined : { mark: id, unreadable: { id, reason } }
    },
  }
}

const changeList = ({ host }: Connection, database: string): List => ({
  path: (since = '0', limit) =>
    `${pathOf(database)}/_changes?include_docs=true&conflicts=true&limit=${limit}&since=${encodeURIComponent(since)}`,
  markOf: ({ seq }) => sequenceOf(seq),
  isOfChanges: true,
  endOf: ({ last_seq: sequence }) => sequenceOf(sequence),
  isEnd: ({ pending }) => pending === 0,
  skip(_, reason) {
    throw new SourceTrouble(`${host}: changes of ${database} cannot be read: ${reason}`)
  },
})

/** A document that is missing in a list is requested by id. */
const readRow = async (row: Row, list: List, { single }: Requests): Promise<SourceRow> => {
  const { id, isDeleted, document } = row
  const mark = list.markOf(row)
  if (isDesign(id)) return { mark }
  if (isDeleted) return { mark, gone: id }
  const found = document ? { document, reason: '' } : await single(id)
  if (found.document) return { mark, document: found.document }
  return list.isOfChanges || found.reason === 'deleted'
    ? { mark, gone: id }
    : { mark, unreadable: { id, reason: found.reason } }
}

/** After a fault it continues with smaller requests. */
async function* rowsIn(
  list: List,
  requests: Requests,
  { pause }: Patience,
  from: string | undefined,
): AsyncGenerator<SourceRow> {
  let at = from
  let limit = maxRows
  let faults = 0
  for (;;) {
    const before = at
    try {
      let count = 0
      let frame: Json = {}
      const rows = rowsOf(await requests.pieces(list.path(at, limit)), (end) => {
        frame = end
      })
      for await (const row of rows) {
        const read = await readRow(row, list, requests)
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
        await pause(pauseAfter(faults))
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

const readFile = async (
  connection: Connection,
  ...[{ database, id, name }, mostBytes]: Parameters<Source['attachment']>
): ReturnType<Source['attachment']> => {
  const what = `a file of ${id} in ${database}`
  const described = await connection.text(documentPath(database, id), `a document of ${database}`)
  const files = 'text' in described ? objectIn(described.text)?._attachments : undefined
  const facts = isObject(files) ? files[name] : undefined
  if (!isObject(facts)) return undefined
  return connection.again(what, async () => {
    const answer = await connection.ask(`${documentPath(database, id)}/${encodeURIComponent(name)}`, '*/*')
    if (answer.status !== 200) {
      answer.leave()
      throw new SourceTrouble(`${connection.host}: ${what} was deleted while it was read`)
    }
    const bytes = await bytesIn(answer.pieces(), mostBytes)
    return bytes === 'too large' ? bytes : checkedFile(bytes, facts, `${connection.host}: ${what}`)
  })
}

const factsOf = async (connection: Connection): Promise<SourceFacts> => {
  const answer = await connection.text('/', 'its version')
  const { couchdb, bigcouch, version } = ('text' in answer && objectIn(answer.text)) || {}
  if (couchdb === undefined) throw new SourceTrouble(`${connection.host} is not a CouchDB server`)
  const title = bigcouch === undefined ? `CouchDB ${String(version)}` : `BigCouch ${String(bigcouch)}`
  return { title: `${title} at ${connection.host}`, canFollow: true }
}

const namesFrom = async (connection: Connection): Promise<string[]> => {
  const answer = await connection.text('/_all_dbs', 'the list of databases')
  const names = 'text' in answer ? textsIn(parsed(answer.text)) : []
  if (names.length === 0) throw new SourceTrouble(`${connection.host} does not list its databases`)
  if (names.some((name) => name.startsWith('shards/')))
    throw new SourceTrouble(
      `${connection.host} lists the shards of one node: use the port of the cluster (5984)`,
    )
  return [...new Set(names)].sort()
}

export const openCouchdb = async (place: Place, patience: Patience): Promise<Source> => {
  const connection = createConnection(place, patience)
  const requestsOf = (database: string) => createRequests(connection, database)
  const pagesIn = (list: List, requests: Requests, from: string | undefined) =>
    pagesOf(rowsIn(list, requests, patience, from))
  return {
    facts: await factsOf(connection),
    databases: () => namesFrom(connection),
    async database(name) {
      const answer = await connection.text(pathOf(name), name)
      if ('missing' in answer) return undefined
      const said = objectIn(answer.text) ?? {}
      return {
        documents: numberIn(said.doc_count),
        bytes: sizeIn(said),
        sequence: sequenceOf(said.update_seq),
      }
    },
    pages(database, after) {
      const requests = requestsOf(database)
      return pagesIn(documentList(connection, database, requests), requests, after)
    },
    changes: (database, since) => pagesIn(changeList(connection, database), requestsOf(database), since),
    document: async (database, id) => (await requestsOf(database).single(id)).document,
    attachment: (name, mostBytes) => readFile(connection, name, mostBytes),
    close: async () => connection.close(),
  }
}
