// Rules for every answer, checked on each answer that a test receives.

import { Ajv, type ValidateFunction } from 'ajv'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { notRenewable } from '../../../src/areas/accounts/sign-in/failures.ts'
import { paymentFailed } from '../../../src/areas/billing/payments/failures.ts'
import { searchRestricted } from '../../../src/areas/numbers/phone-numbers/failures.ts'
import { createRouter, routeOf, segmentsOf } from '../../../src/http/request/router.ts'
import type { Method, Route } from '../../../src/http/route.ts'
import {
  accountExpired,
  badIdentifier,
  billingIssue,
  chargesNotAccepted,
  datastoreConflict,
  datastoreFull,
  datastoreUnreachable,
  type FailureKind,
  faultyRequest,
  forbidden,
  gone,
  idempotencyConflict,
  invalidCredentials,
  invalidMethod,
  missingParameter,
  notAcceptable,
  notEnoughCredit,
  notFound,
  overloaded,
  preconditionFailed,
  quotaExceeded,
  rangeNotSatisfiable,
  recordTooLarge,
  tooLarge,
  tooManyRequests,
  unsupportedMediaType,
  validationError,
} from '../../../src/lib/failure.ts'
import { isObject } from '../../../src/lib/json.ts'
import { isTimezone } from '../../../src/lib/timezones.ts'
import type { Answer, RawRequest } from '../world/client.ts'

const allowedMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const allowedHeaders = [
  ...['Content-Type', 'Depth', 'User-Agent', 'X-File-Size', 'X-Requested-With', 'If-Modified-Since'],
  ...['X-File-Name', 'Cache-Control', 'X-Auth-Token', 'If-Match', 'Authorization'],
  ...['X-HTTP-Method-Override', 'X-Kazoo-Cluster-ID'],
]
const exposedHeaders = ['Content-Type', 'X-Auth-Token', 'X-Request-ID', 'Location', 'Etag']

/** Failures that any route may return, in addition to those that it declares. */
const generalFailures: readonly FailureKind[] = [
  validationError,
  invalidCredentials,
  forbidden,
  accountExpired,
  notFound,
  badIdentifier,
  faultyRequest,
  invalidMethod,
  notAcceptable,
  unsupportedMediaType,
  datastoreConflict,
  gone,
  preconditionFailed,
  tooLarge,
  recordTooLarge,
  quotaExceeded,
  rangeNotSatisfiable,
  tooManyRequests,
  overloaded,
  datastoreUnreachable,
  datastoreFull,
  chargesNotAccepted,
  billingIssue,
  notEnoughCredit,
  idempotencyConflict,
]

// Their text depends on the case.
const freeMessages = new Set<FailureKind>([
  invalidCredentials,
  missingParameter,
  notRenewable,
  preconditionFailed,
  searchRestricted,
  paymentFailed,
])

const sampleDetails = { problems: {}, data: {}, allow: [], offered: [], accepted: [], values: [], limit: 0 }

const fits = (kind: FailureKind, status: number, message: string | undefined) => {
  const sample = kind.answer(sampleDetails as never)
  return sample.status === status && (sample.message === message || freeMessages.has(kind))
}

const ajv = new Ajv({
  strict: false,
  allErrors: true,
  formats: {
    date: fullFormats.date,
    'date-time': fullFormats['date-time'],
    hostname: fullFormats.hostname,
    ipv4: fullFormats.ipv4,
    uri: fullFormats.uri,
    email: /^[^@]+@[^@]+$/,
    timezone: isTimezone,
    regex: true,
  },
})

const compiled = new WeakMap<object, ValidateFunction>()

const mistakesOf = (schema: object, data: unknown): string | undefined => {
  const validate = compiled.get(schema) ?? ajv.compile(schema)
  compiled.set(schema, validate)
  return validate(data) ? undefined : ajv.errorsText(validate.errors, { dataVar: 'data' })
}

const listOf = (header: unknown) => (typeof header === 'string' ? header.toLowerCase().split(/\s*,\s*/) : [])

const lacks = (header: unknown, wanted: readonly string[]) => {
  const found = listOf(header)
  return wanted.filter((value) => !found.includes(value.toLowerCase()))
}

const headerMistakes = ({ headers }: Answer): (string | false)[] => [
  !headers['x-request-id'] && 'no X-Request-ID',
  headers['access-control-allow-origin'] !== '*' && 'no CORS origin',
  lacks(headers['access-control-allow-methods'], allowedMethods).length > 0 && 'CORS methods are missing',
  lacks(headers['access-control-allow-headers'], allowedHeaders).length > 0 && 'CORS headers are missing',
  lacks(headers['access-control-expose-headers'], exposedHeaders).length > 0 &&
    'CORS exposed headers are missing',
  headers['access-control-max-age'] !== '86400' && 'no CORS max age',
]

const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 0

