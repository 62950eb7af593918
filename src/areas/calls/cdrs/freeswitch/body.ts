import { isBase64 } from '../../../../lib/base64.ts'
import { isObject, type Json } from '../../../../lib/json.ts'
import { loosePercentDecoded, looseUtf8Text } from '../../../../lib/utf8.ts'
import { parseWithRawQuotes } from '../intake/lenient-json.ts'

// What mod_json_cdr posts, in each of its encodings: plain JSON, or a form whose one field
// `cdr` is the JSON percent-encoded or in base64; on top of that the values of `variables` may be percent-encoded one
// by one (`encode-values`, which is on unless it is switched off).

export class UnreadableBody extends Error {}

/** Some versions announce one encoding and send the other, so the content decides. */
const fieldText = (value: string): string => {
  // A base64 text may have been percent-encoded as a form field, too.
  const decoded = loosePercentDecoded(value)
  if (decoded.trimStart().startsWith('{')) return decoded
  const base64 = decoded.replaceAll('\0', '')
  if (base64 !== '' && isBase64(base64)) return looseUtf8Text(Buffer.from(base64, 'base64'))
  throw new UnreadableBody('the field cdr is neither percent-encoded JSON nor base64')
}

const documentIn = (bytes: Buffer): string => {
  const text = looseUtf8Text(bytes).trim()
  if (text.startsWith('{')) return text
  const field = text.split('&').find((part) => part.startsWith('cdr='))
  if (field === undefined) throw new UnreadableBody('the body is neither JSON nor a form with the field cdr')
  return fieldText(field.slice('cdr='.length))
}

// Characters that FreeSWITCH always encodes. Every leg has times such as `2026-02-07 09:15:02`, so variables
// without any of these characters were encoded.
const unsafe = /[\r\n "#&+:;<=>?@[\\\]^`{|}]/
const escaped = /%[0-9A-Fa-f]{2}/

const isEncoded = (values: readonly unknown[]) => {
  const texts = values.filter((value) => typeof value === 'string')
  return texts.some((text) => escaped.test(text)) && !texts.some((text) => unsafe.test(text))
}

const decodedVariables = (variables: Json): Json => {
  if (!isEncoded(Object.values(variables))) return variables
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      typeof value === 'string' ? loosePercentDecoded(value) : value,
    ]),
  )
}

const parsed = (text: string) => {
  try {
    return parseWithRawQuotes(text)
  } catch {
    throw new UnreadableBody('the body is not valid JSON')
  }
}

export interface PostedLeg {
  leg: Json
  /** Whether the text was not valid JSON or UTF-8. */
  isRepaired: boolean
}

export const readPostedLeg = (bytes: Buffer): PostedLeg => {
  const text = documentIn(bytes)
  const { value, isRepaired } = parsed(text)
  if (!isObject(value) || !isObject(value.variables))
    throw new UnreadableBody('there are no variables in the body')
  const leg = { ...value, variables: decodedVariables(value.variables) }
  return { leg, isRepaired: isRepaired || !text.isWellFormed() }
}
