import type { Json } from '../../../../src/lib/json.ts'
import {
  accounts,
  databaseOf,
  encodedName,
  gregorian,
  idOf,
  type Sample,
  type SampleFile,
  sample,
  stamped,
} from '../sample.ts'

const { M, R, C, D } = accounts

const created = gregorian(2022, 7, 8)

/** A picture of one pixel; what follows it makes pictures differ, and no reader minds. */
const picture = (what: string): Buffer =>
  Buffer.concat([
    Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    ),
    Buffer.from(what),
  ])

const png = (name: string, revpos = 2): SampleFile => ({
  name,
  contentType: 'image/png',
  bytes: picture(name),
  revpos,
})

const text = (name: string, contentType: string, content: string): SampleFile => ({
  name,
  contentType,
  bytes: Buffer.from(content),
  revpos: 2,
})

const rate = (row: number, name: string, fields: Json): Sample =>
  sample(row, name, 'ratedeck', {
    _id: idOf(name),
    direction: ['outbound'],
    iso_country_code: 'US',
    rate_increment: 60,
    rate_minimum: 60,
    rate_surcharge: 0,
    weight: 4,
    pvt_type: 'rate',
    pvt_account_db: 'ratedeck',
    pvt_created: created,
    pvt_modified: created,
    ...fields,
  })

const whitelabel = (row: number, name: string, accountId: string, domain: string, files: SampleFile[]) =>
  sample(
    row,
    name,
    databaseOf(accountId),
    {
      _id: 'whitelabel',
      domain,
      company_name: 'Brand',
      hide_powered: true,
      ...stamped('whitelabel', accountId, created),
    },
    { files },
  )

const notice = (row: number, name: string, kind: string, [plain, html]: [string, string]) =>
  sample(
    row,
    name,
    databaseOf(R),
    {
      _id: `notification.${kind}`,
      subject: 'Hello {{user.first_name}}',
      enabled: true,
      to: { type: 'original', email_addresses: [] },
      from: 'support@zoe.example',
      macros: {},
      ...stamped('notification', R, created),
    },
    {
      files: [
        text('template.text/plain', 'text/plain', plain),
        text('template.text/html', 'text/html', html),
      ],
    },
  )

const packetLimits = (name: string, modified: number, invites: number) =>
  sample(64, name, databaseOf(C), {
    _id: idOf(name),
    device: { per_minute: { registrations: 20, invites }, per_second: { registrations: 2, invites: 2 } },
    ...stamped('rate_limits', C, created),
    pvt_modified: modified,
    pvt_owner_id: idOf('device_sip_name'),
    pvt_owner_type: 'devices',
    pvt_queryname: 'kitchen',
  })

const year = databaseOf(R, '2025')
const auditMonth = databaseOf(C, '202503')
const auditedAt = gregorian(2025, 3, 7, 9)