const envelopeMistakes = ({ headers, body, status }: Answer): (string | false)[] => [
  headers['content-type'] !== 'application/json' && `content type ${headers['content-type']}`,
  body.data === undefined && 'no data',
  !isObject(body.metadata) && 'no metadata',
  // A replayed answer has the request id of the first request.
  !headers['idempotent-replayed'] &&
    body.request_id !== headers['x-request-id'] &&
    'another request_id than in the header',
  typeof body.node !== 'string' && 'no node',
  !/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(String(body.timestamp)) && 'no ISO timestamp',
  body.tokens !== undefined &&
    !(isCount(body.tokens.consumed) && isCount(body.tokens.remaining)) &&
    'tokens are no counts',
  status < 400
    ? (body.status !== 'success' || body.error !== undefined) && 'no success in the envelope'
    : (body.status !== 'error' || body.error !== String(status) || typeof body.message !== 'string') &&
      'no error in the envelope',
  body.page_size !== undefined &&
    body.page_size !== rowsIn(body.data).length &&
    'page_size is not the rows given',
]

/** The rows of a list: an array, or an object of numbers by their keys. Any other value is one record. */
const rowsIn = (data: unknown): unknown[] => {
  if (Array.isArray(data)) return data
  const { numbers } = data as { numbers?: object }
  return numbers ? Object.values(numbers) : [data]
}

const privateKeys = (data: unknown): string[] =>
  [data]
    .flat()
    .flatMap((record) => (isObject(record) ? Object.keys(record as object) : []))
    .filter((key) => key.startsWith('_') || key.startsWith('pvt_'))

/** The envelope and query keys that change what a request means. */
const wordsOf = ({ path, body }: RawRequest) => {
  const query = new URLSearchParams(path.split('?')[1] ?? '')
  let envelope: Record<string, unknown> = {}
  try {
    if (body !== undefined) envelope = JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>
  } catch {
    // A body that is no JSON has no envelope.
  }
  const has = (name: string) => query.has(name) || (isObject(envelope) && envelope[name] !== undefined)
  return { has, verb: envelope?.verb ?? query.get('verb') }
}

const dataMistake = (route: Route, answer: Answer, reshaped: boolean) => {
  const { answers, list } = route.spec
  if (list === 'keyed' && reshaped) return undefined
  if (list !== true) return mistakesOf(answers, answer.data)
  if (!Array.isArray(answer.data)) return 'a list route answers without rows'
  if (reshaped) return undefined
  for (const row of answer.data) {
    const mistake = mistakesOf(answers, row)
    if (mistake) return mistake
  }
  return undefined
}

const failureMistake = (route: Route | undefined, { status, body }: Answer) => {
  const allowed = [...generalFailures, ...(route?.spec.fails ?? [])]
  if (allowed.some((kind) => fits(kind, status, body.message))) return undefined
  return `${status} ${body.message} is not declared by the route`
}

const fileMistake = (route: Route | undefined, { headers, status }: Answer) => {
  const [type = ''] = String(headers['content-type']).split(';')
  const made = [...(route?.spec.produces ?? []), ...(route?.spec.list ? ['text/csv'] : [])]
  const fits = made.some((one) => one === type || (one.endsWith('*') && type.startsWith(one.slice(0, -1))))
  return status < 300 && fits ? undefined : `${status} with content type ${type}, which is not declared`
}

const isCreation = ({ status }: Answer) => status >= 200 && status < 300

/** Checks answers of the given routes: throws when one breaks a rule for all answers. */
export const createAnswerChecks = (routes: readonly Route[]) => {
  const router = createRouter(routes)

  const routeAt = (path: string, method: Method): Route | undefined => {
    const segments = segmentsOf(path) ?? []
    const full = segments[1] === 'account' ? ['v2', 'accounts', 'own', ...segments.slice(2)] : segments
    const match = router.find(full)
    return match && routeOf(match, method)?.route
  }

  const routeFor = (raw: RawRequest): Route | undefined => {
    const { verb } = wordsOf(raw)
    const method = raw.method === 'POST' && typeof verb === 'string' ? verb.toUpperCase() : raw.method
    return routeAt(raw.path.split('?')[0] as string, method as Method)
  }

  /** `Location` of what was created is the path of a route that reads it. */
  const locationMistake = (answer: Answer) => {
    const { location } = answer.headers
    if (location === undefined || !isCreation(answer) || routeAt(String(location), 'GET')) return undefined
    return `no route reads Location ${location}`
  }

  const mistakes = (raw: RawRequest, answer: Answer): (string | false | undefined)[] => {
    const isEmpty = answer.status === 304 || raw.method === 'HEAD' || raw.method === 'OPTIONS'
    if (isEmpty) return [...headerMistakes(answer), answer.text !== '' && 'a body where none may be']
    const route = routeFor(raw)
    if (!answer.headers['content-type']?.startsWith('application/json')) {
      return [...headerMistakes(answer), fileMistake(route, answer)]
    }
    const { has } = wordsOf(raw)
    const general = [...headerMistakes(answer), ...envelopeMistakes(answer)]
    if (answer.status >= 400) return [...general, failureMistake(route, answer)]
    const hidden = privateKeys(answer.data)
    return [
      ...general,
      locationMistake(answer),
      hidden.length > 0 && `private keys: ${hidden.join(', ')}`,
      route ? dataMistake(route, answer, has('fields') || has('full_docs')) : 'success without a route',
    ]
  }

  return (raw: RawRequest, answer: Answer) => {
    if (!/^\/v\d/.test(raw.path)) return
    const found = mistakes(raw, answer).filter((mistake) => typeof mistake === 'string')
    if (found.length === 0) return
    throw new Error(
      `${raw.method} ${raw.path}: ${found.join('; ')}\n${answer.status} ${answer.text.slice(0, 2000)}`,
    )
  }
}
