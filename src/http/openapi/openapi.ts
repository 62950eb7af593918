import { readdirSync, readFileSync } from 'node:fs'
import type { TSchema } from 'typebox'
import type { FailureKind } from '../../lib/failure.ts'
import * as failures from '../../lib/failure.ts'
import { isObject, type Json } from '../../lib/json.ts'
import type { Route } from '../route.ts'
import { patchType } from '../transport/bodies.ts'
import { operationNames, tagOf, wordOf } from './operation-names.ts'

/** An executed request and its response. Binary bodies are in base64. */
export interface Example {
  request?: unknown
  requestType?: string
  answer?: unknown
  answerType?: string
  refusal?: number
}

const folder = new URL('examples/', import.meta.url)

/** By operation. Tests write the files, one for each tag. */
export const readExamples = (): Readonly<Record<string, Example>> =>
  Object.assign(
    {},
    ...readdirSync(folder).map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as object),
  )

// The OpenAPI 3.1 document, made from the routes.

const mapValues = (object: Json, change: (value: unknown, key: string) => unknown): Json =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]))

const pascal = (title: string) =>
  title
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

/** Names that JavaScript, the DOM or generated clients define, and their replacements. */
const replacedNames: Readonly<Record<string, string>> = {
  Audio: 'AudioCodecs',
  Event: 'FeedEvent',
  Notification: 'NotificationSettings',
  Options: 'TrunkServerOptions',
}

const isObjectSchema = (schema: Json) => isObject(schema.properties)

const worthSharing = 250

const surveyOf = (schemas: readonly TSchema[]) => {
  const counts = new Map<string, number>()
  const titles = new Set<string>()
  const count = (schema: unknown) => {
    if (Array.isArray(schema)) return schema.forEach(count)
    if (!isObject(schema)) return
    if (typeof schema.title === 'string') titles.add(pascal(schema.title))
    if (isObjectSchema(schema)) {
      const shape = JSON.stringify(schema)
      if (shape.length >= worthSharing) counts.set(shape, (counts.get(shape) ?? 0) + 1)
    }
    Object.values(schema).forEach(count)
  }
  schemas.forEach(count)
  return { counts, titles }
}

interface Position {
  holder: string
  key: string
}

