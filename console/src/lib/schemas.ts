import { getSchema } from '@crosspoint/client'
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
  enum?: readonly (string | number)[]
  default?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  format?: string
  readOnly?: boolean
  writeOnly?: boolean
}

const isSchema = (value: unknown): value is Schema => isObject(value)

/** A schema that the server publishes, by its name: `devices`, `users`. */
export const useSchema = (name: string) => {
  const found = useAnswer<{ data?: unknown }>(['schema', name], (signal) =>
    getSchema({ ...api, path: { schema_name: name }, signal }),
  )
  const data = found.data?.data
  return { schema: isSchema(data) ? data : undefined, error: found.error }
}

/** The part of a schema that a dotted path leads to. */
export const schemaAt = (schema: Schema, path: string): Schema | undefined =>
  path.split('.').reduce<Schema | undefined>((part, key) => part?.properties?.[key], schema)

/** The schema of values of an object with free keys. */
export const valuesIn = ({ additionalProperties: values }: Schema): Schema => (isSchema(values) ? values : {})

export const isRequired = (schema: Schema, path: string) => {
  const keys = path.split('.')
  const last = keys.pop() ?? ''
  const holder = keys.length === 0 ? schema : schemaAt(schema, keys.join('.'))
  return holder?.required?.includes(last) === true
}

/** What a new record begins with: the defaults of the fields that a form has. */
export const defaultsOf = (schema: Schema): JsonObject =>
  Object.fromEntries(
    Object.entries(schema.properties ?? {}).flatMap(([key, part]) =>
      part.default === undefined ? [] : [[key, structuredClone(part.default) as JsonObject]],
    ),
  )
