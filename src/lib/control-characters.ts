import { isObject } from './json.ts'

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
