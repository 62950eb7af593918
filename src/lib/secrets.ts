import { hash } from 'node:crypto'
import { isId } from './ids.ts'
import { isObject, type Json } from './json.ts'

// A mark in a schema makes a value secret: it is encrypted in the store and masked in events and audit log. A value that a client
// sends back masked stays as it was.

const markKey = 'x-secret'

export const marksSecrets = (schema: object) => JSON.stringify(schema).includes(`"${markKey}"`)

/** No response shows it. */
export const secret = { [markKey]: 'masked' } as const

/** Only responses of its record show it. */
export const readableSecret = { [markKey]: 'readable' } as const

/** A URL that may contain a password: it is encrypted, and responses mask the password. */
export const secretUrl = { [markKey]: 'url' } as const

type SecretMark = 'masked' | 'readable' | 'url'

// Fields without a schema are secret if they have such a name: they are encrypted, and all responses mask them.
const names =
  'password|credentials|api_key|secret|\\w*_secret|private_key|pin|recovery_codes|authorization_header|\\w*_password' +
  '|passwd|passphrase|\\w*secret_key|access_token|auth_token|refresh_token|bearer_token|sha256_key|previous_key|custom_request_headers'
const secretKey = new RegExp(`^(?:${names})$`)
// A look-behind from the end of the key is faster: most keys differ in the last letter.
const textWith = (keys: string) => new RegExp(`(?<="(?:${keys}))":`)
const secretText = textWith(names)

export const masked = '***'

