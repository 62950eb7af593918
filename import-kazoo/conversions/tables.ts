// Maps fields of Kazoo documents and records, in both directions.
import { isObject, isTrue, type Json, present } from '../../src/lib/json.ts'
import { integerIn, textIn } from '../documents/fields.ts'
import type { Notes } from './findings.ts'

interface Field {
  here: string
  /** An export writes the first key; an import reads the first that has a value. */
  there: readonly string[]
  /** Undefined: the document has no value, or none that can be converted. */
  read(fields: Json, key: string, notes: Notes): unknown
  write(value: unknown): unknown
}

/** Without `there` both keys are the same. */
export const fieldOf =
  (read: Field['read'], write: Field['write'] = (value) => value) =>
  (here: string, ...there: readonly string[]): Field => ({
    here,
    there: there.length > 0 ? there : [here],
    read,
    write,
  })

export const objectIn = (fields: Json, key: string) => (isObject(fields[key]) ? fields[key] : undefined)

export const text = fieldOf((fields, key) => textIn(fields, key))
export const integer = fieldOf((fields, key) => integerIn(fields, key))
export const object = fieldOf(objectIn)
export const flag = fieldOf((fields, key) => (fields[key] === undefined ? undefined : isTrue(fields[key])))

/** An invalid value is reported and not imported. */
export const checked = <T>(
  read: (fields: Json, key: string) => T | undefined,
  isValid: (value: T) => boolean,
  code: string,
) =>
  fieldOf((fields, key, { needsHand }) => {
    const value = read(fields, key)
    if (value === undefined || isValid(value)) return value
    needsHand(code, { field: key })
    return undefined
  })

export const readFields = (table: readonly Field[], fields: Json, notes: Notes): Json => {
  const values: Json = {}
  // Without iterators and lists in between: there are millions of rates.
  for (const { here, there, read } of table)
    for (const key of there) {
      const value = read(fields, key, notes)
      if (value === undefined) continue
      values[here] = value
      break
    }
  return values
}

export const writeFields = (table: readonly Field[], record: Json): Json =>
  present(Object.fromEntries(table.map(({ here, there: [key = here], write }) => [key, write(record[here])])))
