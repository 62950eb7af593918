import { type Static, Type } from 'typebox'
import { choice } from '../lib/schema.ts'
import { AuthModules } from './auth-modules.ts'
import { carrierModules, numberModules } from './carrier-names.ts'
import { dunning, httpSync, invoices, paymentKeys, stripe, topup } from './payment.ts'
import { WhitelabelDomains } from './whitelabel-domains.ts'

// One section (`default`, a zone or a node) of each settings document this server reads.
// A key stands here only when something follows it.

const tokens = (fallback: number) => Type.Integer({ minimum: 0, default: fallback })
const flag = (fallback: boolean, description: string) => Type.Boolean({ default: fallback, description })

const crossbar = Type.Object(
  {
    use_ssl: flag(false, 'Also serve HTTPS, on ssl_port'),
    ssl_port: Type.Integer({ minimum: 0, maximum: 65_535, default: 8443 }),
    ssl_cert: Type.Optional(Type.String({ minLength: 1, description: 'Path of the PEM certificate chain' })),
    ssl_key: Type.Optional(Type.String({ minLength: 1, description: 'Path of the PEM private key' })),
    ssl_ca_cert: Type.Optional(Type.String({ minLength: 1, description: 'Path of a PEM CA chain' })),
    ssl_password: Type.Optional(Type.String({ description: 'Pass phrase of the private key' })),
    max_upload_size: Type.Integer({ minimum: 1024, maximum: 1_000_000_000, default: 8_000_000 }),
    max_streamed_size: Type.Integer({
      minimum: 1024,
      default: 4_000_000_000,
      description: 'Bytes of a body that is stored while it arrives: task input, call records',
    }),
    idempotency_keep_s: Type.Integer({
      minimum: 60,
      default: 86_400,
      description: 'Seconds for which an answer is kept under its Idempotency-Key',
    }),
    pagination_page_size: Type.Integer({ minimum: 1, maximum: 10_000, default: 50 }),
    maximum_range: Type.Integer({ minimum: 1, default: 2_682_000, description: 'Seconds' }),
    request_memory_limit: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Bytes of an unpaginated, unchunked list' }),
    ),
    token_costs: Type.Union([Type.Integer({ minimum: 0 }), Type.Object({}, { additionalProperties: true })], {
      default: 1,
      description: 'Throttling tokens a request costs: a number, or costs by account, endpoint and method',
    }),
    user_auth_tokens: tokens(35),
    api_auth_tokens: tokens(35),
    default_language: Type.String({ default: 'en-US' }),
    include_auth_token: flag(true, 'Echo the token in every answer'),
    allow_fetch_full_docs: flag(false, 'Let lists answer with whole records'),
    allowed_modules_fetch_full_docs: Type.Object(
      { cb_cdrs: flag(false, 'Let lists of call detail records answer with whole records') },
      { default: {}, additionalProperties: true },
    ),
    schema_strict_validation: flag(
      false,
      'Refuse text where a number or boolean is wanted instead of converting it',
    ),
    reset_id_size: Type.Integer({ minimum: 42, maximum: 180, default: 137 }),
    reset_id_expiry_s: Type.Integer({ minimum: 1, default: 3600 }),
    recovery_ui_hosts: Type.Array(Type.String(), {
      default: [],
      description: 'Hosts that a recovery mail may link to; empty: any, and whoever asks chooses',
    }),
    mail_from: Type.String({
      default: 'crosspoint@localhost',
      format: 'email',
      description: 'Sender of mails of accounts that have no verified address, nor one above them',
    }),
    mail_log_days: Type.Integer({
      minimum: 1,
      maximum: 3650,
      default: 31,
      description: 'How long attempts to deliver a mail are kept',
    }),
    work_outcome_days: Type.Integer({
      minimum: 1,
      maximum: 365,
      default: 7,
      description: 'How long it is kept how errands ended: mails, orders, payments and the like',
    }),
    password_expiry_s: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Seconds until a password has to be replaced' }),
    ),
    check_reverse_proxies: flag(true, 'Believe X-Forwarded-For only from reverse_proxies'),
    reverse_proxies: Type.Array(Type.String(), { default: ['127.0.0.1'] }),
    allowed_private_hosts: Type.Array(Type.String(), {
      default: [],
      description:
        'Hosts inside of private networks that may be called for customers: names, addresses or CIDRs',
    }),
    basic_auth_type: choice(['md5', 'sha'], { default: 'md5' }),
    default_allow_anonymous_quickcalls: flag(false, 'Let anybody start a quickcall with GET'),
  },
  { additionalProperties: true },
)

