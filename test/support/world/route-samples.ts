// What to send to a route so that it can do its work: for tests that walk through all of them.
import type { Route } from '../../../src/http/route.ts'
import type { Json } from '../../../src/lib/json.ts'
import type { RequestOptions } from './client.ts'
import { credentialsOf } from './world.ts'

interface SchemaNode {
  type?: string | string[]
  enum?: unknown[]
  default?: unknown
  minLength?: number
  pattern?: string
  format?: string
  required?: string[]
  properties?: Record<string, SchemaNode>
  anyOf?: SchemaNode[]
}

const sampleText = ({ minLength = 0, format, pattern }: SchemaNode) => {
  if (format === 'email') return 'sample@example.test'
  if (format === 'uri') return 'https://example.test/'
  if (format === 'timezone') return 'Europe/Berlin'
  // A form is mostly hex or a name; `a` is both.
  return (pattern ? 'a' : 'sample').padEnd(minLength, 'a')
}

/** The smallest value that a schema takes. */
export const sampleOf = (schema: SchemaNode): unknown => {
  if (schema.enum) return schema.enum[0]
  if (schema.default !== undefined) return schema.default
  if (schema.anyOf) return sampleOf(schema.anyOf[0] as SchemaNode)
  switch ([schema.type].flat()[0]) {
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map((key) => [key, sampleOf(schema.properties?.[key] ?? {})]),
      )
    case 'array':
      return []
    case 'integer':
    case 'number':
      return 1
    case 'boolean':
      return true
    default:
      return sampleText(schema)
  }
}

/** The ids in paths, by the name of their variable. */
export type PathIds = Readonly<Record<string, string>>

export const variablesOf = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)

export const pathWith = (route: Route, ids: PathIds) =>
  route.path.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(ids[name] ?? 'unknown'))

export const nameOf = ({ method, path }: Route) => `${method} ${path}`

export interface Sample {
  data?: Json
  envelope?: Json
  query?: Record<string, string>
  upload?: { type: string; body: string }
}

export type Samples = Readonly<Record<string, Sample>>

/** An app whose pictures lie in the settings, by its id. */
export const sampleApps = {
  'sample-app': {
    name: 'sample',
    i18n: { 'en-US': { label: 'A sample', description: 'Shows what an app is' } },
    icon: `data:image/png;base64,${Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64')}`,
    screenshots: ['https://cdn.example.test/shot.png'],
  },
}

const onAccount = '/v2/accounts/{account_id}'
const signIn = { credentials: credentialsOf('uli', 'uli-secret'), account_name: 'Acme' }
const ending = { data: {}, envelope: { action: 'reset_signature_secret' } }
const search = { query: { t: 'account', q: 'name', v: 'a' } }
const listingTask = { data: {}, query: { category: 'number_management', action: 'list' } }
const branded = { query: { domain: 'brand.example.test' } }
const several = { query: { t: 'account', by_name: 'a' } }
// It reports events that never happen, to an address without a server.
const quiet = { data: { name: 'A sample', uri: 'https://receiver.invalid/', hook: 'sms' } }
const previewed = { data: { to: { email_addresses: ['sample@example.test'] } } }

const carrier = { data: { name: 'A carrier', gateways: [{ server: 'sip.example.test' }], rules: ['^\\+'] } }
const trunk = { data: { name: 'Head office', servers: [{ auth: { auth_user: 'pbx' } }] } }

