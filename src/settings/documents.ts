import { Type } from 'typebox'
import { choice, typed } from '../lib/schema.ts'
import { secret } from '../lib/secrets.ts'
import { AuthModules } from './auth-modules.ts'
import { flag, keysByName, section, settingsDocument, unit, wholeNumber } from './keys.ts'

// One section (`default`, a zone or a node) of each settings document of the frame; areas add theirs. Every key
// here has an effect.

const tokens = (fallback: number, description: string) =>
  wholeNumber({ minimum: 0, default: fallback, unit: 'throttling tokens' }, description)

const crossbar = section('The server: TLS, sizes, connections, lists, throttling, email', {
  use_ssl: flag(false, 'Also serve HTTPS, on ssl_port'),
  ssl_port: wholeNumber(
    { minimum: 0, maximum: 65_535, default: 8443, unit: 'port' },
    'Port of HTTPS; 0: a free port',
  ),
  ssl_cert: Type.Optional(Type.String({ minLength: 1, description: 'Path of the PEM certificate chain' })),
  ssl_key: Type.Optional(Type.String({ minLength: 1, description: 'Path of the PEM private key' })),
  ssl_ca_cert: Type.Optional(Type.String({ minLength: 1, description: 'Path of a PEM CA chain' })),
  ssl_password: Type.Optional(Type.String({ ...secret, description: 'Pass phrase of the private key' })),
  max_upload_size: wholeNumber(
    { minimum: 1024, maximum: 1_000_000_000, default: 8_000_000, unit: 'bytes' },
    'Maximum body of JSON, forms, images and keys; a larger one gets 413',
  ),
  max_streamed_size: wholeNumber(
    { minimum: 1024, default: 4_000_000_000, unit: 'bytes' },
    'Maximum body of task input and call records, which are stored while they arrive',
  ),
  unjudged_body_size: wholeNumber(
    { minimum: 1024, maximum: 1_000_000, default: 65_536, unit: 'bytes' },
    'Maximum bytes of a body that the server reads before it has authenticated the request; the rest waits until then',
  ),
  body_bytes_per_token: wholeNumber(
    { minimum: 1024, default: 25_000, unit: 'bytes' },
    'Each of this number of bytes of a body or a changed record, above unjudged_body_size, costs one more throttling token; at most half of the bucket',
  ),
  max_body_values: wholeNumber(
    { minimum: 1000, default: 100_000, unit: 'values' },
    'Maximum values of a JSON body; an object or array in another one counts twice',
  ),
  max_form_fields: wholeNumber(
    { minimum: 10, maximum: 100_000, default: 1000, unit: 'fields' },
    'Maximum fields of a form (application/x-www-form-urlencoded)',
  ),
  max_connections: wholeNumber(
    { minimum: 10, default: 10_000, unit: 'connections' },
    'Maximum open connections; further ones are closed',
  ),
  max_connections_per_address: wholeNumber(
    { minimum: 1, default: 1000, unit: 'connections' },
    'Maximum from one IPv4 address or IPv6 /64; reverse_proxies are not limited',
  ),
  idempotency_keep_s: wholeNumber(
    { minimum: 60, default: 86_400 },
    'Retention of the response to a request with an Idempotency-Key',
  ),
  pagination_page_size: wholeNumber(
    { minimum: 1, maximum: 10_000, default: 50, unit: 'rows' },
    'Rows of a page without page_size',
  ),
  maximum_range: wholeNumber(
    { minimum: 1, default: 2_682_000, unit: 'seconds' },
    'Maximum time between created_from and created_to of a list (default: 31 days and an hour), and the range without created_from. It does not apply to ledgers and transactions',
  ),
  request_memory_limit: Type.Optional(
    wholeNumber(
      { minimum: 1, unit: 'bytes' },
      'Maximum list in one response (paginate=false with is_chunked=false or pretty_print=true); a longer one gets 416. Absent: no limit',
    ),
  ),
  answer_bytes_per_account: wholeNumber(
    { minimum: 1_000_000, default: 64_000_000, unit: 'bytes' },
    'Bytes of responses being sent to the clients of one account; further ones wait, then get 429',
  ),
  answer_bytes: wholeNumber(
    { minimum: 3_000_000, default: 192_000_000, unit: 'bytes' },
    'Bytes of responses being sent to all clients of a process; further ones get 503. The last third is for accounts without responses in progress',
  ),
  answer_wait_s: wholeNumber(
    { minimum: 0, maximum: 600, default: 10 },
    'Maximum time that a long response waits for capacity',
  ),
  answer_stall_s: wholeNumber(
    { minimum: 1, maximum: 86_400, default: 120 },
    'Time after which the server closes the connection of a client that reads nothing of a response',
  ),
  answer_compression: flag(
    true,
    'Compress long lists, CSV and other long JSON for clients that take zstd, br or gzip',
  ),
  token_costs: typed(['integer', 'object'], {
    minimum: 0,
    default: 1,
    ...unit('throttling tokens'),
    description:
      'Token cost of a request: a number (0: all requests are free), or numbers by account, endpoint and method; negative numbers are ignored',
  }),
  user_auth_tokens: tokens(
    35,
    'Token cost of a sign-in with a password and of a recovery request, unless token_costs has one',
  ),
  api_auth_tokens: tokens(35, 'Token cost of a sign-in with an API key, unless token_costs has one'),
  derivation_tokens: tokens(5, 'Additional token cost of a request that sets a password or a PIN'),
  default_language: Type.String({
    default: 'en-US',
    description: 'Language of accounts that have none and inherit none, and in sign-in responses',
  }),
  include_auth_token: flag(true, 'Include the token in every response'),
  allow_fetch_full_docs: flag(false, 'Allow lists of whole records (full_docs=true)'),
  allowed_modules_fetch_full_docs: Type.Object(
    { cb_cdrs: flag(false, 'Allow lists of whole call detail records') },
    {
      default: {},
      additionalProperties: true,
      description: 'Lists with whole records, if allow_fetch_full_docs is off',
    },
  ),
  schema_strict_validation: flag(false, 'Refuse a text for a number or boolean; if off, convert it'),
  reset_id_size: wholeNumber(
    { minimum: 42, maximum: 180, default: 137, unit: 'characters' },
    'Length of the secret in the link of a recovery email',
  ),
  reset_id_expiry_s: wholeNumber({ minimum: 1, default: 3600 }, 'Validity of the link in a recovery email'),
  recovery_ui_hosts: Type.Array(Type.String(), {
    default: [],
    description:
      'Hosts that recovery emails may link to, in addition to those of brands whose DNS is set up; `*`: any requested host',
  }),
  mail_from: Type.String({
    default: 'crosspoint@localhost',
    format: 'email',
    description: 'Sender of emails if neither the account nor a parent account has a verified address',
  }),
  mail_log_days: wholeNumber({ minimum: 1, maximum: 3650, default: 31 }, 'Retention of delivery attempts'),
  mail_outbox_days: wholeNumber(
    { minimum: 1, maximum: 3650, default: 31 },
    'Retention of emails in the folder `outbox`, which replaces a missing SMTP server',
  ),
  work_outcome_days: wholeNumber(
    { minimum: 1, maximum: 365, default: 7 },
    'Retention of job results, such as emails, orders and payments',
  ),
  password_expiry_s: Type.Optional(
    wholeNumber({ minimum: 1 }, 'Time after which a password must be replaced'),
  ),
  check_reverse_proxies: flag(true, 'Trust X-Forwarded-For only from reverse_proxies'),
  reverse_proxies: Type.Array(Type.String(), {
    default: ['127.0.0.1'],
    description:
      'Addresses and CIDRs of the proxies in front of this server. X-Forwarded-For from them is trusted, and max_connections_per_address does not apply to them',
  }),
  metrics_networks: Type.Array(Type.String(), {
    default: ['127.0.0.0/8', '::1'],
    description: 'Networks (CIDRs) and addresses that may read /metrics, without a proxy in between',
  }),
  public_hosts: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
    default: [],
    maxItems: 64,
    description:
      'Host names of this server. No account may use them, their parent domains or, for a brand, their subdomains',
  }),
  allowed_private_hosts: Type.Array(Type.String(), {
    default: [],
    description:
      'Hosts in private networks that the server may call for customers: names, addresses or CIDRs. A name or an address also allows SIP calls to a host of this platform or of another account’s carrier',
  }),
  basic_auth_type: choice(['md5', 'sha'], {
    default: 'md5',
    description: 'Digest of user name and password in Basic credentials',
  }),
  default_allow_anonymous_quickcalls: flag(false, 'Allow quickcalls with GET without a token'),
})

