import type { TSchema } from 'typebox'
import { isKept, withStoredCallIds } from '../../src/areas/calls/cdrs/intake/rules.ts'
import { Cdr } from '../../src/areas/calls/cdrs/schema.ts'
import { storable, withoutControlCharacters } from '../../src/lib/control-characters.ts'
import { isObject, type Json, maxDepth } from '../../src/lib/json.ts'
import { dropNulls } from '../../src/lib/json-merge.ts'
import { isMultiline } from '../../src/lib/schema.ts'

// Fits values of old documents to the schema of call records. The general validation would be too slow for
// millions of records.

export const absent = Symbol('absent')
/** The value does not fit the field. */
export const unfit = Symbol('unfit')

export type Change = 'negative' | 'rounded' | 'one line'

type Taken = unknown | typeof absent | typeof unfit

export type Fit = (value: unknown, changed: (change: Change) => void) => Taken

interface FieldSchema extends TSchema {
  type?: string | string[]
  enum?: readonly unknown[]
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  additionalProperties?: unknown
  properties?: Record<string, FieldSchema>
  patternProperties?: Record<string, FieldSchema>
}

const numeric = /^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i

const lengthOf = (text: string) => [...text].length

/** The schema counts characters; a text has at least as many code units. */
const isWithin = (text: string, { minLength = 0, maxLength = Number.POSITIVE_INFINITY }: FieldSchema) =>
  (text.length <= maxLength || lengthOf(text) <= maxLength) &&
  (minLength === 0 || lengthOf(text) >= minLength)

const oneLine = (text: string, changed: (change: Change) => void) => {
  const line = withoutControlCharacters(text)
  if (line !== text) changed('one line')
  return line
}

const anyTextFit: Fit = (value, changed) => {
  if (typeof value === 'string') return oneLine(value, changed)
  return typeof value === 'object' ? unfit : String(value)
}

const textFit = (schema: FieldSchema): Fit => {
  const { enum: anyOf, minLength, maxLength } = schema
  const isAnyText = [anyOf, schema.pattern, minLength, maxLength].every((rule) => rule === undefined)
  if (isAnyText && !isMultiline(schema)) return anyTextFit
  const pattern = schema.pattern === undefined ? undefined : new RegExp(schema.pattern, 'u')
  const allowed = schema.enum && new Set(schema.enum)
  return (value, changed) => {
    if (typeof value === 'object') return unfit
    const sent = typeof value === 'string' ? value : String(value)
    const text = isMultiline(schema) || allowed ? sent : oneLine(sent, changed)
    if (allowed) return allowed.has(text) ? text : text === '' ? absent : unfit
    if (!isWithin(text, schema) || (pattern && !pattern.test(text))) return unfit
    return text
  }
}

const numberIn = (value: unknown) => {
  if (typeof value === 'number') return value
  if (typeof value !== 'string') return Number.NaN
  const text = value.trim()
  return numeric.test(text) ? Number(text) : Number.NaN
}

const numberFit =
  ({ type, minimum, maximum = Number.MAX_SAFE_INTEGER }: FieldSchema): Fit =>
  (value, changed) => {
    if (typeof value === 'string' && value.trim() === '') return absent
    let number = numberIn(value)
    if (!Number.isFinite(number)) return unfit
    if (type === 'integer' && !Number.isInteger(number)) {
      number = Math.floor(number)
      changed('rounded')
    }
    if (minimum === 0 && number < 0) {
      number = 0
      changed('negative')
    }
    return number <= maximum && (type !== 'integer' || Number.isSafeInteger(number)) ? number : unfit
  }

const flagFit: Fit = (value) => {
  if (value === true || value === 'true') return true
  if (value === false || value === 'false') return false
  return value === '' ? absent : unfit
}

/** Whether JSON stores the value at this depth of a record. */
const isStored = (value: unknown, depth: number): boolean => {
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  return depth < maxDepth && Object.values(value).every((inner) => isStored(inner, depth + 1))
}

const anyFit =
  (depth: number): Fit =>
  (value) =>
    isStored(value, depth) ? dropNulls(value) : unfit

const objectFit = (schema: FieldSchema, depth: number): Fit => {
  const known = fitsOf(schema, depth + 1)
  const patterns = Object.entries(schema.patternProperties ?? {}).map(
    ([pattern, inner]) => [new RegExp(pattern, 'u'), fitOf(inner, depth + 1)] as const,
  )
  const isClosed = schema.additionalProperties === false
  const others = anyFit(depth + 1)
  const fitFor = (key: string) =>
    known.get(key) ?? patterns.find(([pattern]) => pattern.test(key))?.[1] ?? (isClosed ? undefined : others)
  return (value, changed) => {
    if (!isObject(value)) return value === '' ? absent : unfit
    const taken: Json = {}
    for (const key of Object.keys(value)) {
      if (value[key] === null || key === '__proto__') continue
      const one = fitFor(key)?.(value[key], changed) ?? unfit
      if (one === unfit) return unfit
      if (one !== absent) taken[key] = one
    }
    return taken
  }
}

const isOneOf = (value: unknown, types: readonly string[]) =>
  types.some((type) => {
    if (type === 'array') return Array.isArray(value)
    return type === 'integer' ? Number.isInteger(value) : typeof value === type
  })

const fitOf = (schema: FieldSchema, depth: number): Fit => {
  const { type } = schema
  if (Array.isArray(type)) {
    const held = anyFit(depth)
    return (value, changed) => {
      if (typeof value === 'string' && type.includes('string')) return oneLine(value, changed)
      return isOneOf(value, type) ? held(value, changed) : unfit
    }
  }
  if (type === 'string') return textFit(schema)
  if (type === 'integer' || type === 'number') return numberFit(schema)
  if (type === 'boolean') return flagFit
  if (type === 'object') return objectFit(schema, depth)
  throw new Error(`no value is made to fit the type ${type}`)
}

const fitsOf = ({ properties = {} }: FieldSchema, depth: number): ReadonlyMap<string, Fit> =>
  new Map(Object.entries(properties).map(([key, schema]) => [key, fitOf(schema, depth)]))

/** Fields that the schema does not name are kept; undefined: the field is not read. */
const createFits = (schema: FieldSchema, depth: number, isTaken: (key: string) => boolean) => {
  const known = fitsOf(schema, depth)
  const others = anyFit(depth)
  return (key: string): Fit | undefined => (isTaken(key) ? (known.get(key) ?? others) : undefined)
}

const variables = Cdr.properties.custom_channel_vars as FieldSchema

// These are handled separately.
const apart: ReadonlySet<string> = new Set([
  'id',
  'call_id',
  'custom_channel_vars',
  'interaction_id',
  'interaction_time',
  'interaction_key',
])

export const recordFit = createFits(Cdr as FieldSchema, 1, (key) => isKept(key) && !apart.has(key))
export const variableFit = createFits(variables, 2, (key) => isKept(key) && key !== 'account_id')

export const namedVariables: ReadonlySet<string> = new Set(Object.keys(variables.properties ?? {}))

// JSON has these only escaped.
const unstorableText = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i

/** Makes call ids and texts storable. The document's text shows whether that is needed. */
export const storableFields = (text: string, fields: Json): Json => {
  const sound = withStoredCallIds(fields)
  const isStorable = text.isWellFormed() && !(text.includes('\\u') && unstorableText.test(text))
  return isStorable ? sound : storable(sound)
}
