// Fields that no schema names: their readers see them, and every copy of the record elsewhere has masks for what may be secret.
import { expect, it } from 'vitest'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import type { Json } from '../../src/lib/json.ts'
import { eventually } from '../support/run/eventually.ts'
import { feedSettled, useWebSockets } from '../support/servers/web-sockets.ts'
import { useHooks } from '../support/world/webhooks.ts'
import { describeEngines, type TestAccount } from '../support/world/world.ts'

const names = [
  ...['apiKey', 'api-key-2', 'access_key_id', 'developer_key', 'webhookKey', 'AUTHKEY'],
  ...['pass', 'sipPass', 'userpass', 'pwd', 'db_password', 'passcode', 'wifiPassphrase'],
  ...['pin', 'vm_pin', 'doorPin2', 'Token', 'sip.token', 'refreshTokenId', 'jwt', 'bearerToken'],
  ...[
    'secret',
    'clientSecret',
    'Authorization',
    'basic_auth',
    'cookie',
    'hmac',
    'credential',
    'service_account',
    'voicemail_pin_code',
    'otp',
    'bearer',
    'secretValue',
    'secret_key_base',
    'pass_word',
    'login.pw',
  ],
]
const hush = (kind: string) => `hush-${kind}`
const secretFields = (kind: string): Json => ({
  ...Object.fromEntries(names.map((name) => [name, hush(kind)])),
  gate_pin: 471_147,
  tokens: [hush(kind)],
  secrets: { first: hush(kind) },
  license: { key: hush(kind) },
  key: '0123456789abcdef-hush',
  nested: [{ deep: { apiSecret: hush(kind) } }],
})
const harmless: Json = {
  author: 'Ada',
  bypass: 'auto',
  compass: 'north',
  key: 'menu',
  keys: ['F1'],
  monkey: 'George',
  pass_through: true,
  passkeys: 3,
  require_pin: false,
  sort_key: 'name',
  tokens_left: 4,
}
const leak = /hush|471147/

describeEngines('what may be secret in a field that no schema names', (engine) => {
  const { world, hook, receiver: _, ...hooks } = useHooks(engine)
  const { connect } = useWebSockets(() => world.server.port)

  /** Writes a record with these fields. Returns its path. */
  type Make = (account: TestAccount, fields: Json) => Promise<string>

  const put =
    (resource: string, base: Json): Make =>
    async ({ path }, fields) => {
      const { data } = await world.operator.put(`${path}/${resource}`, { ...base, ...fields })
      return `${path}/${resource}/${data.id}`
    }

  const post =
    (resource: string): Make =>
    async ({ path }, fields) => {
      expect(await world.operator.post(`${path}/${resource}`, fields)).toSucceed()
      return `${path}/${resource}`
    }

  const kinds: Readonly<Record<string, Make>> = {
    account: async ({ path }, fields) => {
      expect(await world.operator.patch(path, fields)).toSucceed()
      return path
    },
    user: put('users', { first_name: 'Some', last_name: 'User' }),
    device: put('devices', { name: 'Phone' }),
    group: put('groups', { name: 'Group', endpoints: {} }),
    callflow: put('callflows', { numbers: ['4711'], flow: { module: 'hangup', data: {} } }),
    resource: put('resources', { name: 'Carrier', gateways: [{ server: '203.0.113.7' }] }),
    trunk: put('connectivity', { name: 'Office' }),
    webhook: put('webhooks', { name: 'Hook', uri: 'https://203.0.113.7/', hook: 'sms' }),
    number: async ({ path }, fields) => {
      const number = `${path}/phone_numbers/${encodeURIComponent('+14155550100')}`
      expect(await world.operator.put(number, fields)).toSucceed(201)
      return number
    },
    'configs document': post('configs/portal'),
  }

  it.each(Object.entries(kinds))(
    'of a %s is in no event, webhook, WebSocket, audit or log',
    async (kind, make) => {
      const account = await world.account()
      const told = await hook(account, { hook: 'all', custom_data: {} })
      await feedSettled(world.server)
      const talk = await connect()
      const bindings = ['object.*.*']
      await talk.ask('subscribe', world.operator.token, { account_id: account.id, bindings })
      const fields = {
        ...secretFields(kind),
        custom: { ...harmless, ...secretFields(kind) },
        plain: harmless,
      }
      const path = await make(account, fields)
      expect(await world.operator.patch(path, { custom: { apiKey: 'hush-changed' } })).toSucceed()
      const reader = (await world.operator.get(path)).data
      expect(reader.custom.apiKey).toBe('hush-changed')
      if (kind !== 'account') expect(await world.operator.delete(path)).toSucceed()

      const events = await world.operator.get(`${account.path}/events`, { query: { with_before: 'true' } })
      const last = await world.user(account)
      const isThere = (found: unknown) => JSON.stringify(found).includes(last.id)
      const delivered = await eventually(() => hooks.attempts(told, 1), isThere)
      await eventually(() => talk.events(), isThere)
      const copies = {
        events: events.text,
        delivered: JSON.stringify(delivered),
        webSocket: JSON.stringify(talk.events()),
        audit: (await world.operator.get(`${account.path}/audit`)).text,
        csv: (await world.operator.get(`${account.path}/audit`, { headers: { accept: 'text/csv' } })).text,
        log: JSON.stringify(world.logEntries),
      }
      for (const [name, text] of Object.entries(copies)) expect(text, name).not.toMatch(leak)
      const documents = (events.data as Json[]).map(({ after }) => after as Json | undefined)
      const written = documents.find((after) => after?.plain !== undefined) ?? {}
      expect(written.plain).toEqual(harmless)
      const { key, tokens, secrets, license, nested, ...masked } = written.custom as Json
      expect({ key, tokens, secrets, license, nested }).toEqual({
        key: '***',
        tokens: ['***'],
        secrets: { first: '***' },
        license: { key: '***' },
        nested: [{ deep: { apiSecret: '***' } }],
      })
      const { key: __, ...others } = harmless
      expect(masked).toEqual({
        ...Object.fromEntries([...names, 'gate_pin'].map((name) => [name, '***'])),
        ...others,
      })
    },
  )

  it('of a call record is in no event', async () => {
    const account = await world.account()
    const leg = {
      call_id: `likely-secrets-${account.id}`,
      timestamp: gregorianNow(world.clock),
      duration_seconds: 3,
      custom_channel_vars: {
        account_id: account.id,
        gatePin: 'hush',
        apiKey: 'hush',
        author: 'Ada',
        api_key_id: account.id,
      },
    }
    expect(await world.operator.put('/v2/cdrs', [leg])).toSucceed()
    const { data } = await world.operator.get(`${account.path}/events`, { query: { type: 'cdr.created' } })
    expect((data as Json[]).map(({ after }) => (after as Json).custom_channel_vars)).toEqual([
      { account_id: account.id, gatePin: '***', apiKey: '***', author: 'Ada', api_key_id: account.id },
    ])
  })

  it('is masked in events as in the audit where a schema allows any key', async () => {
    const account = await world.account()
    const { path, id } = await hook(account, { custom_data: { type: 'user', action: 'all', secret: 'hush' } })
    const events = await world.operator.get(`${account.path}/events`, { query: { record_id: id } })
    expect((events.data as Json[])[0]?.after).toMatchObject({
      custom_data: { type: 'user', action: 'all', secret: '***' },
    })
    const audit = await world.operator.get(`${path}/audit`)
    expect([events.text, audit.text].join()).not.toContain('hush')
    expect((await world.operator.get(path)).data.custom_data.secret).toBe('hush')
  })
})
