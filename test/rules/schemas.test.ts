import { Ajv } from 'ajv'
import type { TSchema } from 'typebox'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  Account,
  AccountRecord,
  AccountRow,
  accountReadOnly,
} from '../../src/areas/accounts/accounts/schema.ts'
import { User, UserRecord, UserRow, userReadOnly } from '../../src/areas/accounts/users/schema.ts'
import { Device, DeviceRecord, DeviceRow, deviceReadOnly } from '../../src/areas/voice/devices/schema.ts'
import { allRoutes } from '../../src/commands/openapi.ts'
import { withoutUnstored } from '../../src/http/request/validate-data.ts'
import { createValidation } from '../../src/http/request/validation.ts'

const account = createValidation(Account)
const user = createValidation(User)
const device = createValidation(Device)

const ada = { first_name: 'Ada', last_name: 'Lovelace' }
const desk = { name: 'Desk' }
const emergency = {
  name: 'Ada',
  house_number: 12,
  street: 'St James Square',
  locality: 'London',
  region: 'LND',
  postal_code: 'SW1',
  country: 'GB',
}
const recording = { enabled: true, format: 'mp3', time_limit: 60, url: 'https://example.com/in' }

const all: [string, TSchema][] = Object.entries({
  Account,
  AccountRecord,
  AccountRow,
  User,
  UserRecord,
  UserRow,
  Device,
  DeviceRecord,
  DeviceRow,
})

describe.each(all)('%s', (_name, schema) => {
  beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue())
  afterEach(() => void vi.restoreAllMocks())

  it('is plain JSON Schema with a title and compiles without a warning', () => {
    const published = JSON.parse(JSON.stringify(schema))
    expect(new Ajv({ strict: false, formats: { regex: true } }).validateSchema(published)).toBe(true)
    expect(published.title).toMatch(/^(Account|User|Device)/)
    expect(published).not.toHaveProperty('$id')
    createValidation(schema)({})
    expect(console.warn).not.toHaveBeenCalled()
  })
})

describe('defaults of new records', () => {
  it('are those of an account', () => {
    expect(account({ name: 'Acme' })).toEqual({
      value: { name: 'Acme', enabled: true, call_restriction: {}, music_on_hold: {} },
      problems: {},
      sound: expect.anything(),
    })
  })

  it('are those of a user', () => {
    expect(user(ada).value).toEqual({
      ...ada,
      enabled: true,
      priv_level: 'user',
      require_password_update: false,
      verified: false,
      vm_to_email_enabled: true,
      call_restriction: {},
      music_on_hold: {},
      hotdesk: { enabled: false, require_pin: false, keep_logged_in_elsewhere: false },
    })
  })

  it('are those of a device', () => {
    expect(device(desk).value).toEqual({
      ...desk,
      enabled: true,
      exclude_from_queues: false,
      mwi_unsolicited_updates: true,
      register_overwrite_notify: false,
      suppress_unregister_notifications: false,
      call_restriction: {},
      music_on_hold: {},
      sip: { method: 'password', expire_seconds: 300, invite_format: 'contact' },
    })
  })

  it('appear inside settings that are there', () => {
    expect(user({ ...ada, call_forward: { number: '+14155550100' } }).value.call_forward).toEqual({
      enabled: false,
      number: '+14155550100',
      keep_caller_id: true,
      require_keypress: true,
      direct_calls_only: false,
      ignore_early_media: true,
      substitute: true,
    })
    const { provision } = device({ ...desk, provision: {} }).value
    expect(provision).toEqual({ check_sync_reboot: 'reboot=true', check_sync_reload: 'reboot=false' })
    const { notifications } = account({
      name: 'A',
      notifications: { media_proxy: {}, first_occurrence: {} },
    }).value
    expect(notifications).toEqual({
      media_proxy: { fail_alert_enabled: true },
      first_occurrence: { sent_initial_call: false, sent_initial_registration: false },
    })
  })
})

type Judge = (data: object) => { problems: object; value: unknown }

