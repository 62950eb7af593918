import { errorFactsOf, isObject, mustReadEnvelope, readEnvelope } from './envelope.ts'
import type { Envelope } from './errors.ts'
import { ChargesNeeded, CrosspointError, type QuotedInvoice, SignedOut, StaleEdit } from './errors.ts'
import { unlessAborted } from './pauses.ts'
import { type Body, freshKey, keyed, type Outgoing, type Send } from './sending.ts'
import type { Session } from './session.ts'
import type { Sessions } from './sessions.ts'

export type QueryValue = string | number | boolean | null | undefined
export type Query = Readonly<Record<string, QueryValue>>

export interface RequestOptions {
  method?: string
  /** `/v2/accounts/…` */
  path: string
  query?: Query | undefined
  /** Sent as the `data` of an envelope. */
  data?: unknown
  /** Further keys of the envelope, such as `action`. */
  envelope?: Readonly<Record<string, unknown>>
  /** Sent as it is instead, with a `content-type` among the headers. */
  body?: Body
  headers?: Readonly<Record<string, string>>
  /** The type to request instead of JSON, such as `text/csv`; read the response with `open`. */
  accept?: string
  signal?: AbortSignal | undefined
}

/** An envelope and its `data`. */
export interface Answer<Data = unknown> {
  data: Data
  envelope: Envelope<Data>
  response: Response
}

/**
 * The header that makes the server refuse a change if the record is no longer the one that was read. Data
 * without a revision (lists, sums) gives no header.
 */
export const ifMatch = ({ revision }: Pick<Envelope, 'revision'>): Record<string, string> =>
  revision === undefined ? {} : { 'if-match': `"${revision}"` }

const isInvoice = (value: unknown): value is QuotedInvoice => isObject(value) && isObject(value.summary)

const withConsent = (outgoing: Outgoing, quoteId: string | undefined): Outgoing => {
  const url = new URL(outgoing.url)
  url.searchParams.set('accept_charges', 'true')
  if (quoteId !== undefined) url.searchParams.set('quote_id', quoteId)
  const headers = new Headers(outgoing.headers)
  // Another request than the one that was refused.
  headers.set('idempotency-key', freshKey())
  return { ...outgoing, url: url.href, headers }
}

/** Brings a caller's own credentials. */
const isOwnCaller = ({ headers }: Outgoing) => headers.has('x-auth-token') || headers.has('authorization')

const withToken = (outgoing: Outgoing, session: Session | undefined): Outgoing => {
  if (!session) return outgoing
  const headers = new Headers(outgoing.headers)
  headers.set('x-auth-token', session.token)
  return { ...outgoing, headers }
}

const isConflict = (method: string, { status, kind }: { status: number; kind: string }) =>
  status === 412 || (status === 409 && kind === 'datastore_conflict' && method !== 'PUT')

/** Returns a successful response with an unread body. Throws for others. */
export type Call = (outgoing: Outgoing) => Promise<Response>

/** Calls with a session: returns successful responses, throws errors for others. */
export const createCalls = (send: Send, sessions: Sessions) => {
  const sendSignedIn = async (outgoing: Outgoing) => {
    const session = sessions.forCall()
    const response = await send(withToken(outgoing, session))
    if (response.status !== 401) return { response, session }
    const reopened = await unlessAborted(sessions.after401(session), outgoing.signal)
    if (!reopened) return { response, session }
    await response.body?.cancel()
    return { response: await send(withToken(outgoing, reopened)), session: reopened }
  }

  const refusalOf = async (response: Response, outgoing: Outgoing, session: Session | undefined) => {
    const envelope = await readEnvelope(response)
    const facts = errorFactsOf(response, envelope)
    const data = envelope?.data
    if (facts.status === 402 && facts.kind === 'accept charges' && Array.isArray(data)) {
      const agreed = withConsent(outgoing, envelope?.quote_id)
      return new ChargesNeeded(facts, data.filter(isInvoice), async () =>
        mustReadEnvelope(await call(agreed)),
      )
    }
    if (isConflict(outgoing.method, facts)) {
      const { url, signal } = outgoing
      const headers = new Headers({ accept: 'application/json' })
      const reading = { method: 'GET', url, headers, signal }
      return new StaleEdit(facts, async () => mustReadEnvelope(await call(reading)))
    }
    const hasEnded = facts.status === 401 && session && sessions.current() === undefined
    return hasEnded ? new SignedOut(facts) : new CrosspointError(facts)
  }

  const call: Call = async (wanted) => {
    const outgoing = keyed(wanted)
    const { response, session } = isOwnCaller(outgoing)
      ? { response: await send(outgoing), session: undefined }
      : await sendSignedIn(outgoing)
    if (response.status < 400) return response
    throw await refusalOf(response, outgoing, session)
  }

  return {
    call,

    /** Without the session, and without a new sign-in. */
    async callAnonymously(outgoing: Outgoing): Promise<Response> {
      const response = await send(outgoing)
      if (response.status < 400) return response
      throw await refusalOf(response, outgoing, undefined)
    },
  }
}

const jsonOf = ({ data, envelope }: RequestOptions) =>
  data === undefined && envelope === undefined ? undefined : JSON.stringify({ data, ...envelope })

/** Addresses on one server, which may have its own base path. */
export const createAddresses = (server: string) => {
  const base = new URL(server)
  const prefix = base.pathname.replace(/\/$/, '')
  return (path: string, query: Query = {}) => {
    const url = new URL(prefix + path, base)
    if (url.origin !== base.origin) throw new TypeError(`${path} is no path of ${base.origin}`)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined && value !== null) url.searchParams.set(name, String(value))
    return url.href
  }
}

export type AddressOf = ReturnType<typeof createAddresses>

export const createRequest = (call: Call, addressOf: AddressOf) => {
  const open = (options: RequestOptions): Promise<Response> => {
    const { method = 'GET', path, query, accept = 'application/json', signal } = options
    const json = jsonOf(options)
    const headers = new Headers({ accept, ...(json ? { 'content-type': 'application/json' } : {}) })
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value)
    return call({ method, url: addressOf(path, query), headers, body: json ?? options.body, signal })
  }

  return {
    /** One request of any path whose answer is left to read: a file, CSV. */
    open,

    /** One request of any path. */
    async request<Data = unknown>(options: RequestOptions): Promise<Answer<Data>> {
      const response = await open(options)
      // The caller knows the response type of the path.
      const envelope = (await mustReadEnvelope(response)) as Envelope<Data>
      return { data: envelope.data, envelope, response }
    },
  }
}

export type Requests = ReturnType<typeof createRequest>
