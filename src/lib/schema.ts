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

// One schema gives validation, defaults, types and OpenAPI. Fields are optional unless marked with `must`.

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

/** Keeps unknown fields. */
export const open = <const F extends Fields>(fields: F, notes?: TObjectOptions): TObject<PropertiesOf<F>> =>
  Type.Object(propertiesOf(fields), notes)

/** Rejects unknown fields. */
export const closed = <const F extends Fields>(fields: F, notes?: TObjectOptions): TObject<PropertiesOf<F>> =>
  open(fields, { ...notes, additionalProperties: false })

/** Keys are data. */
export const keyed = <S extends TSchema>(values: S, notes?: TSchemaOptions) =>
  Type.Unsafe<Record<string, Static<S>>>({ type: 'object', ...notes, additionalProperties: values })

/** Other keys are rejected. */
export const keyedBy = <S extends TSchema>(pattern: string, values: S, notes?: TSchemaOptions) =>
  Type.Unsafe<Record<string, Static<S>>>({
    type: 'object',
    ...notes,
    patternProperties: { [pattern]: values },
    additionalProperties: false,
  })

const multilineKey = 'x-multiline'

/** Allows line breaks and control characters in a text, or in all texts of an object. Others may become part of a SIP message, a header or a log. */
export const multiline = { [multilineKey]: true } as const

export const isMultiline = (schema: object) => multilineKey in schema

const patternMessageKey = 'x-pattern-message'

/** The message if `pattern` does not match. */
export const patternMessage = (message: string) => ({ [patternMessageKey]: message })

export const patternMessageOf = (schema: unknown) => memberOf(schema, patternMessageKey)

const formerKey = 'x-former'

/** Maps values of older Kazoo versions to current ones. */
export const former = (values: Readonly<Record<string, unknown>>) => ({ [formerKey]: values })

/** Further fields are the client's own: no warning. */
export const ownFields = { 'x-own-fields': true } as const

export const anyObject = (notes?: TSchemaOptions) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', ...notes })

export const anyText = (notes?: TStringOptions): TString => Type.String(notes)

export const text = (min: number, max: number, notes?: TStringOptions): TString =>
  Type.String({ ...(min > 0 && { minLength: min }), maxLength: max, ...notes })

/** 32 lower-case hex characters. */
export const id = (notes?: TStringOptions) => text(32, 32, { pattern: '^[0-9a-f]*$', ...notes })

/** Other texts are reported as `enum`. */
export const timezone = (notes?: TStringOptions) => anyText({ format: 'timezone', ...notes })

export const flag = (notes?: TSchemaOptions): TBoolean => Type.Boolean(notes)
export const integer = (notes?: TNumberOptions): TInteger => Type.Integer(notes)
export const number = (notes?: TNumberOptions): TNumber => Type.Number(notes)

export const gregorian = (description: string) =>
  integer({ description: `${description} (Gregorian seconds)` })

/** A union of literals would be reported as `anyOf`. */
export const choice = <const T extends readonly string[]>(values: T, notes?: TSchemaOptions) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: values, ...notes })

const anyCaseKey = 'x-any-case'

/** Other case is accepted and stored in capitals. */
export const anyCase = { [anyCaseKey]: true } as const

/** The current name of a value. */
export const currentValue = (schema: { [keyword: string]: unknown }, name: string): unknown => {
  const former = memberOf(schema, formerKey, name)
  if (former !== undefined || !schema[anyCaseKey] || !Array.isArray(schema.enum)) return former
  return schema.enum.find((value) => value === name.toUpperCase())
}

export const list = <S extends TSchema>(items: S, notes?: TArrayOptions): TArray<S> =>
  Type.Array(items, notes)

/** Only for texts and numbers: comparing objects takes quadratic time. */
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

/** Reported as one `type` rule. */
export const typed = <const T extends readonly (keyof JsonTypes)[]>(types: T, notes?: TSchemaOptions) =>
  Type.Unsafe<JsonTypes[T[number]]>({ type: types, ...notes })

export const either = <const S extends TSchema[]>(alternatives: [...S], notes?: TSchemaOptions) =>
  Type.Union(alternatives, notes)
