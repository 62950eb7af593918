import { Type } from 'typebox'
import { choice, typed } from '../lib/schema.ts'
import { secret } from '../lib/secrets.ts'
import { AuthModules } from './auth-modules.ts'
import { flag, keysByName, section, settingsDocument, unit, wholeNumber } from './keys.ts'

// One section (`default`, a zone or a node) of each settings document of the frame; areas add theirs. Every key
// here has an effect.

const tokens = (fallback: number, description: string) =>
  wholeNumber({ minimum: 0, default: fallback, unit: 'throttling tokens' }, description)

const crossbar = section('The service: TLS, sizes, connections, lists, prices of requests, mail', {
  use_ssl: flag(false, 'Also serve HTTPS, on ssl_port'),
  ssl_port: wholeNumber(
    { minimum: 0, maximum: 65_535, default: 8443, unit: 'port' },
    'Where HTTPS is served; 0 takes a free port',
  ),
  ssl_cert: Type.Optional(Type.String({ minLength: 1, description: 'Path of the PEM certificate chain' })),
  ssl_key: Type.Optional(Type.String({ minLength: 1, description: 'Path of the PEM private key' })),
  ssl_ca_cert: Type.Optional(Type.String({ minLength: 1, description: 'Path of a PEM CA chain' })),
  ssl_password: Type.Optional(Type.String({ ...secret, description: 'Pass phrase of the private key' })),
  max_upload_size: wholeNumber(
    { minimum: 1024, maximum: 1_000_000_000, default: 8_000_000, unit: 'bytes' },
    'The largest body that is read whole: JSON, forms, images, keys; a larger one is 413',
  ),
  max_streamed_size: wholeNumber(
    { minimum: 1024, default: 4_000_000_000, unit: 'bytes' },
    'Bytes of a body that is stored while it arrives: task input, call records',
  ),
  unjudged_body_size: wholeNumber(
    { minimum: 1024, maximum: 1_000_000, default: 65_536, unit: 'bytes' },
    'Bytes of a body that are read before it is known who sends it: larger ones wait until the request is let in',
  ),
  body_bytes_per_token: wholeNumber(
    { minimum: 1024, default: 25_000, unit: 'bytes' },
    'Bytes of a body, or of a record that is changed, beyond unjudged_body_size that cost a further throttling token; never more than half of the bucket',
  ),
  max_body_values: wholeNumber(
    { minimum: 1000, default: 100_000, unit: 'values' },
    'Values of a JSON body; an object or array among others counts twice',
  ),
  max_form_fields: wholeNumber(
    { minimum: 10, maximum: 100_000, default: 1000, unit: 'fields' },
    'Fields of a form (application/x-www-form-urlencoded) sent instead of JSON',
  ),
  max_connections: wholeNumber(
    { minimum: 10, default: 10_000, unit: 'connections' },
    'Connections that may be open at once; further ones are closed',
  ),
  max_connections_per_address: wholeNumber(
    { minimum: 1, default: 1000, unit: 'connections' },
    'The same from one IPv4 address or IPv6 /64; reverse_proxies are not counted',
  ),
  idempotency_keep_s: wholeNumber(
    { minimum: 60, default: 86_400 },
    'Seconds for which an answer is kept under its Idempotency-Key',
  ),
  pagination_page_size: wholeNumber(
    { minimum: 1, maximum: 10_000, default: 50, unit: 'rows' },
    'Rows of a page when the request names no page_size',
  ),
  maximum_range: wholeNumber(
    { minimum: 1, default: 2_682_000, unit: 'seconds' },
    'The longest time between created_from and created_to of a list (31 days and an hour), and the range of one that names no beginning. Ledgers and transactions take any range',
  ),
  request_memory_limit: Type.Optional(
    wholeNumber(
      { minimum: 1, unit: 'bytes' },
      'The longest list that is answered as a whole (paginate=false with is_chunked=false or pretty_print=true); longer ones are 416. Absent: of any length',
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
    'Seconds that a long answer waits until others have made room',
  ),
  answer_stall_s: wholeNumber(
    { minimum: 1, maximum: 86_400, default: 120 },
    'Seconds after which a client that takes nothing of its answer is cut off',
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
      'Token cost of a request: a number (0: all requests are free), or numbers by account, endpoint and method; negative ones are ignored',
  }),
  user_auth_tokens: tokens(
    35,
    'What a sign-in with a password costs, and each call of a recovery, unless token_costs names a price',
  ),
  api_auth_tokens: tokens(35, 'What a sign-in with an API key costs, unless token_costs names a price'),
  derivation_tokens: tokens(5, 'Additional token cost of a request that sets a password or a PIN'),
  default_language: Type.String({
    default: 'en-US',
    description: 'Language of accounts that name none and have none above them, and of sign-in answers',
  }),
  include_auth_token: flag(true, 'Echo the token in every answer'),
  allow_fetch_full_docs: flag(false, 'Let lists answer with whole records (full_docs=true)'),
  allowed_modules_fetch_full_docs: Type.Object(
    { cb_cdrs: flag(false, 'Let lists of call detail records answer with whole records') },
    {
      default: {},
      additionalProperties: true,
      description: 'The same list by list, where allow_fetch_full_docs is off',
    },
  ),
  schema_strict_validation: flag(
    false,
    'Refuse text where a number or boolean is wanted instead of converting it',
  ),
  reset_id_size: wholeNumber(
    { minimum: 42, maximum: 180, default: 137, unit: 'characters' },
    'Length of the secret in the link of a recovery mail',
  ),
  reset_id_expiry_s: wholeNumber(
    { minimum: 1, default: 3600 },
    'For how long the link of a recovery mail is good',
  ),
  recovery_ui_hosts: Type.Array(Type.String(), {
    default: [],
    description:
      'Hosts that recovery emails may link to, in addition to those of brands whose DNS is set up; `*`: any requested host',
  }),
  mail_from: Type.String({
    default: 'crosspoint@localhost',
    format: 'email',
    description: 'Sender of mails of accounts that have no verified address, nor one above them',
  }),
  mail_log_days: wholeNumber(
    { minimum: 1, maximum: 3650, default: 31 },
    'How long attempts to deliver a mail are kept',
  ),
  mail_outbox_days: wholeNumber(
    { minimum: 1, maximum: 3650, default: 31 },
    'How long mails stay in the folder that they are written to where there is no SMTP server',
  ),
  work_outcome_days: wholeNumber(
    { minimum: 1, maximum: 365, default: 7 },
    'Time that outcomes of jobs are kept, such as mails, orders and payments',
  ),
  password_expiry_s: Type.Optional(
    wholeNumber({ minimum: 1 }, 'Seconds until a password has to be replaced'),
  ),
  check_reverse_proxies: flag(true, 'Believe X-Forwarded-For only from reverse_proxies'),
  reverse_proxies: Type.Array(Type.String(), {
    default: ['127.0.0.1'],
    description:
      'Addresses and CIDRs of proxies in front of this server, whose X-Forwarded-For is believed; their connections are not counted by address',
  }),
  metrics_networks: Type.Array(Type.String(), {
    default: ['127.0.0.0/8', '::1'],
    description: 'Networks (CIDRs) and addresses from where /metrics may be read, without a proxy in between',
  }),
  public_hosts: Type.Array(Type.String({ minLength: 1, maxLength: 253 }), {
    default: [],
    maxItems: 64,
    description:
      'Host names at which clients reach this server. No account may take them or a name above them and, for a brand, a name below them',
  }),
  allowed_private_hosts: Type.Array(Type.String(), {
    default: [],
    description:
      'Hosts inside of private networks that may be called for customers: names, addresses or CIDRs. A name or an address also allows SIP calls to a host of this platform or of a carrier of another account',
  }),
  basic_auth_type: choice(['md5', 'sha'], {
    default: 'md5',
    description: 'The digest of user name and password in Basic credentials',
  }),
  default_allow_anonymous_quickcalls: flag(false, 'Allow quickcalls with GET without a token'),
})

