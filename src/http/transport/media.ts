import { isUtf8 } from 'node:buffer'

/** Node reads headers as ISO 8859-1, but clients send file names in UTF-8. */
export const headerText = (value: string) => {
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : value
}

const extendedValue = (name: string) =>
  encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/** `Content-Disposition` for a file. A name beyond ASCII is also sent in `filename*` (RFC 6266). */
export const attachment = (name: string) => {
  const plain = name.replace(/[^\x20-\x7e]/gu, '_')
  const extended = plain === name ? '' : `; filename*=UTF-8''${extendedValue(name)}`
  return { 'content-disposition': `attachment; filename="${plain}"${extended}` }
}

const extendedName = /filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i
const plainName = /filename\s*=\s*"?([^";]+)"?/i

const decoded = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

export const uploadName = (disposition: string): string | undefined => {
  const extended = extendedName.exec(disposition)?.[1]
  const plain = plainName.exec(disposition)?.[1]
  return (extended && decoded(extended)) || (plain && headerText(plain))
}

// Content types, and the short names that the API accepts.

const shortNames = new Map([
  ['csv', 'text/csv'],
  ['pdf', 'application/pdf'],
  ['json', 'application/json'],
  ['png', 'image/png'],
])

// Other names for CSV.
const csvNames = new Set(['text/comma-separated-values', 'application/octet-stream'])

interface Preference {
  type: string
  quality: number
}

const parseAccept = (header: string): Preference[] =>
  header
    .split(',')
    .map((part) => {
      const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
      const quality = parameters.find((parameter) => parameter.startsWith('q='))
      const value = quality === undefined ? 1 : Number(quality.slice(2))
      return { type: shortNames.get(type) ?? type, quality: Number.isFinite(value) ? value : 0 }
    })
    .filter(({ type, quality }) => type !== '' && quality > 0)
    .sort((a, b) => b.quality - a.quality)

const isOtherName = (wanted: string, made: string) => made === 'text/csv' && csvNames.has(wanted)

const fits = (wanted: string, made: string) =>
  wanted === '*/*' ||
  wanted === '*' ||
  wanted === made ||
  (wanted.endsWith('/*') && made.startsWith(wanted.slice(0, -1)))

/** The preferred type among `made`. */
export const preferredType = (header: string, made: readonly string[]): string | undefined => {
  for (const { type } of parseAccept(header)) {
    const found =
      made.find((candidate) => fits(type, candidate)) ??
      made.find((candidate) => isOtherName(type, candidate))
    if (found) return found
  }
  return undefined
}

/** Ranges such as `image/*` are allowed. */
export const takesType = (contentType: string, taken: readonly string[]) =>
  taken.some((range) => fits(range, contentType))

export interface NamedType {
  /** In lower case, without parameters. */
  contentType: string
  /** As written. */
  charset?: string
}

const charsetParameter = /;\s*charset=(?:"([^"]*)"|([^\s";]+))/i

// The longest registered names (RFC 2978).
const charsetName = /^[\w.+-]{1,40}$/

export const namedType = (header: string): NamedType => {
  const contentType = header.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const [, quoted, bare] = charsetParameter.exec(header) ?? []
  const charset = quoted ?? bare
  return charset !== undefined && charsetName.test(charset) ? { contentType, charset } : { contentType }
}
