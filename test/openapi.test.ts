import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { request as ask, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { allRoutes } from '../src/commands/openapi.ts'
import { readExamples } from '../src/http/openapi/openapi.ts'
import { operationNames, reviewedNames } from '../src/http/openapi/operation-names.ts'
import { isCommitted } from './support/matchers/generated.ts'
import {
  apiDocument as document,
  type Operation,
  operations,
  operationsPage,
  documentText as text,
} from './support/matchers/operations-page.ts'
import { useWorld } from './support/world/world.ts'

/** The names that the libraries of TypeScript declare, for JavaScript and for browsers. */
const globalNames = new Set(
  globSync('node_modules/@typescript/*/lib/lib*.d.ts', { cwd: new URL('..', import.meta.url) }).flatMap(
    (path) => {
      const declarations = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
      const found = declarations.matchAll(
        /^(?:declare )?(?:var|interface|type|function|class|namespace|const) (\w+)/gm,
      )
      return [...found].map(([, name]) => name)
    },
  ),
)

/** The names that generated clients declare for themselves. */
const namesOfGenerators = new Set(['Client', 'ClientOptions', 'Config', 'Options'])

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
  it('is committed as the routes make it (npm run generate writes it)', () => {
    expect(isCommitted('openapi.json', text)).toBe(true)
  })

  it('is listed on a page, one line for each operation (npm run generate writes it)', () => {
    expect(isCommitted('docs/reference/operations.md', operationsPage())).toBe(true)
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
    const unused = ['schemas', 'parameters', 'responses'].flatMap((section) =>
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

  it('has schema names that no global of JavaScript, TypeScript or the DOM has and no generator numbers', () => {
    const names = Object.keys(document.components.schemas ?? {})
    expect([...globalNames]).toEqual(expect.arrayContaining(['Event', 'Audio', 'Promise']))
    expect(names.filter((name) => globalNames.has(name) || namesOfGenerators.has(name))).toEqual([])
    expect(names.filter((name) => /\d$/.test(name))).toEqual(['E911'])
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length)
  })

  it('has items on every array', () => {
    const withoutItems = (node: unknown, place: string): string[] => {
      if (node === null || typeof node !== 'object') return []
      const { type, items } = node as { type?: unknown; items?: unknown }
      const own = [type].flat().includes('array') && items === undefined ? [place] : []
      const inner = Object.entries(node).filter(([key]) => key !== 'example')
      return [...own, ...inner.flatMap(([key, value]) => withoutItems(value, `${place}/${key}`))]
    }
    expect(withoutItems(document, '#')).toEqual([])
  })

  it('names operations as a person would, each once', () => {
    const names = operations.map(({ operation }) => operation.operationId)
    for (const name of names) expect(name).toMatch(/^[a-z]+([A-Z][a-z]*)*$/)
    expect(names).toEqual([...new Set(names)])
    expect(names).toEqual(expect.arrayContaining(['listCdrs', 'getAccount', 'createDevice', 'startTask']))
  })

  it('reviews names of operations that there are, and only where the rule says something else', () => {
    const names = operationNames(allRoutes())
    const byRule = operationNames(allRoutes(), {})
    expect(reviewedNames.filter((key) => !names.has(key) || names.get(key) === byRule.get(key))).toEqual([])
  })

  it('sorts operations by tags that say what they are about', () => {
    const used = operations.flatMap(({ operation }) => operation.tags)
    expect(document.tags.map(({ name }) => name)).toEqual([...new Set(used)].sort())
    for (const { description } of document.tags) expect(description).toMatch(/^[A-Z].*\.$/)
  })

  it('gives each operation a summary in a line, who may call it, and a refusal', () => {
    for (const { path, method, operation } of operations) {
      const name = `${method} ${path}`
      expect(operation.summary, name).toMatch(/^[A-Z].*[^.\s]$/)
      expect(operation.description, name).toMatch(/^Who may call: .+\.$/)
      expect(operation.tags, name).toHaveLength(1)
      expect(Object.keys(operation.responses).some((status) => /^4\d\d$/.test(status))).toBe(true)
    }
  })

  it('has no two paths that differ in the names of variables alone, none with a slash at its end or a query', () => {
    const shapes = Object.keys(document.paths).map((path) => path.replace(/\{\w+\}/g, '{}'))
    expect(shapes).toEqual([...new Set(shapes)])
    expect(shapes.filter((path) => /\/$|\?|\/\//.test(path))).toEqual([])
  })

  it('takes each parameter once', () => {
    for (const { path, method, operation } of operations) {
      const keys = (operation.parameters ?? [])
        .map((one) => (one.$ref ? (resolve(one.$ref) as typeof one) : one))
        .map(({ in: place, name }) => `${place} ${name}`)
      expect(keys, `${method} ${path}`).toEqual([...new Set(keys)])
    }
  })

  it('says where it is served, under which license, and by which credentials', () => {
    expect(document.servers).toEqual([
      { url: 'http://127.0.0.1:8000', description: 'A server on this machine with default settings' },
    ])
    expect(document.info.license.name).toBe('Apache-2.0')
    expect(document.info.description).not.toBe('')
    const wanted = [document, ...operations.map(({ operation }) => operation)]
      .flatMap(({ security }) => security ?? [])
      .flatMap((one) => Object.keys(one))
    expect(Object.keys(document.components.securitySchemes ?? {}).sort()).toEqual([...new Set(wanted)].sort())
  })

  it('has enumerations of the type that they say', () => {
    const typeOf = (value: unknown) => (value === null ? 'null' : typeof value)
    const mistakesIn = (node: unknown): unknown[] => {
      if (node === null || typeof node !== 'object') return []
      const { type, enum: values } = node as { type?: unknown; enum?: unknown }
      const types = [type].flat().map((one) => (one === 'integer' ? 'number' : one))
      const isWrong = typeof type === 'string' && Array.isArray(values)
      const own = isWrong ? values.filter((value) => !types.includes(typeOf(value))) : []
      return [...own, ...Object.values(node).flatMap(mistakesIn)]
    }
    expect(mistakesIn(document)).toEqual([])
  })

  it('shows examples that its own shapes take', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    ajv.addSchema({ $id: 'https://crosspoint.test/openapi', components: document.components })
    const inDocument = (schema: object) =>
      JSON.parse(
        JSON.stringify(schema).replaceAll('"#/components', '"https://crosspoint.test/openapi#/components'),
      )
    const mistakes = operations.flatMap(({ operation }) =>
      [operation.requestBody, ...Object.values(operation.responses)].flatMap((body) => {
        const { schema, example } = body?.content?.['application/json'] ?? {}
        if (!schema || example === undefined || ajv.validate(inDocument(schema), example)) return []
        return [`${operation.operationId}: ${ajv.errorsText()}`]
      }),
    )
    expect(mistakes).toEqual([])
  })

  it('shows an executed request and response of every operation', () => {
    const hasExample = (body: { content?: Record<string, { example?: unknown }> } | undefined) =>
      Object.values(body?.content ?? {}).some(({ example }) => example !== undefined)
    const responsesOf = ({ responses }: Operation, first: string) =>
      Object.entries(responses).flatMap(([status, body]) => (status.startsWith(first) ? [body] : []))
    const without = (isLacking: (operation: Operation) => boolean) =>
      operations.filter(({ operation }) => isLacking(operation)).map(({ operation }) => operation)

    const refused = without((operation) => !responsesOf(operation, '2').some(hasExample))
    expect(refused.filter((operation) => !responsesOf(operation, '4').some(hasExample))).toEqual([])
    expect(refused.filter(({ summary }) => !/^Refused|always/.test(summary))).toEqual([])
    expect(without(({ requestBody }) => requestBody?.required === true && !hasExample(requestBody))).toEqual(
      [],
    )
    const names = new Set(operations.map(({ operation }) => operation.operationId))
    expect(Object.keys(readExamples()).filter((name) => !names.has(name))).toEqual([])
  })

  it('holds no secret defaults and no private fields', () => {
    expect(text).not.toMatch(/"pvt_/)
  })
})

describe('a running server', () => {
  const world = useWorld('sqlite')

  it('answers with the document at /openapi.json, without a token', async () => {
    const answer = await world.anonymous.get('/openapi.json')
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.text).toBe(text)
    const again = await world.anonymous.get('/openapi.json', {
      headers: { 'if-none-match': String(answer.headers.etag) },
    })
    expect([again.status, again.text]).toEqual([304, ''])
  })

  /** The raw response, on a separate socket. */
  const fetched = async (headers: Record<string, string>, method = 'GET') => {
    const request = ask({ port: world.server.port, path: '/openapi.json', method, headers }).end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return { status: response.statusCode, headers: response.headers, bytes: await buffer(response) }
  }

  it.each([
    ['br', 'gzip, deflate, br', brotliDecompressSync],
    ['gzip', 'gzip;q=0.8, br;q=0', gunzipSync],
  ] as const)('compresses it as %s for clients that accept it', async (encoding, accepted, decompress) => {
    const asked = { 'accept-encoding': accepted }
    const [answer, again] = await Promise.all([fetched(asked), fetched(asked)])
    expect(answer.headers).toMatchObject({
      'content-encoding': encoding,
      'content-length': String(answer.bytes.length),
      'content-type': 'application/json',
      vary: 'accept-encoding',
    })
    expect(decompress(answer.bytes).toString()).toBe(text)
    expect(again.bytes.equals(answer.bytes)).toBe(true)
    expect(answer.bytes.length).toBeLessThan(text.length / 5)
    const { etag = '' } = answer.headers
    for (const tags of [etag, `"other", W/${etag}`, '*'])
      expect(await fetched({ ...asked, 'if-none-match': tags })).toMatchObject({
        status: 304,
        bytes: Buffer.alloc(0),
      })
    expect(await fetched({ 'if-none-match': etag })).toMatchObject({ status: 200 })
    const head = await fetched(asked, 'HEAD')
    expect(head.headers).toMatchObject({ 'content-encoding': encoding, etag })
    expect(head.bytes).toHaveLength(0)
  })
})