const auth = section('Signing in: tokens, what is kept of attempts, locks, guesses', {
  token_auth_expiry_s: wholeNumber(
    { default: 3600 },
    'How long a token is good; not positive: tokens do not expire',
  ),
  log_failed_attempts: flag(true, 'Keep refused sign-ins'),
  log_successful_attempts: flag(false, 'Keep sign-ins'),
  login_attempt_days: wholeNumber(
    { minimum: 1, maximum: 3650, default: 92 },
    'How long attempts to sign in are kept',
  ),
  renew: flag(true, 'Let a token be renewed'),
  reset_identity_secret_on_rehash: flag(true, 'A new password ends the sessions of the user'),
  generate_username_if_empty: flag(true, 'Generate a user name if only a password is given'),
  lock_account_on_failed_attempts: flag(false, 'Refuse sign-in after too many failures'),
  failed_attempts_until_lock: wholeNumber(
    { minimum: 1, default: 10, unit: 'failures' },
    'Refused sign-ins within lock_s after which the account is locked',
  ),
  lock_s: wholeNumber(
    { minimum: 1, default: 600 },
    'For how long an account stays locked, and how long failures are counted together',
  ),
  guesses_at_once: wholeNumber(
    { minimum: 1, default: 100, unit: 'guesses' },
    'Wrong passwords for one account that are checked in a burst, from all networks without earlier sign-ins',
  ),
  guesses_of_network: wholeNumber(
    { minimum: 1, default: 20, unit: 'guesses' },
    'Those of them that one network may have',
  ),
  guesses_per_minute: wholeNumber(
    { minimum: 1, default: 20, unit: 'guesses a minute' },
    'Wrong passwords for one account that are looked at in the long run',
  ),
  derivation_threads: Type.Optional(
    wholeNumber(
      { minimum: 1, maximum: 64, unit: 'threads' },
      'Threads that check passwords, 32 MiB each while they do; absent: by cores, 4 at most',
    ),
  ),
  derivations_waiting: wholeNumber(
    { minimum: 1, maximum: 10_000, default: 64, unit: 'passwords' },
    'Passwords of one network, or for one account, that may wait to be checked; more get 429',
  ),
  auth_modules: AuthModules,
})

