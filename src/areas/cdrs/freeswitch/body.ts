import { isBase64 } from '../../../lib/base64.ts'
import { isObject, type Json } from '../../../lib/json.ts'
import { lossyPercentDecoded, lossyUtf8Text } from '../../../lib/utf8.ts'

// What mod_json_cdr posts, in each of its encodings: plain JSON, or a form whose one field
// `cdr` is the JSON percent-encoded or in base64; on top of that the values of `variables` may be percent-encoded one
// by one (`encode-values`, which is on unless it is switched off).

/** A body that is none of these. */
export class UnreadableBody extends Error {}

/** The field of a form, which some versions announce as the other encoding: what it holds tells which it is. */
const fieldText = (value: string): string => {
  // A base64 text may have been percent-encoded as a form field, too.
  const decoded = lossyPercentDecoded(value)
  if (decoded.trimStart().startsWith('{')) return decoded
  if (decoded !== '' && isBase64(decoded)) return lossyUtf8Text(Buffer.from(decoded, 'base64'))
  throw new UnreadableBody('the field cdr is neither percent-encoded JSON nor base64')
}

const documentIn = (bytes: Buffer): string => {
  const text = lossyUtf8Text(bytes).trim()
  if (text.startsWith('{')) return text
  const field = text.split('&').find((part) => part.startsWith('cdr='))
  if (field === undefined) throw new UnreadableBody('the body is neither JSON nor a form with the field cdr')
  return fieldText(field.slice('cdr='.length))
}

// What FreeSWITCH always encodes. Every leg has times such as `2026-02-07 09:15:02` among its variables, so one that
// holds none of these anywhere was encoded.
const unsafe = /[\r\n "#&+:;<=>?@[\\\]^`{|}]/
const escaped = /%[0-9A-Fa-f]{2}/

const isEncoded = (values: readonly unknown[]) => {
  const texts = values.filter((value) => typeof value === 'string')
  return texts.some((text) => escaped.test(text)) && !texts.some((text) => unsafe.test(text))
}

/** The variables, percent-decoded once when the switch has encoded them. */
const decodedVariables = (variables: Json): Json => {
  if (!isEncoded(Object.values(variables))) return variables
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      typeof value === 'string' ? lossyPercentDecoded(value) : value,
    ]),
  )
}

// What follows the end of a string in JSON without spaces, which is what a switch writes.
const afterString = /^(?:,["{[\dtfn-]|:["{[\dtfn-]|[}\]](?:[,}\]]|$))/
const validEscape = /^\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/

/** How what stands at a place inside of a string is written, and how many characters of the text that takes up. */
const inString = (text: string, at: number): [written: string, taken: number] => {
  const sign = text.charAt(at)
  if (sign < ' ') return [`\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`, 1]
  if (sign === '"') return ['\\"', 1]
  if (sign !== '\\') return [sign, 1]
  const found = validEscape.exec(text.slice(at, at + 6))?.[0]
  return found === undefined ? ['\\\\', 1] : [found, found.length]
}

/**
 * JSON whose strings hold raw quotes and line ends. FreeSWITCH leaves percent signs alone that look encoded already, so
 * with `encode` and `encode-values` both on, one decoding uncovers values together with what surrounds them. A quote
 * counts as the end of a string only where JSON could go on.
 */
const repaired = (text: string) => {
  let result = ''
  let isInside = false
  let at = 0
  while (at < text.length) {
    const sign = text.charAt(at)
    const isEdge = sign === '"' && (!isInside || afterString.test(text.slice(at + 1, at + 3)))
    if (isEdge) isInside = !isInside
    const [written, taken] = isInside && !isEdge ? inString(text, at) : [sign, 1]
    result += written
    at += taken
  }
  return result
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    try {
      return JSON.parse(repaired(text))
    } catch {
      throw new UnreadableBody('the body is not valid JSON')
    }
  }
}

/** The leg that a switch has posted, its variables in plain text. */
export const readPostedLeg = (bytes: Buffer): Json => {
  const leg = parsed(documentIn(bytes))
  if (!isObject(leg) || !isObject(leg.variables))
    throw new UnreadableBody('there are no variables in the body')
  return { ...leg, variables: decodedVariables(leg.variables) }
}
