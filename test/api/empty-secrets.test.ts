// Forms send fields that are not filled in as empty texts.
import { expect, it } from 'vitest'
import { isObject, type Json } from '../../src/lib/json.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const valueAt = (data: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (value, key) => (isObject(value) || Array.isArray(value) ? (value as Json)[key] : undefined),
      data,
    )

const gateway = (more: Json = {}) => ({ server: '203.0.113.9', username: 'us', ...more })
const trunk = (more: Json = {}) => ({ auth: { auth_user: 'pbx', auth_method: 'Password', ...more } })
const hook = { name: 'Hook', uri: 'https://203.0.113.7/hook', hook: 'all' }

/** A resource, the path of a secret, and a record with this value as the secret. */
type Case = [resource: string, field: string, record: (secret: string) => Json]

const cases: Case[] = [
  ['devices', 'sip.password', (password) => ({ name: 'Phone', sip: { username: 'phone', password } })],
  ['users', 'hotdesk.pin', (pin) => ({ first_name: 'A', last_name: 'B', hotdesk: { id: '12', pin } })],
  [
    'webhooks',
    'security_settings.sha256_key',
    (sha256_key) => ({ ...hook, security_settings: { sha256_key } }),
  ],
  [
    'webhooks',
    'security_settings.previous_key',
    (previous_key) => ({ ...hook, security_settings: { previous_key } }),
  ],
  [
    'resources',
    'gateways.0.password',
    (password) => ({ name: 'C', rules: ['^1'], gateways: [gateway({ password })] }),
  ],
  [
    'connectivity',
    'servers.0.auth.auth_password',
    (auth_password) => ({ servers: [trunk({ auth_password })] }),
  ],
]

describeAnyEngine('an empty secret', (engine) => {
  const world = useWorld(engine)

  it.each(cases)('of %s (%s) counts as one that was not sent', async (resource, field, record) => {
    const account = await world.account()
    const path = `${account.path}/${resource}`
    const set = await world.operator.put(path, record('4711-secret'))
    expect(set).toSucceed()
    expect(valueAt(set.data, field)).toBe('4711-secret')
    const whole = await world.operator.post(`${path}/${set.data.id}`, record(''))
    expect(whole).toSucceed()
    expect(valueAt(whole.data, field)).not.toBe('')
    expect(await world.operator.post(`${path}/${set.data.id}`, record('4711-secret'))).toSucceed()
    // Lists are replaced as a whole: what is not sent is removed.
    const left = field.includes('.0.') ? undefined : '4711-secret'
    const changed = await world.operator.patch(`${path}/${set.data.id}`, record(''))
    expect(changed).toSucceed()
    expect(valueAt(changed.data, field)).toBe(left)
  })
})