// The parts of URLs, within longer texts and within JSON: `user:password@`, `?token=...` and `;token=...`.
const userInfo = /:\/\/([^\s/?#"\\]+)@/g
// A semicolon is part of the value, unless another parameter follows it.
const parameter = /([?&#;]([^?&#;=\s"\\]{1,64})=)([^&#;\s"\\]*(?:;[^&#;=\s"\\]*(?=[;&#\s"\\]|$))*)/g
const secretName =
  /(?:password|passwd|passphrase|pwd|secret|token|signature|authorization|(?:access|api|auth|private|secret|shared|subscription)[._-]?key)\]?$/i
// Public links also have such parameters, with shorter values: `?key=start`.
const generalName = /^(?:auth|code|jwt|(?<!interaction_)key|pass|sas|sig)$/i
// Shorter texts are user names and words; longer ones may be tokens.
const shortestToken = 16
const tokenText = new RegExp(`^[\\w.~%+=-]{${shortestToken},}$`)

const maskUser = (user: string) => (tokenText.test(user) ? masked : user)

/** A user with an empty password is a key, as in `https://sk_live_x:@host`. */
const maskUserInfo = (info: string) => {
  const colon = info.indexOf(':')
  if (colon < 0) return maskUser(info)
  return colon === info.length - 1 ? `${masked}:` : `${maskUser(info.slice(0, colon))}:${masked}`
}

/** `password` for `pass%77ord`. */
const decodedName = (name: string) =>
  name.replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))

const isSecretParameter = (written: string, value: string) => {
  const name = decodedName(written)
  return value !== '' && (secretName.test(name) || (generalName.test(name) && value.length >= shortestToken))
}

/** Masks passwords, tokens and keys in URLs. */
export const maskUrls = (text: string): string =>
  text.includes('://')
    ? text
        .replace(userInfo, (_, info: string) => `://${maskUserInfo(info)}@`)
        .replace(parameter, (whole, head: string, name: string, value: string) =>
          isSecretParameter(name, value) ? `${head}${masked}` : whole,
        )
    : text

// Fields without a schema that may contain a secret: `access_key_id`, `apiKey`, `sipPass`, `vm_pin`.
const likelyName = new RegExp(
  '(?:pass_?w(?:or)?d|passphrase|passcode|pin_?code|pwd|(?<![a-z])(?:pw|otp)|bearer|secret(?:_[a-z_]+)?|token|credentials?|authorization|certificate|cookie|hmac|jwt|service_account' +
    '|(?<!by|com)pass|(?<!s)pin|(?<![a-z])auth|(?:api|access|auth|license|private|secret|shared)key' +
    '|(?<!(?:^|_)(?:combo|end|feature|hot|interaction|menu|next|public|publishable|sort|start))_key)$',
)
const keyHolder = /(?:^|_)(?:access|api|auth|encryption|license|private|secret|shared|signing)$/
// Matches every JSON text that has a likely name, and some others.
const likelyText =
  /(?:auth|authorization|certificate|cookie|credentials?|hmac|jwt|key|pass|passcode|passphrase|pass_?w(?:or)?d|pin|pin_?code|pwd|pw|otp|bearer|secret[a-z_]*|service_?account|token)s?(?:[^a-z0-9"]?id)?[^a-z0-9"]?[0-9]*":/i

// The end of a name decides. Without this limit a name of 1 MB of digits would cost minutes.
const longestEnding = 64

/** `apiKeyId2` as `api_key`. */
const plainName = (name: string) =>
  name
    .slice(-longestEnding)
    .replaceAll(/([a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+/g, '$1_')
    .toLowerCase()
    .replace(/_?\d+$/, '')
    .replace(/_?id$/, '')

/** `parent`: the name of the object that has the field. A short text under `key` is a word, as in `key: "menu"`. */
const isLikelySecret = (name: string, value: unknown, parent: string) => {
  if (typeof value !== 'number' && (typeof value !== 'string' || value === '')) return false
  // The id of a record, as in `api_key_id`, is none.
  if (/id$/i.test(name) && isId(String(value))) return false
  const plain = plainName(name)
  if (plain !== 'key') return likelyName.test(plain)
  return keyHolder.test(plainName(parent)) || (tokenText.test(String(value)) && /\d/.test(String(value)))
}

/** Matches a URL without masks. A client that sends a mask does not know the password. */
export const unmaskedPattern = '^(?!.*(?:[/:]\\*{3}:?@|=\\*{3}(?:[&#;]|$)))'

export const isSecretUrl = (schema: object) => markKey in schema && schema[markKey] === 'url'

const hasUrlSecret = (value: unknown) => typeof value === 'string' && maskUrls(value) !== value

export const isSecretKey = (key: string) => secretKey.test(key)

/** Shows whether a secret changed. */
export const fingerprint = (text: string) => hash('sha256', text, 'hex').slice(0, 8)

/** The part of JSON Schema that can contain marks. */
interface Shape {
  [markKey]?: SecretMark
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

/** Not by a pattern. */
const isNamed = (shape: Shape | undefined, value: Json, key: string): boolean => {
  if (!shape) return false
  if (shape.anyOf) return isNamed(alternative(shape, value), value, key)
  return Object.hasOwn(shape.properties ?? {}, key)
}

const shapeOf = (shape: Shape | undefined, value: Json, key: string): Shape | undefined => {
  if (!shape) return undefined
  if (shape.anyOf) return shapeOf(alternative(shape, value), value, key)
  const { properties = {}, patternProperties = {}, additionalProperties } = shape
  if (Object.hasOwn(properties, key)) return properties[key]
  const pattern = Object.keys(patternProperties).find((one) => fits(one, key))
  if (pattern !== undefined) return patternProperties[pattern]
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

const markOf = (shape: Shape | undefined, key: string, value: unknown): SecretMark | undefined => {
  if (!shape) return isSecretKey(key) ? 'masked' : undefined
  const mark = shape[markKey]
  return mark === 'url' && !hasUrlSecret(value) ? undefined : mark
}

const isSet = (value: unknown) => value !== null && value !== undefined

/** Undefined if a value of any name can be marked. */
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

/** Whether a JSON text has the name of a secret as a key. Other texts need not be parsed. */
export const namesSecret = (json: string, schema?: Shape): boolean => {
  if (!schema) return secretText.test(json)
  const known = texts.get(schema) ?? textOf(schema)
  texts.set(schema, known)
  return known.test(json)
}

type Make = (secret: unknown, mark: SecretMark) => unknown

interface Mapping {
  make: Make
  /** Also fields without a schema, by names and values. */
  guesses: boolean
}

const mapped = (shape: Shape | undefined, value: unknown, mapping: Mapping, name = ''): unknown => {
  const { make, guesses } = mapping
  const marked = (described: Shape | undefined, key: string, inner: unknown, isKnown: boolean) => {
    const isGuessed = guesses && !isKnown && isLikelySecret(key, inner, name)
    const mark = isSet(inner)
      ? (markOf(described, key, inner) ?? (isGuessed ? 'masked' : undefined))
      : undefined
    return mark ? make(inner, mark) : mapped(described, inner, mapping, key)
  }
  if (Array.isArray(value)) {
    const itemName = guesses ? name.replace(/s$/, '') : ''
    return value.map((item) => marked(shape?.items, itemName, item, shape?.items !== undefined))
  }
  if (!isObject(value)) return value
  // All values in `tokens` are tokens.
  const isHolder = guesses && /s$/.test(name) && likelyName.test(plainName(name.slice(0, -1)))
  const members = Object.entries(value).map(([key, inner]) => [
    key,
    marked(shapeOf(shape, value, key), isHolder ? name.slice(0, -1) : key, inner, isNamed(shape, value, key)),
  ])
  return Object.fromEntries(members)
}

/** Replaces the secrets that are encrypted in the store. Without a schema, names decide. */
export const mapSecrets = (schema: object | undefined, doc: Json, make: Make): Json =>
  mapped(schema, doc, { make, guesses: false }) as Json

/** Also replaces fields without a schema that may be secret, for readers of events and lists. */
export const mapLikelySecrets = (schema: object | undefined, doc: Json, make: Make): Json =>
  mapped(schema, doc, { make, guesses: true }) as Json

/** The same for the value at a place of a document. Everything below a secret is secret. */
export const mapSecretsAt = (
  schema: object | undefined,
  place: readonly string[],
  value: unknown,
  make: Make,
): unknown => {
  let shape: Shape | undefined = schema
  for (const key of place) {
    const described: Shape | undefined = shape?.items ?? shapeOf(shape, { [key]: value }, key)
    const mark = markOf(described, key, value)
    if (mark) return make(value, mark)
    shape = described
  }
  return mapped(shape, value, { make, guesses: false })
}

const withoutUrlSecrets = (doc: Json): Json => {
  const text = JSON.stringify(doc)
  const shown = maskUrls(text)
  return shown === text ? doc : JSON.parse(shown)
}

export const withMasks = (schema: object | undefined, doc: Json): Json =>
  withoutUrlSecrets(mapLikelySecrets(schema, doc, (value, mark) => (mark === 'url' ? value : masked)))

/** Without the names of its secrets. */
export const withoutSecrets = (schema: object | undefined, doc: Json): Json => {
  const open = mapLikelySecrets(schema, doc, (value, mark) => (mark === 'url' ? value : undefined))
  return JSON.parse(maskUrls(JSON.stringify(open)))
}

/** For the responses of its record. */
export const visibleSecrets = (schema: object | undefined, doc: Json): Json =>
  withoutUrlSecrets(mapSecrets(schema, doc, (value, mark) => (mark === 'masked' ? masked : value)))

export const maskSecrets = (json: string, schema?: object): string =>
  maskUrls(
    likelyText.test(json) || namesSecret(json, schema)
      ? JSON.stringify(withMasks(schema, JSON.parse(json)))
      : json,
  )

const textsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return value === '' ? [] : [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

/** Removes secrets that were sent to another system from its response. */
export const withoutEchoes = (text: string, told: Json): string => {
  const secrets: string[] = []
  mapLikelySecrets(undefined, told, (value) => {
    secrets.push(...textsIn(value))
    return value
  })
  // In one pass, so that masks are not searched again. The longest first: it may contain a shorter one.
  const words = [...new Set(secrets)]
    .sort((a, b) => b.length - a.length)
    .map((word) => word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
  return words.length === 0 ? text : text.replace(new RegExp(words.join('|'), 'g'), masked)
}

const hasEmpty = (shape: Shape | undefined, value: unknown): boolean => {
  if (!shape) return false
  if (Array.isArray(value)) return value.some((item) => hasEmpty(shape.items, item))
  if (!isObject(value)) return false
  return Object.keys(value).some((key) => {
    const described = shapeOf(shape, value, key)
    return (value[key] === '' && described?.[markKey] !== undefined) || hasEmpty(described, value[key])
  })
}

const withoutEmpty = (shape: Shape | undefined, value: unknown): unknown => {
  if (Array.isArray(value)) return value.map((item) => withoutEmpty(shape?.items, item))
  if (!isObject(value) || !shape) return value
  const members = Object.entries(value).flatMap(([key, inner]) => {
    const described = shapeOf(shape, value, key)
    const isSecret = described?.[markKey] !== undefined && described[markKey] !== 'url'
    return isSecret && inner === '' ? [] : [[key, withoutEmpty(described, inner)]]
  })
  return Object.fromEntries(members)
}

/** Forms send empty texts for empty fields. */
export const withoutEmptySecrets = (schema: object, data: Json): Json =>
  hasEmpty(schema, data) ? (withoutEmpty(schema, data) as Json) : data

/** A URL that comes back masked stays the stored one. */
const keptUrl = (given: unknown, before: unknown): unknown =>
  typeof before === 'string' && given !== before && given === maskUrls(before) ? before : given

/** Finds the stored item of a list item by its masked text, also at another position. */
const storedItems = (before: unknown) => {
  const items: readonly unknown[] = Array.isArray(before) ? before : []
  const shown = items.map((item) => maskUrls(JSON.stringify(item)))
  const byShown = new Map(shown.map((text, index) => [text, items[index]]))
  return (given: unknown, index: number): unknown => {
    const text = JSON.stringify(given)
    // If items are equal, the position decides.
    return shown[index] === text ? items[index] : (byShown.get(text) ?? items[index])
  }
}

const keptUrlsIn = (given: unknown, before: unknown): unknown => {
  if (Array.isArray(given)) {
    const storedItem = storedItems(before)
    return given.map((item, index) => keptUrlsIn(item, storedItem(item, index)))
  }
  if (!isObject(given)) return keptUrl(given, before)
  const old = isObject(before) ? before : {}
  return Object.fromEntries(
    Object.entries(given).map(([key, inner]) => [
      key,
      keptUrlsIn(inner, Object.hasOwn(old, key) ? old[key] : undefined),
    ]),
  )
}

/** Replaces masked URLs by the stored ones. */
export const withStoredUrls = (given: Json, before: Json): Json => {
  const text = JSON.stringify(before)
  return maskUrls(text) === text ? given : (keptUrlsIn(given, before) as Json)
}

const kept = (shape: Shape | undefined, given: unknown, before: unknown, fillsIn: boolean): unknown => {
  if (Array.isArray(given)) {
    const storedItem = storedItems(before)
    return given.map((item, index) => kept(shape?.items, item, storedItem(item, index), fillsIn))
  }
  if (!isObject(given)) return keptUrl(given, before)
  const old = isObject(before) ? before : {}
  const members = Object.entries(given).map(([key, inner]) => {
    const described = shapeOf(shape, given, key)
    const had = Object.hasOwn(old, key) ? old[key] : undefined
    if (markOf(described, key, inner) !== 'masked') return [key, kept(described, inner, had, fillsIn)]
    if (inner === masked || inner === '') return [key, had]
    return [key, inner === null ? undefined : inner]
  })
  const isLeftOut = (key: string) =>
    !Object.hasOwn(given, key) && markOf(shapeOf(shape, old, key), key, old[key]) === 'masked'
  const filled = fillsIn ? Object.entries(old).filter(([key]) => isLeftOut(key)) : []
  return Object.fromEntries([...members, ...filled].filter(([, value]) => value !== undefined))
}

/** A secret that is sent masked or empty is unchanged; with `whole` also a missing one. */
export const withStoredSecrets = (
  schema: object | undefined,
  given: Json,
  before: Json,
  sent: 'whole' | 'changed',
): Json => kept(schema, given, before, sent === 'whole') as Json
