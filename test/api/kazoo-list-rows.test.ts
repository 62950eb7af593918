// Rows of lists contain what the rows of Kazoo contain: the views of its design documents are the reference.
import { expect, it } from 'vitest'
import { AuditEntry } from '../../src/areas/events/audit/schema.ts'
import type { Route } from '../../src/http/route.ts'
import type { Json } from '../../src/lib/json.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

interface Shape {
  type?: string
  properties?: Record<string, Shape>
  required?: string[]
  anyOf?: Shape[]
  items?: Shape
  additionalProperties?: Shape
}

/** The shapes of rows in `data`: an array, or the phone numbers by number. */
const rowsIn = ({ type, anyOf = [], items, properties = {} }: Shape): Shape[] => {
  const rows = type === 'array' ? items : properties.numbers?.additionalProperties
  return [...(rows ? [rows] : []), ...anyOf.flatMap(rowsIn)]
}

const rowShapes = ({ spec: { list, answers } }: Route): Shape[] =>
  list === true ? [answers as Shape] : rowsIn(answers as Shape)

const account = 'id name realm flags?'
const attempt =
  'id auth_type status auth_module message client_ip client_headers crossbar_request_id timestamp metadata'
const channel = 'uuid bridge_id'
const number = 'state features? features_available? assigned_to? used_by? created? updated?'
const device =
  'id name username? mac_address? owner_id? enabled? device_type? mobile? call_recording? flags? features?'
const plan = 'id name? description? category?'
const notification = 'id friendly_name category enabled macros account_overridden?'
const resource = 'id name enabled weight_cost classifiers? template_name?'
const webhookAttempt =
  'hook_id hook_event event_id uri method req_headers req_body resp_status_code? resp_headers? resp_body? result reason? client_error? retries_left timestamp'
const call = [
  'id call_id caller_id_number? caller_id_name? callee_id_number? callee_id_name? duration_seconds? billing_seconds? timestamp',
  'hangup_cause? other_leg_call_id? owner_id? to? from? direction? request? authorizing_id? cost dialed_number? calling_from?',
  'datetime? unix_timestamp unix_timestamp_micro rfc_1036? iso_8601? iso_8601_combined? call_type? rate? rate_name? bridge_id?',
  'recording_url? media_recordings? media_server? call_priority? interaction_id reseller_cost? reseller_call_type?',
].join(' ')

