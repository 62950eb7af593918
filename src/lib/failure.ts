/** One broken rule of one property, as the API prints it under `data.<path>.<rule>`. */
export interface Problem {
  message: string
  target?: unknown
  cause?: unknown
  value?: unknown
  [extra: string]: unknown
}

/** Dotted property path -> rule -> what is wrong. A dot inside a key is written `%2E`. */
export type Problems = Record<string, Record<string, Problem>>

/** Why somebody may not do something, in words for whoever is refused. */
type Refusal = { reason?: string } & (
  | { cause: string; message?: string }
  | { message: string; cause?: string }
)

/** What a request would cost the account that asks. Units. */
export interface Quote {
  quoteId: string
  /** Digest of what is bought, independent of its price. */
  purchase: string
  /** Due at once. */
  today: number
  /** By how much the monthly bills rise. */
  monthly: number
}

/** What can go wrong anywhere. `http/answer/failures.ts` maps each kind to status, message and data. */
export interface FrameFailures {
  validation_error: { problems: Problems; metadata?: Record<string, unknown> }
  invalid_data: { data: Record<string, unknown> }
  invalid_credentials: { message?: string; data?: Record<string, unknown> }
  /** Says what is wrong: the word alone helps nobody. */
  forbidden: Refusal
  not_found: { message?: string }
  bad_identifier: { cause: unknown; details?: unknown; reason?: string }
  bad_identifier_list: { values: string[] }
  /** The trial of the account, or of one above it, has ended, in Gregorian seconds. */
  account_expired: { accountId: string; at: number }
  missing_parameter: { message: string }
  faulty_request: { message: string; cause?: string | undefined }
  invalid_method: { allow: readonly string[] }
  action_required: Record<never, never>
  invalid_action: Record<never, never>
  not_acceptable: { offered: readonly string[] }
  unsupported_media_type: { accepted: readonly string[]; message?: string }
  datastore_conflict: { message?: string }
  idempotency_conflict: { message: string; retryAfterSeconds?: number; changes?: readonly object[] }
  request_timeout: Record<never, never>
  charges_not_accepted: Quote & { invoices: readonly unknown[] }
  /** `missing`: dollars. */
  not_enough_credit: { accountId: string; missing: number }
  billing_issue: { reason: string; message: string }
  gone: Record<never, never>
  precondition_failed: { message?: string }
  too_large: { limit: number }
  uri_too_long: { limit: number }
  /** `count` of `what` it holds. */
  record_too_large: { kind: string; what: string; count: number; limit: number }
  quota_exceeded: { what: string; limit: number }
  range_not_satisfiable: Record<never, never>
  too_many_requests: { retryAfterSeconds: number }
  overloaded: { retryAfterSeconds: number }
  no_media_switch: Record<never, never>
  media_switch_unreachable: { edges: readonly { host: string; reason: string }[] }
  not_configured: { message: string }
  datastore_unreachable: Record<never, never>
  datastore_full: Record<never, never>
  import_under_way: Record<never, never>
  store_moved: Record<never, never>
  lease_lost: Record<never, never>
  timeout: Record<never, never>
}

/**
 * Everything that can go wrong in a way the API has a word for. Areas add their kinds from `failures.ts`, where these
 * stand with what they look like on the wire.
 */
export interface FailureDetails extends FrameFailures {}

export type FailureKind = keyof FailureDetails

/** An expected failure: it carries public text only; a private reason travels as the error's `cause`. */
export class Failure<K extends FailureKind = FailureKind> extends Error {
  readonly kind: K
  readonly details: FailureDetails[K]

  constructor(kind: K, details: FailureDetails[K], reason?: unknown) {
    super(kind, reason === undefined ? undefined : { cause: reason })
    this.name = 'Failure'
    this.kind = kind
    this.details = details
  }

  is<Kind extends FailureKind>(kind: Kind): this is Failure<Kind> {
    const own: FailureKind = this.kind
    return own === kind
  }
}

/**
 * Why somebody was not let in: for the operator's log, never for whoever asked. It travels as the `cause` of a failure.
 * The reason is text of the program's own.
 */
export class SignInRefusal extends Error {
  readonly accountId: string | undefined

  constructor(reason: string, accountId?: string) {
    super(reason)
    this.name = 'SignInRefusal'
    this.accountId = accountId
  }
}

export const failure = <K extends FailureKind>(kind: K, details: FailureDetails[K], reason?: unknown) =>
  new Failure(kind, details, reason)

/** Whether the store cannot be written now: nothing is wrong with what was asked, and the same may succeed later. */
export const isOutage = (error: unknown) =>
  error instanceof Failure && (error.kind === 'datastore_unreachable' || error.kind === 'datastore_full')

/** The 400 `validation error` with these problems. */
export const invalid = (problems: Problems, metadata?: Record<string, unknown>) =>
  failure('validation_error', metadata ? { problems, metadata } : { problems })

export const hasProblems = (problems: Problems) => Object.keys(problems).length > 0

const mostShown = 100

/** What a problem shows of a value that was sent: of an object nothing, for even what it says of itself is the sender's. */
export const valueShown = (sent: unknown): { value?: string } =>
  typeof sent === 'object' && sent !== null ? {} : { value: String(sent).slice(0, mostShown) }

/** A value that only one record may have. */
export const taken = (path: string, message: string, cause: unknown): Problems => ({
  [path]: { unique: { message, cause } },
})

/** Joins findings of several judges; for the same path the rules are united. */
export const joinProblems = (...all: Problems[]): Problems => {
  const joined: Problems = {}
  for (const problems of all) {
    for (const [path, rules] of Object.entries(problems)) joined[path] = { ...joined[path], ...rules }
  }
  return joined
}
