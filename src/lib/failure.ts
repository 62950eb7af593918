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

/**
 * Everything that can go wrong in a way the API has a word for.
 * `http/answer/failures.ts` maps each kind to status, message and data, and does not compile when one is missing.
 */
export interface FailureDetails {
  validation_error: { problems: Problems; metadata?: Record<string, unknown> }
  invalid_data: { data: Record<string, unknown> }
  invalid_credentials: { message?: string; data?: Record<string, unknown> }
  account_is_locked: Record<never, never>
  forbidden: { cause?: string; message?: string; reason?: string }
  not_found: Record<never, never>
  /** The 500 that the specification has for what a task cannot be made of. */
  invalid_request: { data: Record<string, unknown> }
  bad_identifier: { cause: unknown; details?: unknown; reason?: string }
  bad_identifier_list: { values: string[] }
  missing_parameter: { message: string }
  faulty_request: { message: string; cause?: string }
  invalid_method: { allow: readonly string[] }
  not_renewable: { method: string }
  action_required: Record<never, never>
  invalid_action: Record<never, never>
  not_acceptable: { offered: readonly string[] }
  unsupported_media_type: { accepted: readonly string[] }
  datastore_conflict: { message?: string }
  idempotency_conflict: { message: string; retryAfterSeconds?: number; changes?: readonly object[] }
  request_timeout: Record<never, never>
  charges_not_accepted: { invoices: readonly unknown[] }
  invalid_billing_id: Record<never, never>
  plan_is_not_assigned: { cause: string }
  booked_already: Record<never, never>
  not_enough_credit: { accountId: string }
  allotments_not_configured: Record<never, never>
  disabled: Record<never, never>
  billing_issue: { reason: string; message: string }
  no_payment_token: Record<never, never>
  /** The 500 that the specification has for money that could not be moved. */
  payment_failed: { reason: string; transaction: object }
  invalid_bookkeeper: Record<never, never>
  processor_error: { code: string; message: string }
  processor_unreachable: Record<never, never>
  gone: Record<never, never>
  precondition_failed: { message?: string }
  too_large: { limit: number }
  range_not_satisfiable: Record<never, never>
  too_many_requests: { retryAfterSeconds: number }
  account_has_descendants: { cause?: string }
  object_deletion_failed: { objectTypes: unknown }
  quickcall_failed: { reason: string }
  no_rate: Record<never, never>
  no_media_switch: Record<never, never>
  not_configured: { message: string }
  number_exists: { number: string }
  not_reconcilable: { number: string }
  number_forbidden: { cause?: string }
  number_not_found: { number: string }
  invalid_state_transition: { from: string; to: string }
  no_change_required: Record<never, never>
  assign_failure: { cause: string }
  number_invalid: { cause: string }
  number_fault: { message: string; cause?: string }
  search_restricted: { message: string }
  init_failed: { data: unknown }
  number_unassigned: { data: unknown }
  multiple_choice: { address: unknown; addresses: readonly unknown[] }
  datastore_unreachable: Record<never, never>
  migration_failed: { error: string }
  migration_invalid: Record<never, never>
  lease_lost: Record<never, never>
  timeout: Record<never, never>
}

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

export const failure = <K extends FailureKind>(kind: K, details: FailureDetails[K], reason?: unknown) =>
  new Failure(kind, details, reason)

/** The 400 `validation error` with these problems. */
export const invalid = (problems: Problems, metadata?: Record<string, unknown>) =>
  failure('validation_error', metadata ? { problems, metadata } : { problems })

export const hasProblems = (problems: Problems) => Object.keys(problems).length > 0

/** Joins findings of several judges; for the same path the rules are united. */
export const joinProblems = (...all: Problems[]): Problems => {
  const joined: Problems = {}
  for (const problems of all) {
    for (const [path, rules] of Object.entries(problems)) joined[path] = { ...joined[path], ...rules }
  }
  return joined
}
