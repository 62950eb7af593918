import { isUtf8 } from 'node:buffer'
import { type Failure, invalid } from './failure.ts'

// Requests are UTF-8: other bytes would be stored as replacement characters.

type TextPlace = 'body' | 'query'

const notUtf8 = (place: TextPlace): Failure => {
  const message = `The ${place} must be UTF-8, without another declared charset`
  return invalid({ [place]: { invalid: { message, target: 'utf-8' } } })
}

/** Other bytes are a 400. */
export const utf8Text = (bytes: Buffer, place: TextPlace): string => {
  if (!isUtf8(bytes)) throw notUtf8(place)
  return bytes.toString('utf8')
}

const eachEncodedRun = (text: string, decode: (bytes: Buffer) => string): string =>
  text.includes('%')
    ? text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) => decode(Buffer.from(run.replaceAll('%', ''), 'hex')))
    : text

/** An invalid percent sign is unchanged. */
export const percentDecoded = (text: string, place: TextPlace): string =>
  eachEncodedRun(text, (bytes) => utf8Text(bytes, place))

// UTF-8 beyond ASCII, or a stray byte, as Latin-1.
const encodedOrStray =
  /((?:[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}){1,100})|[\x80-\xff]/g
const firstStray = 0xdc00

/** Stray bytes become unpaired surrogates (U+DC80 to U+DCFF). Only for call records, which must not be lost. */
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

export const loosePercentDecoded = (text: string): string => eachEncodedRun(text, looseUtf8Text)

// ASCII is UTF-8.
const charsets: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii'])

export const assertUtf8Charset = (charset: string | undefined) => {
  if (charset !== undefined && !charsets.has(charset.toLowerCase())) throw notUtf8('body')
}
