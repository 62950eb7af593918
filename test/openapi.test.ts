import { readFileSync, writeFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { allRoutes, openApiDocument } from '../src/commands/openapi.ts'
import { useWorld } from './support/world.ts'

const committed = new URL('../openapi.json', import.meta.url)

interface Operation {
  operationId: string
  parameters?: { $ref?: string; name?: string; in?: string }[]
  requestBody?: { content: Record<string, unknown> }
  responses: Record<string, { $ref?: string; description?: string }>
}

interface Document {
  openapi: string
  info: { title: string; version: string }
  paths: Record<string, Record<string, Operation>>
  components: Record<string, Record<string, object>>
}

const text = openApiDocument()
const document = JSON.parse(text) as Document
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

const referencesIn = (value: unknown): string[] => {
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : referencesIn(inner),
  )
}

const resolve = (reference: string) =>
  reference
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>((place, key) => (place as Record<string, unknown> | undefined)?.[key], document)

describe('the OpenAPI document', () => {
  it('is committed as the routes make it (UPDATE_EXPECTED=1 writes it)', () => {
    if (process.env.UPDATE_EXPECTED) writeFileSync(committed, text)
    expect(readFileSync(committed, 'utf8') === text, 'openapi.json is not what the routes make').toBe(true)
  })

  it('is OpenAPI 3.1 and holds every route once', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(document.info.title).toBe('Crosspoint')
    const routes = allRoutes().map(({ method, path }) => `${method} ${path}`)
    const described = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`)
    expect(described.sort()).toEqual(routes.sort())
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('refers only to what is there, and uses all that it shares', () => {
    const references = new Set(referencesIn(document))
    expect([...references].filter((reference) => resolve(reference) === undefined)).toEqual([])
    const unused = ['schemas', 'parameters'].flatMap((section) =>
      Object.keys(document.components[section] ?? {})
        .map((name) => `#/components/${section}/${name}`)
        .filter((reference) => !references.has(reference)),
    )
    expect(unused).toEqual([])
  })

  it('declares each variable of a path, and nothing else as one', () => {
    for (const { path, operation } of operations) {
      const declared = (operation.parameters ?? [])
        .map((parameter) =>
          parameter.$ref ? (resolve(parameter.$ref) as { name: string; in: string }) : parameter,
        )
        .filter((parameter) => parameter.in === 'path')
        .map(({ name }) => name)
      expect(declared).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
    }
  })

  it('gives each operation a success and failures, all described', () => {
    for (const { operation } of operations) {
      const statuses = Object.keys(operation.responses)
      expect(statuses.some((status) => /^2\d\d$/.test(status))).toBe(true)
      expect(statuses).toContain('400')
      for (const response of Object.values(operation.responses)) {
        const whole = response.$ref ? (resolve(response.$ref) as { description?: string }) : response
        expect(whole.description).toEqual(expect.any(String))
      }
    }
  })

  it('has schemas that are JSON Schema 2020-12, each usable', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ $id: 'https://crosspoint.test/openapi', components: document.components })
    for (const [name, schema] of Object.entries(document.components.schemas ?? {})) {
      expect(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`).toBe(true)
      const validate = ajv.compile({ $ref: `https://crosspoint.test/openapi#/components/schemas/${name}` })
      expect(validate).toEqual(expect.any(Function))
    }
  })

  it('holds no secret defaults and no private fields', () => {
    expect(text).not.toMatch(/"pvt_/)
  })
})

describe('a running server', () => {
  const world = useWorld('sqlite')

  it('answers with the document at /openapi.json, to anybody', async () => {
    const answer = await world.anonymous.get('/openapi.json')
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.text).toBe(text)
    const again = await world.anonymous.get('/openapi.json', {
      headers: { 'if-none-match': String(answer.headers.etag) },
    })
    expect([again.status, again.text]).toEqual([304, ''])
  })
})
