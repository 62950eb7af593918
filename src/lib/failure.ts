/** `data.<path>.<rule>` of a response. */
export interface Problem {
  message: string
  target?: unknown
  cause?: unknown
  value?: unknown
  [extra: string]: unknown
}

/** Dotted property path -> rule -> problem. A dot inside a key is written `%2E`. */
export type Problems = Record<string, Record<string, Problem>>

interface FailureAnswer {
  status: number
  message: string
  data: unknown
  metadata?: Record<string, unknown>
  /** Further keys of the envelope. */
  extra?: Record<string, string>
  headers?: Record<string, string>
}

/** A kind of failure and its response. */
export interface FailureKind<Details = never> {
  readonly name: string
  readonly answer: (details: Details) => FailureAnswer
}

export const failureKind = <Details extends object = Record<never, never>>(
  name: string,
  answer: (details: Details) => FailureAnswer,
): FailureKind<Details> => ({ name, answer })

const reply = (status: number, message: string, data: unknown = {}): FailureAnswer => ({
  status,
  message,
  data,
})

export const plain =
  (status: number, message: string, text = message.replaceAll('_', ' ')) =>
  () =>
    reply(status, message, { message: text })

/** A kind of failure that always has the same response, with its name as the message. */
const fixed = (status: number, name: string, text?: string) => failureKind(name, plain(status, name, text))

/** Unexpected errors show nothing internal. */
export const unexpected = reply(500, 'unspecified_fault', { message: 'unspecified fault' })

/** Contains public text only; a private reason is its `cause`. */
export class Failure extends Error {
  readonly kind: FailureKind
  readonly details: object

  constructor(kind: FailureKind, details: object, reason?: unknown) {
    super(kind.name, reason === undefined ? undefined : { cause: reason })
    this.name = 'Failure'
    this.kind = kind
    this.details = details
  }

  get answer(): FailureAnswer {
    return this.kind.answer(this.details as never)
  }
}

export const failure = <Details extends object>(
  kind: FailureKind<Details>,
  details: NoInfer<Details>,
  reason?: unknown,
) => new Failure(kind, details, reason)

export const isFailure = <Details extends object>(
  error: unknown,
  kind: FailureKind<Details>,
): error is Failure & { readonly kind: FailureKind<Details>; readonly details: Details } =>
  error instanceof Failure && error.kind === kind

/** A kind of failure whose message is its name. */
const named = <Details extends object = Record<never, never>>(
  status: number,
  name: string,
  data: (details: Details) => unknown,
  headers?: (details: Details) => Record<string, string>,
) =>
  failureKind<Details>(name, (details) => ({
    ...reply(status, name, data(details)),
    ...(headers && { headers: headers(details) }),
  }))

const retryAfter = ({ retryAfterSeconds }: { retryAfterSeconds: number }) => ({
  'retry-after': String(retryAfterSeconds),
})

// The failures that no area owns.

/** For the caller. */
type Refusal = { reason?: string } & (
  | { cause: string; message?: string }
  | { message: string; cause?: string }
)

/** The cost of a request for its account, in units. */
export interface Quote {
  quoteId: string
  /** Digest of the bought items, without prices. */
  purchase: string
  /** Due immediately. */
  today: number
  /** Increase of the monthly bill. */
  monthly: number
}

export const validationError = failureKind(
  'validation_error',
  ({ problems, metadata }: { problems: Problems; metadata?: Record<string, unknown> }) => ({
    ...reply(400, 'validation error', problems),
    ...(metadata ? { metadata } : {}),
  }),
)

export const invalidData = failureKind('invalid_data', ({ data }: { data: Record<string, unknown> }) =>
  reply(400, 'invalid data', data),
)

export const invalidCredentials = failureKind(
  'invalid_credentials',
  ({ message, data }: { message?: string; data?: Record<string, unknown> }) =>
    reply(401, message ?? 'invalid_credentials', data ?? { message: 'invalid credentials' }),
)

/** The response explains the reason. */
export const forbidden = named(403, 'forbidden', ({ cause, message, reason }: Refusal) => ({
  message: message ?? 'forbidden',
  ...(cause ? { cause } : {}),
  ...(reason ? { reason } : {}),
}))

