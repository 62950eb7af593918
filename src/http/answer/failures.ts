import type { Failure, FrameFailures } from '../../lib/failure.ts'
import { type Catalogue, type FailureAnswer, plain, type Renderers } from '../../lib/failure-answer.ts'

/** The wire form of every failure that no area owns. A kind without a line here does not compile. */
export const frameFailures: Renderers<FrameFailures> = {
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
  forbidden: ({ cause, message, reason }) => ({
    status: 403,
    message: 'forbidden',
    data: {
      message: message ?? 'forbidden',
      ...(cause ? { cause } : {}),
      ...(reason ? { reason } : {}),
    },
  }),
  not_found: ({ message }) => ({
    status: 404,
    message: 'not_found',
    data: { message: message ?? 'not found' },
  }),
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
  action_required: () => ({ status: 400, message: 'action required', data: {} }),
  invalid_action: () => ({ status: 400, message: 'invalid action', data: {} }),
  not_acceptable: ({ offered }) => ({
    status: 406,
    message: 'not_acceptable',
    data: { message: 'no representation matches Accept', target: offered },
  }),
  unsupported_media_type: ({ accepted, message = 'this content type is not accepted here' }) => ({
    status: 415,
    message: 'unsupported_media_type',
    data: { message, target: accepted },
  }),
  charges_not_accepted: ({ invoices, quoteId }) => ({
    status: 402,
    message: 'accept charges',
    data: invoices,
    extra: { quote_id: quoteId },
  }),
  not_enough_credit: ({ missing }) => ({
    status: 402,
    message: 'not_enough_credit',
    data: { message: 'the account does not have enough credit to perform the operation', missing },
  }),
  billing_issue: ({ reason, message }) => ({
    status: 402,
    message: 'billing_issue',
    data: { reason, message },
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
  account_expired: ({ at }) => ({
    status: 423,
    message: 'locked',
    data: { account: { expired: { message: 'account expired', cause: at } } },
  }),
  uri_too_long: ({ limit }) => ({
    status: 414,
    message: 'uri_too_long',
    data: { message: `the URL is longer than ${limit} characters`, target: limit },
  }),
  record_too_large: ({ kind, what, count, limit }) => ({
    status: 413,
    message: 'record_too_large',
    data: {
      message: `A record of the kind ${kind} may hold at most ${limit} ${what}; this one has ${count}`,
      cause: kind,
      target: limit,
      value: count,
    },
  }),
  quota_exceeded: ({ what, limit }) => ({
    status: 403,
    message: 'quota_exceeded',
    data: { message: `The account has reached its quota of ${what}: ${limit}`, cause: what, target: limit },
  }),
  range_not_satisfiable: () => ({ status: 416, message: 'range not satisfiable', data: {} }),
  too_many_requests: ({ retryAfterSeconds }) => ({
    status: 429,
    message: 'too_many_requests',
    data: { message: 'too many requests' },
    headers: { 'retry-after': String(retryAfterSeconds) },
  }),
  overloaded: ({ retryAfterSeconds }) => ({
    status: 503,
    message: 'overloaded',
    data: { message: 'too many answers are under way' },
    headers: { 'retry-after': String(retryAfterSeconds) },
  }),
  no_media_switch: () => ({
    status: 501,
    message: 'no media switch is configured',
    data: { message: 'no media switch is configured' },
  }),
  media_switch_unreachable: ({ edges }) => ({
    status: 503,
    message: 'media_switch_unreachable',
    data: { message: 'no edge of the media switch answers', edges },
  }),
  not_configured: ({ message }) => ({ status: 501, message: 'not_configured', data: { message } }),
  datastore_unreachable: plain(503, 'datastore_unreachable'),
  import_under_way: plain(
    503,
    'import_under_way',
    'records are being taken over from another system: nothing else is written until that is finished',
  ),
  store_moved: plain(
    503,
    'store_moved',
    'the store is being moved or was moved: this server only reads. Retry at the server of the new store',
  ),
  datastore_full: plain(507, 'datastore_full', 'the store has no room left: nothing was changed'),
  lease_lost: plain(503, 'lease_lost', 'another process took this work over'),
  timeout: plain(500, 'timeout', 'the request took too long'),
}

/** Undefined for a kind that nobody has declared. */
export const failureAnswer = (catalogue: Catalogue, { kind, details }: Failure): FailureAnswer | undefined =>
  catalogue[kind]?.(details as never)

/** The one answer to everything unexpected: nothing internal leaks. */
export const unexpected: FailureAnswer = {
  status: 500,
  message: 'unspecified_fault',
  data: { message: 'unspecified fault' },
}
