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

export const plain =
  (status: number, message: string, text = message.replaceAll('_', ' ')) =>
  (): FailureAnswer => ({ status, message, data: { message: text } })

/** Unexpected errors show nothing internal. */
export const unexpected: FailureAnswer = {
  status: 500,
  message: 'unspecified_fault',
  data: { message: 'unspecified fault' },
}

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

// The failures that no area owns.

/** For the caller. */
type Refusal = { reason?: string } & (
  | { cause: string; message?: string }
  | { message: string; cause?: string }
)

/** What a request costs its account. Units. */
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
    status: 400,
    message: 'validation error',
    data: problems,
    ...(metadata ? { metadata } : {}),
  }),
)

export const invalidData = failureKind('invalid_data', ({ data }: { data: Record<string, unknown> }) => ({
  status: 400,
  message: 'invalid data',
  data,
}))

export const invalidCredentials = failureKind(
  'invalid_credentials',
  ({ message, data }: { message?: string; data?: Record<string, unknown> }) => ({
    status: 401,
    message: message ?? 'invalid_credentials',
    data: data ?? { message: 'invalid credentials' },
  }),
)

/** The response explains the reason. */
export const forbidden = failureKind('forbidden', ({ cause, message, reason }: Refusal) => ({
  status: 403,
  message: 'forbidden',
  data: {
    message: message ?? 'forbidden',
    ...(cause ? { cause } : {}),
    ...(reason ? { reason } : {}),
  },
}))

export const notFound = failureKind('not_found', ({ message }: { message?: string }) => ({
  status: 404,
  message: 'not_found',
  data: { message: message ?? 'not found' },
}))

export const badIdentifier = failureKind(
  'bad_identifier',
  ({ cause, details, reason }: { cause: unknown; details?: unknown; reason?: string }) => ({
    status: 404,
    message: 'bad_identifier',
    data: {
      message: 'bad identifier',
      cause,
      ...(details === undefined ? {} : { details }),
      ...(reason === undefined ? {} : { reason }),
    },
  }),
)

export const badIdentifierList = failureKind('bad_identifier_list', ({ values }: { values: string[] }) => ({
  status: 404,
  message: 'bad identifier',
  data: values,
}))

export const missingParameter = failureKind('missing_parameter', ({ message }: { message: string }) => ({
  status: 404,
  message,
  data: { message },
}))

export const faultyRequest = failureKind(
  'faulty_request',
  ({ message, cause }: { message: string; cause?: string | undefined }) => ({
    status: 404,
    message: 'faulty_request',
    data: { message, ...(cause ? { cause } : {}) },
  }),
)

export const invalidMethod = failureKind('invalid_method', ({ allow }: { allow: readonly string[] }) => ({
  status: 405,
  message: 'invalid_method',
  data: { message: 'method not allowed' },
  headers: { allow: allow.join(', ') },
}))

export const actionRequired = failureKind('action_required', () => ({
  status: 400,
  message: 'action required',
  data: {},
}))

export const invalidAction = failureKind('invalid_action', () => ({
  status: 400,
  message: 'invalid action',
  data: {},
}))

export const notAcceptable = failureKind('not_acceptable', ({ offered }: { offered: readonly string[] }) => ({
  status: 406,
  message: 'not_acceptable',
  data: { message: 'no representation matches Accept', target: offered },
}))

export const unsupportedMediaType = failureKind(
  'unsupported_media_type',
  ({
    accepted,
    message = 'this content type is not accepted here',
  }: {
    accepted: readonly string[]
    message?: string
  }) => ({
    status: 415,
    message: 'unsupported_media_type',
    data: { message, target: accepted },
  }),
)

export const chargesNotAccepted = failureKind(
  'charges_not_accepted',
  ({ invoices, quoteId }: Quote & { invoices: readonly unknown[] }) => ({
    status: 402,
    message: 'accept charges',
    data: invoices,
    extra: { quote_id: quoteId },
  }),
)

/** `missing`: dollars. */
export const notEnoughCredit = failureKind(
  'not_enough_credit',
  ({ missing }: { accountId: string; missing: number }) => ({
    status: 402,
    message: 'not_enough_credit',
    data: { message: 'the account does not have enough credit to perform the operation', missing },
  }),
)

export const billingIssue = failureKind(
  'billing_issue',
  ({ reason, message }: { reason: string; message: string }) => ({
    status: 402,
    message: 'billing_issue',
    data: { reason, message },
  }),
)

export const requestTimeout = failureKind('request_timeout', () => ({
  status: 408,
  message: 'request_timeout',
  data: { message: 'the request did not arrive in time' },
  headers: { connection: 'close' },
}))

