import { type LogLevel, logLevels } from '../lib/log.ts'
import { type LogFormat, logFormats } from '../lib/log-format.ts'
import { mistakeInPostgresUrl } from '../lib/postgres-url.ts'
import type { ObjectStorePlace } from '../object-store/object-store.ts'

/** The settings of a process. */
export type Config = ReturnType<typeof readConfig>

interface Setting {
  name: string
  fallback?: string
  meaning: string
  mistakeIn?(text: string): string | undefined
}

/** The mistake in a value that breaks the rule. */
const must = (rule: string, form: RegExp | ((text: string) => boolean)) => (text: string) =>
  (form instanceof RegExp ? form.test(text) : form(text)) ? undefined : `must be ${rule}`

const oneOf = (values: readonly string[]) =>
  must(`one of ${values.join(', ')}`, (text) => values.includes(text))

const urlOf = (...schemes: string[]) =>
  must(`a URL that begins with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}`, (text) =>
    schemes.includes(URL.parse(text)?.protocol ?? ''),
  )

const httpUrl = urlOf('http:', 'https:')

/** Its text is shown in messages, and paths are appended. */
const isBareUrl = (text: string) => {
  const { username, password, href } = new URL(text)
  return username === '' && password === '' && !/[?#]/.test(href)
}

const dnsServer = /^(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?$/

const bucketForm = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9._/-]*))?$/

/** `serve --help` prints it. */
export const settingsTable: readonly Setting[] = [
  { name: 'CROSSPOINT_HOST', fallback: '127.0.0.1', meaning: 'address of the plain HTTP listener' },
  {
    name: 'CROSSPOINT_PORT',
    fallback: '8000',
    meaning: 'port; 0: a free one, printed in the ready line',
    mistakeIn: must('a port, 0 to 65535', (text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535),
  },
  { name: 'CROSSPOINT_DATA_DIR', fallback: './data', meaning: 'embedded store, keys, outbox' },
  {
    name: 'CROSSPOINT_DATABASE_URL',
    meaning:
      'postgres://... instead of the embedded store; several hosts, separated by commas: the server uses the primary',
    mistakeIn: mistakeInPostgresUrl,
  },
  {
    name: 'CROSSPOINT_DATABASE_CONNECTIONS',
    fallback: '10',
    meaning: 'maximum connections of this process to PostgreSQL: 5 to 10',
    mistakeIn: must('5 to 10', /^([5-9]|10)$/),
  },
  {
    name: 'CROSSPOINT_HTTP_THREADS',
    meaning:
      'threads that answer requests, 1 to 16, on the embedded store; unset: half as many as processors, 4 at most',
    mistakeIn: must('1 to 16', /^0?[1-9]$|^1[0-6]$/),
  },
  {
    name: 'CROSSPOINT_CALL_ARCHIVE',
    meaning:
      'a directory or s3://bucket/prefix for call records of older months; unset: they stay in the store',
    mistakeIn: must(
      'a directory, or s3://bucket/prefix without characters that need an escape',
      (text) => !text.includes('://') || bucketForm.test(text),
    ),
  },
  { name: 'AWS_ACCESS_KEY_ID', meaning: 'access key of the bucket of the call archive' },
  { name: 'AWS_SECRET_ACCESS_KEY', meaning: 'secret of the access key' },
  { name: 'AWS_SESSION_TOKEN', meaning: 'session token of the access key, if it is temporary' },
  { name: 'AWS_REGION', fallback: 'us-east-1', meaning: 'region of the bucket' },
  {
    name: 'AWS_ENDPOINT_URL_S3',
    meaning: 'https://host:port of an S3-compatible store; unset: Amazon S3 in that region',
    mistakeIn: must(
      'a URL that begins with http:// or https://, without user, password, ? and #',
      (text) => httpUrl(text) === undefined && isBareUrl(text),
    ),
  },
  {
    name: 'CROSSPOINT_MASTER_ACCOUNT',
    fallback: 'master',
    meaning: 'name of the account that the first start creates',
    mistakeIn: (text) => (text.length <= 128 ? undefined : 'must have at most 128 characters'),
  },
  {
    name: 'CROSSPOINT_MASTER_REALM',
    fallback: 'master.localhost',
    meaning: 'its realm',
    mistakeIn: must('a host name of 4 to 253 characters', /^[.\w-]{4,253}$/),
  },
  {
    name: 'CROSSPOINT_ADMIN_USERNAME',
    fallback: 'admin',
    meaning: 'name of its first user',
    mistakeIn: must('letters, digits and any of + @ . _ -', /^[+@.\w-]{1,256}$/),
  },
  {
    name: 'CROSSPOINT_ADMIN_PASSWORD',
    meaning: 'password of that user, for the first start only; unset: generated and printed once',
  },
  {
    name: 'CROSSPOINT_SMTP_URL',
    meaning: 'smtp://user:pass@host:port; unset: mail goes to outbox/',
    mistakeIn: urlOf('smtp:', 'smtps:'),
  },
  {
    name: 'CROSSPOINT_DNS_SERVERS',
    meaning: 'host:port,... for the DNS checks of whitelabel domains; unset: the system resolver',
    mistakeIn: must('host:port, several separated by commas', (text) =>
      text.split(',').every((server) => dnsServer.test(server.trim())),
    ),
  },
  {
    name: 'CROSSPOINT_LOG_LEVEL',
    fallback: 'info',
    meaning: `lowest level of log lines on standard error: one of ${logLevels.join(', ')}`,
    mistakeIn: oneOf(logLevels),
  },
  {
    name: 'CROSSPOINT_LOG_FORMAT',
    meaning: 'pretty (short lines) or json; unset: pretty if standard error is a terminal, else json',
    mistakeIn: oneOf(logFormats),
  },
  {
    name: 'CROSSPOINT_ACCESS_LOG',
    fallback: 'on',
    meaning: 'on or off: a line in the log for each request',
    mistakeIn: must('on or off', /^(on|off)$/),
  },
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    meaning: 'http://host:4318 of an OpenTelemetry collector; unset: no traces are recorded',
    mistakeIn: httpUrl,
  },
  { name: 'OTEL_SERVICE_NAME', fallback: 'crosspoint', meaning: 'name of the server in traces' },
  {
    name: 'CROSSPOINT_DRAIN_SECONDS',
    fallback: '8',
    meaning: 'how long the listener stays after SIGTERM while /readyz is red; a second signal ends the wait',
    mistakeIn: must(
      'seconds, 0 to 3600, such as 8 or 0.5',
      (text) => /^\d{1,4}(\.\d{1,3})?$/.test(text) && Number(text) <= 3600,
    ),
  },
]

