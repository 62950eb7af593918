// Generates requests for known routes with a random defect, caller and record.
import { type Chance, createChance } from '../test/fuzz/chance.ts'
import { brokenBody, hostileObject, hostileText, hostileValue, keys, spoiled } from '../test/fuzz/hostile.ts'
import { type Aim, type Persona, type Refusal, sees, type Tenant } from './model.ts'
import { refusedRequest } from './refused.ts'
import type { Operation, Routes, Schema } from './routes.ts'
import type { Stage } from './stage.ts'
import type { WireRequest } from './wire.ts'

export interface Attempt {
  persona: Persona
  aim: Aim
  request: WireRequest
  /** If the server must reject the request. */
  refused?: Refusal
}

const methods = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
const oddMethods = ['TRACE', 'PROPFIND', 'LINK', 'PURGE', 'M-SEARCH', 'QUERY']

const isRead = (method: string) => method === 'GET' || method === 'HEAD' || method === 'OPTIONS'

/**
 * Routes that change a whole account or end sessions: authorized callers use them on accounts made for that.
 */
const isFragile = ({ method, path }: Operation) =>
  !isRead(method) &&
  (/\{account_id\}(\/(auth|security|token_restrictions|api_key|move|reseller|migrations.*))?$/.test(path) ||
    (method === 'DELETE' && /_id\}$|phone_number\}$|collection$|whitelabel$/.test(path)))

/** Routes that end all sessions or change what the run depends on: not sent by authorized callers. */
const isForbiddenGround = ({ method, path }: Operation) =>
  !isRead(method) && /^\/v2\/(auth|auth\/keys\/.*|token_auth|multi_factor.*)$/.test(path)

/** Each costs tens of milliseconds of processor on purpose. */
const isDear = ({ path }: Operation) => /\/(user_auth|qrcode|recovery|api_auth)$/.test(path)

const patterns: Readonly<Record<string, (chance: Chance) => string>> = {
  '^[a-fA-F0-9]{40,250}$': (chance) => chance.bytes(30).toString('hex'),
  '^[0-9a-f]*$': (chance) => chance.bytes(16).toString('hex'),
  '^\\d{1,10}(?:\\.\\d{1,6})?$': (chance) => `${chance.below(1000)}.${chance.below(1000)}`,
  '^[0-9+:]*$': () => '12:00',
  '^[A-Z]{2}(-[A-Z0-9]{1,3})?$': () => 'DE-BE',
}

const formats: Readonly<Record<string, readonly string[]>> = {
  timezone: ['Europe/Berlin', 'UTC', 'Mars/Olympus'],
  uri: ['https://example.test/a', 'http://127.0.0.1:9/', 'file:///etc/passwd', 'gopher://[::1]/'],
  email: ['some.body@mail.test', '"a b"@mail.test', `${'a'.repeat(64)}@mail.test`],
  regex: ['a+', '(a+)+$', '['],
  'date-time': ['2026-01-01T00:00:00Z', '0000-00-00T99:99:99Z'],
}

const fitted = (text: string, { minLength = 0, maxLength = 500 }: Schema) =>
  text.padEnd(minLength, 'x').slice(0, Math.max(maxLength, 0))

const textOf = (chance: Chance, schema: Schema, isHostile: boolean) => {
  const ofPattern = schema.pattern && patterns[schema.pattern]
  if (ofPattern) return ofPattern(chance)
  if (schema.pattern) return fitted(`abc${chance.below(100_000)}`, schema)
  const ofFormat = schema.format && formats[schema.format]
  if (ofFormat) return chance.pick(ofFormat)
  return fitted(isHostile ? hostileText(chance).toWellFormed() : `text ${chance.below(1e6)}`, schema)
}

const numberOf = (chance: Chance, { minimum = 0, maximum = 1_000_000 }: Schema) =>
  chance.pick([minimum, maximum, minimum + 1, minimum + chance.below(1000)])

interface Values {
  chance: Chance
  resolve: Routes['resolve']
  /** Ids that bodies may point at. */
  ids: readonly string[]
  /** Nothing is spoiled: what a client would send that knows what it does. */
  isWellMeant: boolean
}