export const notFound = named(404, 'not_found', ({ message = 'not found' }: { message?: string }) => ({
  message,
}))

export const badIdentifier = named(
  404,
  'bad_identifier',
  ({ cause, details, reason }: { cause: unknown; details?: unknown; reason?: string }) => ({
    message: 'bad identifier',
    cause,
    ...(details === undefined ? {} : { details }),
    ...(reason === undefined ? {} : { reason }),
  }),
)

export const badIdentifierList = failureKind('bad_identifier_list', ({ values }: { values: string[] }) =>
  reply(404, 'bad identifier', values),
)

export const missingParameter = failureKind('missing_parameter', ({ message }: { message: string }) =>
  reply(404, message, { message }),
)

export const faultyRequest = named(
  404,
  'faulty_request',
  ({ message, cause }: { message: string; cause?: string | undefined }) => ({
    message,
    ...(cause ? { cause } : {}),
  }),
)

export const invalidMethod = named(
  405,
  'invalid_method',
  () => ({ message: 'method not allowed' }),
  ({ allow }: { allow: readonly string[] }) => ({ allow: allow.join(', ') }),
)

export const actionRequired = failureKind('action_required', () => reply(400, 'action required'))

export const invalidAction = failureKind('invalid_action', () => reply(400, 'invalid action'))

export const notAcceptable = named(406, 'not_acceptable', ({ offered }: { offered: readonly string[] }) => ({
  message: 'no representation matches Accept',
  target: offered,
}))

export const unsupportedMediaType = named(
  415,
  'unsupported_media_type',
  ({
    accepted,
    message = 'this content type is not accepted here',
  }: {
    accepted: readonly string[]
    message?: string
  }) => ({ message, target: accepted }),
)

export const chargesNotAccepted = failureKind(
  'charges_not_accepted',
  ({ invoices, quoteId }: Quote & { invoices: readonly unknown[] }) => ({
    ...reply(402, 'accept charges', invoices),
    extra: { quote_id: quoteId },
  }),
)

/** `missing`: dollars. */
export const notEnoughCredit = named(
  402,
  'not_enough_credit',
  ({ missing }: { accountId: string; missing: number }) => ({
    message: 'the account does not have enough credit to perform the operation',
    missing,
  }),
)

export const billingIssue = named(
  402,
  'billing_issue',
  ({ reason, message }: { reason: string; message: string }) => ({ reason, message }),
)

export const requestTimeout = named(
  408,
  'request_timeout',
  () => ({ message: 'the request did not arrive in time' }),
  () => ({ connection: 'close' }),
)

export const datastoreConflict = named(
  409,
  'datastore_conflict',
  ({ message = 'conflicting documents' }: { message?: string }) => ({ message }),
)

export const idempotencyConflict = failureKind(
  'idempotency_conflict',
  ({
    message,
    retryAfterSeconds,
    changes,
  }: {
    message: string
    retryAfterSeconds?: number
    changes?: readonly object[]
  }) => ({
    ...reply(409, 'idempotency_conflict', { message, ...(changes ? { changes } : {}) }),
    ...(retryAfterSeconds === undefined ? {} : { headers: { 'retry-after': String(retryAfterSeconds) } }),
  }),
)

export const gone = fixed(410, 'gone', 'only version 2 of this API is supported')

export const preconditionFailed = failureKind('precondition_failed', ({ message }: { message?: string }) =>
  reply(412, message ?? 'precondition failed', {
    message: message ?? 'the record has changed since it was read',
  }),
)

export const tooLarge = failureKind('too_large', ({ limit }: { limit: number }) =>
  reply(413, 'validation error', {
    file: { maxSize: { message: `Body is larger than ${limit} bytes`, target: limit } },
  }),
)

/** `at`: Gregorian seconds, of the account or a parent. */
export const accountExpired = failureKind('account_expired', ({ at }: { accountId: string; at: number }) =>
  reply(423, 'locked', { account: { expired: { message: 'account expired', cause: at } } }),
)

