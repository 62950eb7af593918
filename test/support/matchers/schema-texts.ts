import { isObject, type Json } from '../../../src/lib/json.ts'

/** A value in a schema: its path, the schema there, and a function that makes a document with a value there. */
export interface Place {
  path: string
  schema: Json
  isMultiline: boolean
  around(value: unknown): unknown
}

const sampleKeys = [
  'a',
  '1',
  '+14155550100',
  '0'.repeat(32),
  'numbers',
  'X-Y',
  'US',
  'en-US',
  'devices:read',
  '{{domain}}',
]

const keyFor = (pattern: string) => {
  const key = sampleKeys.find((one) => new RegExp(pattern, 'u').test(one))
  if (key === undefined) throw new Error(`no sample key matches ${pattern}`)
  return key
}

const within = (schema: unknown, key: string, wrap: (value: unknown) => unknown, isFree: boolean): Place[] =>
  placesIn(schema, isFree).map((place) => ({
    ...place,
    path: place.path === '' ? key : `${key}.${place.path}`,
    around: (value) => wrap(place.around(value)),
  }))

/** Every value that a schema describes. */
export const placesIn = (schema: unknown, isFree = false): Place[] => {
  if (!isObject(schema)) return []
  const isMultiline = isFree || 'x-multiline' in schema
  const { properties, patternProperties, additionalProperties, items, anyOf } = schema
  return [
    { path: '', schema, isMultiline, around: (value: unknown) => value },
    ...Object.entries((properties ?? {}) as Json).flatMap(([key, inner]) =>
      within(inner, key, (value) => ({ [key]: value }), isMultiline),
    ),
    ...Object.entries((patternProperties ?? {}) as Json).flatMap(([pattern, inner]) =>
      within(inner, keyFor(pattern), (value) => ({ [keyFor(pattern)]: value }), isMultiline),
    ),
    ...within(additionalProperties, 'a', (value) => ({ a: value }), isMultiline),
    ...within(items, '0', (value) => [value], isMultiline),
    ...((anyOf ?? []) as unknown[]).flatMap((inner) => placesIn(inner, isMultiline)),
  ]
}

/** Every text that a schema describes and does not enumerate. */
export const textsIn = (schema: unknown): Place[] =>
  placesIn(schema).filter(
    (place) => place.schema.enum === undefined && [place.schema.type].flat().includes('string'),
  )