/** A value that a schema takes, mostly. */
const fittingValue = (values: Values, given: Schema, depth: number): unknown => {
  const { chance, resolve } = values
  const schema = resolve(given)
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return chance.pick(schema.enum)
  const choice = schema.anyOf ?? schema.allOf
  if (choice) return fittingValue(values, chance.pick(choice), depth)
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0]
  switch (type) {
    case 'object':
      return objectOf(values, schema, depth)
    case 'array':
      return depth > 0 && schema.items
        ? chance.many(2, () => fittingValue(values, schema.items as Schema, depth - 1))
        : []
    case 'integer':
      return numberOf(chance, schema)
    case 'number':
      return numberOf(chance, schema) + (chance.once(2) ? 0.5 : 0)
    case 'boolean':
      return chance.once(2)
    case 'string':
      return textOf(chance, schema, !values.isWellMeant && chance.once(3))
    default:
      return hostileValue(chance, 1)
  }
}

const idNames = /(^|_)id$|^value$|^to$/

const memberOf = (values: Values, name: string, schema: Schema, depth: number) =>
  idNames.test(name) && values.ids.length > 0 && !values.chance.once(4)
    ? values.chance.pick(values.ids)
    : fittingValue(values, schema, depth)

const objectOf = (values: Values, schema: Schema, depth: number) => {
  const { chance } = values
  const properties = Object.entries(schema.properties ?? {})
  // Passwords cost what sign-ins cost.
  const wanted = ([name]: [string, Schema]) =>
    schema.required?.includes(name) ||
    (depth > 0 && chance.once(name === 'password' || name === 'credentials' ? 40 : 5))
  const known = properties
    .filter(wanted)
    .map(([name, inner]) => [name, memberOf(values, name, inner, depth - 1)] as const)
  const { additionalProperties: more } = schema
  const free =
    typeof more === 'object' && depth > 0
      ? chance.many(2, () => [chance.pick(keys), fittingValue(values, more, depth - 1)] as const)
      : []
  return Object.fromEntries([...known, ...free])
}

const uploads: Readonly<Record<string, readonly string[]>> = {
  'image/png': ['\x89PNG\r\n\x1a\n', '\x89PNG\r\n\x1a\n<script>', 'GIF89a'],
  'image/x-icon': ['\0\0\x01\0\x01\0'],
  'image/gif': ['GIF89a'],
  'image/jpeg': ['\xff\xd8\xff\xe0'],
  'text/html': ['<p>Welcome</p>', '<script>alert(1)</script>{{user.name}}', '{{#a}}'],
  'text/plain': ['Hello {{user.first_name}}', '{{{{'],
  'text/csv': [
    'number\n+14155550111\n',
    'number,number\n1\n',
    '"',
    'a'.repeat(5000),
    'number\n\0\n',
    '\ufeffnumber\n',
  ],
  'application/x-ndjson': [
    '{"call_id":"a","custom_channel_vars":{"account_id":"b"}}\n',
    '{"call_id":1}\n{\n[]\n',
    '\n\n\n',
    `${'['.repeat(2000)}\n`,
  ],
  'application/base64': ['data:image/png;base64,iVBORw0KGgo=', '!!!!', 'AAAA====', 'iVBORw0KGgo'],
}

const multipart = (chance: Chance) => {
  const parts = Array.from(
    { length: 1 + chance.below(60) },
    (_, index) =>
      `--x\r\ncontent-disposition: form-data; name="f${index}"; filename="../${index}"\r\n\r\n${hostileText(chance)}\r\n`,
  )
  return `${parts.join('')}${chance.once(3) ? '' : '--x--'}`
}

const otherBodies: readonly [string, (chance: Chance) => string][] = [
  ['application/x-www-form-urlencoded', (chance) => 'a&'.repeat(1 + chance.below(3000))],
  [
    'application/x-www-form-urlencoded',
    (chance) => `data[name]=${encodeURIComponent(hostileText(chance).toWellFormed())}&data[__proto__][a]=1`,
  ],
  ['multipart/form-data; boundary=x', multipart],
  ['text/csv', (chance) => chance.pick(uploads['text/csv'] ?? [''])],
  ['application/octet-stream', (chance) => chance.bytes(chance.below(2000)).toString('latin1')],
  ['application/json; charset=utf-16', () => '\xfe\xff\0{'],
  ['application/xml', () => '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'],
]

