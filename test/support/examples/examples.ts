// What was asked and answered while a test walked through all operations, as the document of the API shows it.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Example } from '../../../src/http/openapi/openapi.ts'
import { operationNames, tagOf } from '../../../src/http/openapi/operation-names.ts'
import type { Route } from '../../../src/http/route.ts'
import { isObject } from '../../../src/lib/json.ts'
import type { Answer, Envelope, RequestOptions } from '../world/client.ts'
import { nameOf } from '../world/route-samples.ts'

/** More rows of a list say no more. */
const rowsShown = 2
// What is larger belongs into a guide.
const maxCharacters = 6000

const token = 'header.claims.signature'

/** Facts of one run or one machine, by their key. */
const settled: Readonly<Record<string, unknown>> = {
  auth_token: token,
  attestationObject: 'YXR0ZXN0YXRpb24',
  challenge: 'Y2hhbGxlbmdl',
  clientDataJSON: 'Y2xpZW50IGRhdGE',
  code: '1234',
  duration_ms: 12,
  node: 'crosspoint@host',
  public_key_pem: '-----BEGIN PUBLIC KEY-----\n...\n-----END PUBLIC KEY-----\n',
  runtime: 'node v24.0.0',
  signature: 'c2lnbmF0dXJl',
  tokens: { consumed: 1, remaining: 99 },
  uptime_seconds: 86_400,
  used_memory: 150_000_000,
}

/** The same by their look, each with how it is shown. */
const looks: readonly (readonly [RegExp, string])[] = [
  [/^\d+\.\d+\.\d+(?:-[\w.]+)?$/g, '1.0.0'],
  [/[\w-]{8,}\.[\w-]{16,}\.[\w-]{16,}/g, token],
  [/\bcpk_[\w-]+/g, 'cpk_key'],
  [/\b[0-9a-f]{6}(?=\.master\.localhost)/g, 'a1b2c3'],
  [new RegExp(`\\bcrosspoint@${hostname()}$`, 'g'), 'crosspoint@host'],
  [/127\.0\.0\.1:\d+/g, '127.0.0.1:8000'],
  [/(?<=secret=)[A-Z2-7]+/g, 'SECRET'],
]

const hex = /[0-9a-f]{16,}/g
const randomText = /^(?=.*[A-Z])(?=.*[a-z])[\w-]{40,}$/

/** Ids become small numbers of their length: the same one the same, however random they were. */
const createNumbering = () => {
  const known = new Map<string, string>()
  return (id: string) => {
    const number = known.get(id) ?? String(known.size + 1).padStart(id.length, '0')
    known.set(id, number)
    return number
  }
}

type Numbering = ReturnType<typeof createNumbering>

const settledText = (text: string, numbered: Numbering) => {
  if (randomText.test(text)) return numbered(text)
  return looks.reduce((so, [look, shown]) => so.replace(look, shown), text).replace(hex, numbered)
}

// The reported number depends on the jobs that run at the same time.
const settledTally = { addition: 2, removal: 1, quantity: 1 }

const settle = (value: unknown, numbered: Numbering): unknown => {
  if (typeof value === 'string') return settledText(value, numbered)
  if (Array.isArray(value)) return value.slice(0, rowsShown).map((one) => settle(one, numbered))
  if (value === null || typeof value !== 'object') return value
  const still = 'addition' in value ? { ...value, ...settledTally } : value
  return Object.fromEntries(
    Object.entries(still).map(([key, inner]) => [
      settledText(key, numbered),
      // A code of an email is text, a code of a failure is a number.
      key in settled && typeof settled[key] === typeof inner ? settled[key] : settle(inner, numbered),
    ]),
  )
}

const isShown = (value: unknown) => JSON.stringify(value).length <= maxCharacters

interface Asked {
  data: unknown
  options: RequestOptions
}

const typeOf = (header: string | string[] | undefined) => String(header ?? '').split(';')[0] as string

const isText = (type: string) => /^text\/|[/+-](?:ndjson|xml)$/.test(type)

// A PNG begins with its signature and size, the rest may be random.
const maxBytes = 24

/** A file as text, or the beginning of a binary file in base64. */
const fileText = (type: string, bytes: Uint8Array, numbered: Numbering) =>
  isText(type)
    ? settledText(Buffer.from(bytes).toString(), numbered)
    : Buffer.from(bytes.subarray(0, maxBytes)).toString('base64')

const requestOf = ({ data, options }: Asked, numbered: Numbering): Example => {
  const { body, headers, envelope } = options
  if (body === undefined)
    return data === undefined ? {} : { request: settle({ data, ...envelope }, numbered) }
  const requestType = typeOf(headers?.['content-type'])
  return { request: fileText(requestType, Buffer.from(body), numbered), requestType }
}

const firstEntries = (value: unknown): unknown =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value)
          .slice(0, rowsShown)
          .map(([key, inner]) => [key, firstEntries(inner)]),
      )
    : value

/** A large response is shown with the first entries of each object. */
const shortened = (answer: Envelope): Envelope =>
  isShown(answer) ? answer : { ...answer, data: firstEntries(answer.data) }

const answerOf = ({ headers, body, bytes }: Answer, numbered: Numbering): Example => {
  const answerType = typeOf(headers['content-type'])
  if (answerType !== 'application/json') return { answer: fileText(answerType, bytes, numbered), answerType }
  const answer = settle(body, numbered) as Envelope
  if (answer.page_size !== undefined && Array.isArray(answer.data)) answer.page_size = answer.data.length
  return { answer: shortened(answer) }
}

/** What the document shows of an executed request. */
export const exampleOf = (asked: Asked, answer: Answer): Example => {
  const numbered = createNumbering()
  const example = {
    ...requestOf(asked, numbered),
    ...answerOf(answer, numbered),
    ...(answer.status < 400 ? {} : { refusal: answer.status }),
  }
  if (!isShown(example)) throw new Error(`The example of ${answer.request.path} is too long.`)
  return example
}

const folder = new URL('../../../src/http/openapi/examples/', import.meta.url)

/** The files of all examples, by name: one for each tag, an operation a line. */
export const exampleFiles = (routes: readonly Route[], examples: ReadonlyMap<string, Example>) => {
  const names = operationNames(routes)
  const lines = routes.flatMap((route) => {
    const example = examples.get(nameOf(route))
    if (!example || Object.keys(example).length === 0) return []
    return [{ tag: tagOf(route.path), line: `"${names.get(nameOf(route))}": ${JSON.stringify(example)}` }]
  })
  const byTag = Map.groupBy(lines, ({ tag }) => tag)
  return Object.fromEntries(
    [...byTag].map(([tag, ofTag]) => [
      `${tag}.json`,
      `{\n${ofTag
        .map(({ line }) => line)
        .sort()
        .join(',\n')}\n}\n`,
    ]),
  )
}

export const committedExamples = () =>
  Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]))

export const commitExamples = (files: Readonly<Record<string, string>>) => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(new URL(name, folder), text)
}
