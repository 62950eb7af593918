import type { Failure, FailureDetails, FailureKind } from '../../lib/failure.ts'
import { describeNumberFailure, type NumberFailureKind } from '../../lib/number-failure.ts'

/** What a failure looks like on the wire. */
interface FailureAnswer {
  status: number
  message: string
  data: unknown
  metadata?: Record<string, unknown>
  headers?: Record<string, string>
}

type Renderers = { [K in FailureKind]: (details: FailureDetails[K]) => FailureAnswer }

const plain =
  (status: number, message: string, text = message.replaceAll('_', ' ')) =>
  (): FailureAnswer => ({ status, message, data: { message: text } })

/** Failures that are about one number: `data` is the same object that collections tell for each number. */
const numberFailure =
  <K extends NumberFailureKind>(kind: K, status: number) =>
  (details: FailureDetails[K]): FailureAnswer => {
    const data = describeNumberFailure(kind, details)
    return { status, message: data.error, data }
  }

/** The error catalogue. A kind without a line here does not compile. */
export const catalogue: Renderers = {
  validation_error: ({ problems, metadata }) => ({
    status: 400,
    message: 'validation error',
    data: problems,
    ...(metadata ? { metadata } : {}),
  }),
  invalid_data: ({ data }) => ({ status: 400, message: 'invalid data', data }),
  invalid_credentials: ({ message, data }) => ({
    status: 401,
    message: message ?? 'invalid_credentials',
    data: data ?? { message: 'invalid credentials' },
  }),
  account_is_locked: plain(401, 'account_is_locked'),
  forbidden: ({ cause, message, reason }) => ({
    status: 403,
    message: 'forbidden',
    data: {
      message: message ?? 'forbidden',
      ...(cause ? { cause } : {}),
      ...(reason ? { reason } : {}),
    },
  }),
  not_found: plain(404, 'not_found'),
  invalid_request: ({ data }) => ({ status: 500, message: 'invalid request', data }),
  bad_identifier: ({ cause, details, reason }) => ({
    status: 404,
    message: 'bad_identifier',
    data: {
      message: 'bad identifier',
      cause,
      ...(details === undefined ? {} : { details }),
      ...(reason === undefined ? {} : { reason }),
    },
  }),
  bad_identifier_list: ({ values }) => ({ status: 404, message: 'bad identifier', data: values }),
  missing_parameter: ({ message }) => ({ status: 404, message, data: { message } }),
  faulty_request: ({ message, cause }) => ({
    status: 404,
    message: 'faulty_request',
    data: { message, ...(cause ? { cause } : {}) },
  }),
  invalid_method: ({ allow }) => ({
    status: 405,
    message: 'invalid_method',
    data: { message: 'method not allowed' },
    headers: { allow: allow.join(', ') },
  }),
  not_renewable: ({ method }) => ({
    status: 405,
    message: `${method} not allowed to renew`,
    data: { message: `${method} not allowed to renew` },
  }),
  action_required: () => ({ status: 400, message: 'action required', data: {} }),
  invalid_action: () => ({ status: 400, message: 'invalid action', data: {} }),
  not_acceptable: ({ offered }) => ({
    status: 406,
    message: 'not_acceptable',
    data: { message: 'no representation matches Accept', target: offered },
  }),
  unsupported_media_type: ({ accepted }) => ({
    status: 415,
    message: 'unsupported_media_type',
    data: { message: 'this content type is not accepted here', target: accepted },
  }),
  charges_not_accepted: ({ invoices }) => ({ status: 402, message: 'accept charges', data: invoices }),
  invalid_billing_id: () => ({
    status: 400,
    message: 'invalid_billing_id',
    data: { billing_id: { invalid: 'Requested billing id is not the parent of this account' } },
  }),
  plan_is_not_assigned: ({ cause }) => ({
    status: 400,
    message: 'plan_is_not_assigned',
    data: { message: 'plan is not assigned', cause },
  }),
  // The code of a conflict, but no race: the same booking is refused however often it is tried.
  booked_already: () => ({
    status: 409,
    message: 'datastore_conflict',
    data: { message: 'this has been booked already' },
  }),
  not_enough_credit: ({ accountId }) => ({
    status: 402,
    message: 'not_enough_credit',
    data: { message: `account ${accountId} does not have enough credit to perform the operation` },
  }),
  allotments_not_configured: plain(400, 'allotments are not configured for this account yet'),
  disabled: plain(400, 'disabled', 'entity disabled'),
  billing_issue: ({ reason, message }) => ({
    status: 402,
    message: 'billing_issue',
    data: { reason, message },
  }),
  no_payment_token: plain(402, 'no_payment_token', 'no payment method available'),
  payment_failed: ({ reason, transaction }) => ({ status: 500, message: reason, data: transaction }),
  invalid_bookkeeper: plain(500, 'invalid_bookkeeper', 'no bookkeeper of this account can move money'),
  processor_error: ({ code, message }) => ({
    status: 400,
    message: 'payment processor error',
    data: { code, message },
  }),
  processor_unreachable: plain(503, 'processor_unreachable'),
  request_timeout: () => ({
    status: 408,
    message: 'request_timeout',
    data: { message: 'the request did not arrive in time' },
    headers: { connection: 'close' },
  }),
  datastore_conflict: ({ message }) => ({
    status: 409,
    message: 'datastore_conflict',
    data: { message: message ?? 'conflicting documents' },
  }),
  idempotency_conflict: ({ message, retryAfterSeconds, changes }) => ({
    status: 409,
    message: 'idempotency_conflict',
    data: { message, ...(changes ? { changes } : {}) },
    ...(retryAfterSeconds === undefined ? {} : { headers: { 'retry-after': String(retryAfterSeconds) } }),
  }),
  gone: plain(410, 'gone', 'only version 2 of this API is supported'),
  precondition_failed: ({ message }) => ({
    status: 412,
    message: message ?? 'precondition failed',
    data: { message: message ?? 'the record has changed since it was read' },
  }),
  too_large: ({ limit }) => ({
    status: 413,
    message: 'validation error',
    data: { file: { maxSize: { message: `Body is larger than ${limit} bytes`, target: limit } } },
  }),
  range_not_satisfiable: () => ({ status: 416, message: 'range not satisfiable', data: {} }),
  too_many_requests: ({ retryAfterSeconds }) => ({
    status: 429,
    message: 'too_many_requests',
    data: { message: 'too many requests' },
    headers: { 'retry-after': String(retryAfterSeconds) },
  }),
  account_has_descendants: ({ cause }) => ({
    status: 500,
    message: 'account_has_descendants',
    data: { message: 'account has descendants', ...(cause ? { cause } : {}) },
  }),
  object_deletion_failed: ({ objectTypes }) => ({
    status: 500,
    message: 'At least one object failed to be deleted',
    data: { message: 'At least one object failed to be deleted', object_types: objectTypes },
  }),
  quickcall_failed: ({ reason }) => ({
    status: 500,
    message: 'quickcall initiation failed',
    data: { message: reason },
  }),
  no_rate: plain(500, 'No rate found for this number'),
  no_media_switch: () => ({
    status: 500,
    message: 'no media switch is configured',
    data: { message: 'no media switch is configured' },
  }),
  not_configured: ({ message }) => ({ status: 501, message: 'not_configured', data: { message } }),
  number_exists: numberFailure('number_exists', 409),
  not_reconcilable: numberFailure('not_reconcilable', 404),
  number_forbidden: numberFailure('number_forbidden', 403),
  number_not_found: ({ number }) => ({
    status: 404,
    message: 'bad_identifier',
    data: { message: 'bad identifier', not_found: 'The number could not be found', cause: number },
  }),
  invalid_state_transition: numberFailure('invalid_state_transition', 400),
  no_change_required: numberFailure('no_change_required', 400),
  assign_failure: numberFailure('assign_failure', 400),
  number_invalid: numberFailure('number_invalid', 400),
  number_fault: numberFailure('number_fault', 500),
  search_restricted: ({ message }) => ({ status: 404, message, data: {} }),
  init_failed: ({ data }) => ({ status: 500, message: 'init failed', data }),
  number_unassigned: ({ data }) => ({ status: 400, message: 'client error', data }),
  multiple_choice: ({ address, addresses }) => ({
    status: 400,
    message: 'multiple_choice',
    data: {
      multiple_choice: {
        e911: { cause: address, details: addresses, message: 'more than one address found' },
      },
    },
  }),
  datastore_unreachable: plain(503, 'datastore_unreachable'),
  migration_failed: ({ error }) => ({ status: 400, message: 'migration.failed', data: { error } }),
  migration_invalid: () => ({
    status: 400,
    message: 'migration.invalid',
    data: { migration: 'not found' },
  }),
  lease_lost: plain(503, 'lease_lost', 'another process took this work over'),
  timeout: plain(500, 'timeout', 'the request took too long'),
}

export const failureAnswer = <K extends FailureKind>(failure: Failure<K>): FailureAnswer =>
  catalogue[failure.kind](failure.details)

/** The one answer to everything unexpected: nothing internal leaks. */
export const unexpected: FailureAnswer = {
  status: 500,
  message: 'unspecified_fault',
  data: { message: 'unspecified fault' },
}
