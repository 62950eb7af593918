// A small CouchDB with the manners of its versions and of BigCouch: documents word for word, lists, changes, files,
// sign-in, and faults when they are wanted. `startKazoo(dataSet())` is a Kazoo in miniature.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { isObject, type Json } from '../../../src/lib/json.ts'
import { type DumpForm, writeDump } from './dumps.ts'
import { type Engine, engines } from './engines.ts'
import {
  createKeptDatabase,
  type Documents,
  documentsOf,
  type KeptDatabase,
  nextRevision,
  type StoredDocument,
} from './kept-database.ts'
import { inlineOf, type SampleFile, stubOf, withFiles, withMember } from './sample.ts'
import { verbatimObject } from './verbatim.ts'

/** `cut`: the response ends in the middle; `row`: it ends with an error row; `silent`: the server never responds. */
export type KazooFault = 403 | 500 | 504 | 'cut' | 'row' | 'silent'

export interface KazooRequest {
  method: string
  /** Decoded, by its segments: `['accounts', '_all_docs']`. */
  path: readonly string[]
  query: URLSearchParams
}

export interface KazooManners {
  engine?: Engine
  /** Without them every client may read and write. */
  credentials?: { name: string; password: string; by: 'basic' | 'session' }
  /** A session is valid for this number of requests. */
  sessionRequests?: number
  /** Changes are repeated and change places, as those of several shards do. */
  areChangesShuffled?: boolean
}

type Databases = ReadonlyMap<string, readonly StoredDocument[] | Documents>

const decodedSegments = (pathname: string) =>
  pathname
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => decodeURIComponent(segment))

const json = (value: unknown) => `${JSON.stringify(value)}\n`

const filesIn = (attachments: unknown, before: StoredDocument | undefined): SampleFile[] =>
  isObject(attachments)
    ? Object.entries(attachments).flatMap(([name, file]) => {
        if (!isObject(file)) return []
        if (typeof file.data !== 'string') return before?.files.filter((one) => one.name === name) ?? []
        const bytes = Buffer.from(file.data, 'base64')
        return [
          {
            name,
            contentType: String(file.content_type),
            bytes,
            revpos: Number(JSON.stringify(file.revpos ?? 1)),
          },
        ]
      })
    : []

const storedFrom = (fields: Json, rev: string, before: StoredDocument | undefined): StoredDocument => {
  const { _id, _rev: _old, _attachments: attachments, _revisions: _history, ...rest } = fields
  const id = String(_id)
  const files = filesIn(attachments, before)
  const bare = JSON.stringify({ _id: id, _rev: rev, ...rest })
  const stubs = Object.fromEntries(files.map((file) => [file.name, stubOf(file)]))
  return {
    id,
    rev,
    text: files.length > 0 ? withMember(bare, '_attachments', stubs) : bare,
    files,
    losers: [],
  }
}

/** Whether CouchDB shows the first of two revisions. */
const isAbove = (one: string, other: string) => {
  const [a = '', b = ''] = [one, other].map((rev) => rev.split('-')[0] ?? '')
  return Number(a) === Number(b) ? one > other : Number(a) > Number(b)
}

export type Kazoo = Awaited<ReturnType<typeof startKazoo>>

