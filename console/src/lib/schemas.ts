import { getSchema } from '@crosspoint/client'
import { useQueries } from '@tanstack/react-query'
import { useAnswer } from './answers.ts'
import { api } from './api.ts'
import { isObject, type JsonObject } from './json.ts'

/** The part of a JSON Schema that forms use. */
export interface Schema {
  type?: string
  title?: string
  description?: string
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  items?: Schema
  /** The schema of values of an object with free keys. */
  additionalProperties?: Schema | boolean
  /** The schemas of values by the form of their keys. */
  patternProperties?: Readonly<Record<string, Schema>>
  enum?: readonly (string | number)[]
  default?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  format?: string
  readOnly?: boolean
  writeOnly?: boolean
  /** What a number counts, unless its name ends with it. */
  'x-unit'?: string
  /** Set on passwords and keys. `masked`: no response shows the value. */
  'x-secret'?: string
}

const isSchema = (value: unknown): value is Schema => isObject(value)

const readSchema = (name: string, signal: AbortSignal): Promise<{ data?: unknown }> =>
  getSchema({ ...api, path: { schema_name: name }, signal })

/** Several schemas, by their names, as far as they are read. */
export const useSchemas = (names: readonly string[], enabled: boolean) => {
  const found = useQueries({
    queries: names.map((name) => ({
      queryKey: ['schema', name],
      queryFn: ({ signal }: { signal: AbortSignal }) => readSchema(name, signal),
      enabled,
    })),
  })
  return new Map(
    names.flatMap((name, at): [string, Schema][] => {
      const data = found[at]?.data?.data
      return isSchema(data) ? [[name, data]] : []
    }),
  )
}

/** A schema that the server publishes, by its name: `devices`, `users`. */
export const useSchema = (name: string) => {
  const found = useAnswer(['schema', name], (signal) => readSchema(name, signal))
  const data = found.data?.data
  return { schema: isSchema(data) ? data : undefined, error: found.error }
}

/** The part of a schema that a dotted path leads to: `gateways.0.server`, say. */
export const schemaAt = (schema: Schema, path: string): Schema | undefined =>
  path
    .split('.')
    .reduce<Schema | undefined>(
      (part, key) =>
        part?.properties?.[key] ?? part?.items ?? Object.values(part?.patternProperties ?? {})[0],
      schema,
    )

/** The schema of values of an object with free keys. */
export const valuesIn = ({ additionalProperties: values, patternProperties = {} }: Schema): Schema =>
  isSchema(values) ? values : (Object.values(patternProperties)[0] ?? {})

export const isRequired = (schema: Schema, path: string) => {
  const keys = path.split('.')
  const last = keys.pop() ?? ''
  const holder = keys.length === 0 ? schema : schemaAt(schema, keys.join('.'))
  // A field with a default may be left empty.
  return holder?.required?.includes(last) === true && holder.properties?.[last]?.default === undefined
}

const isScalar = ({ type }: Schema) =>
  type === 'string' || type === 'integer' || type === 'number' || type === 'boolean'

export const isListOfText = ({ type, items }: Schema) => type === 'array' && items?.type === 'string'

/** Whether a form field can show it: no JSON is needed. */
export const isPlain = (part: Schema) => isScalar(part) || isListOfText(part)

/** A record in which what is the default of its schema is not there. Lists stay: they are edited as a whole. */
export const withoutDefaults = (record: JsonObject, { properties = {} }: Schema): JsonObject =>
  Object.fromEntries(
    Object.entries(record).flatMap(([key, value]) => {
      const part = properties[key] ?? {}
      if (isScalar(part) && value === part.default) return []
      return [[key, isObject(value) && part.properties ? withoutDefaults(value, part) : value]]
    }),
  )

/** What a new record begins with: the defaults of the fields that a form has. */
export const defaultsOf = (schema: Schema): JsonObject =>
  Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([key, part]) =>
      part.default === undefined ? [] : [[key, structuredClone(part.default) as JsonObject]],
    ),
  )