export const uriTooLong = named(414, 'uri_too_long', ({ limit }: { limit: number }) => ({
  message: `the URL is longer than ${limit} characters`,
  target: limit,
}))

/** `count` of `what` it holds. */
export const recordTooLarge = named(
  413,
  'record_too_large',
  ({ kind, what, count, limit }: { kind: string; what: string; count: number; limit: number }) => ({
    message: `A record of the kind ${kind} can have at most ${limit} ${what}; this one has ${count}`,
    cause: kind,
    target: limit,
    value: count,
  }),
)

export const quotaExceeded = named(
  403,
  'quota_exceeded',
  ({ what, limit }: { what: string; limit: number }) => ({
    message: `The account has reached its quota of ${what}: ${limit}`,
    cause: what,
    target: limit,
  }),
)

export const rangeNotSatisfiable = failureKind('range_not_satisfiable', () =>
  reply(416, 'range not satisfiable'),
)

export const tooManyRequests = named(
  429,
  'too_many_requests',
  () => ({ message: 'too many requests' }),
  retryAfter,
)

export const overloaded = named(
  503,
  'overloaded',
  () => ({ message: 'the server is sending too many responses. Retry after the Retry-After delay' }),
  retryAfter,
)

export const mediaSwitchMissing = failureKind('no_media_switch', plain(501, 'no media switch is configured'))

export const mediaSwitchUnreachable = named(
  503,
  'media_switch_unreachable',
  ({ edges }: { edges: readonly { host: string; reason: string }[] }) => ({
    message: 'no SIP edge responded. See data.edges for each error',
    edges,
  }),
)

export const notConfigured = named(501, 'not_configured', ({ message }: { message: string }) => ({ message }))

export const datastoreUnreachable = fixed(503, 'datastore_unreachable')

export const importInProgress = fixed(
  503,
  'import_under_way',
  'writes are disabled while an import runs. Retry when `crosspoint import kazoo --finish` has completed',
)

export const storeMoved = fixed(
  503,
  'store_moved',
  'the store is being moved or was moved: this server only reads. Retry at the server of the new store',
)

export const datastoreFull = fixed(
  507,
  'datastore_full',
  'the disk or database is full; the change was not saved. The operator must free space',
)

export const lostLease = fixed(
  503,
  'lease_lost',
  'another server process took over this operation. Retry the request',
)

export const timedOut = fixed(500, 'timeout', 'the request took too long')

/** The `cause` of a failure: only for the log. */
export class SignInRefusal extends Error {
  readonly accountId: string | undefined

  constructor(reason: string, accountId?: string) {
    super(reason)
    this.name = 'SignInRefusal'
    this.accountId = accountId
  }
}

/** The 401 whose reason only the log contains. */
export const signInRefused = (reason: string, accountId?: string) =>
  failure(invalidCredentials, {}, new SignInRefusal(reason, accountId))

/** The store cannot be written now; a retry may succeed. */
export const isOutage = (error: unknown) =>
  isFailure(error, datastoreUnreachable) || isFailure(error, datastoreFull)

export const invalid = (problems: Problems, metadata?: Record<string, unknown>) =>
  failure(validationError, metadata ? { problems, metadata } : { problems })

export const hasProblems = (problems: Problems) => Object.keys(problems).length > 0

const maxShown = 100

/** Objects are not shown. */
export const valueShown = (sent: unknown): { value?: string } =>
  typeof sent === 'object' && sent !== null ? {} : { value: String(sent).slice(0, maxShown) }

export const requiredField = (path: string, name = path): Problems => ({
  [path]: { required: { message: 'Field is required but missing', value: name } },
})

export const taken = (path: string, message: string, cause: unknown): Problems => ({
  [path]: { unique: { message, cause } },
})

export const wrongFormat = (path: string, format: string, message: string, value: unknown): Problems => ({
  [path]: { wrong_format: { message, format, value } },
})

/** Rules of the same path are merged. */
export const joinProblems = (...all: Problems[]): Problems => {
  const joined: Problems = {}
  for (const problems of all) {
    for (const [path, rules] of Object.entries(problems)) joined[path] = { ...joined[path], ...rules }
  }
  return joined
}