const auth = section('Sign-in: tokens, stored attempts, locks, wrong passwords', {
  token_auth_expiry_s: wholeNumber({ default: 3600 }, 'Lifetime of a token; 0 or less: it does not expire'),
  log_failed_attempts: flag(true, 'Store failed sign-in attempts'),
  log_successful_attempts: flag(false, 'Store successful sign-ins'),
  login_attempt_days: wholeNumber(
    { minimum: 1, maximum: 3650, default: 92 },
    'Retention of sign-in attempts',
  ),
  renew: flag(true, 'Allow the renewal of tokens'),
  reset_identity_secret_on_rehash: flag(true, 'A new password ends the sessions of the user'),
  generate_username_if_empty: flag(true, 'Generate a user name if only a password is given'),
  lock_account_on_failed_attempts: flag(false, 'Refuse sign-in after too many failures'),
  failed_attempts_until_lock: wholeNumber(
    { minimum: 1, default: 10, unit: 'failures' },
    'Failed sign-ins within lock_s after which the account is locked',
  ),
  lock_s: wholeNumber(
    { minimum: 1, default: 600 },
    'Duration of a lock, and time in which failures count together',
  ),
  guesses_at_once: wholeNumber(
    { minimum: 1, default: 100, unit: 'guesses' },
    'Burst of wrong passwords for one account, from all networks without an earlier sign-in',
  ),
  guesses_of_network: wholeNumber(
    { minimum: 1, default: 20, unit: 'guesses' },
    'Part of guesses_at_once that one network may use',
  ),
  guesses_per_minute: wholeNumber(
    { minimum: 1, default: 20, unit: 'guesses a minute' },
    'Wrong passwords for one account per minute, after the burst',
  ),
  derivation_threads: Type.Optional(
    wholeNumber(
      { minimum: 1, maximum: 64, unit: 'threads' },
      'Threads that check passwords, with 32 MiB each; absent: one for each core, at most 4',
    ),
  ),
  derivations_waiting: wholeNumber(
    { minimum: 1, maximum: 10_000, default: 64, unit: 'passwords' },
    'Maximum waiting password checks of one network or for one account; further ones get 429',
  ),
  auth_modules: AuthModules,
})

