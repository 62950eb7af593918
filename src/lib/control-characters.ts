import { isObject, maxDepth } from './json.ts'

/** C0 and C1 controls, line and paragraph separators: the content of a character class. */
const characters = '\\u0001-\\u001f\\u007f-\\u009f\\u2028\\u2029'

/** NUL is rejected in every text. */
export const singleLinePattern = `^[^${characters}]*$`

const runs = new RegExp(`[\\u0000${characters}]+`, 'g')

const cleaned = (value: unknown): unknown => {
  if (typeof value === 'string') return value.replace(runs, ' ')
  if (Array.isArray(value)) return value.map(cleaned)
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cleaned(inner)]))
    : value
}

/** Texts with spaces instead of control characters; keys are unchanged. */
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

/** Replaces NUL and unpaired surrogates by U+FFFD in texts and keys. Returns the same value if there are none. */
export const storable = <Value>(value: Value): Value => storableAt(value, 0) as Value
