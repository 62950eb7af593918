import { hash } from 'node:crypto'
import type { Actor } from '../../auth/identity.ts'
import { isoTime } from '../../lib/clock.ts'
import { evictOldest } from '../../lib/forget-oldest.ts'
import { maskUrls } from '../../lib/secrets.ts'
import type { StoredRecord } from '../../storage/records.ts'
import type { Listing } from './listing.ts'

/** JSON text that goes into the envelope as it is. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

interface AnswerFields {
  data: unknown
  metadata?: Record<string, unknown> | RawJson
  /** The record's revision: also its ETag unless `etag` says otherwise. */
  revision?: string
  etag?: string
  status?: number
  message?: string
  /** Records told, where an answer that is no list counts them. */
  pageSize?: number
  /** The id of a record just created: named in the Location header. */
  created?: string
  headers?: Record<string, string>
  /** The token that a sign-in made: envelope field `auth_token`. */
  authToken?: string
}

/** An answer that is more than its data. Anything else a route returns is taken as the data. */
export class ApiResponse {
  readonly fields: AnswerFields

  constructor(fields: AnswerFields) {
    this.fields = fields
  }
}

/** Bytes instead of an envelope: an image, a PEM, a vCard. */
export class FileResponse {
  readonly bytes: Uint8Array
  readonly contentType: string
  readonly headers: Record<string, string>

  constructor(bytes: Uint8Array, contentType: string, headers: Record<string, string> = {}) {
    this.bytes = bytes
    this.contentType = contentType
    this.headers = headers
  }
}

/** Bytes that are made while they are sent, at the pace of the client. */
export class StreamResponse {
  readonly contentType: string
  readonly headers: Record<string, string>
  /** Its `return` is called when the client leaves early. */
  readonly chunks: AsyncIterable<string | Uint8Array>

  constructor(content: {
    contentType: string
    headers?: Record<string, string>
    chunks: AsyncIterable<string | Uint8Array>
  }) {
    this.contentType = content.contentType
    this.headers = content.headers ?? {}
    this.chunks = content.chunks
  }
}

/** An answer that goes on as long as both sides want. */
export interface Line {
  /** Text for the client; nothing is kept back for one that has gone. */
  write(text: string): void
  /** Bytes that the client has not taken yet. */
  readonly waiting: number
  /** Resolves when the client has taken most of what it was sent, or has gone. */
  drained(): Promise<void>
  /** Ends the answer; a client that does not take the rest in time is cut off. */
  end(): void
}

/** Text that comes as it comes into being, for as long as the client stays. */
export class LiveResponse {
  readonly contentType: string
  readonly headers: Record<string, string>
  /** Begins to write; answers with what ends that. */
  readonly open: (line: Line) => () => void

  constructor(content: {
    contentType: string
    headers?: Record<string, string>
    open: (line: Line) => () => void
  }) {
    this.contentType = content.contentType
    this.headers = content.headers ?? {}
    this.open = content.open
  }
}

/** A list: paged, filtered and rendered by listing.ts. */
export class ListResponse<T = unknown> {
  readonly listing: Listing<T>

  constructor(listing: Listing<T>) {
    this.listing = listing
  }
}

/** Data that is an array without pages: its rows come in batches, and are never all at hand. */
export class RowsResponse {
  readonly batches: AsyncIterable<readonly unknown[]>
  /** What the envelope tells of the rows beside them: asked when they are written. */
  readonly metadata: (() => Record<string, unknown>) | undefined

  constructor(batches: AsyncIterable<readonly unknown[]>, metadata?: () => Record<string, unknown>) {
    this.batches = batches
    this.metadata = metadata
  }
}

export const answer = (fields: AnswerFields) => new ApiResponse(fields)

/** What whoever asked may go on with for some seconds, and then asks for again by a name for this content. */
export const lasting = (data: unknown, seconds: number) => {
  const text = JSON.stringify(data)
  return new ApiResponse({
    data: new RawJson(text),
    // Not a secret, only a name for this content: the fast digest does.
    etag: hash('md5', text, 'hex'),
    headers: { 'cache-control': `private, max-age=${seconds}`, vary: 'X-Auth-Token, Authorization' },
  })
}

/** A private 202: the work goes on after the answer. */
export const accepted = (message: string) => new ApiResponse({ data: message, status: 202, message })

/** The JSON text of a record's public half with its id in front. The server's own values replace stored ones of the same key. */
const publicText = (record: StoredRecord<object, object>, readOnly?: Record<string, unknown>) => {
  const own = { id: record.id, ...readOnly }
  const head = JSON.stringify(own)
  // Most texts contain none of the keys: they are not parsed for this.
  const isRepeated = Object.keys(own).some(
    (key) => record.docText.includes(`"${key}":`) && Object.hasOwn(record.doc, key),
  )
  const docText = isRepeated ? JSON.stringify(without(record.doc, Object.keys(own))) : record.docText
  return docText === '{}' ? head : `${head.slice(0, -1)},${maskUrls(docText).slice(1)}`
}

const without = (doc: object, keys: readonly string[]) =>
  Object.fromEntries(Object.entries(doc).filter(([key]) => !keys.includes(key)))

const metadataOf = (record: StoredRecord<object, object>) => ({
  id: record.id,
  created: record.created,
  modified: record.modified,
})

