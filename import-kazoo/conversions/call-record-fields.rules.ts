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

/** May return `absent` or `unfit`. */
export type Fit = (value: unknown, changed: (change: Change) => void) => unknown

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

const oneLine = (text: string, changed: (change: Change) => void) => {
  const line = withoutControlCharacters(text)
  if (line !== text) changed('one line')
  return line
}

const textFit = (schema: FieldSchema): Fit => {
  const { enum: allowed, minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema
  const pattern = schema.pattern === undefined ? undefined : new RegExp(schema.pattern, 'u')
  const isUnchanged = allowed !== undefined || isMultiline(schema)
  return (value, changed) => {
    if (typeof value === 'object') return unfit
    const text = isUnchanged ? String(value) : oneLine(String(value), changed)
    if (allowed) return allowed.includes(text) ? text : text === '' ? absent : unfit
    // The schema counts characters; a text has at least as many code units.
    const length = minLength === 0 && text.length <= maxLength ? 0 : [...text].length
    return length >= minLength && length <= maxLength && (pattern?.test(text) ?? true) ? text : unfit
  }
}

const numberFit =
  ({ type, minimum, maximum = Number.MAX_SAFE_INTEGER }: FieldSchema): Fit =>
  (value, changed) => {
    const written = typeof value === 'string' ? value.trim() : undefined
    if (written === '') return absent
    const given = written !== undefined && numeric.test(written) ? Number(written) : value
    if (typeof given !== 'number' || !Number.isFinite(given)) return unfit
    let number = given
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
  const fitFor = fitsOf(schema, depth + 1)
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

const isOfType = (value: unknown, type: string) => {
  if (type === 'array') return Array.isArray(value)
  return type === 'integer' ? Number.isInteger(value) : typeof value === type
}

const unionFit = (types: readonly string[], depth: number): Fit => {
  const others = anyFit(depth)
  return (value, changed) => {
    if (typeof value === 'string' && types.includes('string')) return oneLine(value, changed)
    return types.some((type) => isOfType(value, type)) ? others(value, changed) : unfit
  }
}

const fitOf = (schema: FieldSchema, depth: number): Fit => {
  const { type } = schema
  if (Array.isArray(type)) return unionFit(type, depth)
  if (type === 'string') return textFit(schema)
  if (type === 'integer' || type === 'number') return numberFit(schema)
  if (type === 'boolean') return flagFit
  if (type === 'object') return objectFit(schema, depth)
  throw new Error(`no sample value for the type ${type}`)
}

/** Fields that an open schema does not name are kept; undefined: the schema has no such field. */
const fitsOf = ({ properties, patternProperties, additionalProperties }: FieldSchema, depth: number) => {
  const known = new Map(Object.entries(properties ?? {}).map(([key, inner]) => [key, fitOf(inner, depth)]))
  const patterns = Object.entries(patternProperties ?? {}).map(
    ([pattern, inner]) => [new RegExp(pattern, 'u'), fitOf(inner, depth)] as const,
  )
  const others = additionalProperties === false ? undefined : anyFit(depth)
  return (key: string): Fit | undefined =>
    known.get(key) ?? patterns.find(([pattern]) => pattern.test(key))?.[1] ?? others
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

const fieldFit = fitsOf(Cdr as FieldSchema, 1)
const anyVariableFit = fitsOf(variables, 2)

/** Undefined: the field is not read. */
export const recordFit = (key: string) => (isKept(key) && !apart.has(key) ? fieldFit(key) : undefined)
export const variableFit = (key: string) =>
  isKept(key) && key !== 'account_id' ? anyVariableFit(key) : undefined

export const namedVariables: ReadonlySet<string> = new Set(Object.keys(variables.properties ?? {}))

// JSON has these only escaped.
const unstorableText = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i

/** Makes call ids and texts storable. The document's text shows whether that is needed. */
export const storableFields = (text: string, fields: Json): Json => {
  const sound = withStoredCallIds(fields)
  const isStorable = text.isWellFormed() && !(text.includes('\\u') && unstorableText.test(text))
  return isStorable ? sound : storable(sound)
}