/** All mistakes of the settings at once. */
export class ConfigError extends Error {
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(mistakes.join('\n'))
    this.name = 'ConfigError'
    this.mistakes = mistakes
  }
}

const mistakeInBucket = (values: ReadonlyMap<string, string>): string | undefined => {
  const missing = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'].filter((name) => !values.has(name))
  const isBucket = values.get('CROSSPOINT_CALL_ARCHIVE')?.startsWith('s3://')
  return isBucket && missing.length > 0 ? `CROSSPOINT_CALL_ARCHIVE needs ${missing.join(' and ')}` : undefined
}

const mistakeInThreads = (values: ReadonlyMap<string, string>): string | undefined =>
  values.has('CROSSPOINT_DATABASE_URL') && Number(values.get('CROSSPOINT_HTTP_THREADS') ?? 1) > 1
    ? 'CROSSPOINT_HTTP_THREADS applies to the embedded store only: with CROSSPOINT_DATABASE_URL, start several servers'
    : undefined

const callArchiveOf = (values: ReadonlyMap<string, string>): ObjectStorePlace | undefined => {
  const place = values.get('CROSSPOINT_CALL_ARCHIVE')
  if (place === undefined) return undefined
  const found = bucketForm.exec(place)
  if (!found) return { kind: 'directory', path: place }
  const region = values.get('AWS_REGION') ?? ''
  const prefix = (found[2] ?? '').replace(/\/+$/, '')
  return {
    kind: 's3',
    bucket: found[1] ?? '',
    prefix: prefix === '' ? '' : `${prefix}/`,
    endpoint: values.get('AWS_ENDPOINT_URL_S3') ?? `https://s3.${region}.amazonaws.com`,
    region,
    accessKeyId: values.get('AWS_ACCESS_KEY_ID') ?? '',
    secretAccessKey: values.get('AWS_SECRET_ACCESS_KEY') ?? '',
    sessionToken: values.get('AWS_SESSION_TOKEN'),
  }
}

