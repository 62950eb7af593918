// What is secret is said in schemas: nothing there is called like a secret and is not marked.
import { describe, expect, it } from 'vitest'
import { declarationsOf } from '../../src/areas/assemble.ts'
import { Device } from '../../src/areas/devices/schema.ts'
import { areas } from '../../src/areas/index.ts'
import { User } from '../../src/areas/users/schema.ts'
import { isObject, type Json } from '../../src/lib/json.ts'
import {
  asAnswered,
  isSecretKey,
  withKeptSecrets,
  withMasks,
  withoutEchoes,
  withoutSecrets,
} from '../../src/lib/secrets.ts'

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
const fields = Object.entries(everything).flatMap(([name, shape]) => fieldsOf(shape, name))

it('every field that is called like a secret is marked', () => {
  const forgotten = fields.filter(([path, mark]) => isSecretKey(path.split('.').at(-1) ?? '') && !mark)
  expect(forgotten).toEqual([])
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
  expect(asAnswered(User, doc)).toEqual({ ...withMasks(User, doc), hotdesk: { pin: '4711' } })
  expect(withoutSecrets(User, doc)).toEqual({ hotdesk: {}, note: { list: [{}] } })
  expect(withoutSecrets(undefined, doc)).toEqual({ hotdesk: {}, note: { list: [{}] } })
})

it('what comes back masked stays, what does not come stays in a whole document, what is empty goes', () => {
  const before = {
    api_key: 'old',
    list: [{ password: 'first' }],
    deep: { secret: 'kept', open: 1 },
    gone: { secret: 'x' },
  }
  const given = { api_key: '***', list: [{ password: '***' }, { password: '***' }], deep: { open: 2 } }
  expect(withKeptSecrets(undefined, given, before, 'whole')).toEqual({
    api_key: 'old',
    list: [{ password: 'first' }, {}],
    deep: { open: 2, secret: 'kept' },
  })
  expect(withKeptSecrets(undefined, given, before, 'changed')).toEqual({
    api_key: 'old',
    list: [{ password: 'first' }, {}],
    deep: { open: 2 },
  })
  expect(withKeptSecrets(undefined, { api_key: '', deep: { secret: 'new' } }, before, 'whole')).toEqual({
    deep: { secret: 'new' },
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