const pages = [
  'paginate',
  'page_size',
  'start_key',
  'bookmark',
  'descending',
  'fields',
  'full_docs',
  'is_chunked',
  'chunk_size',
  'pretty_print',
  'accept',
  'has_key',
  'key_missing',
  'has_value',
  'created_from',
  'created_to',
  'modified_from',
  'modified_to',
  'filter_id',
  'filter_a.b.c',
  'filter___proto__',
  'filter_not_name',
  'verb',
  'auth_token',
  'authorization',
  'action',
  'include_api_key',
  'should_soft_delete',
  'accept_charges',
  'with_status',
  'owner_id',
  'account_id',
]

const fittingValues: Readonly<Record<string, readonly string[]>> = {
  paginate: ['false', 'true'],
  is_chunked: ['false', 'true'],
  pretty_print: ['true'],
  descending: ['true', 'false'],
  full_docs: ['true'],
  page_size: ['1', '2', '50', '100000', '0', '-1', '1e3'],
  fields: ['["id","name"]', '["pvt_account_id","custom"]', '{"name":true}', '["a.b.c"', '[[[]]]'],
  accept: ['csv', 'text/csv', 'json'],
  created_from: ['0', '63900000000', '99999999999', '-1', '1e12'],
  created_to: ['0', '63934785600', '99999999999'],
  category: ['number_management', 'rates', 'services', 'unknown'],
  action: ['list', 'import', 'delete', 'reset_signature_secret', 'notify'],
  domain: ['brand.example.test', 'a..b', '127.0.0.1'],
  t: ['account', 'user', 'device'],
  q: ['name', 'id', 'realm'],
  v: ['cnr', 'a', ''],
  by_name: ['cnr'],
  interval: ['hour', 'day', 'month'],
  group_by: ['owner_id', 'hangup_cause', 'account_id'],
  dry_run: ['true'],
  accept_charges: ['true'],
  include_api_key: ['true'],
}