const keptDays = (fallback: number, description: string) =>
  wholeNumber({ minimum: 0, maximum: 36_500, default: fallback }, description)

const events = section('Retention of events and audit log, and their subscribers', {
  events_retention_days: keptDays(31, 'How long events are kept; 0: for ever'),
  audit_retention_days: keptDays(0, 'How long audit entries are kept; 0: for ever'),
  amqp: Type.Object(
    {
      url: Type.Optional(
        Type.String({
          pattern: '^amqps?://',
          maxLength: 2048,
          ...secret,
          description:
            'An AMQP 0-9-1 broker to which every event is published; absent: to none. It may be in a private network',
        }),
      ),
      exchange: Type.String({
        pattern: '^(?!amq\\.)[\\w.:-]{1,255}$',
        default: 'crosspoint',
        description: 'The topic exchange that events go to; it is made, durable, where it is not there',
      }),
    },
    { default: {}, description: 'A message bus' },
  ),
})

const bucketKeys = {
  max_bucket_tokens: wholeNumber(
    { minimum: 1, default: 100, unit: 'throttling tokens' },
    'What a full bucket holds, so what may be spent in a burst',
  ),
  tokens_fill_rate: wholeNumber(
    { minimum: 1, default: 10, unit: 'throttling tokens' },
    'What flows into a bucket in each tokens_fill_time',
  ),
  tokens_fill_time: choice(['second', 'minute', 'hour', 'day'], {
    default: 'second',
    description: 'The time in which tokens_fill_rate tokens flow in',
  }),
  inactivity_timeout_s: wholeNumber(
    { minimum: 1, default: 600 },
    'Time after which an unused bucket is full again',
  ),
  ipv6_site_factor: wholeNumber(
    { minimum: 1, default: 8, unit: 'times' },
    'How many times the bucket of one IPv6 network (/64) the one of its whole site (/48) holds',
  ),
}

const tokenBuckets = Type.Object(bucketKeys, {
  additionalProperties: true,
  ...keysByName,
  description: 'Throttling buckets; a key that names an application holds the same keys for it alone',
})

export const crossbarSettings = settingsDocument('crossbar', crossbar)
export const authSettings = settingsDocument('crossbar.auth', auth)
export const tokenBucketSettings = settingsDocument('token_buckets', tokenBuckets)
export const eventSettings = settingsDocument('events', events)

export const frameSettings = [crossbarSettings, authSettings, tokenBucketSettings, eventSettings]
