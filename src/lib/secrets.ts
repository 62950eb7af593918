import { hash } from 'node:crypto'
import { isObject, type Json } from './json.ts'

// What is secret, said once in a schema: from the mark follow sealing at rest, masks in answers, in the audit log and in
// events, and that a value which is sent back masked, or not at all, stays what it was.

const markKey = 'x-secret'

/** Marks a value that no answer shows: it is only written. */
export const secret = { [markKey]: 'masked' } as const

/** Marks a value that the answers of its own record show, and nothing else does. */
export const readableSecret = { [markKey]: 'readable' } as const

type Mark = 'masked' | 'readable'

// Fields that no schema describes are secret when they are called so.
const names =
  'password|credentials|api_key|secret|\\w*_secret|private_key|pin|recovery_codes|authorization_header|\\w*_password' +
  '|passwd|passphrase|\\w*secret_key|access_token|auth_token|refresh_token|bearer_token|sha256_key|previous_key|custom_request_headers'
const secretKey = new RegExp(`^(?:${names})$`)
// Looked at from the end of a key: there are fewer of these than of quotes, and most differ in their last letter.
const textWith = (keys: string) => new RegExp(`(?<="(?:${keys}))":`)
const secretText = textWith(names)

/** What stands in the place of a secret. */
export const masked = '***'

export const isSecretKey = (key: string) => secretKey.test(key)

/** Tells whether a secret is the same as before, and nothing else about it. */
export const fingerprint = (text: string) => hash('sha256', text, 'hex').slice(0, 8)

/** A part of a schema, as far as it leads to marks. */
interface Shape {
  [markKey]?: Mark
  properties?: Readonly<Record<string, Shape>>
  patternProperties?: Readonly<Record<string, Shape>>
  additionalProperties?: Shape | boolean
  items?: Shape
  anyOf?: readonly Shape[]
}

const patterns = new Map<string, RegExp>()

const fits = (pattern: string, key: string) => {
  const known = patterns.get(pattern) ?? new RegExp(pattern, 'u')
  patterns.set(pattern, known)
  return known.test(key)
}

const alternative = ({ anyOf = [] }: Shape, value: Json) =>
  anyOf.find(({ properties = {} }) => Object.keys(value).some((key) => Object.hasOwn(properties, key)))

