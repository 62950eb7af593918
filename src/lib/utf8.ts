import { isUtf8 } from 'node:buffer'
import { type Failure, invalid } from './failure.ts'

// The decoder of every input. The text of a request is UTF-8: other bytes would be stored as replacement characters.

/** The part of a request that contains a text. */
export type TextPlace = 'body' | 'query'

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

/**
 * The text of bytes with a replacement character instead of each byte that is not UTF-8. Only for call records: a call must
 * not be lost because of a caller's name.
 */
export const lossyUtf8Text = (bytes: Buffer): string => bytes.toString('utf8')

/** The same for a percent-encoded text. */
export const lossyPercentDecoded = (text: string): string => eachEncodedRun(text, lossyUtf8Text)

// ASCII is UTF-8, too.
const charsets: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii'])

/** A 400 where a content type names another character set. */
export const assertUtf8Charset = (charset: string | undefined) => {
  if (charset !== undefined && !charsets.has(charset.toLowerCase())) throw notUtf8('body')
}
