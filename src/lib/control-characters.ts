import { isObject, maxDepth } from './json.ts'

/** C0 and C1 control characters, and line and paragraph separators: for a character class of a regular expression. */
const characters = '\\u0001-\\u001f\\u007f-\\u009f\\u2028\\u2029'

/** What a text of one line matches. NUL is refused in every text. */
export const singleLinePattern = `^[^${characters}]*$`

const runs = new RegExp(`[\\u0000${characters}]+`, 'g')

const cleaned = (value: unknown): unknown => {
  if (typeof value === 'string') return value.replace(runs, ' ')
  if (Array.isArray(value)) return value.map(cleaned)
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cleaned(inner)]))
    : value
}

/** The same JSON value with a space instead of the control characters of each text. Keys stay as they are. */
export const withoutControlCharacters = <Value>(value: Value): Value => cleaned(value) as Value

const replacementCharacter = '\ufffd'
const unstorable = /\0|\p{Surrogate}/gu

const storableText = (text: string) =>
  text.isWellFormed() && !text.includes('\0') ? text : text.replace(unstorable, replacementCharacter)

const storableAt = (value: unknown, depth: number): unknown => {
  if (typeof value === 'string') return storableText(value)
  if (typeof value !== 'object' || value === null || depth > maxDepth) return value
  if (Array.isArray(value)) {
    const items = value.map((item) => storableAt(item, depth + 1))
    return items.every((item, at) => item === value[at]) ? value : items
  }
  const entries = Object.entries(value)
  const kept = entries.map(([key, inner]) => [storableText(key), storableAt(inner, depth + 1)] as const)
  const isSame = entries.every(([key, inner], at) => kept[at]?.[0] === key && kept[at]?.[1] === inner)
  return isSame ? value : Object.fromEntries(kept)
}

/**
 * The JSON value with U+FFFD instead of each NUL and unpaired surrogate in its texts and keys, which no store keeps. Returns
 * the same value if it contains none. Values below `maxDepth` stay as they are.
 */
export const storable = <Value>(value: Value): Value => storableAt(value, 0) as Value
