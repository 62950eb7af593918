import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import { messageOf } from '../../lib/error-facts.ts'
import { type Failure, failure, invalid } from '../../lib/failure.ts'
import { gregorianNow } from '../../lib/gregorian.ts'
import { isObject } from '../../lib/json.ts'
import type { BodyStream, Upload } from '../route.ts'
import { JsonRefusal, parseJson } from './json-body.ts'

/** A request body after parsing; `data` is undefined when none was sent. */
export interface Body {
  data: unknown
  envelope: Record<string, unknown>
  upload: Upload | undefined
  stream?: BodyStream
  /** SHA-256 of the body as it was sent, where the request has an Idempotency-Key. */
  digest?: string
}

export const emptyBody: Body = { data: undefined, envelope: {}, upload: undefined }

// A body has to arrive whole within the first; the second is the longest silence in one that is read as it comes.
const bodyMs = 120_000
const silenceMs = 60_000

const jsonTypes = new Set(['application/json', 'application/x-json'])
const formTypes = new Set(['application/x-www-form-urlencoded', 'multipart/form-data', 'multipart/mixed'])

/** The bare, lower-case content type: `application/json` when none is given. */
export const contentTypeOf = (request: IncomingMessage) => {
  const header = request.headers['content-type']
  if (header === undefined || header === 'application/json') return 'application/json'
  return header.split(';', 1)[0]?.trim().toLowerCase() || 'application/json'
}

interface Patience {
  milliseconds: number
  /** Whether every piece that arrives renews it. */
  renewed: boolean
}

/** The pieces of a body as they arrive: no more than `limit` bytes, and none that comes too late. */
async function* piecesOf(
  request: IncomingMessage,
  limit: number,
  patience: Patience,
): AsyncGenerator<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw failure('too_large', { limit })
  let late: (() => void) | undefined
  const lateness = new Promise<never>((_, reject) => {
    late = () => reject(failure('request_timeout', {}))
  })
  // Nobody waits for it while a piece is being worked on.
  lateness.catch(() => undefined)
  const timer = setTimeout(() => late?.(), patience.milliseconds)
  // A request that is destroyed takes its connection along, and the answer with it.
  const pieces: AsyncIterableIterator<Buffer> = request.iterator({ destroyOnReturn: false })
  let size = 0
  try {
    for (;;) {
      if (patience.renewed) timer.refresh()
      const { done, value } = await Promise.race([pieces.next(), lateness])
      if (done) return
      size += value.length
      if (size > limit) throw failure('too_large', { limit })
      yield value
    }
  } finally {
    clearTimeout(timer)
    // Not waited for: a piece that never comes may be pending.
    void pieces.return?.()
  }
}

/** Reads the whole body, refusing more than `limit` bytes as soon as that is known. */
export const readBytes = async (request: IncomingMessage, limit: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  const patience = { milliseconds: bodyMs, renewed: false }
  for await (const chunk of piecesOf(request, limit, patience)) chunks.push(chunk)
  const [first] = chunks
  return first && chunks.length === 1 ? first : Buffer.concat(chunks)
}

/** A body that its route reads as it arrives. */
export const streamBody = (request: IncomingMessage, limit: number, clock: Clock): Body => {
  const contentType = contentTypeOf(request)
  const chunks = piecesOf(request, limit, { milliseconds: silenceMs, renewed: true })
  return { ...emptyBody, stream: { contentType, fileName: fileNameOf(request, contentType, clock), chunks } }
}

export const hasBody = (request: IncomingMessage) =>
  Number(request.headers['content-length'] ?? 0) > 0 || request.headers['transfer-encoding'] !== undefined

const badJson = (message: string): Failure => invalid({ json: { invalid: { message, target: 'body' } } })

/** The envelope of a JSON body: its keys are lower-cased, dashes become underscores; keys inside `data` stay. */
const openEnvelope = (parsed: unknown): Body => {
  if (!isObject(parsed)) {
    throw invalid({
      json: { invalid: { message: 'The body must be an object with the key data', target: 'body' } },
    })
  }
  const envelope: Record<string, unknown> = Object.create(null)
  for (const [key, value] of Object.entries(parsed)) envelope[key.toLowerCase().replaceAll('-', '_')] = value
  const { data } = envelope
  delete envelope.data
  if (data === undefined) {
    throw invalid({ data: { required: { message: 'Field is required but missing', value: 'data' } } })
  }
  if (data === null || typeof data !== 'object') {
    throw invalid({
      data: { type: { message: 'Value is not of the right type', target: 'object, array', value: data } },
    })
  }
  return { data, envelope, upload: undefined }
}