const keptDays = (fallback: number, description: string) =>
  wholeNumber({ minimum: 0, maximum: 36_500, default: fallback }, description)

const events = section('Retention of events and audit log, and the message bus', {
  events_retention_days: keptDays(31, 'Retention of events; 0: no limit'),
  audit_retention_days: keptDays(0, 'Retention of audit entries; 0: no limit'),
  amqp: Type.Object(
    {
      url: Type.Optional(
        Type.String({
          pattern: '^amqps?://',
          maxLength: 2048,
          ...secret,
          description:
            'AMQP 0-9-1 broker that gets every event; absent: none. It may be in a private network',
        }),
      ),
      exchange: Type.String({
        pattern: '^(?!amq\\.)[\\w.:-]{1,255}$',
        default: 'crosspoint',
        description: 'Topic exchange for events; the server creates it as durable if it is missing',
      }),
    },
    { default: {}, description: 'A message bus' },
  ),
})

const bucketKeys = {
  max_bucket_tokens: wholeNumber(
    { minimum: 1, default: 100, unit: 'throttling tokens' },
    'Tokens of a full bucket: the maximum of a burst',
  ),
  tokens_fill_rate: wholeNumber(
    { minimum: 1, default: 10, unit: 'throttling tokens' },
    'Tokens that a bucket gets in each tokens_fill_time',
  ),
  tokens_fill_time: choice(['second', 'minute', 'hour', 'day'], {
    default: 'second',
    description: 'Interval of tokens_fill_rate',
  }),
  inactivity_timeout_s: wholeNumber(
    { minimum: 1, default: 600 },
    'Time after which an unused bucket is full again',
  ),
  ipv6_site_factor: wholeNumber(
    { minimum: 1, default: 8, unit: 'times' },
    'Size of the bucket of an IPv6 site (/48), as a multiple of the bucket of one network (/64)',
  ),
}

const tokenBuckets = Type.Object(bucketKeys, {
  additionalProperties: true,
  ...keysByName,
  description:
    'Throttling buckets. A key that is the name of an application contains the same keys for that application',
})

export const crossbarSettings = settingsDocument('crossbar', crossbar)
export const authSettings = settingsDocument('crossbar.auth', auth)
export const tokenBucketSettings = settingsDocument('token_buckets', tokenBuckets)
export const eventSettings = settingsDocument('events', events)

export const frameSettings = [crossbarSettings, authSettings, tokenBucketSettings, eventSettings]