// Routes for which the smallest body, or the sample of the area, is not enough.
const samples: Samples = {
  'PUT /v2/accounts': { data: { name: 'A sample account' } },
  [`PUT ${onAccount}`]: { data: { name: 'A sample account' } },
  [`POST ${onAccount}`]: { data: { name: 'A new name' } },
  [`PATCH ${onAccount}`]: { data: { org: 'A sample' } },
  [`PATCH ${onAccount}/users/{user_id}`]: { data: { timezone: 'Europe/Berlin' } },
  [`PATCH ${onAccount}/devices/{device_id}`]: { data: { suppress_unregister_notifications: true } },
  [`PUT ${onAccount}/devices/{device_id}`]: {
    data: { data: { event: 'check-sync', body: { content_type: 'text/plain', data: 'x' } } },
    envelope: { action: 'notify' },
  },
  [`POST ${onAccount}/users/{user_id}/photo`]: { upload: { type: 'image/png', body: '\x89PNG\r\n\x1a\n' } },
  ...Object.fromEntries(
    [`${onAccount}/whitelabel`, '/v2/whitelabel/{domain}'].flatMap((place): [string, Sample][] => [
      [`POST ${place}/logo`, { upload: { type: 'image/png', body: '\x89PNG\r\n\x1a\n' } }],
      [`POST ${place}/icon`, { upload: { type: 'image/x-icon', body: '\0\0\x01\0\x01\0' } }],
      [`POST ${place}/welcome`, { upload: { type: 'text/html', body: '<p>Welcome</p>' } }],
    ]),
  ),
  [`PUT ${onAccount}/api_keys`]: { data: { name: 'A key', scopes: ['devices:read'] } },
  [`PATCH ${onAccount}/api_keys/{api_key_id}`]: { data: { name: 'Another name' } },
  [`PUT ${onAccount}/webhooks`]: quiet,
  [`POST ${onAccount}/webhooks/{webhook_id}`]: quiet,
  [`PATCH ${onAccount}/webhooks/{webhook_id}`]: { data: { name: 'Another name' } },
  [`POST ${onAccount}/webhooks/{webhook_id}/replay`]: { data: { after: '0000000000000000' } },
  ...Object.fromEntries(
    ['/v2', onAccount].flatMap((place): [string, Sample][] => [
      [`PUT ${place}/resources`, carrier],
      [`POST ${place}/resources/{resource_id}`, carrier],
      [`PATCH ${place}/resources/{resource_id}`, { data: { weight_cost: 10 } }],
    ]),
  ),
  [`PUT ${onAccount}/connectivity`]: trunk,
  [`POST ${onAccount}/connectivity/{connectivity_id}`]: trunk,
  [`PATCH ${onAccount}/connectivity/{connectivity_id}`]: { data: { name: 'Branch office' } },
  'PUT /v2/tasks': listingTask,
  [`PUT ${onAccount}/tasks`]: listingTask,
  'GET /v2/whitelabel/domains': branded,
  'POST /v2/whitelabel/domains': { data: { A: {} } },
  [`GET ${onAccount}/whitelabel/domains`]: branded,
  [`POST ${onAccount}/whitelabel/domains`]: branded,
  [`POST ${onAccount}/whitelabel/emails/{email_id}/verify`]: { data: { code: '0000' } },
  'PUT /v2/cdrs': { upload: { type: 'application/x-ndjson', body: '{"call_id":"sample"}' } },
  'PUT /v2/user_auth': { data: signIn },
  'PUT /v2/multi_factor/qrcode': { data: signIn },
  [`PUT ${onAccount}/users/{user_id}/user_auth`]: { data: {}, envelope: { action: 'impersonate_user' } },
  'PUT /v2/auth': ending,
  [`PUT ${onAccount}/auth`]: ending,
  [`PUT ${onAccount}/users/{user_id}/auth`]: ending,
  'PUT /v2/user_auth/recovery': {
    data: { username: 'uli', account_name: 'Acme', ui_url: 'https://localhost/' },
  },
  'GET /v2/auth/tokeninfo': { query: { token: 'sample' } },
  'PUT /v2/auth/keys/{key_id}': { data: {}, envelope: { action: 'reset_private_key' } },
  [`PUT ${onAccount}/callflows`]: { data: { numbers: ['2000'], flow: { module: 'response' } } },
  [`POST ${onAccount}/callflows/{callflow_id}`]: { data: { numbers: ['100'], flow: { module: 'response' } } },
  [`PATCH ${onAccount}/callflows/{callflow_id}`]: { data: { name: 'Another name' } },
  [`PATCH ${onAccount}/groups/{group_id}`]: { data: { name: 'Another name' } },
  'GET /v2/edge/route': { query: { realm: 'acme.test', number: '100' } },
  'GET /v2/edge/export': { query: { realm: 'acme.test' } },
  'GET /v2/edge': { query: { realm: 'acme.test' } },
  'POST /v2/edge/reports': {
    data: {
      records: [{ call_id: 'sample' }],
      refusals: [{ realm: 'nobody.test', reason: 'wrong_password', sip_code: 403, at: 63_934_833_600 }],
    },
  },
  'POST /v2/edge/calls': {
    data: {
      calls: [
        {
          id: '1:1:sample',
          account_id: '0'.repeat(32),
          call_id: 'sample',
          direction: 'outbound',
          number: '+14155550100',
        },
      ],
    },
  },
  'POST /v2/edge/freeswitch': {
    data: { section: 'directory', action: 'sip_auth', user: 'sample', domain: 'acme.test', ip: '192.0.2.10' },
  },
  'GET /v2/edge/carrier': { query: { address: '203.0.113.7' } },
  'GET /v2/search': search,
  'GET /v2/search/multi': several,
  [`GET ${onAccount}/search`]: search,
  [`GET ${onAccount}/search/multi`]: several,
  ...Object.fromEntries(
    ['PUT', 'POST', 'PATCH', 'DELETE'].map((method) => [
      `${method} ${onAccount}/phone_numbers/collection`,
      { data: { numbers: ['+14155550199'] } },
    ]),
  ),
  'GET /v2/phone_numbers': { query: { prefix: '415' } },
  [`GET ${onAccount}/phone_numbers/prefix`]: { query: { city: 'Berkeley' } },
  [`POST ${onAccount}/phone_numbers/check`]: { data: { numbers: ['+14155550199'] } },
  [`POST ${onAccount}/phone_numbers/locality`]: { data: { numbers: ['+14155550199'] } },
  [`PATCH ${onAccount}/phone_numbers/{phone_number}`]: { data: { my: 2 } },
  [`PUT ${onAccount}/phone_numbers/collection/activate`]: { data: { numbers: ['+14155550199'] } },
  [`POST ${onAccount}/services/topup`]: { data: { amount: 1 } },
  [`PUT ${onAccount}/transactions/sale`]: { data: { amount: 1 } },
  [`PUT ${onAccount}/transactions/refund`]: { data: { amount: 1 } },
  [`POST ${onAccount}/migrations/{migration_id}`]: { data: { perform_migration: 'now' } },
  [`PATCH ${onAccount}/limits/operator`]: { data: { calls: 5 } },
  [`PUT ${onAccount}/alerts`]: {
    data: {
      title: 'A sample',
      message: 'Nothing is wrong',
      from: [{ type: 'account', value: 'sample' }],
      to: [{ type: 'all', value: 'admins' }],
    },
  },
  'PUT /v2/schemas/{schema_name}/validation': { data: { first_name: 'A', last_name: 'B' } },
  'PUT /v2/notifications': { data: { id: 'alert' } },
  [`PUT ${onAccount}/notifications`]: { data: { id: 'new_user' } },
  'POST /v2/notifications/{notification_id}/preview': previewed,
  [`POST ${onAccount}/notifications/{notification_id}/preview`]: previewed,
  'PATCH /v2/system_configs/{config_id}': { data: { default: { sample: 1 } } },
}

const hasBody = ({ method }: Route) => method !== 'GET' && method !== 'DELETE'

/** A request that a route understands: the data, and the rest of it. */
export const requestFor = (
  route: Route,
  overrides: Samples = {},
): { data: Json | undefined; options: RequestOptions } => {
  const sample = overrides[nameOf(route)] ?? samples[nameOf(route)] ?? {}
  const options: RequestOptions = {
    ...(sample.query ? { query: sample.query } : {}),
    ...(sample.envelope ? { envelope: sample.envelope } : {}),
    ...(sample.upload
      ? { body: Buffer.from(sample.upload.body, 'latin1'), headers: { 'content-type': sample.upload.type } }
      : {}),
  }
  if (sample.upload || !(hasBody(route) || sample.data)) return { data: undefined, options }
  const { body, sample: ofArea } = route.spec
  return { data: sample.data ?? ofArea ?? ((body ? sampleOf(body as SchemaNode) : {}) as Json), options }
}
