// Which field of a Kazoo document is which field of a record: one table for both directions.
import { isObject, type Json, present } from '../../src/lib/json.ts'
import { integerIn, textIn } from '../documents/fields.ts'
import type { Notes } from './findings.ts'

/** A value that documents of a Kazoo and records have in common. */
interface Field {
  /** Its key in the record. */
  here: string
  /** Its keys in the document: an export writes the first, an import reads the first that has a value. */
  there: readonly string[]
  /** The value for the record; undefined: the document has none. */
  read(fields: Json, key: string, notes: Notes): unknown
  /** The value for the document. */
  write(value: unknown): unknown
}

/** Makes fields of one kind; without a key of the document both have the same. */
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

/** What a document has of these fields, by their keys in the record. */
export const readFields = (table: readonly Field[], fields: Json, notes: Notes): Json => {
  const values: Json = {}
  for (const { here, there, read } of table)
    for (const key of there) {
      const value = read(fields, key, notes)
      if (value === undefined) continue
      values[here] = value
      break
    }
  return values
}

/** What a record has of these fields, by their keys in the document. */
export const writeFields = (table: readonly Field[], record: Json): Json =>
  present(Object.fromEntries(table.map(({ here, there: [key = here], write }) => [key, write(record[here])])))
