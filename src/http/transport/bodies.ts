import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isBase64 } from '../../lib/base64.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Failure, invalid } from '../../lib/failure.ts'
import { gregorianNow } from '../../lib/gregorian.ts'
import { isObject } from '../../lib/json.ts'
import { assertUtf8Charset, utf8Text } from '../../lib/utf8.ts'
import type { BodyStream, Upload } from '../route.ts'
import { streamBytes } from './body-bytes.ts'
import { type FormField, multipartFields, urlEncodedFields } from './form-body.ts'
import { JsonRefusal, parseJson } from './json-body.ts'
import { type NamedType, namedType, uploadName } from './media.ts'

const dataUrl = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[\w=-]+)*;base64,/

const maxOpening = 200

const notBase64 = () => invalid({ file: { encoding: { message: 'The file is not valid base64' } } })

const mayBeDataUrl = (head: string) =>
  head.length < maxOpening && head.slice(0, 5) === 'data:'.slice(0, head.length) && !head.includes(',')

/** Makes the first chunk contain the whole beginning of a data URL. */
async function* headFirst(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const piece of pieces) {
    const bytes: Buffer = head ? Buffer.concat([head, piece]) : piece
    head = head && mayBeDataUrl(bytes.toString('latin1', 0, maxOpening)) ? bytes : undefined
    if (!head) yield bytes
  }
  if (head?.length) yield head
}

/** Decodes four symbols at a time. Nothing may follow the padding. */
const createDecoder = () => {
  let waiting = ''
  return {
    push(piece: Buffer) {
      waiting += piece.toString('latin1').replace(/\s+/g, '')
      if (!isBase64(waiting)) throw notBase64()
      const end = waiting.endsWith('=') ? 0 : waiting.length - (waiting.length % 4)
      const bytes = Buffer.from(waiting.slice(0, end), 'base64')
      waiting = waiting.slice(end)
      return bytes
    },
    end: () => Buffer.from(waiting, 'base64'),
  }
}

async function* decodedPieces(pieces: AsyncIterable<Buffer>, isEncoded: boolean): AsyncGenerator<Buffer> {
  let decoder: ReturnType<typeof createDecoder> | undefined
  let isFirst = true
  for await (const piece of headFirst(pieces)) {
    const opening = isFirst ? dataUrl.exec(piece.toString('latin1', 0, maxOpening)) : undefined
    if (isFirst && (opening || isEncoded)) decoder = createDecoder()
    isFirst = false
    const bytes = decoder ? decoder.push(piece.subarray(opening?.[0].length ?? 0)) : piece
    if (bytes.length > 0) yield bytes
  }
  const last = decoder?.end()
  if (last?.length) yield last
}

export interface Body {
  data: unknown
  envelope: Record<string, unknown>
  upload: Upload | undefined
  /** Some clients send that with DELETE. */
  lacksData?: boolean
  stream?: BodyStream
  /** SHA-256 of the body, for an Idempotency-Key. */
  digest?: string
}

interface ContentLimits {
  /** In JSON. */
  values: number
  /** In a form. */
  fields: number
}

export const emptyBody: Body = { data: undefined, envelope: {}, upload: undefined }

const jsonTypes = new Set(['application/json', 'application/x-json'])
const formTypes = new Set(['application/x-www-form-urlencoded', 'multipart/form-data', 'multipart/mixed'])

export const contentTypeOf = (request: IncomingMessage) => {
  const header = request.headers['content-type']
  if (header === undefined || header === 'application/json') return 'application/json'
  return header.split(';', 1)[0]?.trim().toLowerCase() || 'application/json'
}

const openBrace = 0x7b

export const patchType = 'application/merge-patch+json'

/** A JSON merge patch (RFC 7396), which may have no envelope. */
const isMergePatch = (request: IncomingMessage) =>
  request.method === 'PATCH' && contentTypeOf(request) === patchType

/** Also a form that is really JSON: curl's default content type. */
export const isJsonBody = (request: IncomingMessage, bytes: Buffer) => {
  const contentType = contentTypeOf(request)
  return (
    jsonTypes.has(contentType) ||
    isMergePatch(request) ||
    (formTypes.has(contentType) && bytes[0] === openBrace)
  )
}

const isTransferEncoded = ({ headers }: IncomingMessage) => headers['content-transfer-encoding'] === 'base64'

export const streamBody = (request: IncomingMessage, limit: number, clock: Clock): Body => {
  const contentType = contentTypeOf(request)
  const chunks = decodedPieces(streamBytes(request, limit), isTransferEncoded(request))
  return { ...emptyBody, stream: { contentType, fileName: fileNameOf(request, contentType, clock), chunks } }
}

const badJson = (message: string): Failure => invalid({ json: { invalid: { message, target: 'body' } } })