/** Kazoo's keys of the rows of each list, one text for each shape of a row. A row may lack a key with `?`. */
const referenceRows: Readonly<Record<string, string | readonly string[]>> = {
  'accounts/{account_id}/alerts': 'id key value clearable title message category? metadata? from',
  'accounts/{account_id}/apps_store':
    'id name i18n tags icon? api_url? source_url? masqueradable allowed_users? users?',
  'accounts/{account_id}/callflows':
    'id name? type? numbers patterns featurecode? owner_id? group_id? modules flags?',
  'accounts/{account_id}/cdrs': call,
  'accounts/{account_id}/cdrs/interaction': call,
  'accounts/{account_id}/cdrs/legs/{interaction_id}': 'call_id',
  'accounts/{account_id}/channels': channel,
  'accounts/{account_id}/children': `${account} descendants_count?`,
  'accounts/{account_id}/connectivity': '',
  'accounts/{account_id}/descendants': `${account} tree?`,
  'accounts/{account_id}/devices': `${device} registrable? registered?`,
  'accounts/{account_id}/devices/status': 'device_id registrable registered?',
  'accounts/{account_id}/devices/{device_id}/channels': channel,
  'accounts/{account_id}/groups': 'id name features endpoints flags?',
  'accounts/{account_id}/ledgers/available': 'name friendly_name markup_type',
  'accounts/{account_id}/ledgers/{source}':
    'id account? source usage amount description? period? metadata? executor? audit?',
  'accounts/{account_id}/multi_factor/attempts': attempt,
  'accounts/{account_id}/notifications': notification,
  'accounts/{account_id}/notifications/smtplog': 'id',
  'accounts/{account_id}/parents': account,
  'accounts/{account_id}/phone_numbers': [number, 'number state'],
  'accounts/{account_id}/registrations': 'username realm contact',
  'accounts/{account_id}/resources': resource,
  'accounts/{account_id}/search': 'id name? realm? descendants_count?',
  'accounts/{account_id}/security/attempts': attempt,
  'accounts/{account_id}/service_plans': plan,
  'accounts/{account_id}/service_plans/available': plan,
  'accounts/{account_id}/services/audit': 'id status reason? message? type summary',
  'accounts/{account_id}/services/audit/summary': '',
  'accounts/{account_id}/services/audit/summary/{service_category}': '',
  'accounts/{account_id}/services/audit_summary': '',
  'accounts/{account_id}/services/audit_summary/{service_category}': '',
  'accounts/{account_id}/services/available': plan,
  'accounts/{account_id}/siblings': `${account} descendants_count?`,
  'accounts/{account_id}/tasks':
    'id account_id auth_account_id category action status created submit_timestamp start_timestamp? end_timestamp? node? file_name? total_count? success_count? failure_count? csvs?',
  'accounts/{account_id}/transactions': 'id amount status executor description? metadata? bookkeeper created',
  'accounts/{account_id}/transactions/monthly_recurring': 'id amount type reason description created',
  'accounts/{account_id}/transactions/subscriptions':
    'price next_bill_date billing_first_date billing_start_date billing_end_date add_ons',
  'accounts/{account_id}/tree': account,
  'accounts/{account_id}/users':
    'id username? email? first_name last_name priv_level? feature_level? presence_id? timezone? call_recording? flags? features?',
  'accounts/{account_id}/users/{user_id}/cdrs': call,
  'accounts/{account_id}/users/{user_id}/cdrs/interaction': call,
  'accounts/{account_id}/users/{user_id}/channels': channel,
  'accounts/{account_id}/users/{user_id}/devices': `${device} registrable? registered?`,
  'accounts/{account_id}/webhooks': 'id name enabled hook uri http_verb group? disable_reason?',
  'accounts/{account_id}/webhooks/attempts': webhookAttempt,
  'accounts/{account_id}/webhooks/{webhook_id}/attempts': webhookAttempt,
  'accounts/{account_id}/websockets': 'websocket_session_id bindings timestamp source destination',
  'accounts/{account_id}/whitelabel/emails': 'id email verified',
  multi_factor: 'id name provider_name enabled',
  notifications: notification,
  'notifications/smtplog': 'id',
  phone_numbers: 'e164 formatted_number npa_nxx? number number_id rate_center? status ten_digit?',
  rates: 'id prefix cost? description? surcharge?',
  resources: resource,
  schemas: '',
  search: 'id name? realm? descendants_count?',
  system_configs: '',
  webhooks: 'id name description modifiers',
  'webhooks/samples': '',
  'webhooks/samples/{sample_id}': '',
}

/** Lists that Kazoo does not have. */
const ownLists: readonly string[] = [
  'accounts/{account_id}/api_keys',
  'accounts/{account_id}/audit',
  'accounts/{account_id}/cdrs/stats',
  'accounts/{account_id}/events',
  'accounts/{account_id}/figures/children',
  'accounts/{account_id}/invoices',
  'accounts/{account_id}/invoices/{invoice_id}/credit_notes',
  'accounts/{account_id}/quotas',
  'accounts/{account_id}/services/payment_tokens',
  'accounts/{account_id}/users/{user_id}/cdrs/stats',
  'accounts/{account_id}/users/{user_id}/passkeys',
  'auth/keys',
  'edge/states',
  'edge/export',
  'work',
]