const parseText = (bytes: Buffer) => {
  const text = bytes.toString('utf8')
  try {
    return openEnvelope(parseJson(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text))
  } catch (error) {
    if (error instanceof JsonRefusal) throw badJson(error.message)
    throw error
  }
}

const extensions: Record<string, string> = {
  'text/csv': 'csv',
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'text/html': 'html',
  'application/x-pem-file': 'pem',
}

const fileNameOf = (request: IncomingMessage, contentType: string, clock: Clock) => {
  const given = /filename="?([^";]+)"?/i.exec(request.headers['content-disposition'] ?? '')?.[1]
  if (given) return given
  return `uploaded_file_${gregorianNow(clock)}.${extensions[contentType] ?? 'bin'}`
}

const base64Text = /^[A-Za-z0-9+/\s]*={0,2}\s*$/
const dataUrl = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w=-]+)*;base64,/

const decodeBase64 = (text: string) => {
  if (!base64Text.test(text)) {
    throw invalid({ file: { encoding: { message: 'The file is not valid base64' } } })
  }
  return Buffer.from(text, 'base64')
}

const isBase64Type = (type: string) => type === 'application/base64' || type === 'application/x-base64'

/** What was sent, with base64 and data URLs undone. */
const decoded = (contentType: string, bytes: Buffer, isEncoded: boolean) => {
  const opening = dataUrl.exec(bytes.subarray(0, 200).toString('latin1'))
  if (opening) {
    const text = bytes.subarray(opening[0].length).toString('latin1')
    return { contentType: opening[1] ?? contentType, bytes: decodeBase64(text) }
  }
  const isText = isEncoded || isBase64Type(contentType)
  return { contentType, bytes: isText ? decodeBase64(bytes.toString('latin1')) : bytes }
}

/** Raw content: base64 transfer encodings and data URLs are undone. */
const openUpload = (request: IncomingMessage, contentType: string, bytes: Buffer, clock: Clock): Upload => {
  const isEncoded = request.headers['content-transfer-encoding'] === 'base64'
  const fileName = fileNameOf(request, contentType, clock)
  return { ...decoded(contentType, bytes, isEncoded), fileName, files: 1 }
}

/** A form: its fields are `data`, its first file is the upload. A form that is really JSON is read as JSON (curl's default). */
const openForm = async (request: IncomingMessage, contentType: string, bytes: Buffer): Promise<Body> => {
  if (bytes[0] === 0x7b) return parseText(bytes)
  let form: FormData
  try {
    form = await new Response(new Uint8Array(bytes), {
      headers: { 'content-type': request.headers['content-type'] ?? contentType },
    }).formData()
  } catch (error) {
    throw invalid({ form: { invalid: { message: messageOf(error).slice(0, 200), target: 'body' } } })
  }
  const data: Record<string, unknown> = Object.create(null)
  let upload: Upload | undefined
  for (const [key, value] of form) {
    if (typeof value === 'string') data[key] = value
    else if (upload) upload.files += 1
    else {
      const content = decoded(value.type.toLowerCase(), Buffer.from(await value.arrayBuffer()), false)
      upload = { ...content, fileName: value.name, files: 1 }
    }
  }
  return { data, envelope: {}, upload }
}

const openBytes = async (request: IncomingMessage, bytes: Buffer, clock: Clock): Promise<Body> => {
  const contentType = contentTypeOf(request)
  if (jsonTypes.has(contentType)) return parseText(bytes)
  if (formTypes.has(contentType)) return openForm(request, contentType, bytes)
  return { data: undefined, envelope: {}, upload: openUpload(request, contentType, bytes, clock) }
}

/** Reads and opens a request's body: JSON envelope, form, or raw upload. */
export const readBody = async (request: IncomingMessage, limit: number, clock: Clock): Promise<Body> => {
  if (!hasBody(request)) return emptyBody
  const bytes = await readBytes(request, limit)
  if (bytes.length === 0) return emptyBody
  const body = await openBytes(request, bytes, clock)
  if (request.headers['idempotency-key'] !== undefined) body.digest = hash('sha256', bytes, 'hex')
  return body
}
