import {
  type Static,
  type TArray,
  type TArrayOptions,
  type TBoolean,
  type TInteger,
  type TNumber,
  type TNumberOptions,
  type TObject,
  type TObjectOptions,
  type TOptional,
  type TProperties,
  type TSchema,
  type TSchemaOptions,
  type TString,
  type TStringOptions,
  type TUnsafe,
  Type,
} from 'typebox'
import { memberOf } from './member.ts'

// One shape gives validation, defaults, the type, error keys and OpenAPI. Fields are optional unless marked
// with `must`, because in this API nearly all of them are.

/** Marks a field that has to be there. */
interface Must<S extends TSchema = TSchema> {
  readonly must: S
}

export const must = <S extends TSchema>(schema: S): Must<S> => ({ must: schema })

export type Fields = Record<string, TSchema | Must>

type PropertiesOf<F extends Fields> = {
  [K in keyof F]: F[K] extends Must<infer S> ? S : F[K] extends TSchema ? TOptional<F[K]> : never
}

const isMust = (field: TSchema | Must): field is Must => 'must' in field

const propertiesOf = <F extends Fields>(fields: F) => {
  const properties: TProperties = {}
  for (const [key, field] of Object.entries(fields)) {
    properties[key] = isMust(field) ? field.must : Type.Optional(field)
  }
  return properties as PropertiesOf<F>
}

/** An object that keeps fields which the schema does not name. */
export const open = <const F extends Fields>(fields: F, notes?: TObjectOptions): TObject<PropertiesOf<F>> =>
  Type.Object(propertiesOf(fields), notes)

/** An object that refuses fields which the schema does not name. */
export const closed = <const F extends Fields>(fields: F, notes?: TObjectOptions): TObject<PropertiesOf<F>> =>
  open(fields, { ...notes, additionalProperties: false })

/** An object whose keys are data and whose values have all one shape. */
export const keyed = <S extends TSchema>(values: S, notes?: TSchemaOptions) =>
  Type.Unsafe<Record<string, Static<S>>>({ type: 'object', ...notes, additionalProperties: values })

/** The same, for keys of one form. Other keys are refused. */
export const keyedBy = <S extends TSchema>(pattern: string, values: S, notes?: TSchemaOptions) =>
  Type.Unsafe<Record<string, Static<S>>>({
    type: 'object',
    ...notes,
    patternProperties: { [pattern]: values },
    additionalProperties: false,
  })

const multilineKey = 'x-multiline'

/**
 * Marks a text that may have line breaks and other control characters, or an object whose texts all may. Every other
 * text of a request is one line: it may become part of a SIP message, a mail header, a file name or a log entry.
 */
export const multiline = { [multilineKey]: true } as const

export const isMultiline = (schema: object) => multilineKey in schema

const patternMessageKey = 'x-pattern-message'

/** What a client reads if a text does not match the `pattern` of this schema. */
export const patternMessage = (message: string) => ({ [patternMessageKey]: message })

export const patternMessageOf = (schema: unknown) => memberOf(schema, patternMessageKey)

const formerKey = 'x-former'

/** Values of older versions of Kazoo, and what they are called today. The server stores today's value. */
export const former = (values: Readonly<Record<string, unknown>>) => ({ [formerKey]: values })

/** Marks an object whose further fields are the client's own: they are stored and returned without a warning. */
export const ownFields = { 'x-own-fields': true } as const

/** Any object. */
export const anyObject = (notes?: TSchemaOptions) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', ...notes })

/** Text of any length. */
export const anyText = (notes?: TStringOptions): TString => Type.String(notes)

/** Text of `min` to `max` characters. */
export const text = (min: number, max: number, notes?: TStringOptions): TString =>
  Type.String({ ...(min > 0 && { minLength: min }), maxLength: max, ...notes })

/** The id of a record: 32 lower-case hex characters. */
export const id = (notes?: TStringOptions) => text(32, 32, { pattern: '^[0-9a-f]*$', ...notes })

/** A name of the time zone database; anything else is reported as `enum`. */
export const timezone = (notes?: TStringOptions) => anyText({ format: 'timezone', ...notes })

export const flag = (notes?: TSchemaOptions): TBoolean => Type.Boolean(notes)
export const integer = (notes?: TNumberOptions): TInteger => Type.Integer(notes)
export const number = (notes?: TNumberOptions): TNumber => Type.Number(notes)

/** A point in time in Gregorian seconds. */
export const gregorian = (description: string) =>
  integer({ description: `${description} (Gregorian seconds)` })

/** One of these texts. A union of literals would be reported as `anyOf` and `const` instead of `enum`. */
export const choice = <const T extends readonly string[]>(values: T, notes?: TSchemaOptions) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: values, ...notes })

const anyCaseKey = 'x-any-case'

/** Marks a `choice` of values in capitals that is also accepted in other case, and stored in capitals. */
export const anyCase = { [anyCaseKey]: true } as const

/** The value that a text names in another case, or by the name that it had in older versions of Kazoo. */
export const currentValue = (schema: { [keyword: string]: unknown }, name: string): unknown => {
  const former = memberOf(schema, formerKey, name)
  if (former !== undefined || !schema[anyCaseKey] || !Array.isArray(schema.enum)) return former
  return schema.enum.find((value) => value === name.toUpperCase())
}

export const list = <S extends TSchema>(items: S, notes?: TArrayOptions): TArray<S> =>
  Type.Array(items, notes)

/** A list without repetitions. Its items must be plain texts or numbers: comparing objects takes quadratic time. */
export const uniqueList = <S extends TString | TNumber | TInteger | TUnsafe<string>>(
  items: S,
  notes?: TArrayOptions,
): TArray<S> => Type.Array(items, { uniqueItems: true, ...notes })

interface JsonTypes {
  string: string
  integer: number
  number: number
  boolean: boolean
  object: Record<string, unknown>
  array: unknown[]
}

/** A value of one of several JSON types, reported as one `type` rule. */
export const typed = <const T extends readonly (keyof JsonTypes)[]>(types: T, notes?: TSchemaOptions) =>
  Type.Unsafe<JsonTypes[T[number]]>({ type: types, ...notes })

/** A value that satisfies at least one of these. */
export const either = <const S extends TSchema[]>(alternatives: [...S], notes?: TSchemaOptions) =>
  Type.Union(alternatives, notes)