const headerValues: Readonly<Record<string, readonly string[]>> = {
  accept: [
    '*/*',
    'text/csv',
    'image/png',
    'text/*;q=0.5, */*;q=NaN',
    'application/pdf',
    'text/event-stream',
    ',,,',
  ],
  'content-type': [
    'application/json; charset=utf-16',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'multipart/form-data; boundary=x',
    'application/base64',
    'text/html',
    'text/plain',
    '',
  ],
  'if-match': ['"*"', 'W/"', '*', '1-abc', '""'],
  'if-none-match': ['*', '"1"'],
  range: ['bytes=0-', 'bytes=5-2', 'bytes=999999999999-', 'bytes=0-0,1-1,2-2', 'bytes=-1'],
  authorization: [
    'Basic !!!!',
    'Basic bm9ib2R5Om5vdGhpbmc=',
    'Bearer a.b.c',
    'Bearer eyJhbGciOiJub25lIn0.eyJhY2NvdW50X2lkIjoiYSJ9.',
    'Digest x',
    '',
  ],
  'x-forwarded-for': ['1.2.3.4, ::1, unknown', '127.0.0.1', "'; DROP TABLE records; --", '1'.repeat(3000)],
  'x-forwarded-host': ['evil.test'],
  'x-request-id': ['a', 'a'.repeat(300), '\xe4\xff', '../..'],
  'x-http-method-override': ['DELETE', 'PATCH'],
  'x-original-url': ['/v2/about'],
  'x-file-name': ['../../x', 'a"b.csv', '\xe4'],
  'accept-encoding': ['gzip', 'br;q=1.0, *;q=0'],
  'content-encoding': ['gzip', 'br', 'gzip, gzip, gzip', 'identity'],
  'content-disposition': ['filename="../../x"', "filename*=utf-8''%00"],
  'content-transfer-encoding': ['base64'],
  cookie: ['auth_token=a', 'a=b; __proto__=c'],
  origin: ['https://evil.test', 'null'],
  expect: ['100-continue'],
  traceparent: ['00-', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
}

const headerNames = Object.keys(headerValues)

const encode = (text: string) => encodeURIComponent(text.toWellFormed())

/** Where a request goes, and whose ids it may carry. */
interface Ground {
  persona: Persona
  target: Tenant
  /** Accounts whose IDs replace those of the target. */
  others: readonly Tenant[]
}

const isMutable = (persona: Persona, tenant: Tenant) => !sees(persona, tenant) || tenant.isPlayground

/** A random account; authorized callers never get accounts that must stay unchanged. */
const groundFor = (chance: Chance, stage: Stage, persona: Persona, operation: Operation): Ground => {
  const changes = !isRead(operation.method)
  const open = changes ? stage.tenants.filter((tenant) => isMutable(persona, tenant)) : stage.tenants
  const spares = stage.tenants.filter(({ isSpare }) => isSpare)
  const guess = chance.once(3) ? chance.pick(open) : persona.home
  const isOwn = sees(persona, guess)
  if (changes && isOwn && (isFragile(operation) || !guess.isPlayground)) {
    const usable = spares.filter((tenant) => sees(persona, tenant))
    const target = usable.length > 0 ? chance.pick(usable) : chance.pick(open)
    return { persona, target, others: open }
  }
  return { persona, target: guess, others: open }
}

const idFor = (chance: Chance, { target, others }: Ground, name: string) => {
  const kind = chance.below(12)
  const own = target.ids[name]
  const isPerson = name === 'user_id' && kind === 0
  if (kind <= 8 && own && own.length > 0 && !isPerson) return chance.pick(own)
  const owner = chance.pick(others)
  const theirs = isPerson && !owner.isPlayground ? owner.ids.person_id : owner.ids[name]
  if (kind <= 9 && theirs && theirs.length > 0) return chance.pick(theirs)
  if (kind === 10) return chance.bytes(16).toString('hex')
  return kind === 11 ? hostileText(chance) : 'unknown'
}

/** Settings that the run depends on. */
const keptSettings = /^(crossbar|token_buckets|crossbar\.auth|ingest|security|tasks)/

const segmentFor = (chance: Chance, ground: Ground, name: string) => {
  if (name === 'account_id') return undefined
  const id = idFor(chance, ground, name)
  return name === 'config_id' && keptSettings.test(id) ? 'portal' : id
}

interface Placed {
  path: string
  userId: string | undefined
  /** False: the matching route is unknown. */
  isStraight: boolean
}

const placeOf = (chance: Chance, operation: Operation, ground: Ground): Placed => {
  let userId: string | undefined
  // A place that is left empty makes another route of it.
  let isStraight = true
  const path = operation.path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const id = segmentFor(chance, ground, name) ?? ground.target.id
    if (name === 'user_id') userId = id
    if (id === '') isStraight = false
    return encode(id)
  })
  if (!chance.once(15)) return { path, userId, isStraight }
  const segments = path.split('/')
  const odd = chance.pick([
    encode(hostileText(chance)),
    '..',
    '.',
    '',
    '%2e%2e',
    '%',
    '%zz',
    '%c3%28',
    '%00',
    'v2',
    '__proto__',
    'a'.repeat(3000),
  ])
  segments.splice(chance.below(segments.length + 1), chance.below(2), odd)
  return { path: `/${segments.join('/')}`.replace(/^\/+/, '/'), userId, isStraight: false }
}

const anyIdOf = (chance: Chance, tenants: readonly Tenant[]) => {
  const ids = Object.values(chance.pick(tenants).ids)
  return chance.pick(ids.filter(({ length }) => length > 0))[0] as string
}

const queryValue = (chance: Chance, name: string, { others }: Ground) => {
  const fitting = fittingValues[name]
  if (fitting && !chance.once(3)) return chance.pick(fitting)
  if (chance.once(4)) return anyIdOf(chance, others)
  if (chance.once(6))
    return Buffer.from(JSON.stringify([hostileText(chance), anyIdOf(chance, others)])).toString('base64url')
  return chance.once(3) ? JSON.stringify(hostileValue(chance)) : hostileText(chance)
}