export const startKazoo = async (databases: Databases, manners: KazooManners = {}) => {
  const { credentials, areChangesShuffled = false, sessionRequests = Number.POSITIVE_INFINITY } = manners
  const engine = engines[manners.engine ?? 'couchdb3']
  const kept = new Map<string, KeptDatabase>()
  const names = new Set(databases.keys())
  const requests: KazooRequest[] = []
  const state = {
    /** Asked before each answer. */
    faultFor: undefined as ((request: KazooRequest) => KazooFault | undefined) | undefined,
  }
  /** Remaining requests of each session. */
  const sessions = new Map<string, number>()

  /** Created on first use: there may be many. */
  const databaseNamed = (name: string) => {
    if (!names.has(name)) return undefined
    const known = kept.get(name)
    if (known) return known
    const base = databases.get(name) ?? []
    const made = createKeptDatabase('count' in base ? base : documentsOf(base))
    kept.set(name, made)
    return made
  }

  const reply = (response: ServerResponse, status: number, body: unknown) =>
    response.writeHead(status, { 'content-type': 'application/json', server: engine.title }).end(json(body))

  const refuse = (response: ServerResponse, status: number, error: string, reason: string) =>
    reply(response, status, { error, reason })

  /** Writes rows with commas between, and breaks off in their middle when it shall. */
  const sendRows = async (
    response: ServerResponse,
    [head, rows, tail]: [string, Iterable<string>, () => string],
    fault: KazooFault | undefined,
  ) => {
    response.writeHead(200, { 'content-type': 'application/json', server: engine.title })
    let text = head
    let separator = ''
    let count = 0
    for (const row of rows) {
      text += separator + row
      separator = ',\r\n'
      count += 1
      if (fault === 'cut' && count === 3) {
        response.write(text.slice(0, text.length - (row.length >> 1)))
        return response.destroy()
      }
      if (fault === 'row' && count === 3)
        return response.end(
          `${text},\r\n{"error":"timeout","reason":"The request could not be processed."}\r\n]}\n`,
        )
      if (text.length > 65_536) {
        if (!response.write(text)) await Promise.race([once(response, 'drain'), once(response, 'close')])
        if (response.destroyed) return
        text = ''
      }
    }
    if (fault === 'cut') {
      response.write(text)
      return response.destroy()
    }
    return response.end(text + tail())
  }

  const textFor = (document: StoredDocument, query: URLSearchParams) => {
    const hasBytes = query.get('attachments') === 'true' && engine.hasBytesInLists
    const text = hasBytes ? withFiles(document) : document.text
    const wanted = query.get('conflicts') === 'true' && document.losers.length > 0
    return wanted
      ? withMember(
          text,
          '_conflicts',
          document.losers.map(({ rev }) => rev),
        )
      : text
  }

  function* listRows(database: KeptDatabase, query: URLSearchParams) {
    const start = query.get('startkey')
    const from = start === null ? undefined : String(JSON.parse(start))
    const withDocs = query.get('include_docs') === 'true'
    let skip = Number(query.get('skip') ?? 0)
    let left = Number(query.get('limit') ?? Number.POSITIVE_INFINITY)
    for (const document of database.from(from)) {
      if (left <= 0) return
      if (skip > 0) {
        skip -= 1
        continue
      }
      left -= 1
      const id = JSON.stringify(document.id)
      const doc = withDocs ? `,"doc":${textFor(document, query)}` : ''
      yield `{"id":${id},"key":${id},"value":{"rev":"${document.rev}"}${doc}}`
    }
  }

  const list = (
    response: ServerResponse,
    database: KeptDatabase,
    query: URLSearchParams,
    fault?: KazooFault,
  ) =>
    sendRows(
      response,
      [
        `{"total_rows":${database.count()},"offset":0,"rows":[\r\n`,
        listRows(database, query),
        () => '\r\n]}\n',
      ],
      fault,
    )

  /** Repeats some earlier items, and swaps neighbours. */
  const shuffled = <Item>(before: readonly Item[], items: readonly Item[]): Item[] => {
    if (items.length === 0) return []
    const swapped = items.map(
      (_, at) => items[at % 2 === 0 && at + 1 < items.length ? at + 1 : at % 2 === 0 ? at : at - 1] as Item,
    )
    return [...before, ...swapped, ...items.slice(0, 2)]
  }

  const tellChanges = (
    response: ServerResponse,
    database: KeptDatabase,
    query: URLSearchParams,
    fault: KazooFault | undefined,
  ) => {
    const since = engine.sequenceIn(query.get('since') ?? '0')
    if (since === undefined) return refuse(response, 400, 'bad_request', 'invalid since')
    const limit = Number(query.get('limit') ?? Number.POSITIVE_INFINITY)
    const found = [...database.changes(since).take(limit + 1)]
    const told = found.slice(0, limit)
    const last = told.at(-1)?.sequence ?? Math.max(since, found.length === 0 ? database.sequence() : since)
    const before = [...database.changes(Math.max(0, since - 2)).take(2)].filter(
      (one) => one.sequence <= since,
    )
    const withDocs = query.get('include_docs') === 'true'
    const rows = (areChangesShuffled ? shuffled(before, told) : told).map(
      ({ sequence, id, rev, document }) => {
        const deletion = `{"_id":${JSON.stringify(id)},"_rev":"${rev}","_deleted":true}`
        const doc = withDocs ? `,"doc":${document ? textFor(document, query) : deletion}` : ''
        const deleted = document ? '' : ',"deleted":true'
        return `{"seq":${JSON.stringify(engine.sequence(sequence))},"id":${JSON.stringify(id)},"changes":[{"rev":"${rev}"}]${deleted}${doc}}`
      },
    )
    const pending = engine.tellsPending ? `,"pending":${found.length > limit ? 1 : 0}` : ''
    const tail = () => `\r\n],\r\n"last_seq":${JSON.stringify(engine.sequence(last))}${pending}}\n`
    return sendRows(response, ['{"results":[\r\n', rows, tail], fault)
  }

  const facts = (name: string, database: KeptDatabase) => ({
    db_name: name,
    doc_count: database.count(),
    doc_del_count: 0,
    update_seq: engine.sequence(database.sequence()),
    ...engine.sizes(1000 * database.count()),
    compact_running: false,
    instance_start_time: '0',
  })

  /** A write without new edits has its revision already, and may be a conflict. */
  const take = (database: KeptDatabase, fields: Json) => {
    const id = String(fields._id)
    const rev = String(fields._rev)
    const before = database.get(id)
    if (before?.rev === rev || before?.losers.some((loser) => loser.rev === rev)) return
    if (fields._deleted === true) return database.write(id, rev, undefined)
    const stored = storedFrom(fields, rev, before)
    if (!before) return database.write(id, rev, stored)
    const [winner, loser] = isAbove(rev, before.rev) ? [stored, before] : [before, stored]
    const losers = [...before.losers, { rev: loser.rev, text: loser.text }]
    return database.write(id, winner.rev, { ...winner, losers })
  }

  const edit = (database: KeptDatabase, fields: Json) => {
    const id = String(fields._id)
    const before = database.get(id)
    if (before && fields._rev !== before.rev)
      return { id, error: 'conflict', reason: 'Document update conflict.' }
    const rev = nextRevision(before?.rev, JSON.stringify(fields))
    database.write(id, rev, fields._deleted === true ? undefined : storedFrom(fields, rev, before))
    return { ok: true, id, rev }
  }

  const bulk = (response: ServerResponse, database: KeptDatabase, body: Json) => {
    const docs = Array.isArray(body.docs) ? body.docs.filter(isObject) : []
    if (body.new_edits !== false)
      return reply(
        response,
        201,
        docs.map((fields) => edit(database, fields)),
      )
    for (const fields of docs) take(database, fields)
    return reply(response, 201, [])
  }

  const putFile = (database: KeptDatabase, id: string, file: SampleFile) => {
    const before = database.get(id)
    const fields: Json = before ? verbatimObject(before.text) : { _id: id }
    const files = [...(before?.files ?? []).filter(({ name }) => name !== file.name), file]
    const inline = Object.fromEntries(files.map((one) => [one.name, inlineOf(one)]))
    return edit(database, { ...fields, _attachments: inline })
  }

  const sendFile = (response: ServerResponse, file: SampleFile | undefined, fault?: KazooFault) => {
    if (!file) return refuse(response, 404, 'not_found', 'Document is missing attachment')
    const { contentType, bytes } = file
    response.writeHead(200, { 'content-type': contentType, 'content-length': bytes.length })
    if (fault !== 'cut') return response.end(bytes)
    response.write(bytes.subarray(0, bytes.length >> 1))
    return setImmediate(() => response.destroy())
  }

  const documentAnswer = async (
    { method, path, query }: KazooRequest,
    [request, response]: [IncomingMessage, ServerResponse],
    fault: KazooFault | undefined,
  ) => {
    const [name = '', id = '', ...rest] = path
    const database = databaseNamed(name)
    if (!database) return refuse(response, 404, 'not_found', 'Database does not exist.')
    const fileName = rest.length > 0 ? rest.join('/') : undefined
    const body = await buffer(request)
    const document = database.get(id)
    if (method === 'GET' && fileName !== undefined)
      return sendFile(
        response,
        document?.files.find((file) => file.name === fileName),
        fault,
      )
    if (method === 'GET' && document)
      return response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(query.get('attachments') === 'true' ? withFiles(document) : textFor(document, query))
    if (method === 'GET') {
      const isGone = [...database.changes(0)].some((change) => change.id === id)
      return refuse(response, 404, 'not_found', isGone ? 'deleted' : 'missing')
    }
    const answered =
      method === 'PUT' && fileName !== undefined
        ? putFile(database, id, {
            name: fileName,
            contentType: String(request.headers['content-type']),
            bytes: body,
            revpos: 1,
          })
        : edit(database, {
            ...(method === 'DELETE'
              ? { _rev: query.get('rev'), _deleted: true }
              : verbatimObject(body.toString('utf8'))),
            _id: id,
          })
    return reply(response, 'error' in answered ? 409 : 201, answered)
  }

  const databaseAnswer = async (
    { method, path, query }: KazooRequest,
    [request, response]: [IncomingMessage, ServerResponse],
    fault: KazooFault | undefined,
  ) => {
    const [name = '', action] = path
    const database = databaseNamed(name)
    if (action === undefined && method === 'PUT') {
      if (database) return refuse(response, 412, 'file_exists', 'The database could not be created.')
      names.add(name)
      return reply(response, 201, { ok: true })
    }
    if (!database) return refuse(response, 404, 'not_found', 'Database does not exist.')
    if (action === undefined && method === 'DELETE') {
      names.delete(name)
      return reply(response, 200, { ok: true })
    }
    if (action === undefined) return reply(response, 200, facts(name, database))
    if (action === '_all_docs') return list(response, database, query, fault)
    if (action === '_changes') return tellChanges(response, database, query, fault)
    if (action === '_bulk_docs')
      return bulk(response, database, verbatimObject((await buffer(request)).toString('utf8')))
    return refuse(response, 404, 'not_found', 'missing')
  }

  const serverAnswer = async ({ path: [action] }: KazooRequest, response: ServerResponse) => {
    if (action === undefined) return reply(response, 200, engine.welcome)
    if (action === '_all_dbs') return reply(response, 200, [...names].sort())
    if (action === '_up' && engine.isClustered) return reply(response, 200, { status: 'ok' })
    return refuse(response, 404, 'not_found', 'missing')
  }

  const signIn = async (request: IncomingMessage, response: ServerResponse) => {
    const { name, password } = verbatimObject((await buffer(request)).toString('utf8'))
    const isKnown = name === credentials?.name && password === credentials?.password
    if (credentials?.by !== 'session' || !isKnown)
      return refuse(response, 401, 'unauthorized', 'Name or password is incorrect.')
    const session = `AuthSession=session-${sessions.size}`
    sessions.set(session, sessionRequests)
    return response
      .writeHead(200, {
        'content-type': 'application/json',
        'set-cookie': `${session}; Version=1; Path=/; HttpOnly`,
      })
      .end(json({ ok: true, name, roles: ['_admin'] }))
  }

  const isSignedIn = ({ authorization, cookie }: IncomingMessage['headers']) => {
    if (!credentials) return true
    if (credentials.by === 'session') {
      const left = sessions.get(cookie ?? '') ?? 0
      sessions.set(cookie ?? '', left - 1)
      return left > 0
    }
    const { name, password } = credentials
    return authorization === `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://kazoo')
    const asked = {
      method: request.method ?? '',
      path: decodedSegments(url.pathname),
      query: url.searchParams,
    }
    const [first = '_', second = '_'] = asked.path
    if (first === '_session' && asked.method === 'POST') return signIn(request, response)
    if (!isSignedIn(request.headers))
      return refuse(response, 401, 'unauthorized', 'You are not authorized to access this db.')
    requests.push(asked)
    const fault = state.faultFor?.(asked)
    if (fault === 'silent') return undefined
    if (typeof fault === 'number')
      return refuse(response, fault, 'timeout', 'The request could not be processed.')
    if (first.startsWith('_') && first !== '_users') return serverAnswer(asked, response)
    return second.startsWith('_') && !second.startsWith('_design')
      ? databaseAnswer(asked, [request, response], fault)
      : documentAnswer(asked, [request, response], fault)
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) refuse(response, 500, 'internal', String(error))
      else response.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const signature = credentials
    ? `${encodeURIComponent(credentials.name)}:${encodeURIComponent(credentials.password)}@`
    : ''

  const opened = (name: string) => {
    names.add(name)
    const database = databaseNamed(name)
    if (!database) throw new Error(`there is no database ${name}`)
    return database
  }

  return {
    /** With credentials, where it wants some. */
    url: `http://${signature}${host}`,
    host,
    /** Received requests in order, without sign-ins. */
    requests,
    faults: state,
    /** Writes a document as its next revision. In a text, numbers keep their format. */
    put(name: string, document: string | (Json & { _id: string }), files: readonly SampleFile[] = []) {
      const fields = typeof document === 'string' ? verbatimObject(document) : document
      const database = opened(name)
      const before = database.get(String(fields._id))
      const inline = Object.fromEntries(files.map((file) => [file.name, inlineOf(file)]))
      const { _attachments: kept = {} } = fields
      const attachments = { ...(isObject(kept) ? kept : {}), ...inline }
      const edited = {
        ...fields,
        ...(Object.keys(attachments).length > 0 ? { _attachments: attachments } : {}),
        ...(before ? { _rev: before.rev } : { _rev: undefined }),
      }
      edit(database, edited)
    },
    remove(name: string, id: string) {
      const database = opened(name)
      const before = database.get(id)
      if (before) database.write(id, nextRevision(before.rev, 'deleted'), undefined)
    },
    removeDatabase: (name: string) => names.delete(name),
    /** Restores a deleted document unchanged. */
    restoreDatabase: (name: string) => void names.add(name),
    /** Number of open connections, including idle ones. */
    connections: () => promisify(server.getConnections).call(server),
    /** The current text of a document. */
    text: (name: string, id: string) => databaseNamed(name)?.get(id)?.text,
    databases: () => [...names].sort(),
    /** Writes the current content in the form of a dump. */
    dumpTo: (folder: string, form: DumpForm) =>
      writeDump(folder, form, {
        names: [...names].sort(),
        documents: (name) => opened(name).from(undefined),
      }),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
