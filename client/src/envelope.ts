import { CrosspointError, type Envelope, type ErrorFacts, type Problem } from './errors.ts'

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isEnvelope = (value: unknown): value is Envelope =>
  isObject(value) && 'data' in value && (value.status === 'success' || value.status === 'error')

const isJson = (response: Response) =>
  response.headers.get('content-type')?.startsWith('application/json') === true

/** Undefined for what is no envelope: a file, CSV, an answer of something in between. */
export const readEnvelope = async (response: Response): Promise<Envelope | undefined> => {
  if (!isJson(response)) return undefined
  const value: unknown = await response.json().catch(() => undefined)
  return isEnvelope(value) ? value : undefined
}

/** The same of an answer that has to be one. */
export const mustReadEnvelope = async (response: Response): Promise<Envelope> => {
  const envelope = await readEnvelope(response)
  if (envelope) return envelope
  const { status } = response
  throw new CrosspointError({ status, kind: 'no_envelope', message: 'the answer is not one of this API' })
}

const problemsOfField = (path: string, rules: unknown): Problem[] => {
  if (!isObject(rules)) return []
  const field = path.replaceAll('%2E', '.')
  return Object.entries(rules).flatMap(([rule, problem]) =>
    isObject(problem) && typeof problem.message === 'string'
      ? [{ ...problem, field, rule, message: problem.message }]
      : [],
  )
}

const problemsOf = (data: unknown): Problem[] =>
  isObject(data) ? Object.entries(data).flatMap(([path, rules]) => problemsOfField(path, rules)) : []

const textIn = (data: unknown, name: string) => {
  const value = isObject(data) ? data[name] : undefined
  return typeof value === 'string' ? value : undefined
}

const readableOf = (data: unknown, problems: readonly Problem[], kind: string) => {
  if (problems.length > 0) return problems.map(({ field, message }) => `${field}: ${message}`).join('; ')
  const cause = textIn(data, 'cause')
  const message = textIn(data, 'message') ?? kind
  return cause === undefined || cause === message ? message : `${message}: ${cause}`
}

const secondsIn = (header: string | null) => {
  if (header === null || !/^\d+$/.test(header)) return undefined
  return Number(header)
}

export const retryAfterOf = (response: Response) => secondsIn(response.headers.get('retry-after'))

/** Errors end up in logs. */
const withoutToken = ({ auth_token: _token, ...rest }: Envelope): Envelope => rest

/** The error of a refused request. */
export const errorFactsOf = (response: Response, envelope: Envelope | undefined): ErrorFacts => {
  const problems = problemsOf(envelope?.data)
  const kind = envelope?.message ?? (response.statusText || `status ${response.status}`)
  return {
    status: response.status,
    kind,
    message: readableOf(envelope?.data, problems, kind),
    problems,
    requestId: response.headers.get('x-request-id') ?? envelope?.request_id,
    retryAfterSeconds: retryAfterOf(response),
    envelope: envelope && withoutToken(envelope),
  }
}
