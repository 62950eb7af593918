import { messageOf } from '../../lib/error-facts.ts'
import { endOfString } from '../../lib/json-values.ts'

export class JsonRefusal extends Error {}

// Deeper than any record; keeps recursive walks within the stack.
const maxDepth = 64

const tooDeep = () => new JsonRefusal(`nested deeper than ${maxDepth} levels`)

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * Counts colons outside of strings, which are the keys of valid JSON. Rejects too many values, or too deep ones, before parsing.
 */
const keysWritten = (text: string, mostValues: number) => {
  let keys = 0
  let values = 1
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === colon) keys += 1
    else if (code === comma) values += 1
    else if (code === openBracket || code === openBrace) {
      values += 1
      depth += 1
      // An empty container may be one level deeper: parsing shows that.
      if (depth > maxDepth + 1) throw tooDeep()
    } else if (code === closeBracket || code === closeBrace) depth -= 1
    if (values > mostValues) throw new JsonRefusal(`contains more than ${mostValues} values`)
  }
  return keys
}

/** The number of keys. Rejects keys that cannot be stored and integers that are not exact. */
const keysParsed = (value: unknown, depth = 0): number => {
  if (depth > maxDepth) throw tooDeep()
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new JsonRefusal(`contains an integer beyond ${Number.MAX_SAFE_INTEGER}: send it as a string`)
  if (value === null || typeof value !== 'object') return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const inner of value) count += keysParsed(inner, depth + 1)
    return count
  }
  if (Object.hasOwn(value, '__proto__'))
    throw new JsonRefusal('an object has the key __proto__, which cannot be stored: remove it')
  for (const inner of Object.values(value)) count += 1 + keysParsed(inner, depth + 1)
  return count
}

/** Rejects duplicate keys. A parser keeps one of each, so fewer keys parsed than written means a duplicate. */
export const parseJson = (text: string, mostValues: number): unknown => {
  const written = keysWritten(text, mostValues)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new JsonRefusal(messageOf(error).slice(0, 200))
  }
  if (keysParsed(value) !== written) throw new JsonRefusal('an object contains a key twice')
  return value
}
