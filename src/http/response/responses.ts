import { hash } from 'node:crypto'
import type { Actor } from '../../auth/identity.ts'
import { isoTime } from '../../lib/clock.ts'
import { evictOldest } from '../../lib/forget-oldest.ts'
import { maskUrls } from '../../lib/secrets.ts'
import type { StoredRecord } from '../../storage/records.ts'
import type { Listing } from './listing.ts'

export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

interface AnswerFields {
  data: unknown
  metadata?: Record<string, unknown> | RawJson
  /** Also the ETag unless `etag` is set. */
  revision?: string
  etag?: string
  status?: number
  message?: string
  /** Number of records, if the response is not a list. */
  pageSize?: number
  /** The Location header names it. */
  created?: string
  headers?: Record<string, string>
  /** Envelope field `auth_token`: the token of a sign-in. */
  authToken?: string
}

/** A response that is more than its data. Routes may return the plain data instead. */
export class ApiResponse {
  readonly fields: AnswerFields

  constructor(fields: AnswerFields) {
    this.fields = fields
  }
}

interface TypedContent {
  contentType: string
  headers?: Record<string, string>
}

class TypedResponse {
  readonly contentType: string
  readonly headers: Record<string, string>

  constructor({ contentType, headers = {} }: TypedContent) {
    this.contentType = contentType
    this.headers = headers
  }
}

export class FileResponse extends TypedResponse {
  readonly bytes: Uint8Array

  constructor(bytes: Uint8Array, contentType: string, headers?: Record<string, string>) {
    super(headers ? { contentType, headers } : { contentType })
    this.bytes = bytes
  }
}

/** Bytes that are made while they are sent, at the pace of the client. */
export class StreamResponse extends TypedResponse {
  /** Its `return` is called when the client leaves early. */
  readonly chunks: AsyncIterable<string | Uint8Array>

  constructor(content: TypedContent & { chunks: AsyncIterable<string | Uint8Array> }) {
    super(content)
    this.chunks = content.chunks
  }
}

/** A response that continues until the client, the server or a lost right ends it. */
export interface Line {
  write(text: string): void
  /** Bytes that the client has not received yet. */
  readonly waiting: number
  /** Resolves when the client has received most of it or is gone. */
  drained(): Promise<void>
  /** Ends the answer; a client that does not take the rest in time is cut off. */
  end(): void
}

export class LiveResponse extends TypedResponse {
  /** Starts to write; returns a function that stops it. */
  readonly open: (line: Line) => () => void

  constructor(content: TypedContent & { open: (line: Line) => () => void }) {
    super(content)
    this.open = content.open
  }
}

export class ListResponse<T = unknown> {
  readonly listing: Listing<T>

  constructor(listing: Listing<T>) {
    this.listing = listing
  }
}

/** Data that is an array without pages: its rows come in batches and are never all in memory. */
export class RowsResponse {
  readonly batches: AsyncIterable<readonly unknown[]>
  /** Called when the rows are written. */
  readonly metadata: (() => Record<string, unknown>) | undefined

  constructor(batches: AsyncIterable<readonly unknown[]>, metadata?: () => Record<string, unknown>) {
    this.batches = batches
    this.metadata = metadata
  }
}

export const answer = (fields: AnswerFields) => new ApiResponse(fields)

/** Data that the client may cache for some seconds and then revalidate by ETag. */
export const lasting = (data: unknown, seconds: number) => {
  const text = JSON.stringify(data)
  return new ApiResponse({
    data: new RawJson(text),
    etag: hash('md5', text, 'hex'),
    headers: { 'cache-control': `private, max-age=${seconds}`, vary: 'X-Auth-Token, Authorization' },
  })
}

export const accepted = (message: string) => new ApiResponse({ data: message, status: 202, message })

/** The public JSON of a record, id first. The server's own values replace stored ones of the same key. */
const publicText = (record: StoredRecord<object, object>, readOnly?: Record<string, unknown>) => {
  const own = { id: record.id, ...readOnly }
  const head = JSON.stringify(own)
  // Most texts contain none of the keys: they need not be parsed.
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
  /** Read-only values that are in `data` too. */
  readOnly?: Record<string, unknown>
  metadata?: Record<string, unknown>
  etag?: string
}

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

// V8 stores a joined text as a tree of its parts. Responses that are sent often are flattened.
const inOnePiece = (text: string) => Buffer.from(text).toString()

/** One record. The response is cached with the record: `extras` must depend on the record and `key` only. */
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

export const made = (record: StoredRecord<object, object>, extras: Extras = {}) =>
  new ApiResponse({ ...one(record, extras).fields, created: record.id })

export const removed = (record: StoredRecord<object, object>, extras: Extras = {}) =>
  one(record, { ...extras, metadata: { ...extras.metadata, deleted: true } })

export interface EnvelopeParts {
  data: unknown
  metadata?: Record<string, unknown> | RawJson | undefined
  revision?: string | undefined
  extra?: Record<string, unknown>
  status: 'success' | 'error'
  requestId: string
  node: string
  now: number
  /** Only for authenticated callers. */
  version?: string | undefined
  authToken?: string | undefined
  tokens?: { consumed: number; remaining: number } | undefined
}

const dataText = (value: unknown) => (value instanceof RawJson ? value.text : JSON.stringify(value ?? {}))

const maxTokenMembers = 2000
const tokenMembers = new Map<string, string>()

/** Cached for the latest callers: escaping a token of 700 letters for each response is slow. */
const tokenMember = (token: string) => {
  const known = tokenMembers.get(token)
  if (known !== undefined) return known
  const made = `,"auth_token":${JSON.stringify(token)}`
  tokenMembers.set(token, made)
  evictOldest(tokenMembers, maxTokenMembers)
  return made
}

/** An envelope without its token, and the position of the token. */
export const withoutToken = (text: string, token: string | undefined) => {
  const member = token === undefined ? '' : tokenMember(token)
  const at = member === '' ? -1 : text.lastIndexOf(member)
  return at < 0 ? { body: text } : { body: text.slice(0, at) + text.slice(at + member.length), tokenAt: at }
}

export const withToken = (text: string, at: number, token: string) =>
  text.slice(0, at) + tokenMember(token) + text.slice(at)

/** Everything after `data`: written last, because the paging keys of a streamed list are known at its end. */
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

const freshSeconds = 60

/** Headers of public responses. Shared caches must not store an envelope with a token. */
export const publicly = (visitor: Actor | undefined): Record<string, string> => ({
  'cache-control': visitor ? 'private, no-cache' : `public, max-age=${freshSeconds}`,
  vary: 'X-Auth-Token, Authorization',
})

// If a browser shows the bytes as a page, it runs nothing in it.
export const harmless = { 'content-security-policy': "default-src 'none'; sandbox" }
