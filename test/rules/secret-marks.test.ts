// Schemas mark their secrets: every property with a name like a secret has the mark.
import { describe, expect, it } from 'vitest'
import { Account } from '../../src/areas/accounts/accounts/schema.ts'
import { User } from '../../src/areas/accounts/users/schema.ts'
import { declarationsOf } from '../../src/areas/assemble.ts'
import { Webhook } from '../../src/areas/events/webhooks/schema.ts'
import { areas } from '../../src/areas/index.ts'
import { Device } from '../../src/areas/voice/devices/schema.ts'
import { allRoutes } from '../../src/commands/openapi.ts'
import { createValidation } from '../../src/http/request/validation.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import {
  isSecretKey,
  maskUrls,
  visibleSecrets,
  withMasks,
  withoutEchoes,
  withoutEmptySecrets,
  withoutSecrets,
  withStoredSecrets,
  withStoredUrls,
} from '../../src/lib/secrets.ts'
import { placesIn } from '../support/matchers/schema-texts.ts'

const { settings, accountSettings } = declarationsOf(areas)

/** Every described field, by its path, with its mark. */
const fieldsOf = (shape: unknown, path: string): [string, unknown][] => {
  if (Array.isArray(shape)) return shape.flatMap((one) => fieldsOf(one, path))
  if (!isObject(shape)) return []
  const { properties, patternProperties, additionalProperties, items, anyOf } = shape
  const named = Object.entries((properties ?? {}) as Record<string, Json>)
  return [
    ...named.flatMap(([key, inner]) => [
      [`${path}.${key}`, inner['x-secret']] as [string, unknown],
      ...fieldsOf(inner, `${path}.${key}`),
    ]),
    ...Object.values((patternProperties ?? {}) as Json).flatMap((inner) => fieldsOf(inner, `${path}.*`)),
    ...fieldsOf(additionalProperties, `${path}.*`),
    ...fieldsOf(items, `${path}[]`),
    ...fieldsOf(anyOf, path),
  ]
}

const everything = { ...settings, ...accountSettings, device: Device, user: User }
const bodies = new Set(allRoutes().flatMap(({ spec }) => spec.body ?? []))
const fields = Object.entries(everything).flatMap(([name, shape]) => fieldsOf(shape, name))

it('every field that is called like a secret is marked', () => {
  const forgotten = fields.filter(([path, mark]) => isSecretKey(path.split('.').at(-1) ?? '') && !mark)
  expect(forgotten).toEqual([])
})

/** Every URL field, by its path, with its mark. */
const addressesOf = (shape: unknown, path: string): [string, unknown][] => {
  if (!isObject(shape)) return []
  const { format, pattern = '', 'x-secret': mark } = shape
  const isAddress = format === 'uri' || /^\^(?:https|amqps)\?:/.test(String(pattern))
  const inner = Object.entries(shape).flatMap(([key, one]) => addressesOf(one, `${path}.${key}`))
  return isAddress ? [[path, mark], ...inner] : inner
}

it('every URL field that may contain a password is marked', () => {
  const found = Object.entries({ ...everything, account: Account, webhook: Webhook }).flatMap(
    ([name, shape]) => addressesOf(shape, name),
  )
  expect(found.length).toBeGreaterThan(20)
  expect(found.filter(([, mark]) => mark !== 'url' && mark !== 'masked')).toEqual([])
})

it('these are the secrets that answers show, and those that they mask', () => {
  const marked = (wanted: string) => fields.flatMap(([path, mark]) => (mark === wanted ? [path] : [])).sort()
  expect(marked('readable')).toEqual(['device.sip.password', 'ingest.freeswitch_secret', 'user.hotdesk.pin'])
  expect(marked('masked')).toEqual([
    'crossbar.ssl_password',
    'events.amqp.url',
    'provisioner.authorization_header',
    'services.http_sync.authorization_header',
    'services.http_sync.signing_secret',
    'services.http_sync.vendors.*.authorization_header',
    'services.http_sync.vendors.*.signing_secret',
    'services.stripe.api_key',
    'services.stripe.vendors.*.api_key',
    'services.stripe.vendors.*.webhook_secret',
    'services.stripe.webhook_secret',
    'switch.kamailio.secret',
    'user.credentials',
    'user.password',
  ])
})

it('a document is shown to four kinds of readers', () => {
  const doc = { hotdesk: { pin: '4711' }, password: 'hush', note: { api_key: 'hush', list: [{ pin: 1 }] } }
  expect(withMasks(User, doc)).toEqual({
    hotdesk: { pin: '***' },
    password: '***',
    note: { api_key: '***', list: [{ pin: '***' }] },
  })
  expect(visibleSecrets(User, doc)).toEqual({ ...withMasks(User, doc), hotdesk: { pin: '4711' } })
  expect(withoutSecrets(User, doc)).toEqual({ hotdesk: {}, note: { list: [{}] } })
  expect(withoutSecrets(undefined, doc)).toEqual({ hotdesk: {}, note: { list: [{}] } })
})

