import type { Route } from '../../src/http/route.ts'
import type { Json } from '../../src/lib/json.ts'
import type { RawRequest } from '../support/world/client.ts'
import { type PathIds, requestFor, sampleOf } from '../support/world/route-samples.ts'
import type { Chance } from './chance.ts'
import { brokenBody, hostileText, hostileValue, keys, spoiled } from './hostile.ts'

const methods = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']
const oddMethods = ['TRACE', 'PROPFIND', 'LINK', 'PURGE', 'M-SEARCH', 'QUERY']

const parameters = [
  'paginate',
  'page_size',
  'start_key',
  'bookmark',
  'descending',
  'ascending',
  'fields',
  'full_docs',
  'chunk_size',
  'is_chunked',
  'pretty_print',
  'accept',
  'verb',
  'auth_token',
  'authorization',
  'action',
  'include_api_key',
  'with_status',
  'object_types',
  'file_name',
  'category',
  'dry_run',
  'csv_name',
  'filter_name',
  'filter_not_name',
  'filter_enabled',
  'filter_a.b.c',
  'has_key',
  'key_missing',
  'has_value',
  'created_from',
  'created_to',
  'modified_from',
  'filter___proto__',
  'filter_constructor',
  't',
  'q',
  'v',
  'by_name',
  'realm',
  'address',
  'with_defaults',
]

const headerNames = [
  'accept',
  'content-type',
  'if-match',
  'if-none-match',
  'range',
  'authorization',
  'x-auth-account-id',
  'x-forwarded-for',
  'x-request-id',
  'x-pretty-print',
  'x-file-name',
  'x-http-method-override',
  'idempotency-key',
  'content-disposition',
  'content-transfer-encoding',
  'accept-encoding',
  'cookie',
  'origin',
]

const headerValues = [
  '*/*',
  'text/csv',
  'image/png',
  'text/*;q=0.5, */*;q=NaN',
  'application/json; charset=utf-16',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'multipart/form-data',
  'application/base64',
  'text/html',
  'bytes=0-',
  'bytes=5-2',
  'bytes=999999999999-',
  'Basic !!!!',
  'Basic bm9ib2R5Om5vdGhpbmc=',
  'Bearer a.b.c',
  'Bearer eyJhbGciOiJub25lIn0.eyJhY2NvdW50X2lkIjoiYSJ9.',
  '"*"',
  'W/"',
  ',,,,',
  '1.2.3.4, ::1, unknown',
  'a'.repeat(3000),
  '\xe4\xff',
  'filename="../../x"',
  'true',
]

/** A caller, with ids of its account and of another one. */
export interface Persona {
  headers: Record<string, string>
  own: PathIds
  others: readonly PathIds[]
}

const encode = (text: string) => encodeURIComponent(text.toWellFormed())

const idFor = (chance: Chance, persona: Persona, name: string) => {
  const kind = chance.below(10)
  if (kind <= 6) return persona.own[name] ?? 'unknown'
  if (kind === 7) return chance.pick(persona.others)[name] ?? 'unknown'
  if (kind === 8) return chance.bytes(16).toString('hex')
  return hostileText(chance)
}

const pathOf = (chance: Chance, route: Route, persona: Persona) => {
  const path = route.path.replace(/\{(\w+)\}/g, (_whole, name: string) =>
    encode(idFor(chance, persona, name)),
  )
  if (!chance.once(12)) return path
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
    'v2',
    'a'.repeat(4000),
  ])
  segments.splice(chance.below(segments.length + 1), chance.below(2), odd)
  return `/${segments.join('/')}`.replace(/^\/+/, '/')
}

const queryValue = (chance: Chance, persona: Persona) => {
  if (chance.once(4)) return Object.values(chance.pick(persona.others))[0] as string
  if (chance.once(6))
    return Buffer.from(JSON.stringify([hostileText(chance), hostileText(chance)])).toString('base64url')
  return chance.once(3) ? JSON.stringify(hostileValue(chance)) : hostileText(chance)
}

const queryOf = (chance: Chance, persona: Persona) => {
  if (chance.once(2)) return ''
  if (chance.once(20))
    return `?${chance
      .bytes(20)
      .toString('latin1')
      .replace(/[^\x21-\x7e]/g, '&')}`
  const pairs = chance.many(4, () => {
    const name = chance.once(5) ? `filter_${chance.pick(keys)}` : chance.pick(parameters)
    return `${encode(name)}=${encode(queryValue(chance, persona))}`
  })
  return pairs.length > 0 ? `?${pairs.join('&')}` : ''
}

const headersOf = (chance: Chance, persona: Persona): Record<string, string> => ({
  'content-type': 'application/json',
  ...(chance.once(10) ? {} : persona.headers),
  ...Object.fromEntries(
    chance.once(3) ? chance.many(3, () => [chance.pick(headerNames), chance.pick(headerValues)]) : [],
  ),
})

interface Described {
  properties?: Record<string, Described>
}

/** Some of the fields that a schema knows: with values that fit, that are hostile, or that are only so inside. */
const knownFields = (chance: Chance, schema: Described | undefined, depth = 3): Json => {
  const properties = Object.entries(schema?.properties ?? {})
  if (properties.length === 0) return {}
  return Object.fromEntries(
    chance.many(4, () => {
      const [name, inner] = chance.pick(properties)
      if (inner.properties && depth > 0 && !chance.once(4))
        return [name, knownFields(chance, inner, depth - 1)]
      return [name, chance.once(3) ? sampleOf(inner) : hostileValue(chance)]
    }),
  )
}

const bodyOf = (chance: Chance, route: Route): string | Buffer | undefined => {
  const { data, options } = requestFor(route)
  if (chance.once(8)) return undefined
  const good = data ?? { name: 'a' }
  const sent = chance.pick([
    () => hostileValue(chance),
    () => good,
    () => spoiled(chance, good),
    () => ({ ...good, ...knownFields(chance, route.spec.body as Described | undefined) }),
    () => ({ ...good, ...knownFields(chance, route.spec.body as Described | undefined) }),
  ])()
  const envelope = {
    ...(chance.once(2) ? options.envelope : {}),
    ...(chance.once(10) ? spoiled(chance, {}) : {}),
  }
  const json = JSON.stringify({ data: sent, ...envelope })
  return chance.once(6) ? brokenBody(chance, json) : json
}

// They end the session of the request, or delete what the rest of a round needs: they are tried rarely.
const isEnding = ({ method, path }: Route) =>
  method === 'DELETE' ? /token_auth$|_id\}$/.test(path) : /\/auth$|\/security$|token_restrictions$/.test(path)

const pickRoute = (chance: Chance, routes: readonly Route[]): Route => {
  const route = chance.pick(routes)
  return isEnding(route) && !chance.once(15) ? pickRoute(chance, routes) : route
}

/** A request that some route might take, spoiled somewhere. */
export const makeRequest = (chance: Chance, routes: readonly Route[], persona: Persona): RawRequest => {
  const route = pickRoute(chance, routes)
  const method = chance.once(8)
    ? chance.pick(methods)
    : chance.once(60)
      ? chance.pick(oddMethods)
      : route.method
  const isRead = method === 'GET' || method === 'HEAD'
  return {
    method,
    path: pathOf(chance, route, persona) + queryOf(chance, persona),
    headers: headersOf(chance, persona),
    body: isRead && !chance.once(6) ? undefined : bodyOf(chance, route),
  }
}
