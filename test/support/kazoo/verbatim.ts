// JSON whose numbers keep their signs: 5.0 stays 5.0. What CouchDB does and a JavaScript server would not.
import { isObject, type Json } from '../../../src/lib/json.ts'

interface Verbatim {
  parse(text: string, revive: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
  rawJSON(text: string): unknown
}

const json = JSON as unknown as Verbatim

/** Parsed, with numbers that are written again as they were. */
export const verbatim = (text: string): unknown =>
  json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? json.rawJSON(source) : value,
  )

export const verbatimObject = (text: string): Json => {
  const value = verbatim(text)
  if (!isObject(value)) throw new Error('it is no object')
  return value
}