const accounts = Type.Object(
  {
    account_realm_suffix: Type.String({ default: 'sip.2600hz.com', minLength: 1, maxLength: 240 }),
    ensure_unique_name: flag(true, 'Refuse an account name that is taken'),
    allow_sibling_listing: flag(true, 'Let accounts list their siblings'),
    allow_subaccounts_for_direct: flag(
      true,
      'Let clients directly under the master account have sub-accounts',
    ),
    allow_move: choice(['superduper', 'tree'], { default: 'superduper' }),
    default_timezone: Type.String({ default: 'America/Los_Angeles' }),
  },
  { additionalProperties: true },
)

const auth = Type.Object(
  {
    token_auth_expiry_s: Type.Integer({
      default: 3600,
      description: 'Seconds; not positive: tokens do not expire',
    }),
    log_failed_attempts: flag(true, 'Keep refused sign-ins'),
    log_successful_attempts: flag(false, 'Keep sign-ins'),
    renew: flag(true, 'Let a token be renewed'),
    reset_identity_secret_on_rehash: flag(true, 'A new password ends the sessions of the user'),
    generate_username_if_empty: flag(true, 'Make up a user name when only a password is given'),
    lock_account_on_failed_attempts: flag(false, 'Refuse sign-in after too many failures'),
    failed_attempts_until_lock: Type.Integer({ minimum: 1, default: 10 }),
    lock_s: Type.Integer({ minimum: 1, default: 600 }),
    auth_modules: AuthModules,
  },
  { additionalProperties: true },
)

const bucketKeys = {
  max_bucket_tokens: Type.Integer({ minimum: 1, default: 100 }),
  tokens_fill_rate: Type.Integer({ minimum: 1, default: 10 }),
  tokens_fill_time: choice(['second', 'minute', 'hour', 'day'], { default: 'second' }),
  inactivity_timeout_s: Type.Integer({ minimum: 1, default: 600 }),
}

const tokenBuckets = Type.Object(bucketKeys, {
  additionalProperties: true,
  description: 'Throttling buckets; a key that names an application holds the same keys for it alone',
})

const packets = (invites: number, registrations: number, total: number) => ({
  invites: Type.Integer({ default: invites }),
  registrations: Type.Integer({ default: registrations }),
  total_packets: Type.Integer({ default: total }),
})
const period = (keys: ReturnType<typeof packets>) => Type.Object(keys, { default: {} })

const frontier = Type.Object(
  {
    rate_limits: Type.Object(
      {
        account: Type.Object(
          { per_minute: period(packets(200, 100, 2000)), per_second: period(packets(50, 20, 100)) },
          { default: {} },
        ),
        device: Type.Object(
          { per_minute: period(packets(100, 20, 1000)), per_second: period(packets(5, 2, 20)) },
          { default: {} },
        ),
      },
      { default: {} },
    ),
  },
  { additionalProperties: true },
)

const rates = Type.Object(
  {
    default_ratedeck: Type.String({ default: 'ratedeck', minLength: 1, maxLength: 64 }),
    sort_by_weight: flag(true, 'Of rates of one prefix take the lowest weight; else the highest cost'),
    filter_list: Type.Array(
      choice(['direction', 'route_options', 'routes', 'caller_id_numbers', 'reseller', 'version']),
      {
        default: ['direction', 'route_options', 'routes', 'caller_id_numbers', 'reseller'],
        description: 'What of a rate has to fit a call, beside its prefix',
      },
    ),
    rate_version: Type.Optional(
      Type.String({ description: 'The rate_version that filter version asks for' }),
    ),
  },
  { additionalProperties: true },
)

const whitelabel = Type.Object(
  {
    domains: Type.Optional(WhitelabelDomains),
    spf_mechanisms: Type.Array(Type.String({ maxLength: 256 }), {
      default: [],
      maxItems: 20,
      description:
        'What the SPF record of a sender has to hold, so that receivers take its mail from this server',
    }),
  },
  { additionalProperties: true },
)

const services = Type.Object(
  {
    enforce_good_standing: flag(false, 'Refuse charges of accounts that are not in good standing'),
    master_account_bookkeeper: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Type of the bookkeeper of accounts whose reseller is the master account',
      }),
    ),
    merge_strategy_priority: Type.Object(
      {
        simple: Type.Integer({ default: 10 }),
        recursive: Type.Integer({ default: 25 }),
        cumulative: Type.Integer({ default: 50 }),
      },
      { default: {}, description: 'Of plans merged in different ways, the larger one wins' },
    ),
    own_topup_without_gateway: flag(
      false,
      'Customers whose bookkeeper charges nobody may top themselves up: money that nobody has paid',
    ),
    should_save_master_audit_logs: flag(false, 'Keep audit entries of the master account too'),
    ...paymentKeys,
  },
  { additionalProperties: true },
)

