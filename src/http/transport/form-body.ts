import { invalid } from '../../lib/failure.ts'
import { percentDecoded, utf8Text } from '../../lib/utf8.ts'
import { type NamedType, namedType } from './media.ts'

export interface FormField extends NamedType {
  name: string
  bytes: Buffer
  fileName: string | undefined
}

const badForm = (message: string) => invalid({ form: { invalid: { message, target: 'body' } } })

const tooMany = (most: number) => badForm(`has more than ${most} fields`)

const ampersand = 0x26

const decodeField = (text: string) => percentDecoded(text.replaceAll('+', ' '), 'body')

const pairOf = (text: string): [string, string] => {
  const mark = text.indexOf('=')
  return mark < 0
    ? [decodeField(text), '']
    : [decodeField(text.slice(0, mark)), decodeField(text.slice(mark + 1))]
}

const countUpTo = (most: number, bytes: Buffer) => {
  let count = 1
  for (let at = bytes.indexOf(ampersand); at >= 0; at = bytes.indexOf(ampersand, at + 1)) {
    count += 1
    if (count > most) throw tooMany(most)
  }
}

/** URLSearchParams needs quadratic time. */
export const urlEncodedFields = (bytes: Buffer, most: number): [string, string][] => {
  countUpTo(most, bytes)
  return utf8Text(bytes, 'body')
    .split('&')
    .flatMap((part) => (part === '' ? [] : [pairOf(part)]))
}

// Browsers and curl send some 200 bytes.
const maxHeadBytes = 16_384
const lineEnd = Buffer.from('\r\n')
const headEnd = Buffer.from('\r\n\r\n')

const boundaryOf = (contentType: string) => {
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]+)"|([^\s";]+))/i.exec(contentType) ?? []
  const boundary = quoted ?? bare
  if (!boundary) throw badForm('the content type has no boundary')
  return boundary
}

const nameText = /;\s*name=(?:"([^"]*)"|([^\s";]+))/i
const fileNameText = /;\s*filename=(?:"([^"]*)"|([^\s";]+))/i

const parameterIn = (header: string, parameter: RegExp) => {
  const [, quoted, bare] = parameter.exec(header) ?? []
  // Browsers escape these in names.
  return (quoted ?? bare)?.replace(/%0A/gi, '\n').replace(/%0D/gi, '\r').replace(/%22/g, '"')
}

const headersIn = (head: string) => {
  const headers = new Map<string, string>()
  for (const line of head.split('\r\n')) {
    const mark = line.indexOf(':')
    if (mark <= 0) throw badForm('a line in the head of a part is not a header')
    headers.set(line.slice(0, mark).trim().toLowerCase(), line.slice(mark + 1).trim())
  }
  return headers
}

const fieldOf = (head: string, bytes: Buffer): FormField => {
  const headers = headersIn(head)
  const disposition = headers.get('content-disposition') ?? ''
  const name = parameterIn(disposition, nameText)
  if (!/^form-data\b/i.test(disposition) || name === undefined) throw badForm('a part has no name')
  return {
    name,
    bytes,
    fileName: parameterIn(disposition, fileNameText),
    ...namedType(headers.get('content-type') ?? 'text/plain'),
  }
}

const startsWith = (bytes: Buffer, text: Buffer, at: number) =>
  bytes.subarray(at, at + text.length).equals(text)

/** The position after the first boundary; empty lines may precede it. */
const firstPart = (bytes: Buffer, boundary: Buffer) => {
  let at = 0
  while (startsWith(bytes, lineEnd, at)) at += lineEnd.length
  if (!startsWith(bytes, boundary, at)) throw badForm('does not begin with its boundary')
  return at + boundary.length
}

export const multipartFields = (bytes: Buffer, contentType: string, most: number): FormField[] => {
  const boundary = Buffer.from(`--${boundaryOf(contentType)}`)
  const delimiter = Buffer.concat([lineEnd, boundary])
  const fields: FormField[] = []
  let at = firstPart(bytes, boundary)
  while (!startsWith(bytes, Buffer.from('--'), at)) {
    if (!startsWith(bytes, lineEnd, at)) throw badForm('text follows a boundary')
    const from = at + lineEnd.length
    const headLength = bytes.subarray(from, from + maxHeadBytes).indexOf(headEnd)
    if (headLength < 0) throw badForm('a part has no head, or its head is too long')
    const body = from + headLength + headEnd.length
    const end = bytes.indexOf(delimiter, body)
    if (end < 0) throw badForm('the last boundary is missing')
    if (fields.length === most) throw tooMany(most)
    const head = utf8Text(bytes.subarray(from, from + headLength), 'body')
    fields.push(fieldOf(head, bytes.subarray(body, end)))
    at = end + delimiter.length
  }
  return fields
}
