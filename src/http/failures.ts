import type { Failure, FailureDetails, FailureKind } from '../lib/failure.ts'

/** What a failure looks like on the wire. */
export interface FailureAnswer {
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

/** The error catalogue of reference 01 section 1.4. A kind without a line here does not compile. */
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
  idempotency_conflict: ({ message }) => ({
    status: 409,
    message: 'idempotency_conflict',
    data: { message },
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
  no_media_switch: () => ({
    status: 500,
    message: 'no media switch is configured',
    data: { message: 'no media switch is configured' },
  }),
  not_configured: ({ message }) => ({ status: 501, message: 'not_configured', data: { message } }),
  datastore_unreachable: plain(503, 'datastore_unreachable'),
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