export const settingSamples: readonly Sample[] = [
  rate(57, 'rate_cost_as_text', {
    prefix: '1415',
    rate_cost: '0.0120',
    rate_name: 'US-1',
    routes: ['^\\+?1415.+$'],
  }),
  rate(58, 'rate_bad_regexp', { prefix: 44, rate_cost: 0.03, rate_name: 'GB', routes: ['^\\+?44(.+$'] }),
  rate(59, 'rate_deleted', { prefix: '49', rate_cost: 0.02, rate_name: 'DE', pvt_deleted: true }),
  whitelabel(60, 'whitelabel_old', D, 'portal.dee.example', [png('brand.png')]),
  whitelabel(61, 'whitelabel_two_logos', R, 'portal.zoe.example', [
    png('icon-small.png'),
    png('logo-new.png', 5),
    png('logo-old.png', 3),
  ]),
  notice(62, 'notice_with_logic', 'voicemail_to_email', [
    'Hello {{user.first_name}}{% if voicemail.transcription %}: {{voicemail.transcription}}{% endif %}',
    '<p>{{user.first_name|upper}}</p>{% if voicemail.transcription %}<p>…</p>{% endif %}',
  ]),
  notice(63, 'notice_plain', 'password_recovery', [
    'Hello {{user.first_name}}, go to {{link}}',
    '<p>Hello {{user.first_name}}, go to <a href="{{link}}">{{link}}</a></p>',
  ]),
  packetLimits('rate_limits_older', created + 10, 5),
  packetLimits('rate_limits_newer', created + 20, 7),
  sample(65, 'auth_demands_duo', databaseOf(C), {
    _id: 'configs_crossbar.auth',
    auth_modules: {
      cb_user_auth: {
        enabled: true,
        multi_factor: { enabled: true, configuration_id: idOf('provider_duo'), account_id: C },
      },
    },
    ...stamped('account_config', C, created),
  }),
  sample(65, 'provider_duo', databaseOf(C), {
    _id: idOf('provider_duo'),
    name: 'Duo',
    enabled: true,
    settings: {
      integration_key: 'DIXXXXXXXXXXXXXXXXXX',
      secret_key: 'duo-secret-key-of-cee',
      api_hostname: 'api-xxxxxxxx.duosecurity.example',
    },
    ...stamped('provider', C, created),
    pvt_provider_type: 'multi_factor',
    pvt_provider_name: 'duo',
  }),
  sample(66, 'alert', 'alerts', {
    _id: idOf('alert'),
    title: 'Maintenance',
    message: 'On Sunday we move.',
    category: 'announcement',
    clearable: true,
    expiration_date: gregorian(2035, 1, 1),
    from: [{ type: 'account', value: R }],
    to: [
      { type: 'account', value: 'descendants' },
      { type: 'user', value: 'admins' },
    ],
    ...stamped('alert', R, created, 'alerts'),
  }),
  sample(
    67,
    'task_executing',
    'tasks',
    {
      _id: idOf('task_executing').slice(2),
      ...stamped('task', C, created, 'tasks'),
      pvt_category: 'number_management',
      pvt_action: 'assign_to',
      pvt_auth_account_id: R,
      pvt_submitted_at: created,
      pvt_started_at: created + 30,
      pvt_worker_node: 'kazoo_apps@node1.kazoo.example',
      pvt_total_rows: 2,
      pvt_total_rows_succeeded: 1,
      pvt_input_name: 'numbers.csv',
    },
    { files: [text('in.csv', 'text/csv', 'number,account_id\n+14155550125,\n+14155550126,\n')] },
  ),
  sample(68, 'webhook', 'webhooks', {
    _id: idOf('webhook'),
    name: 'Calls',
    uri: 'https://hooks.cee.example/calls?key=hook-key-of-cee',
    http_verb: 'post',
    hook: 'channel_create',
    retries: 2,
    enabled: true,
    ...stamped('webhook', C, created, 'webhooks'),
  }),
  // The same change twice: as the month of the account has it, and as the year of its reseller.
  sample(69, 'audit_log_of_month', auditMonth, {
    _id: `202503-${idOf('audit_log_of_month')}`,
    audit: { agent: { type: 'user', account_id: R }, request: { id: idOf('request of the audit') } },
    invoice: {
      bookkeeper: { type: 'default', vendor_id: R },
      items: [{ category: 'users', item: 'user', quantity: 4, changes: { type: 'created' } }],
    },
    status: 'success',
    reason: 'services_updated',
    ...stamped('audit_log', C, auditedAt, auditMonth),
  }),
  sample(69, 'audit_of_year', year, {
    _id: `20250307-${C}`,
    audit: [{ category: 'users', item: 'user', source: C, quantity: 4, billable: 4 }],
    pvt_account_id: R,
    pvt_account_db: encodedName(year),
    pvt_created: auditedAt,
    pvt_modified: auditedAt,
  }),
  sample(70, 'storage_plan_foreign', 'system_data', {
    _id: 'system',
    connections: {
      local: { driver: 'kazoo_couch', settings: { ip: '127.0.0.1', port: 15984 } },
      archive: {
        driver: 'kazoo_couch',
        settings: { ip: '10.9.9.9', port: 5984, username: 'archive', password: 'archive-db-password' },
      },
    },
    plan: {
      modb: { connection: 'archive', types: { cdr: { connection: 'archive' } } },
      account: { connection: 'local' },
    },
    pvt_type: 'storage',
    pvt_created: created,
    pvt_modified: created,
  }),
  sample(0, 'ledgers_config', 'system_config', {
    _id: 'ledgers',
    default: { rollover_monthly_balance: true },
    pvt_type: 'config',
    pvt_created: created,
    pvt_modified: created,
  }),
  sample(0, 'views_of_accounts', 'accounts', {
    _id: '_design/accounts',
    language: 'javascript',
    views: { listing_by_id: { map: 'function(doc) { emit(doc._id, null); }' } },
  }),
  sample(0, 'views_of_master', databaseOf(M), {
    _id: '_design/users',
    language: 'javascript',
    views: { crossbar_listing: { map: 'function(doc) { emit(doc.username, null); }' } },
  }),
]