const queryOf = (chance: Chance, operation: Operation, ground: Ground) => {
  if (operation.query.length === 0 && !chance.once(3)) return ''
  if (chance.once(30))
    return `?${chance
      .bytes(30)
      .toString('latin1')
      .replace(/[^\x21-\x7e]/g, '&')}`
  const pairs = chance.many(4, () => {
    const own = operation.query.length > 0 && !chance.once(3)
    const name = own
      ? chance.pick(operation.query)
      : chance.once(5)
        ? `filter_${chance.pick(keys)}`
        : chance.pick(pages)
    return [name, queryValue(chance, name, ground)] as const
  })
  // A verb in the query is another method; what it may do was not asked.
  const kept = pairs.filter(([name]) => name !== 'verb')
  return kept.length > 0
    ? `?${kept.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')}`
    : ''
}

const headersOf = (chance: Chance, persona: Persona, others: readonly Tenant[]) => {
  const headers: Record<string, string> = { ...persona.headers }
  if (!chance.once(3)) return headers
  for (const name of chance.many(3, () => chance.pick(headerNames))) {
    // The caller of the request stays known.
    if (name === 'authorization' && persona.headers.authorization) continue
    headers[name] = chance.pick(headerValues[name] ?? [''])
  }
  if (chance.once(6)) headers['x-auth-account-id'] = chance.pick(others).id
  if (chance.once(6)) headers['idempotency-key'] = `key-${chance.below(30)}`
  return headers
}

interface Sent {
  type: string | undefined
  bytes: Buffer | undefined
}

const nothing: Sent = { type: undefined, bytes: undefined }

const uploadOf = (chance: Chance, types: readonly string[]): Sent => {
  const type = chance.pick(types)
  const bytes = Buffer.from(chance.pick(uploads[type] ?? ['x']), 'latin1')
  return { type, bytes }
}

const doubled = (json: string) =>
  json.replace('{"data":{', '{"data":{"name":"first","name":"second","id":"a","id":"b",')

const idsOf = ({ others }: Ground) => others.flatMap(({ id, ids }) => [id, ...(ids.user_id ?? [])])

const jsonBody = (chance: Chance, operation: Operation, ground: Ground, resolve: Routes['resolve']): Sent => {
  const values = { chance, resolve, ids: idsOf(ground), isWellMeant: false }
  const good = fittingValue(values, operation.body ?? { type: 'object' }, 3)
  const isObject = typeof good === 'object' && good !== null && !Array.isArray(good)
  const kind = chance.below(10)
  const sent =
    kind <= 5 || !isObject
      ? good
      : kind <= 7
        ? spoiled(chance, { ...good })
        : kind === 8
          ? { ...good, ...hostileObject(chance) }
          : hostileValue(chance)
  const action = chance.once(8)
    ? { action: chance.pick(['notify', 'refresh_token', 'reset_signature_secret', 'impersonate_user']) }
    : {}
  const charges = chance.once(3) ? { accept_charges: true } : {}
  const json = JSON.stringify({ data: sent, ...charges, ...(isFragile(operation) ? {} : action) })
  if (chance.once(20)) return { type: 'application/json', bytes: Buffer.from(doubled(json)) }
  const body = chance.once(12) ? brokenBody(chance, json) : json
  return { type: 'application/json', bytes: Buffer.from(body) }
}

const bodyOf = (chance: Chance, operation: Operation, ground: Ground, resolve: Routes['resolve']): Sent => {
  if (isRead(operation.method))
    return chance.once(25) ? jsonBody(chance, operation, ground, resolve) : nothing
  if (operation.method === 'DELETE' && !operation.body && !chance.once(8)) return nothing
  if (chance.once(20)) return nothing
  if (operation.uploads.length > 0 && !chance.once(4)) return uploadOf(chance, operation.uploads)
  if (chance.once(25)) {
    const [type, make] = chance.pick(otherBodies)
    return { type, bytes: Buffer.from(make(chance), 'latin1') }
  }
  return jsonBody(chance, operation, ground, resolve)
}

/** Authorized callers never send requests that would end the run. */
const isWorthIt = (chance: Chance, operation: Operation, persona: Persona) => {
  if (isDear(operation) && !chance.once(40)) return false
  if (!persona.actor || isRead(operation.method)) return true
  if (isForbiddenGround(operation))
    return !persona.actor.tenant.isMaster && persona.actor.kind === 'user' && operation.path === '/v2/auth'
  const isMaster = persona.actor.tenant.isMaster
  const isHomeKept = !persona.home.isPlayground && !operation.variables.includes('account_id')
  if (isHomeKept && !isMaster) return operation.policy.includes('superduper')
  return true
}