export interface Extras {
  /** Read-only values that stand in `data` too. */
  readOnly?: Record<string, unknown>
  metadata?: Record<string, unknown>
  etag?: string
}

/** One record. */
export const one = (record: StoredRecord<object, object>, { readOnly, metadata, etag }: Extras = {}) =>
  new ApiResponse({
    data: new RawJson(publicText(record, readOnly)),
    metadata: { ...metadataOf(record), ...metadata },
    revision: record.revision,
    ...(etag ? { etag } : {}),
  })

interface Remembered {
  key: string
  answer: ApiResponse
}

const remembered = new WeakMap<StoredRecord<object, object>, Remembered>()

// Joined texts are trees of pieces to the engine; answers are sent often, so they are kept in one piece.
const inOnePiece = (text: string) => Buffer.from(text).toString()

/**
 * One record, whose extras follow from the record and `key` alone: the answer is made once and kept
 * as long as the record is cached.
 */
export const oneRemembered = (
  record: StoredRecord<object, object>,
  key: string,
  extras: () => Extras,
): ApiResponse => {
  const known = remembered.get(record)
  if (known?.key === key) return known.answer
  const { data, metadata, ...fields } = one(record, extras()).fields
  const answer = new ApiResponse({
    ...fields,
    data: new RawJson(inOnePiece(data instanceof RawJson ? data.text : JSON.stringify(data))),
    metadata: new RawJson(inOnePiece(JSON.stringify(metadata))),
  })
  remembered.set(record, { key, answer })
  return answer
}

/** A record that this request made. */
export const made = (record: StoredRecord<object, object>, extras: Extras = {}) =>
  new ApiResponse({ ...one(record, extras).fields, created: record.id })

/** A record as it was before this request removed it. */
export const removed = (record: StoredRecord<object, object>, extras: Extras = {}) =>
  one(record, { ...extras, metadata: { ...extras.metadata, deleted: true } })

/** The parts of every answer, as texts ready to be joined. */
export interface EnvelopeParts {
  data: unknown
  metadata?: Record<string, unknown> | RawJson | undefined
  revision?: string | undefined
  /** Further keys: `error`, `message`, paging keys. */
  extra?: Record<string, unknown>
  status: 'success' | 'error'
  requestId: string
  node: string
  now: number
  /** Only authenticated callers learn it. */
  version?: string | undefined
  authToken?: string | undefined
  tokens?: { consumed: number; remaining: number } | undefined
}

const dataText = (value: unknown) => (value instanceof RawJson ? value.text : JSON.stringify(value ?? {}))

const maxTokenMembers = 2000
const tokenMembers = new Map<string, string>()

/** Made once for each of the latest callers: their tokens have 700 letters, and each would be looked at for every answer. */
const tokenMember = (token: string) => {
  const known = tokenMembers.get(token)
  if (known !== undefined) return known
  const made = `,"auth_token":${JSON.stringify(token)}`
  tokenMembers.set(token, made)
  evictOldest(tokenMembers, maxTokenMembers)
  return made
}

/** The text of an envelope without the token that it tells, and where that stood. Nothing behind it looks like it. */
export const withoutToken = (text: string, token: string | undefined) => {
  const member = token === undefined ? '' : tokenMember(token)
  const at = member === '' ? -1 : text.lastIndexOf(member)
  return at < 0 ? { body: text } : { body: text.slice(0, at) + text.slice(at + member.length), tokenAt: at }
}

export const withToken = (text: string, at: number, token: string) =>
  text.slice(0, at) + tokenMember(token) + text.slice(at)

/** Everything after `data`: written last, so that a list can be streamed before its paging keys are known. */
export const envelopeTail = (parts: Omit<EnvelopeParts, 'data'>) => {
  const { metadata, revision, extra, status, requestId, node, now, version, authToken, tokens } = parts
  let tail = `,"metadata":${dataText(metadata)}`
  if (extra)
    for (const key in extra) if (extra[key] !== undefined) tail += `,"${key}":${JSON.stringify(extra[key])}`
  if (revision !== undefined) tail += `,"revision":${JSON.stringify(revision)}`
  if (tokens) tail += `,"tokens":{"consumed":${tokens.consumed},"remaining":${tokens.remaining}}`
  if (authToken !== undefined) tail += tokenMember(authToken)
  if (version !== undefined) tail += `,"version":"${version}"`
  return `${tail},"timestamp":"${isoTime(now)}","node":${JSON.stringify(node)},"request_id":${JSON.stringify(requestId)},"status":"${status}"}`
}

export const envelopeOf = ({ data, ...rest }: EnvelopeParts) =>
  `{"data":${dataText(data)}${envelopeTail(rest)}`

// Long enough for the several reads of one page, short enough for somebody who tries a new logo.
const freshSeconds = 60

/** Headers of an answer that anybody may read. An envelope that holds somebody's token is kept by nobody else. */
export const publicly = (visitor: Actor | undefined): Record<string, string> => ({
  'cache-control': visitor ? 'private, no-cache' : `public, max-age=${freshSeconds}`,
  vary: 'X-Auth-Token, Authorization',
})

// Were a browser to take the bytes for a page after all, it would not run anything in it.
export const harmless = { 'content-security-policy': "default-src 'none'; sandbox" }