describe('what is accepted', () => {
  const on = (judge: Judge, base: object) => (extra: object) => judge({ ...base, ...extra })
  const cases: [string, ReturnType<typeof on>, object][] = [
    [
      'account',
      on(account, { name: 'Acme' }),
      { call_recording: { account: { any: { onnet: recording } } } },
    ],
    ['account', on(account, { name: 'Acme' }), { addresses: { emergency } }],
    ['account', on(account, { name: 'Acme' }), { music_on_hold: { media_id: 'x'.repeat(2048) } }],
    ['account', on(account, { name: 'Acme' }), { timezone: 'Africa/Kigali', realm: 'a_b-c.example' }],
    ['account', on(account, { name: 'Acme' }), { call_restriction: { tollfree_us: { action: 'deny' } } }],
    [
      'user',
      on(user, ada),
      { call_recording: { inbound: { any: recording } }, username: 'ada+x@example.com' },
    ],
    ['user', on(user, ada), { addresses: { emergency, vcard: [{ address: 'London', types: ['home'] }] } }],
    ['user', on(user, ada), { media: { bypass_media: 'auto', audio: { codecs: ['OPUS', 'PCMU'] } } }],
    ['user', on(user, ada), { formatters: { request: [{ prefix: '+' }], from: { strip: true } } }],
    [
      'user',
      on(user, ada),
      { metaflows: { numbers: { 1: { module: 'hold', data: {} } }, binding_digit: '*' } },
    ],
    ['user', on(user, ada), { dial_plan: { system: ['US'], '^(\\d{7})$': { prefix: '+1415' } } }],
    [
      'user',
      on(user, ada),
      { caller_id_options: { format: { all: { prefix: '+' } }, outbound_privacy: 'none' } },
    ],
    [
      'device',
      on(device, desk),
      { sip: { custom_sip_headers: { in: { 'X-A': 1 }, out: { b: true }, 'X-C': 'd' } } },
    ],
    ['device', on(device, desk), { outbound_flags: ['fax'] }],
    ['device', on(device, desk), { outbound_flags: { static: ['fax'], dynamic: ['zone'] } }],
    [
      'device',
      on(device, desk),
      { provision: { endpoint_model: 650, combo_keys: { 0: { type: 'parking', value: 1 } } } },
    ],
    ['device', on(device, desk), { hotdesk: { users: { ['a'.repeat(32)]: {} } }, owner_id: '0'.repeat(32) }],
  ]

  it.each(cases)('%s %#', (_kind, judge, extra) => {
    const { problems, value } = judge(extra)
    expect(problems).toEqual({})
    expect(value).toMatchObject(extra)
  })
})

describe('what is refused, and where', () => {
  const acme = { name: 'Acme' }
  it.each<[Judge, object, string, string]>([
    [account, {}, 'name', 'required'],
    [account, { name: '' }, 'name', 'minLength'],
    [account, { name: 'x'.repeat(129) }, 'name', 'maxLength'],
    [account, { ...acme, realm: 'a b.example' }, 'realm', 'pattern'],
    [account, { ...acme, realm: 'abc' }, 'realm', 'minLength'],
    [account, { ...acme, timezone: "Mars/Tséyi'" }, 'timezone', 'enum'],
    [account, { ...acme, blacklists: ['a', 'a'] }, 'blacklists', 'uniqueItems'],
    [account, { ...acme, flags: ['a', 1] }, 'flags.1', 'type'],
    [account, { ...acme, preflow: { never: 1 } }, 'preflow.never', 'additionalProperties'],
    [account, { ...acme, call_recording: { any: {} } }, 'call_recording.any', 'additionalProperties'],
    [
      account,
      { ...acme, call_recording: { account: { any: { any: { time_limit: 4 } } } } },
      'call_recording.account.any.any.time_limit',
      'minimum',
    ],
    [
      account,
      { ...acme, call_recording: { endpoint: { any: { any: { url: 'no uri' } } } } },
      'call_recording.endpoint.any.any.url',
      'wrong_format',
    ],
    [
      account,
      { ...acme, caller_id: { external: { name: 'x'.repeat(36) } } },
      'caller_id.external.name',
      'maxLength',
    ],
    [
      account,
      { ...acme, call_restriction: { tollfree: { action: 'allow' } } },
      'call_restriction.tollfree.action',
      'enum',
    ],
    [
      account,
      { ...acme, music_on_hold: { media_id: 'x'.repeat(2049) } },
      'music_on_hold.media_id',
      'maxLength',
    ],
    [user, { first_name: 'Ada' }, 'last_name', 'required'],
    [user, { ...ada, email: 'not-mail' }, 'email', 'wrong_format'],
    [user, { ...ada, username: 'ada lovelace' }, 'username', 'pattern'],
    [user, { ...ada, username: 'x'.repeat(257) }, 'username', 'maxLength'],
    [user, { ...ada, priv_level: 'root' }, 'priv_level', 'enum'],
    [user, { ...ada, addresses: [] }, 'addresses', 'type'],
    [
      user,
      { ...ada, addresses: { emergency: { ...emergency, country: undefined } } },
      'addresses.emergency.country',
      'required',
    ],
    [user, { ...ada, call_forward: { anywhere: true } }, 'call_forward.anywhere', 'additionalProperties'],
    [
      user,
      { ...ada, call_forward: { busy: { failover: true } } },
      'call_forward.busy.failover',
      'additionalProperties',
    ],
    [user, { ...ada, call_forward: { number: '0'.repeat(36) } }, 'call_forward.number', 'maxLength'],
    [user, { ...ada, hotdesk: { pin: '123' } }, 'hotdesk.pin', 'minLength'],
    [user, { ...ada, music_on_hold: { media_id: 'x'.repeat(129) } }, 'music_on_hold.media_id', 'maxLength'],
    [user, { ...ada, media: { audio: { codecs: ['MP3'] } } }, 'media.audio.codecs.0', 'enum'],
    [user, { ...ada, formatters: { request: 5 } }, 'formatters.request', 'any_schemas_not_valid'],
    [device, {}, 'name', 'required'],
    [device, { ...desk, owner_id: 'abc' }, 'owner_id', 'minLength'],
    [device, { ...desk, sip: { username: 'a' } }, 'sip.username', 'minLength'],
    [device, { ...desk, sip: { password: '1234' } }, 'sip.password', 'minLength'],
    [device, { ...desk, sip: { method: 'none' } }, 'sip.method', 'enum'],
    [
      device,
      { ...desk, sip: { custom_sip_headers: { 'a b': 'c' } } },
      'sip.custom_sip_headers.a b',
      'additionalProperties',
    ],
    [device, { ...desk, sip: { custom_sip_headers: { in: 'c' } } }, 'sip.custom_sip_headers.in', 'type'],
    [device, { ...desk, provision: { combo_keys: [] } }, 'provision.combo_keys', 'type'],
    [device, { ...desk, hotdesk: { users: { ada: {} } } }, 'hotdesk.users.ada', 'additionalProperties'],
    [device, { ...desk, outbound_flags: 'fax' }, 'outbound_flags', 'any_schemas_not_valid'],
  ])('%# %o', (judge, data, path, rule) => {
    const sent = JSON.parse(JSON.stringify(data))
    const { problems } = judge(sent)
    expect(Object.keys(problems)).toEqual([path])
    expect(Object.keys((problems as Record<string, object>)[path] ?? {})).toEqual([rule])
  })

  it('is reported all at once', () => {
    const { problems, sound } = user({ email: 'not-mail', addresses: [], enabled: 'true', extra: 1 })
    expect(Object.keys(problems).sort()).toEqual(['addresses', 'email', 'first_name', 'last_name'])
    expect(problems.addresses?.type).toMatchObject({ target: 'object' })
    expect(sound).toMatchObject({ enabled: true, extra: 1, priv_level: 'user' })
    expect(sound).not.toHaveProperty('email')
  })
})