const alerts = Type.Object(
  {
    enabled: flag(
      true,
      'Alerts can be made, and the server makes some by itself; else only older ones are shown',
    ),
  },
  { additionalProperties: true },
)

const alertChecks = Type.Object(
  {
    check_port_requests: flag(true, 'Show alerts about numbers that are ported'),
    check_port_action_required: flag(true, 'Of these, show those that ask for something'),
    check_financials: flag(true, 'Show alerts about the money of accounts that are sold something'),
    check_low_balance: flag(true, 'Of these, show that the balance is low'),
    check_payment_token: flag(true, 'Of these, show that a payment method is missing or expires'),
    check_system_alerts: flag(true, 'Show alerts that somebody has made'),
  },
  { additionalProperties: true },
)

const provisioner = Type.Object(
  {
    provisioning_url: Type.Optional(
      Type.String({
        pattern: '^https?://',
        maxLength: 2048,
        description: 'Is told of every phone that is made, changed or removed; absent: nobody is',
      }),
    ),
    authorization_header: Type.Optional(
      Type.String({ minLength: 1, maxLength: 4096, description: 'Sent as it is' }),
    ),
    timeout_ms: Type.Integer({ minimum: 1, maximum: 60_000, default: 10_000 }),
  },
  { additionalProperties: true },
)

const tokenRestrictions = Type.Object({}, { additionalProperties: true })

const country = () => Type.String({ default: 'US', minLength: 2, maxLength: 2, description: 'ISO 3166-1' })
const address = (description: string) =>
  Type.Optional(Type.String({ pattern: '^https?://', maxLength: 2048, description }))

/** What resellers may say for the accounts below them, too: see accountSettingsSchemas. */
const numberSearchKeys = {
  carrier_modules: Type.Array(choice(carrierModules), {
    default: ['knm_local'],
    description: 'Carriers that are asked for numbers beside the own stock',
  }),
  unauthorized_numbers_lookup: flag(false, 'Let anybody search for numbers without a token'),
}

const featureNames = (description: string) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64, description }))

/** Read for the account that owns a number. */
const numberFeatureKeys = {
  features: Type.Object(
    {
      allow: featureNames('Features that numbers may have; absent: all'),
      deny: featureNames('Features that numbers may not have; absent: local ones have no external features'),
    },
    { default: {}, additionalProperties: true },
  ),
}

const pattern = (description: string) => Type.String({ minLength: 1, maxLength: 256, description })

const numberingKeys = {
  reconcile_regex: Type.Optional(pattern('What a number has to look like after normalisation (RE2)')),
  e164_converters: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object({
        prefix: Type.Optional(Type.String({ maxLength: 16 })),
        suffix: Type.Optional(Type.String({ maxLength: 16 })),
      }),
      {
        description:
          'Pattern (RE2) -> what is put around its last group; in order, in place of the standard ones',
      },
    ),
  ),
  classifiers: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object(
        {
          regex: pattern('RE2'),
          friendly_name: Type.Optional(Type.String({ maxLength: 128 })),
          pretty_print: Type.Optional(Type.String({ maxLength: 64 })),
          emergency: Type.Optional(Type.Boolean()),
        },
        { additionalProperties: true },
      ),
      { description: 'Kinds of numbers in order, in place of the standard ones' },
    ),
  ),
}

const days = (fallback: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 36_500, default: fallback, description })

const numberLifeKeys = {
  available_module_name: choice(numberModules, {
    default: 'knm_local',
    description: 'Carrier of new numbers that name none',
  }),
  port_in_module_name: choice(numberModules, {
    default: 'knm_local',
    description: 'Carrier of new numbers that are ported in',
  }),
  import_defaults_to_carrier: choice(numberModules, {
    default: 'knm_local',
    description: 'Carrier of numbers that a task imports, unless the operator names one',
  }),
  released_state: choice(['available', 'released'], {
    default: 'available',
    description: 'State of a number that nobody owns any more',
  }),
  should_age: flag(false, 'Released numbers age before they are available'),
  should_permanently_delete: flag(false, 'Released numbers leave the inventory'),
  aging_expiry_d: days(90, 'Days that a number ages'),
  discovery_expiry_d: days(1, 'Days that a discovered number is kept'),
  local_feature_override: flag(false, 'Local numbers may have external features: cnam, e911, port, sms, mms'),
  sms_carriers: Type.Array(choice(numberModules), {
    default: [],
    description: 'Carriers whose numbers may have the feature sms',
  }),
  mms_carriers: Type.Array(choice(numberModules), {
    default: [],
    description: 'Carriers whose numbers may have the feature mms',
  }),
}