describeAnyEngine('rows of lists', (engine) => {
  const world = useWorld(engine)
  const ring = { module: 'callflow', data: {}, children: {} }

  /** The row of a new record in its list. */
  const rowOf = async (list: string, record: Json): Promise<Json> => {
    const made = await world.operator.put(list, record)
    expect(made).toSucceed(201)
    const rows = (await world.operator.get(`${list}?paginate=false`)).data as unknown as Json[]
    return rows.find(({ id }) => id === made.data.id) ?? {}
  }

  const recording = { any: { any: { enabled: true } } }

  it.each<[list: string, record: Json, row: Json]>([
    [
      'callflows',
      {
        name: 'Sales',
        type: 'userGroup',
        numbers: ['401'],
        patterns: ['^40[2-9]$'],
        featurecode: { name: 'intercom', number: '0' },
        group_id: 'b'.repeat(32),
        flags: ['x'],
        flow: ring,
      },
      {
        name: 'Sales',
        type: 'userGroup',
        numbers: ['401'],
        patterns: ['^40[2-9]$'],
        featurecode: { name: 'intercom', number: '0' },
        group_id: 'b'.repeat(32),
        modules: ['callflow'],
        flags: ['x'],
      },
    ],
    [
      'callflows',
      { numbers: ['410'], flow: ring },
      { numbers: ['410'], patterns: [], featurecode: false, modules: ['callflow'], flags: [] },
    ],
    [
      'groups',
      {
        name: 'Sales',
        endpoints: {},
        smartpbx: { ringback: { enabled: true }, other: { enabled: false } },
        music_on_hold: { media_id: 'tune' },
      },
      { name: 'Sales', features: ['ringback', 'music_on_hold'], endpoints: 0, flags: [] },
    ],
    [
      'devices',
      {
        name: 'Desk',
        sip: { username: 'desk' },
        mac_address: '00:11:22:33:44:55',
        enabled: true,
        device_type: 'sip_device',
        call_recording: recording,
      },
      {
        name: 'Desk',
        username: 'desk',
        mac_address: '001122334455',
        enabled: true,
        device_type: 'sip_device',
        call_recording: recording,
        flags: [],
      },
    ],
    [
      'users',
      {
        first_name: 'Ann',
        last_name: 'Acme',
        username: 'ann.rows',
        email: 'ann@rows.test',
        password: 'secret-secret',
        priv_level: 'user',
        presence_id: '101',
        timezone: 'UTC',
        service: { type: 'pro' },
        call_recording: recording,
        smartpbx: { vmbox: { enabled: true } },
        hotdesk: { enabled: true },
      },
      {
        first_name: 'Ann',
        last_name: 'Acme',
        username: 'ann.rows',
        email: 'ann@rows.test',
        priv_level: 'user',
        presence_id: '101',
        timezone: 'UTC',
        service: { type: 'pro' },
        call_recording: recording,
        features: ['hotdesk', 'vm_to_email', 'vmbox'],
        flags: [],
      },
    ],
    [
      'resources',
      {
        name: 'Carrier',
        gateways: [{ server: 'carrier.rows.test' }],
        rules: ['^\\+1'],
        weight_cost: 30,
        template_name: 'Ours',
        classifiers: { did_us: { enabled: true } },
      },
      {
        name: 'Carrier',
        enabled: true,
        weight_cost: 30,
        template_name: 'Ours',
        classifiers: { did_us: { enabled: true } },
      },
    ],
    [
      'webhooks',
      { name: 'Hook', hook: 'all', uri: 'https://203.0.113.9/', group: 'billing' },
      { name: 'Hook', hook: 'all', uri: 'https://203.0.113.9/', group: 'billing', enabled: true },
    ],
  ])('of %s contain the keys of Kazoo', async (list, record, row) => {
    const account = await world.account(world.reseller)
    expect(await rowOf(`${account.path}/${list}`, record)).toMatchObject(row)
  })

  it('of rates contain the keys of Kazoo', async () => {
    const rate = {
      prefix: '4930',
      rate_name: 'berlin',
      carrier: 'ours',
      rate_cost: 0.02,
      rate_surcharge: 0.01,
      description: 'Berlin',
    }
    expect(await rowOf('/v2/rates', rate)).toEqual({
      id: expect.any(String),
      name: 'berlin',
      prefix: 4930,
      carrier: 'ours',
      cost: 0.02,
      surcharge: 0.01,
      description: 'Berlin',
    })
  })

  it('are declared with the keys of Kazoo, in every list', () => {
    const missing = ({ properties = {}, required = [] }: Shape, keys: string) =>
      keys
        .split(' ')
        .filter((key) =>
          key.endsWith('?')
            ? !Object.hasOwn(properties, key.slice(0, -1))
            : key !== '' && !required.includes(key),
        )
    const lists = world.server.routes
      .filter(({ method, spec: { answers } }) => method === 'GET' && answers !== AuditEntry)
      .map((route) => ({ path: route.path.replace('/v2/', ''), shapes: rowShapes(route) }))
      .filter(({ path, shapes }) => shapes.length > 0 && !ownLists.includes(path))
    expect(lists.map(({ path }) => path).sort()).toEqual(Object.keys(referenceRows).sort())
    for (const { path, shapes } of lists) {
      const rows = [referenceRows[path] ?? []].flat()
      expect([path, shapes.map((shape, index) => missing(shape, rows[index] ?? ''))]).toEqual([
        path,
        rows.map(() => []),
      ])
    }
  })

  it('of accounts contain the keys of Kazoo', async () => {
    const { id, path } = await world.account(world.reseller)
    await world.operator.patch(path, { flags: ['x'] })
    const { name, realm } = (await world.operator.get(path)).data
    const row = async (list: string) => {
      const { data } = await world.operator.get(`${world.reseller.path}/${list}?paginate=false`)
      return (data as unknown as Json[]).find((one) => one.id === id)
    }
    expect(await row('children')).toEqual({ id, name, realm, descendants_count: 0, flags: ['x'] })
    expect(await row('descendants')).toMatchObject({
      id,
      name,
      realm,
      tree: [world.master.id, world.reseller.id],
      flags: ['x'],
    })
  })
})