/** What a schema says of a key; undefined: nothing. */
const shapeOf = (shape: Shape | undefined, value: Json, key: string): Shape | undefined => {
  if (!shape) return undefined
  if (shape.anyOf) return shapeOf(alternative(shape, value), value, key)
  const { properties = {}, patternProperties = {}, additionalProperties } = shape
  if (Object.hasOwn(properties, key)) return properties[key]
  const pattern = Object.keys(patternProperties).find((one) => fits(one, key))
  if (pattern !== undefined) return patternProperties[pattern]
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

const markOf = (shape: Shape | undefined, key: string): Mark | undefined => {
  if (shape) return shape[markKey]
  return isSecretKey(key) ? 'masked' : undefined
}

const isSet = (value: unknown) => value !== null && value !== undefined

/** The names of what is marked; undefined: what bears any name may be. */
const markedNames = (shape: Shape): readonly string[] | undefined => {
  const { properties = {}, patternProperties = {}, additionalProperties, items, anyOf = [] } = shape
  const free = [...Object.values(patternProperties), additionalProperties, items].filter(isObject) as Shape[]
  if (free.some((inner) => inner[markKey])) return undefined
  const named = Object.entries(properties)
  const inner = [...named.map(([, one]) => one), ...free, ...anyOf].map(markedNames)
  if (inner.includes(undefined)) return undefined
  return [
    ...named.flatMap(([name, one]) => (one[markKey] ? [name] : [])),
    ...inner.flatMap((one) => one ?? []),
  ]
}

const anyText = /(?:)/
const texts = new WeakMap<Shape, RegExp>()

const textOf = (shape: Shape): RegExp => {
  const marked = markedNames(shape)
  return marked ? textWith([names, ...marked.map((name) => name.replace(/\W/g, '.'))].join('|')) : anyText
}

/**
 * Whether a JSON text has a key that is called like a secret, or like something that the schema marks: of a text
 * without one nothing has to be parsed.
 */
export const namesSecret = (json: string, schema?: Shape): boolean => {
  if (!schema) return secretText.test(json)
  const known = texts.get(schema) ?? textOf(schema)
  texts.set(schema, known)
  return known.test(json)
}

/** What is made of a secret. */
type Make = (secret: unknown, mark: Mark) => unknown

const mapped = (shape: Shape | undefined, value: unknown, make: Make): unknown => {
  if (Array.isArray(value)) return value.map((item) => mapped(shape?.items, item, make))
  if (!isObject(value)) return value
  const members = Object.entries(value).map(([key, inner]) => {
    const described = shapeOf(shape, value, key)
    const mark = isSet(inner) ? markOf(described, key) : undefined
    return [key, mark ? make(inner, mark) : mapped(described, inner, make)]
  })
  return Object.fromEntries(members)
}

/** The document with something else in the place of each secret. Without a schema, names alone tell what is secret. */
export const mapSecrets = (schema: object | undefined, doc: Json, make: Make): Json =>
  mapped(schema, doc, make) as Json

/** The document as anybody may see it. */
export const withMasks = (schema: object | undefined, doc: Json): Json =>
  mapSecrets(schema, doc, () => masked)

/** The document as those see it who may not even know which secrets there are. */
export const withoutSecrets = (schema: object | undefined, doc: Json): Json =>
  JSON.parse(JSON.stringify(mapSecrets(schema, doc, () => undefined)))

/** The document as the answers of its own record show it. */
export const asAnswered = (schema: object | undefined, doc: Json): Json =>
  mapSecrets(schema, doc, (value, mark) => (mark === 'readable' ? value : masked))

/** The same JSON text with the values of secrets replaced. Texts without any pass unparsed. */
export const maskSecrets = (json: string, schema?: object): string =>
  namesSecret(json, schema) ? JSON.stringify(withMasks(schema, JSON.parse(json))) : json

const textsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return value === '' ? [] : [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** A text from outside without the secrets that the other side was told: it may have repeated them. */
export const withoutEchoes = (text: string, told: Json): string => {
  const secrets: string[] = []
  mapSecrets(undefined, told, (value) => {
    secrets.push(...textsIn(value))
    return value
  })
  // In one pass, or masks would be looked through for secrets again; the longest first, or its rest would stay.
  const words = [...new Set(secrets)]
    .sort((a, b) => b.length - a.length)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
  return words.length === 0 ? text : text.replace(new RegExp(words.join('|'), 'g'), masked)
}

const isRemoved = (value: unknown) => value === '' || value === null

const kept = (shape: Shape | undefined, given: unknown, before: unknown, fillsIn: boolean): unknown => {
  if (Array.isArray(given)) {
    const items: readonly unknown[] = Array.isArray(before) ? before : []
    return given.map((item, index) => kept(shape?.items, item, items[index], fillsIn))
  }
  if (!isObject(given)) return given
  const old = isObject(before) ? before : {}
  const members = Object.entries(given).map(([key, inner]) => {
    const described = shapeOf(shape, given, key)
    const had = Object.hasOwn(old, key) ? old[key] : undefined
    if (markOf(described, key) !== 'masked') return [key, kept(described, inner, had, fillsIn)]
    if (inner === masked) return [key, had]
    return [key, isRemoved(inner) ? undefined : inner]
  })
  const isLeftOut = (key: string) =>
    !Object.hasOwn(given, key) && markOf(shapeOf(shape, old, key), key) === 'masked'
  const filled = fillsIn ? Object.entries(old).filter(([key]) => isLeftOut(key)) : []
  return Object.fromEntries([...members, ...filled].filter(([, value]) => value !== undefined))
}

/**
 * What a write says of a document whose secrets its author cannot see: one that comes back masked stays what it was, an
 * empty one goes. `whole`: the document is sent anew, so that secrets which it does not name stay, too.
 */
export const withKeptSecrets = (
  schema: object | undefined,
  given: Json,
  before: Json,
  sent: 'whole' | 'changed',
): Json => kept(schema, given, before, sent === 'whole') as Json