it('stores texts as what they mean', () => {
  const { value } = device({ ...desk, enabled: 'true', sip: { expire_seconds: '60' } })
  expect(value).toMatchObject({ enabled: true, sip: { expire_seconds: 60 } })
})

describe('an echoed record', () => {
  const junk = (keys: readonly string[]) =>
    Object.fromEntries(keys.map((key) => [key, { not: ['what', 'it', 'was'] }]))
  const fromConsole = {
    ui_metadata: { version: '5.3', ui: 'console', origin: 'accounts' },
    ui_restrictions: { myaccount: { account: { show_tab: true } } },
    ui_flags: { twelve_hours_mode: true },
    ui_help: {},
    appList: ['a'],
    contact: { billing: { email: '' }, technical: {} },
    contract: {},
    numbers_features: { cnam_enabled: true },
    account_name: 'Acme',
    apps: [],
    custom: { deep: [{ a: null }] },
    state: 'in_service',
    _read_only: { created: 1 },
  }

  it.each<[string, Judge, object, readonly string[]]>([
    ['account', account, { name: 'Acme' }, accountReadOnly],
    ['user', user, ada, userReadOnly],
    ['device', device, desk, deviceReadOnly],
  ])('of a %s never fails, whatever its read-only and unknown fields hold', (_kind, judge, base, keys) => {
    const sent = { ...fromConsole, ...base, ...junk(keys.filter((key) => key !== 'enabled')) }
    const { problems, value } = judge(sent)
    expect(problems).toEqual({})
    expect(value).toMatchObject(sent)
  })

  it('never fails for what consoles say of themselves, whatever is written', () => {
    const { ui_metadata } = fromConsole
    const refusing = allRoutes().flatMap(({ method, path, spec }) => {
      const sent = spec.body && withoutUnstored({ ui_metadata }, spec)
      const problems = spec.body ? createValidation(spec.body)(sent).problems : {}
      return Object.keys(problems).some((key) => key.startsWith('ui_metadata')) ? [`${method} ${path}`] : []
    })
    expect(refusing).toEqual([])
  })

  it('passes as the record that it is', () => {
    const served = { id: '0'.repeat(32), created: 63_000_000_000, modified: 63_000_000_001 }
    const stored = account({ name: 'Acme', announcement: 'Hello', call_restriction: {} }).value
    const record = { ...stored, ...served, descendants_count: 2, billing_mode: 'normal', is_reseller: true }
    expect(createValidation(AccountRecord)(record)).toMatchObject({ value: record, problems: {} })
    expect(account(record).problems).toEqual({})
  })
})

it('marks the password as written only', () => {
  expect(User.properties.password).toMatchObject({ writeOnly: true })
  expect(UserRecord.properties).not.toHaveProperty('password')
})

it('infers types from the shapes', () => {
  const { value } = user(ada)
  const level: 'user' | 'admin' | undefined = value.priv_level
  const typedDevice: Device = { name: 'Desk', sip: { method: 'ip' }, media: { bypass_media: true } }
  const typedAccount: Account = { name: 'Acme', caller_id_options: { type: 'internal' } }
  // @ts-expect-error: a user has names
  const nameless: User = { username: 'ada' }
  // @ts-expect-error: no such method
  const wrong: Device = { name: 'Desk', sip: { method: 'magic' } }
  expect([level, typedDevice, typedAccount, nameless, wrong]).toHaveLength(5)
})