/** Envelope keys become lower case with underscores; keys in `data` stay. */
const openEnvelope = (parsed: unknown, isPatch: boolean): Body => {
  if (isPatch && isObject(parsed) && !isObject(parsed.data))
    return { data: parsed, envelope: {}, upload: undefined }
  if (!isObject(parsed)) {
    throw invalid({
      json: { invalid: { message: 'The body must be an object with the key data', target: 'body' } },
    })
  }
  const envelope: Record<string, unknown> = Object.create(null)
  for (const [key, value] of Object.entries(parsed)) envelope[key.toLowerCase().replaceAll('-', '_')] = value
  const { data } = envelope
  delete envelope.data
  if (data === undefined) return { data, envelope, upload: undefined, lacksData: true }
  if (data === null || typeof data !== 'object') {
    throw invalid({
      data: { type: { message: 'Value is not of the right type', target: 'object, array', value: data } },
    })
  }
  return { data, envelope, upload: undefined }
}

const parseText = (bytes: Buffer, { values }: ContentLimits, isPatch: boolean) => {
  const text = utf8Text(bytes, 'body')
  try {
    return openEnvelope(parseJson(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text, values), isPatch)
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
  const given = uploadName(request.headers['content-disposition'] ?? '')
  if (given) return given
  return `uploaded_file_${gregorianNow(clock)}.${extensions[contentType] ?? 'bin'}`
}

const decodeBase64 = (text: string) => {
  if (!isBase64(text)) throw notBase64()
  return Buffer.from(text, 'base64')
}

const isBase64Type = (type: string) => type === 'application/base64' || type === 'application/x-base64'

const decoded = (named: NamedType, bytes: Buffer, isEncoded: boolean) => {
  const opening = dataUrl.exec(bytes.toString('latin1', 0, maxOpening))
  if (opening) {
    const text = bytes.subarray(opening[0].length).toString('latin1')
    // The character set of the content; the header has that of the URL.
    const contentType = opening[1] ?? named.contentType
    return { ...namedType(opening[0]), contentType, bytes: decodeBase64(text) }
  }
  const isText = isEncoded || isBase64Type(named.contentType)
  return { ...named, bytes: isText ? decodeBase64(bytes.toString('latin1')) : bytes }
}

const openUpload = (request: IncomingMessage, contentType: string, bytes: Buffer, clock: Clock): Upload => {
  const isEncoded = isTransferEncoded(request)
  const fileName = fileNameOf(request, contentType, clock)
  const named = namedType(request.headers['content-type'] ?? '')
  return { ...decoded({ ...named, contentType }, bytes, isEncoded), fileName, files: 1 }
}

const namedOf = ({ contentType, charset }: NamedType): NamedType =>
  charset === undefined ? { contentType } : { contentType, charset }

const uploadIn = (files: readonly FormField[]): Upload | undefined => {
  const [file] = files
  if (!file) return undefined
  const { bytes, fileName = '' } = file
  return { ...decoded(namedOf(file), bytes, false), fileName, files: files.length }
}

const textOfField = (charset: string | undefined, bytes: Buffer) => {
  assertUtf8Charset(charset)
  return utf8Text(bytes, 'body')
}

/** Fields are `data`, the first file is the upload. */
const openForm = (
  request: IncomingMessage,
  contentType: string,
  bytes: Buffer,
  limits: ContentLimits,
): Body => {
  const data: Record<string, unknown> = Object.create(null)
  if (contentType === 'application/x-www-form-urlencoded') {
    for (const [name, value] of urlEncodedFields(bytes, limits.fields)) data[name] = value
    return { data, envelope: {}, upload: undefined }
  }
  const fields = multipartFields(bytes, request.headers['content-type'] ?? '', limits.fields)
  for (const { name, bytes, fileName, charset } of fields)
    if (fileName === undefined) data[name] = textOfField(charset, bytes)
  return { data, envelope: {}, upload: uploadIn(fields.filter(({ fileName }) => fileName !== undefined)) }
}

const openBytes = (request: IncomingMessage, bytes: Buffer, limits: ContentLimits, clock: Clock): Body => {
  const contentType = contentTypeOf(request)
  const isPatch = isMergePatch(request)
  const isText = jsonTypes.has(contentType) || formTypes.has(contentType) || isPatch
  if (isText) assertUtf8Charset(namedType(request.headers['content-type'] ?? '').charset)
  if (isJsonBody(request, bytes)) return parseText(bytes, limits, isPatch)
  if (formTypes.has(contentType)) return openForm(request, contentType, bytes, limits)
  return { data: undefined, envelope: {}, upload: openUpload(request, contentType, bytes, clock) }
}

export const openContent = (
  request: IncomingMessage,
  bytes: Buffer,
  limits: ContentLimits,
  clock: Clock,
): Body => {
  if (bytes.length === 0) return emptyBody
  const body = openBytes(request, bytes, limits, clock)
  if (request.headers['idempotency-key'] !== undefined) body.digest = hash('sha256', bytes, 'hex')
  return body
}