export const datastoreConflict = failureKind('datastore_conflict', ({ message }: { message?: string }) => ({
  status: 409,
  message: 'datastore_conflict',
  data: { message: message ?? 'conflicting documents' },
}))

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
    status: 409,
    message: 'idempotency_conflict',
    data: { message, ...(changes ? { changes } : {}) },
    ...(retryAfterSeconds === undefined ? {} : { headers: { 'retry-after': String(retryAfterSeconds) } }),
  }),
)

export const gone = failureKind('gone', plain(410, 'gone', 'only version 2 of this API is supported'))

export const preconditionFailed = failureKind('precondition_failed', ({ message }: { message?: string }) => ({
  status: 412,
  message: message ?? 'precondition failed',
  data: { message: message ?? 'the record has changed since it was read' },
}))

export const tooLarge = failureKind('too_large', ({ limit }: { limit: number }) => ({
  status: 413,
  message: 'validation error',
  data: { file: { maxSize: { message: `Body is larger than ${limit} bytes`, target: limit } } },
}))

/** `at`: Gregorian seconds, of the account or a parent. */
export const accountExpired = failureKind('account_expired', ({ at }: { accountId: string; at: number }) => ({
  status: 423,
  message: 'locked',
  data: { account: { expired: { message: 'account expired', cause: at } } },
}))

export const uriTooLong = failureKind('uri_too_long', ({ limit }: { limit: number }) => ({
  status: 414,
  message: 'uri_too_long',
  data: { message: `the URL is longer than ${limit} characters`, target: limit },
}))

/** `count` of `what` it holds. */
export const recordTooLarge = failureKind(
  'record_too_large',
  ({ kind, what, count, limit }: { kind: string; what: string; count: number; limit: number }) => ({
    status: 413,
    message: 'record_too_large',
    data: {
      message: `A record of the kind ${kind} may hold at most ${limit} ${what}; this one has ${count}`,
      cause: kind,
      target: limit,
      value: count,
    },
  }),
)

export const quotaExceeded = failureKind(
  'quota_exceeded',
  ({ what, limit }: { what: string; limit: number }) => ({
    status: 403,
    message: 'quota_exceeded',
    data: { message: `The account has reached its quota of ${what}: ${limit}`, cause: what, target: limit },
  }),
)

export const rangeNotSatisfiable = failureKind('range_not_satisfiable', () => ({
  status: 416,
  message: 'range not satisfiable',
  data: {},
}))

export const tooManyRequests = failureKind(
  'too_many_requests',
  ({ retryAfterSeconds }: { retryAfterSeconds: number }) => ({
    status: 429,
    message: 'too_many_requests',
    data: { message: 'too many requests' },
    headers: { 'retry-after': String(retryAfterSeconds) },
  }),
)

export const overloaded = failureKind(
  'overloaded',
  ({ retryAfterSeconds }: { retryAfterSeconds: number }) => ({
    status: 503,
    message: 'overloaded',
    data: { message: 'too many answers are under way' },
    headers: { 'retry-after': String(retryAfterSeconds) },
  }),
)

export const mediaSwitchMissing = failureKind('no_media_switch', () => ({
  status: 501,
  message: 'no media switch is configured',
  data: { message: 'no media switch is configured' },
}))

export const mediaSwitchUnreachable = failureKind(
  'media_switch_unreachable',
  ({ edges }: { edges: readonly { host: string; reason: string }[] }) => ({
    status: 503,
    message: 'media_switch_unreachable',
    data: { message: 'no edge of the media switch answers', edges },
  }),
)

export const notConfigured = failureKind('not_configured', ({ message }: { message: string }) => ({
  status: 501,
  message: 'not_configured',
  data: { message },
}))

export const datastoreUnreachable = failureKind('datastore_unreachable', plain(503, 'datastore_unreachable'))

export const importInProgress = failureKind(
  'import_under_way',
  plain(
    503,
    'import_under_way',
    'records are being taken over from another system: nothing else is written until that is finished',
  ),
)

export const storeMoved = failureKind(
  'store_moved',
  plain(
    503,
    'store_moved',
    'the store is being moved or was moved: this server only reads. Retry at the server of the new store',
  ),
)

export const datastoreFull = failureKind(
  'datastore_full',
  plain(507, 'datastore_full', 'the store has no room left: nothing was changed'),
)

export const lostLease = failureKind(
  'lease_lost',
  plain(503, 'lease_lost', 'another process took this work over'),
)

export const timedOut = failureKind('timeout', plain(500, 'timeout', 'the request took too long'))

/** For the operator's log, never for the client: the `cause` of a failure, in the server's own words. */
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

/** Rules of the same path are merged. */
export const joinProblems = (...all: Problems[]): Problems => {
  const joined: Problems = {}
  for (const problems of all) {
    for (const [path, rules] of Object.entries(problems)) joined[path] = { ...joined[path], ...rules }
  }
  return joined
}
