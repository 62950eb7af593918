import { isUtf8 } from 'node:buffer'
import { type Failure, invalid } from './failure.ts'

// The decoder of every input. The text of a request is UTF-8: other bytes would be stored as replacement characters.

/** The part of a request that contains a text. */
type TextPlace = 'body' | 'query'

const notUtf8 = (place: TextPlace): Failure => {
  const message = `The ${place} must be UTF-8, without another declared charset`
  return invalid({ [place]: { invalid: { message, target: 'utf-8' } } })
}

/** The text of bytes in UTF-8. Any other bytes are a 400. */
export const utf8Text = (bytes: Buffer, place: TextPlace): string => {
  if (!isUtf8(bytes)) throw notUtf8(place)
  return bytes.toString('utf8')
}

const eachEncodedRun = (text: string, decode: (bytes: Buffer) => string): string =>
  text.includes('%')
    ? text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) => decode(Buffer.from(run.replaceAll('%', ''), 'hex')))
    : text

/** The same for a percent-encoded text. An invalid percent sign stays as it is. */
export const percentDecoded = (text: string, place: TextPlace): string =>
  eachEncodedRun(text, (bytes) => utf8Text(bytes, place))

// Bytes as Latin-1: characters beyond ASCII that are encoded in UTF-8, or a byte that is none.
const encodedOrStray =
  /((?:[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}){1,100})|[\x80-\xff]/g
const firstStray = 0xdc00

/**
 * The text of bytes with an unpaired surrogate (U+DC80 to U+DCFF) instead of each byte that is not UTF-8, so that different
 * bytes stay different. Only for call records: a call must not be lost because of a caller's name.
 */
export const looseUtf8Text = (bytes: Buffer): string =>
  isUtf8(bytes)
    ? bytes.toString('utf8')
    : bytes
        .toString('latin1')
        .replace(encodedOrStray, (found, encoded?: string) =>
          encoded === undefined
            ? String.fromCharCode(firstStray + found.charCodeAt(0))
            : Buffer.from(encoded, 'latin1').toString('utf8'),
        )

/** The same for a percent-encoded text. */
export const loosePercentDecoded = (text: string): string => eachEncodedRun(text, looseUtf8Text)

// ASCII is UTF-8, too.
const charsets: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii'])

/** A 400 where a content type names another character set. */
export const assertUtf8Charset = (charset: string | undefined) => {
  if (charset !== undefined && !charsets.has(charset.toLowerCase())) throw notUtf8('body')
}