/** Probably misspelt. */
export const unknownSettings = (environment: Readonly<Record<string, string | undefined>>): string[] =>
  Object.keys(environment).filter(
    (name) => /^CROSSPOINT_(?!TEST_)/.test(name) && !settingsTable.some((setting) => setting.name === name),
  )

// Over SSH the browser is on another machine; in CI there is none.
const signsOfNobody = ['CI', 'SSH_CONNECTION', 'SSH_CLIENT', 'SSH_TTY']
const signsOfDesktop = ['DISPLAY', 'WAYLAND_DISPLAY']

/** Whether a browser can be opened for the user of this process. */
export const hasDesktop = (
  environment: Readonly<Record<string, string | undefined>>,
  platform: string,
): boolean => {
  if (signsOfNobody.some((name) => environment[name])) return false
  return ['darwin', 'win32'].includes(platform) || signsOfDesktop.some((name) => environment[name])
}

interface StandardError {
  isTerminal: boolean
  hasColors: boolean
}

/** Throws a ConfigError with all mistakes. */
export const readConfig = (
  environment: Readonly<Record<string, string | undefined>>,
  standardError: StandardError = { isTerminal: false, hasColors: false },
) => {
  const mistakes: string[] = []
  const values = new Map<string, string>()
  for (const { name, fallback, mistakeIn } of settingsTable) {
    const value = environment[name] || fallback
    if (value === undefined) continue
    const mistake = mistakeIn?.(value)
    // Values are not repeated: some hold passwords.
    if (mistake) mistakes.push(`${name} ${mistake}`)
    values.set(name, value)
  }
  for (const mistake of [mistakeInBucket(values), mistakeInThreads(values)])
    if (mistake !== undefined) mistakes.push(mistake)
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  const text = (name: string) => {
    const value = values.get(name)
    if (value === undefined) throw new Error(`${name} has no value`)
    return value
  }
  return {
    host: text('CROSSPOINT_HOST'),
    port: Number(text('CROSSPOINT_PORT')),
    dataDir: text('CROSSPOINT_DATA_DIR'),
    databaseUrl: values.get('CROSSPOINT_DATABASE_URL'),
    databaseConnections: Number(text('CROSSPOINT_DATABASE_CONNECTIONS')),
    httpThreads: values.has('CROSSPOINT_HTTP_THREADS') ? Number(text('CROSSPOINT_HTTP_THREADS')) : undefined,
    callArchive: callArchiveOf(values),
    masterAccount: text('CROSSPOINT_MASTER_ACCOUNT'),
    masterRealm: text('CROSSPOINT_MASTER_REALM'),
    adminUsername: text('CROSSPOINT_ADMIN_USERNAME'),
    adminPassword: values.get('CROSSPOINT_ADMIN_PASSWORD'),
    smtpUrl: values.get('CROSSPOINT_SMTP_URL'),
    dnsServers: (values.get('CROSSPOINT_DNS_SERVERS') ?? '').split(',').flatMap((text) => text.trim() || []),
    logLevel: text('CROSSPOINT_LOG_LEVEL') as LogLevel,
    logFormat: (values.get('CROSSPOINT_LOG_FORMAT') ??
      (standardError.isTerminal ? 'pretty' : 'json')) as LogFormat,
    logColors: standardError.hasColors && !environment.NO_COLOR,
    logsAccess: text('CROSSPOINT_ACCESS_LOG') === 'on',
    otlpEndpoint: values.get('OTEL_EXPORTER_OTLP_ENDPOINT'),
    serviceName: text('OTEL_SERVICE_NAME'),
    drainSeconds: Number(text('CROSSPOINT_DRAIN_SECONDS')),
  }
}
