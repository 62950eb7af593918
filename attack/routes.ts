// The routes of openapi.json.
import { readFileSync } from 'node:fs'

export interface Schema {
  $ref?: string
  type?: string | readonly string[]
  enum?: readonly unknown[]
  const?: unknown
  anyOf?: readonly Schema[]
  allOf?: readonly Schema[]
  items?: Schema
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  additionalProperties?: Schema | boolean
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  pattern?: string
  format?: string
}

export interface Operation {
  method: string
  /** With its variables in braces. */
  path: string
  /** Who may call, in the words of the document. */
  policy: string
  variables: readonly string[]
  query: readonly string[]
  isList: boolean
  /** Of `data`; undefined when the route takes no JSON. */
  body: Schema | undefined
  /** Body types other than JSON. */
  uploads: readonly string[]
  /** Statuses of 500 and more that the document names. */
  faults: ReadonlySet<number>
}

interface Parameter {
  $ref?: string
  in?: string
  name?: string
}

interface Described {
  description: string
  parameters?: readonly Parameter[]
  requestBody?: { content: Readonly<Record<string, { schema: Schema }>> }
  responses: Readonly<Record<string, unknown>>
}

interface Document {
  paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  components: {
    schemas: Readonly<Record<string, Schema>>
    parameters: Readonly<Record<string, Parameter>>
  }
}

export interface Routes {
  operations: readonly Operation[]
  resolve(schema: Schema): Schema
}

const lastPart = (reference: string) => reference.slice(reference.lastIndexOf('/') + 1)

const operationOf = (document: Document, method: string, path: string, described: Described): Operation => {
  const parameters = (described.parameters ?? []).map((parameter) =>
    parameter.$ref ? document.components.parameters[lastPart(parameter.$ref)] : parameter,
  )
  const query = parameters.flatMap((parameter) =>
    parameter?.in === 'query' && parameter.name !== 'filters' ? (parameter.name ?? []) : [],
  )
  const content = described.requestBody?.content ?? {}
  return {
    method: method.toUpperCase(),
    path,
    policy: /Who may call: (.*)\./.exec(described.description)?.[1] ?? 'unknown',
    variables: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string),
    query,
    isList: query.includes('paginate'),
    body: content['application/json']?.schema.properties?.data,
    uploads: Object.keys(content).filter((type) => type !== 'application/json'),
    faults: new Set(
      Object.keys(described.responses)
        .map(Number)
        .filter((status) => status >= 500),
    ),
  }
}

export const readRoutes = (): Routes => {
  const file = new URL('../openapi.json', import.meta.url)
  const document: Document = JSON.parse(readFileSync(file, 'utf8'))
  const resolve = (schema: Schema): Schema =>
    schema.$ref ? resolve(document.components.schemas[lastPart(schema.$ref)] ?? {}) : schema
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => operationOf(document, method, path, described)),
  )
  return { operations, resolve }
}
