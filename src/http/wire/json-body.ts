import { messageOf } from '../../lib/error-facts.ts'

/** Why a text is not taken as JSON. */
export class JsonRefusal extends Error {}

// Deeper than any record of this API; it keeps recursive walks over a body off the end of the stack.
const maxDepth = 64

/** How many colons stand outside of strings: in valid JSON, the number of keys written. */
const keysWritten = (text: string) => {
  let count = 0
  let inString = false
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === 92) at += 1
      else if (code === 34) inString = false
    } else if (code === 34) inString = true
    else if (code === 58) count += 1
  }
  return count
}

const keysParsed = (root: unknown) => {
  let count = 0
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) throw new JsonRefusal(`nested deeper than ${maxDepth} levels`)
    const below: unknown[] = []
    for (const value of level) {
      if (value === null || typeof value !== 'object') continue
      if (!Array.isArray(value)) count += Object.keys(value).length
      for (const inner of Array.isArray(value) ? value : Object.values(value)) below.push(inner)
    }
    level = below
  }
  return count
}

/**
 * Parses JSON strictly: a key given twice is refused, because which one counts would be anybody's guess.
 * A parser keeps one of each; so fewer keys parsed than written means a duplicate.
 */
export const parseJson = (text: string): unknown => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new JsonRefusal(messageOf(error).slice(0, 200))
  }
  if (keysParsed(value) !== keysWritten(text)) throw new JsonRefusal('an object key is given twice')
  return value
}
