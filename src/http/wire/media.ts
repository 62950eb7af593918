// Which representation the client wants, and the short names that the API takes for some.

const shortNames = new Map([
  ['csv', 'text/csv'],
  ['pdf', 'application/pdf'],
  ['json', 'application/json'],
  ['png', 'image/png'],
])

// Other names under which clients ask for CSV.
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

/** The type among `made` that the client prefers; undefined when none will do. */
export const preferredType = (header: string, made: readonly string[]): string | undefined => {
  for (const { type } of parseAccept(header)) {
    const found =
      made.find((candidate) => fits(type, candidate)) ??
      made.find((candidate) => isOtherName(type, candidate))
    if (found) return found
  }
  return undefined
}

/** Whether an uploaded content type is among those a route takes (`image/*` style ranges allowed). */
export const takesType = (contentType: string, taken: readonly string[]) =>
  taken.some((range) => fits(range, contentType))

/** A content type as a request names it. */
export interface NamedType {
  /** Bare, in lower case. */
  contentType: string
  /** The character set beside it, as it was written. */
  charset?: string
}

const charsetParameter = /;\s*charset=(?:"([^"]*)"|([^\s";]+))/i

// As long as registered names may be (RFC 2978). What is longer, or of other characters, names none.
const charsetName = /^[\w.+-]{1,40}$/

/** The type that a header, or the opening of a data URL, names. */
export const namedType = (header: string): NamedType => {
  const contentType = header.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const [, quoted, bare] = charsetParameter.exec(header) ?? []
  const charset = quoted ?? bare
  return charset !== undefined && charsetName.test(charset) ? { contentType, charset } : { contentType }
}