it('a secret that comes back masked or empty is unchanged, one that is missing only in a whole document', () => {
  const before = {
    api_key: 'old',
    list: [{ password: 'first' }],
    deep: { secret: 'kept', open: 1 },
    gone: { secret: 'x' },
  }
  const given = { api_key: '***', list: [{ password: '***' }, { password: '***' }], deep: { open: 2 } }
  expect(withStoredSecrets(undefined, given, before, 'whole')).toEqual({
    api_key: 'old',
    list: [{ password: 'first' }, {}],
    deep: { open: 2, secret: 'kept' },
  })
  expect(withStoredSecrets(undefined, given, before, 'changed')).toEqual({
    api_key: 'old',
    list: [{ password: 'first' }, {}],
    deep: { open: 2 },
  })
  const filled = { api_key: '', list: [{ password: null }], deep: { secret: 'new' } }
  expect(withStoredSecrets(undefined, filled, before, 'whole')).toEqual({
    api_key: 'old',
    list: [{}],
    deep: { secret: 'new' },
  })
})

it('a long name costs no more than a short one, and its end decides', () => {
  const long = '1'.repeat(1_000_000)
  expect(withMasks(undefined, { [`${long}a`]: 'open', [`${long}_pin`]: 'hush' })).toEqual({
    [`${long}a`]: 'open',
    [`${long}_pin`]: '***',
  })
})

describe('a text that repeats secrets', () => {
  it('loses each of them, the longest first', () => {
    const told = { custom_request_headers: { A: 'abc', B: 'abcdef', C: 'a.c' } }
    expect(withoutEchoes('abcdef, abc, a.c and axc', told)).toBe('***, ***, *** and axc')
  })

  it('does not grow by secrets that look like masks', () => {
    const headers = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`H${index}`, '*']))
    expect(withoutEchoes('* *', { custom_request_headers: headers })).toBe('*** ***')
  })
})

it('an empty secret counts as one that was not sent, in every body', () => {
  const secrets = [...bodies].flatMap((body) =>
    placesIn(body)
      .filter(({ schema }) => schema['x-secret'] === 'masked' || schema['x-secret'] === 'readable')
      .map(({ path, around }) => ({ path, sent: around('') as Json, body })),
  )
  expect([...new Set(secrets.map(({ path }) => path))].sort()).toEqual([
    'credentials',
    'custom_request_headers',
    'gateways.0.password',
    'hotdesk.pin',
    'password',
    'security_settings.previous_key',
    'security_settings.sha256_key',
    'servers.0.auth.auth_password',
    'sip.password',
  ])
  for (const { sent, body } of secrets)
    expect(JSON.stringify(withoutEmptySecrets(body, sent))).not.toContain('""')
})

describe('a URL that comes back masked', () => {
  const before = {
    urls: ['https://a:first@one.test', 'https://b:second@two.test'],
    one: 'https://c:d@e.test',
  }
  const [first, second] = before.urls

  it.each<[string, Json, Json]>([
    ['is the stored one', { urls: before.urls.map(maskUrls) }, { urls: before.urls }],
    ['of a list that shifted, too', { urls: [maskUrls(second ?? '')] }, { urls: [second] }],
    [
      'of a list in another order, too',
      { urls: before.urls.map(maskUrls).reverse() },
      { urls: [second, first] },
    ],
    [
      'is kept among new ones',
      { urls: ['https://x:y@z.test', maskUrls(first ?? '')] },
      { urls: ['https://x:y@z.test', first] },
    ],
    [
      'is not the stored one if anything else differs',
      { one: 'https://c:***@other.test' },
      { one: 'https://c:***@other.test' },
    ],
  ])('%s', (_title, given, stored) => {
    expect(withStoredUrls(given, before)).toEqual(stored)
    expect(withStoredSecrets(undefined, given, before, 'changed')).toEqual(stored)
  })

  it('and is not a stored one is rejected, in every field', () => {
    const shapes = [...bodies, ...Object.values(settings), ...Object.values(accountSettings)]
    const marked = shapes.flatMap((shape) => {
      const judge = createValidation(shape)
      return placesIn(shape)
        .filter(({ schema }) => schema['x-secret'] === 'url')
        .map(({ path, around }) => ({ path, problems: judge(around('https://a:***@b.test')).problems }))
    })
    expect(marked.length).toBeGreaterThan(40)
    for (const { path, problems } of marked)
      expect(problems[path]).toEqual({
        wrong_format: {
          message: 'The URL contains *** instead of a password or key: send the password or key again',
          value: 'https://a:***@b.test',
          format: 'uri',
        },
      })
  })
})