/** Titled and repeated large schemas are stored once under `components`. */
const createComponents = (schemas: readonly TSchema[]) => {
  const { counts, titles } = surveyOf(schemas)
  const names = new Map<string, string>()
  const taken = new Map<string, Json>()

  const isTaken = (name: string) => taken.has(name) || name in envelopes

  /** The title, or the property; with the schema that contains it if another shape has the name. */
  const freshName = (title: unknown, { holder, key }: Position) => {
    const wishes =
      typeof title === 'string'
        ? [pascal(title)]
        : [key, `${holder} ${key}`].map(pascal).filter((name) => !titles.has(name))
    const name = wishes.map((wish) => replacedNames[wish] ?? wish).find((wish) => !isTaken(wish))
    if (name === undefined)
      throw new Error(`Two schemas are named ${wishes}. Give one of them another title.`)
    return name
  }

  const inline = (schema: unknown, at: Position): unknown => {
    if (Array.isArray(schema)) return schema.map((inner) => refer(inner, at))
    return isObject(schema) ? inlineObject(schema, at) : schema
  }

  const mayBeArray = ({ type }: Json) => type === 'array' || (Array.isArray(type) && type.includes('array'))

  /** An index signature of TypeScript covers all keys, so a shape of the other keys becomes a pattern. */
  const otherKeys = ({ properties, additionalProperties: others }: Json): Json => {
    if (!isObject(properties)) return {}
    if (others === undefined) return { additionalProperties: true }
    if (!isObject(others)) return {}
    const isOfOtherType = (property: unknown) => isObject(property) && property.type !== others.type
    if (!Object.values(properties).some(isOfOtherType)) return {}
    const keys = `^(?!(?:${Object.keys(properties).join('|')})$)`
    return { patternProperties: { [keys]: others }, additionalProperties: true }
  }

  // Generators need `additionalProperties` and `items` even if the schema allows anything.
  const inlineObject = (schema: Json, at: Position): Json => ({
    ...mapValues({ ...schema, ...otherKeys(schema) }, (inner, key) =>
      key === 'properties' && isObject(inner)
        ? mapValues(inner, (property, name) => refer(property, { ...at, key: name }))
        : refer(inner, at),
    ),
    ...(mayBeArray(schema) && schema.items === undefined ? { items: {} } : {}),
  })

  const refer = (schema: unknown, at: Position): unknown =>
    isObject(schema) ? referObject(schema, at) : inline(schema, at)

  const referObject = (schema: Json, at: Position): Json => {
    const { title } = schema
    if (!isObjectSchema(schema) && typeof title !== 'string') return inlineObject(schema, at)
    const shape = JSON.stringify(schema)
    if (typeof title !== 'string' && (counts.get(shape) ?? 0) < 2) return inlineObject(schema, at)
    const known = names.get(shape)
    const name = known ?? freshName(title, at)
    if (known === undefined) {
      names.set(shape, name)
      taken.set(name, {})
      taken.set(name, inlineObject(schema, { ...at, holder: name }))
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  return {
    /** A reference to the schema; an untitled shared one is named after `place`. */
    refer: (schema: TSchema, place: string) => referObject({ ...schema }, { holder: '', key: place }),
    all: () => Object.fromEntries([...taken].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

type Components = ReturnType<typeof createComponents>

const text = (description: string) => ({ type: 'string', description })

const envelopeFields = {
  metadata: {
    type: 'object',
    description: 'Read-only facts about the record',
    properties: {
      warnings: {
        type: 'array',
        description: 'Parts of the request without an effect: unread keys, and values without an effect',
        items: {
          type: 'object',
          properties: {
            path: text('Path of the key, with dots'),
            message: text('Reason why it has no effect'),
          },
        },
      },
    },
    additionalProperties: true,
  },
  request_id: text('The X-Request-ID of the request'),
  node: text('Server of the response'),
  timestamp: { type: 'string', format: 'date-time' },
  version: text('Version of the server; only with credentials'),
  auth_token: text('Token of the request, or the new one'),
  tokens: {
    type: 'object',
    description: 'Throttling tokens',
    properties: { consumed: { type: 'integer' }, remaining: { type: 'integer' } },
  },
}

const everEnveloped = ['status', 'data', 'metadata', 'request_id', 'node', 'timestamp']

const envelopes = {
  Success: {
    type: 'object',
    required: everEnveloped,
    properties: {
      status: { const: 'success' },
      data: { description: 'Result of the request' },
      ...envelopeFields,
      revision: text('Revision of the record; an md5 of lists'),
      message: text('Only of queued actions'),
      page_size: {
        type: 'integer',
        description: 'Records told, where they are counted: of pages and of tasks',
      },
    },
  },
  Page: {
    allOf: [{ $ref: '#/components/schemas/Success' }],
    properties: {
      start_key: text('Start of this page'),
      next_start_key: text('Start of the next page; absent on the last page'),
    },
  },
  Failure: {
    type: 'object',
    required: [...everEnveloped, 'error', 'message'],
    properties: {
      status: { const: 'error' },
      data: { type: ['object', 'array'], items: {}, description: 'Problem' },
      ...envelopeFields,
      error: text('The status'),
      message: text('The kind of failure'),
    },
  },
  PaymentFailure: {
    allOf: [{ $ref: '#/components/schemas/Failure' }],
    properties: {
      data: {
        anyOf: [
          {
            type: 'array',
            items: { type: 'object' },
            description: '`accept charges`: the resulting invoices',
          },
          {
            type: 'object',
            properties: {
              message: { type: 'string' },
              reason: { type: 'string', description: '`billing_issue`: why the account may not be charged' },
              missing: {
                type: 'number',
                description: '`not_enough_credit`: missing dollars in the balance of the account',
              },
            },
          },
        ],
      },
      quote_id: text(
        'With `accept charges`: identifies the prices in `data`. Repeat the request with `accept_charges` and this `quote_id`',
      ),
    },
  },
  ValidationFailure: {
    allOf: [{ $ref: '#/components/schemas/Failure' }],
    properties: {
      data: {
        type: 'object',
        description: 'Dotted property path -> broken rule -> details',
        additionalProperties: {
          type: 'object',
          additionalProperties: {
            type: 'object',
            required: ['message'],
            properties: { message: { type: 'string' } },
          },
        },
      },
    },
  },
}

const parameter = (name: string, description: string, schema: Json = { type: 'string' }) => ({
  name,
  in: 'query',
  description,
  schema,
})

const listParameters = {
  page_size: parameter('page_size', 'Rows in a page', { type: 'integer', minimum: 1 }),
  start_key: parameter('start_key', 'next_start_key of the previous page'),
  paginate: parameter('paginate', 'false returns the whole list', { type: 'boolean' }),
  descending: parameter('descending', 'Newest or last first (default)', { type: 'boolean' }),
  fields: parameter('fields', 'JSON array of the fields in the response'),
  filters: {
    name: 'filters',
    in: 'query',
    description:
      'filter_{key}, filter_not_{key}, has_key, key_missing, has_value, missing_value, created_from, created_to, ' +
      'modified_from, modified_to and other filters; all must match',
    style: 'form',
    explode: true,
    schema: { type: 'object', additionalProperties: { type: 'string' } },
  },
}

const listReferences = Object.keys(listParameters).map((name) => ({
  $ref: `#/components/parameters/${name}`,
}))

const securitySchemes = {
  token: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Auth-Token',
    description: 'auth_token of a sign-in response',
  },
  bearer: { type: 'http', scheme: 'bearer' },
  basic: {
    type: 'http',
    scheme: 'basic',
    description: 'Account id as the user name, md5 of `username:password` as the password',
  },
}

const anyCredential = Object.keys(securitySchemes).map((name) => ({ [name]: [] }))

type Statuses = ReadonlyMap<FailureKind, number>

const sampleDetails = { problems: {}, data: {}, allow: [], offered: [], accepted: [], values: [], limit: 0 }

const isFailureKind = (exported: unknown): exported is FailureKind =>
  typeof exported === 'object' && exported !== null && 'answer' in exported

const statusesOf = (routes: readonly Route[]): Statuses =>
  new Map(
    [
      ...Object.values<unknown>(failures).filter(isFailureKind),
      ...routes.flatMap(({ spec }) => spec.fails ?? []),
    ]
      .map((kind) => [kind, kind.answer(sampleDetails as never).status] as const)
      .sort(([a, statusOfA], [b, statusOfB]) => statusOfA - statusOfB || (a.name < b.name ? -1 : 1)),
  )

const kindsByStatus = (statuses: Statuses) =>
  Map.groupBy(statuses.keys(), (kind) => statuses.get(kind) ?? failures.unexpected.status)

const mediaType = (schema: Json, example?: unknown) => ({
  schema,
  ...(example === undefined ? {} : { example }),
})

const jsonContent = (schema: Json, example?: unknown) => ({ 'application/json': mediaType(schema, example) })

const failuresOf = ({ method, path, spec }: Route): FailureKind[] => {
  const kinds: FailureKind[] = [
    failures.validationError,
    failures.notAcceptable,
    failures.datastoreUnreachable,
  ]
  if (spec.allow.needsToken) kinds.push(failures.invalidCredentials, failures.forbidden)
  // A bad credential is ignored where none is needed, except at sign-in.
  if (spec.allow.needsToken || spec.tellsOnce) kinds.push(failures.accountExpired)
  if (spec.allow.needsToken || spec.price?.is === 'signIn')
    kinds.push(failures.tooManyRequests, failures.overloaded)
  if (spec.list) kinds.push(failures.faultyRequest, failures.rangeNotSatisfiable)
  if (path.includes('{')) kinds.push(failures.badIdentifier)
  if (method !== 'GET')
    kinds.push(
      failures.datastoreConflict,
      failures.tooLarge,
      failures.unsupportedMediaType,
      failures.datastoreFull,
      failures.importInProgress,
      failures.storeMoved,
    )
  if (method !== 'GET' && path.includes('{account_id}'))
    kinds.push(failures.chargesNotAccepted, failures.billingIssue, failures.notEnoughCredit)
  if (method !== 'GET' && (path.endsWith('}') || spec.isKept)) kinds.push(failures.preconditionFailed)
  return [...kinds, ...(spec.fails ?? [])]
}

const failureStatuses = (route: Route, statuses: Statuses) => [
  ...new Set(failuresOf(route).map((kind) => statuses.get(kind) ?? failures.unexpected.status)),
]

const failureSchemas = new Map([
  [400, 'ValidationFailure'],
  [402, 'PaymentFailure'],
])

const failureResponse = (status: number, kinds: readonly FailureKind[] = [], example?: unknown) => {
  const $ref = `#/components/schemas/${failureSchemas.get(status) ?? 'Failure'}`
  const description = kinds.map(({ name }) => name.replaceAll('_', ' ')).join(', ')
  return { description, content: jsonContent({ $ref }, example) }
}

const failureResponsesOf = (route: Route, statuses: Statuses, { refusal, answer }: Example) =>
  Object.fromEntries(
    failureStatuses(route, statuses)
      .sort()
      .map((status) => [
        status,
        status === refusal
          ? failureResponse(status, kindsByStatus(statuses).get(status), answer)
          : { $ref: `#/components/responses/Failure${status}` },
      ]),
  )

const failureResponses = (routes: readonly Route[], statuses: Statuses) => {
  const told = new Set(routes.flatMap((route) => failureStatuses(route, statuses)))
  const responses = [...kindsByStatus(statuses)]
    .filter(([status]) => told.has(status))
    .map(([status, kinds]) => [`Failure${status}`, failureResponse(status, kinds)])
  return Object.fromEntries(responses)
}

const binary = { type: 'string', format: 'binary' }

const answerSchema = ({ path, spec }: Route, components: Components) => {
  const shape = components.refer(spec.answers, `${wordOf(path)} answer`)
  const data = spec.list === true ? { type: 'array', items: shape } : shape
  return {
    allOf: [{ $ref: `#/components/schemas/${spec.list ? 'Page' : 'Success'}` }],
    required: ['data'],
    properties: { data },
  }
}

const success = (route: Route, components: Components, { answer, answerType, refusal }: Example) => {
  const { spec, method } = route
  const example = refusal === undefined ? answer : undefined
  const exampleOf = (type: string) => (type === answerType ? example : undefined)
  const json = answerType === undefined ? example : undefined
  const content: Json = jsonContent(answerSchema(route, components), json)
  if (spec.list) content['text/csv'] = mediaType({ type: 'string' }, exampleOf('text/csv'))
  for (const type of spec.produces ?? []) content[type] = mediaType(binary, exampleOf(type))
  return { [spec.status ?? (method === 'PUT' ? 201 : 200)]: { description: 'Success', content } }
}

/** A PATCH may omit required fields. */
const bodySchema = ({ method, path }: Route, body: TSchema, components: Components): Json => {
  const shape = components.refer(body, `${wordOf(path)} body`)
  if (method !== 'PATCH') return shape
  return { type: 'object', description: 'Fields to change; null removes one', 'x-merged-into': shape }
}

const requestBody = (route: Route, components: Components, { request, requestType }: Example) => {
  const { method, spec } = route
  if (method === 'GET' || (!spec.body && !spec.uploads && !spec.streams)) return {}
  const content: Json = {}
  if (spec.body) {
    const data = bodySchema(route, spec.body, components)
    const schema = { type: 'object', required: ['data'], properties: { data } }
    Object.assign(content, jsonContent(schema, requestType === undefined ? request : undefined))
    if (method === 'PATCH') content[patchType] = { schema: data }
  }
  for (const type of [...(spec.uploads ?? []), ...(spec.streams ?? [])])
    content[type] = mediaType(binary, type === requestType ? request : undefined)
  return { requestBody: { required: method !== 'DELETE', content } }
}

const variablesIn = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

const pathParameters = (routes: readonly Route[]) => {
  const names = new Set(routes.flatMap(({ path }) => variablesIn(path)))
  return Object.fromEntries(
    [...names]
      .sort()
      .map((name) => [`path_${name}`, { name, in: 'path', required: true, schema: { type: 'string' } }]),
  )
}

const parametersOf = ({ path, spec }: Route) => [
  ...variablesIn(path).map((name) => ({ $ref: `#/components/parameters/path_${name}` })),
  ...Object.entries({ ...spec.query, ...spec.wishes }).map(([name, described]) =>
    typeof described === 'string'
      ? parameter(name, described)
      : parameter(name, described.flag, { type: 'boolean' }),
  ),
  ...(spec.list ? listReferences : []),
]

interface Deps {
  components: Components
  statuses: Statuses
  names: ReadonlyMap<string, string>
  examples: Readonly<Record<string, Example>>
}

const operation = (route: Route, { components, statuses, names, examples }: Deps) => {
  const name = names.get(`${route.method} ${route.path}`) ?? ''
  const example = examples[name] ?? {}
  const { path, spec } = route
  const parameters = parametersOf(route)
  return {
    operationId: name,
    tags: [tagOf(path)],
    summary: spec.summary,
    description: `Who may call: ${spec.allow.name}.`,
    ...(spec.allow.needsToken ? {} : { security: [] }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...requestBody(route, components, example),
    responses: { ...success(route, components, example), ...failureResponsesOf(route, statuses, example) },
  }
}

const description = `Every answer but files and CSV is an envelope with \`data\`. Bodies are envelopes too.
HEAD is served wherever GET is, OPTIONS everywhere. A POST with \`verb\` in its query or envelope stands for that verb.
PATCH merges objects and removes keys that are null; keys that begin with \`_\` or \`pvt_\` are the server's.`

const pathsOf = (routes: readonly Route[], tools: Deps) => {
  const paths: Record<string, Json> = {}
  for (const route of [...routes].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))) {
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: operation(route, tools),
    }
  }
  return paths
}

interface Described {
  routes: readonly Route[]
  tags: Readonly<Record<string, string>>
  version: string
}

const openApiOf = ({ routes, tags, version }: Described): Json => {
  const statuses = statusesOf(routes)
  const components = createComponents(
    routes.flatMap(({ spec }) => (spec.body ? [spec.body, spec.answers] : [spec.answers])),
  )
  const paths = pathsOf(routes, {
    components,
    statuses,
    names: operationNames(routes),
    examples: readExamples(),
  })
  return {
    openapi: '3.1.0',
    info: {
      title: 'Crosspoint',
      version,
      description,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Absolute, because tools such as Postman load the document from a file.
    servers: [
      { url: 'http://127.0.0.1:8000', description: 'A server on this machine with default settings' },
    ],
    security: anyCredential,
    tags: Object.keys(tags)
      .toSorted()
      .map((name) => ({ name, description: tags[name] })),
    paths,
    components: {
      schemas: { ...components.all(), ...envelopes },
      parameters: { ...listParameters, ...pathParameters(routes) },
      responses: failureResponses(routes, statuses),
      securitySchemes,
    },
  }
}

export const openApiText = (described: Described) => `${JSON.stringify(openApiOf(described), null, 2)}\n`