const numberManager = Type.Object(
  {
    ...numberSearchKeys,
    ...numberFeatureKeys,
    ...numberingKeys,
    ...numberLifeKeys,
    maximum_search_quantity: Type.Integer({ minimum: 1, maximum: 500, default: 500 }),
    number_search_timeout_ms: Type.Integer({
      minimum: 1,
      maximum: 60_000,
      default: 5000,
      description: 'How long carriers are waited for',
    }),
  },
  { additionalProperties: true },
)

const numberInventory = Type.Object(
  {
    phonebook_url: address('The inventory service of the carrier `other`'),
    default_country: country(),
    endpoints: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.String())], {
        description: 'Hosts that ordered numbers are sent to',
      }),
    ),
  },
  { additionalProperties: true },
)

const numberLocality = Type.Object(
  { url: address("Where localities are looked up; absent: the inventory service's address") },
  { additionalProperties: true },
)

const phoneNumbers = Type.Object(
  { phonebook_url: address('Where prefixes of cities are looked up'), default_country: country() },
  { additionalProperties: true },
)

const callRecords = Type.Object(
  {
    maximum_range: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'Seconds that a list spans at most; absent: as crossbar says',
      }),
    ),
    should_filter_empty_strings: flag(false, 'Rows leave out what is empty'),
  },
  { additionalProperties: true },
)

const cdr = Type.Object(
  {
    ignore_apps: Type.Array(Type.String(), {
      default: ['milliwatt'],
      description: 'Legs that these applications took are not stored',
    }),
    ignore_loopback_bowout: flag(true, 'Loopback legs that took themselves out of the call are not stored'),
    retention_months: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1200,
        description: 'Whole months that are kept beside the current one; absent: all',
      }),
    ),
  },
  { additionalProperties: true },
)

const ingest = Type.Object(
  {
    freeswitch_secret: Type.Optional(
      Type.String({
        minLength: 16,
        maxLength: 200,
        pattern: '^[A-Za-z0-9._~-]*$',
        description:
          'The last part of the address that FreeSWITCH posts call records to; absent: none is taken',
      }),
    ),
  },
  { additionalProperties: true },
)

const tasks = Type.Object(
  {
    max_running: Type.Integer({
      minimum: 0,
      maximum: 100,
      default: 4,
      description: 'Tasks that this process works on at once; 0: it leaves them to others',
    }),
    rows_at_once: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 40,
      description: 'Rows that are done in one transaction; progress is told, and a stop obeyed, between them',
    }),
    wait_after_row_ms: Type.Integer({
      minimum: 0,
      maximum: 60_000,
      default: 0,
      description: 'Pause after each row, which is then done by itself',
    }),
  },
  { additionalProperties: true },
)

/** Documents of the system that accounts may lay values of their own over, and the keys that are followed there. */
export const accountSettingsSchemas = {
  number_manager: Type.Object({ ...numberSearchKeys, ...numberFeatureKeys }, { additionalProperties: true }),
}

/** The settings documents that have a schema, by id. Documents of other names are kept as they are given. */
export const settingsSchemas = {
  crossbar,
  'crossbar.accounts': accounts,
  'crossbar.auth': auth,
  'crossbar.alerts': alertChecks,
  'crossbar.cdrs': callRecords,
  alerts,
  token_buckets: tokenBuckets,
  frontier,
  services,
  'services.http_sync': httpSync,
  'services.stripe': stripe,
  'services.invoices': invoices,
  'services.dunning': dunning,
  topup,
  whitelabel,
  cdr,
  ingest,
  rates,
  provisioner,
  'crossbar.token_restrictions': tokenRestrictions,
  tasks,
  'crossbar.phone_numbers': phoneNumbers,
  number_manager: numberManager,
  'number_manager.other': numberInventory,
  'number_manager.locality': numberLocality,
}

export type SettingsName = keyof typeof settingsSchemas
export type SettingsOf<Name extends SettingsName> = Static<(typeof settingsSchemas)[Name]>