const pickOperation = (chance: Chance, operations: readonly Operation[], persona: Persona): Operation => {
  for (;;) {
    const operation = chance.pick(operations)
    if (isWorthIt(chance, operation, persona)) return operation
  }
}

const pickPersona = (chance: Chance, personas: readonly Persona[]): Persona => {
  const persona = chance.pick(personas)
  return chance.once(persona.oneIn) ? persona : pickPersona(chance, personas)
}

/** A valid request, most of which succeed. */
const wellMeant = (
  chance: Chance,
  { operation, ground }: { operation: Operation; ground: Ground },
  resolve: Routes['resolve'],
) => {
  const own = (name: string) => (name === 'account_id' ? [ground.target.id] : (ground.target.ids[name] ?? []))
  let userId: string | undefined
  const path = operation.path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
    const known = own(name)
    const id = known.length > 0 ? chance.pick(known) : 'unknown'
    if (name === 'user_id') userId = id
    return encode(name === 'config_id' && keptSettings.test(id) ? 'portal' : id)
  })
  const hasBody = !isRead(operation.method) && operation.body !== undefined
  const values = { chance, resolve, ids: idsOf({ ...ground, others: [ground.target] }), isWellMeant: true }
  const json = () => ({
    type: 'application/json',
    bytes: Buffer.from(
      JSON.stringify({ data: fittingValue(values, operation.body ?? {}, 2), accept_charges: true }),
    ),
  })
  const sent = operation.uploads.length > 0 ? uploadOf(chance, operation.uploads) : hasBody ? json() : nothing
  return { place: { path, userId, isStraight: true }, sent }
}

/** Requests by number: the same seed, number and stage give the same request. */
export const createGenerator = ({ operations, resolve }: Routes, seed: number) => {
  const attemptOf = (stage: Stage, index: number): Attempt => {
    const chance = createChance((Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b)) >>> 0)
    const persona = pickPersona(chance, stage.personas)
    const refused = chance.once(8) ? refusedRequest(chance, stage, persona) : undefined
    if (refused) {
      const aim = { operation: undefined, target: undefined, userId: undefined }
      return { persona, aim, request: refused.request, refused: refused.refusal }
    }
    const operation = pickOperation(chance, operations, persona)
    const ground = groundFor(chance, stage, persona, operation)
    const isWellMeant = chance.once(3)
    const { place, sent } = isWellMeant
      ? wellMeant(chance, { operation, ground }, resolve)
      : {
          place: placeOf(chance, operation, ground),
          sent: bodyOf(chance, operation, ground, resolve),
        }
    const { type, bytes } = sent
    const headers = isWellMeant ? { ...persona.headers } : headersOf(chance, persona, ground.others)
    if (type !== undefined) headers['content-type'] ??= type
    const { method, isBent } = isWellMeant
      ? { method: operation.method, isBent: false }
      : bentMethod(chance, operation, persona, ground.target)
    const isKnown = place.isStraight && !isBent && !headers['x-http-method-override']
    return {
      persona,
      aim: {
        operation: isKnown ? operation : undefined,
        target: operation.variables.includes('account_id') ? ground.target : undefined,
        userId: place.userId,
      },
      request: {
        method,
        path: place.path + (isWellMeant ? '' : queryOf(chance, operation, ground)),
        headers,
        body: bytes,
      },
    }
  }
  return { attemptOf }
}

/** Another method than the route's, where no authorized caller could do harm. */
const bentMethod = (chance: Chance, { method }: Operation, persona: Persona, target: Tenant) => {
  if (method === 'GET' && chance.once(15)) return { method: chance.pick(['HEAD', 'OPTIONS']), isBent: false }
  if (!chance.once(25)) return { method, isBent: false }
  const isHarmless = !sees(persona, target) || target.isSpare
  const choice = chance.once(6) ? oddMethods : isHarmless ? methods : ['GET', 'HEAD', 'OPTIONS']
  return { method: chance.pick(choice), isBent: true }
}
