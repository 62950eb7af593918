import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { request as requestSecurely, Agent as SecureAgent } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { parseStrictly } from '../matchers/repeated-keys.ts'

/** The parsed envelope of an answer. */
export interface Envelope {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  data: any
  metadata: Record<string, unknown>
  status: 'success' | 'error'
  request_id: string
  node: string
  timestamp: string
  revision?: string
  auth_token?: string
  version?: string
  error?: string
  quote_id?: string
  message?: string
  page_size?: number
  start_key?: string
  next_start_key?: string
  tokens?: { consumed: number; remaining: number }
}

export interface Answer {
  request: { method: string; path: string }
  status: number
  headers: IncomingHttpHeaders
  bytes: Buffer
  /** The body as text. */
  text: string
  /** The envelope; of an answer that is no JSON, an empty one. */
  body: Envelope
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  data: any
}

export interface RequestOptions {
  headers?: Record<string, string | string[]>
  query?: Record<string, string | number | boolean> | string
  /** Sent as it is, instead of an envelope. */
  body?: string | Uint8Array
  /** Envelope keys next to `data`. */
  envelope?: Record<string, unknown>
}

export interface RawRequest {
  method: string
  /** With its query. */
  path: string
  headers: Record<string, string | string[]>
  body: string | Uint8Array | undefined
}

const emptyEnvelope = {} as Envelope

const isJson = (headers: IncomingHttpHeaders) => headers['content-type']?.startsWith('application/json')

const readAnswer = async ({ method, path }: RawRequest, response: IncomingMessage): Promise<Answer> => {
  const bytes = await buffer(response)
  const body = bytes.toString()
  const envelope = body !== '' && isJson(response.headers) ? (parseStrictly(body) as Envelope) : emptyEnvelope
  return {
    request: { method, path },
    status: response.statusCode ?? 0,
    headers: response.headers,
    bytes,
    text: body,
    body: envelope,
    data: envelope.data,
  }
}

export type Transport = ReturnType<typeof createTransport>

interface Line {
  /** Over TLS, to a server with a certificate from one of these. */
  ca?: string[]
  /** The address of this machine that is spoken from. */
  localAddress?: string
  /** Connections at once; as many as are needed when absent. */
  mostSockets?: number
}

/** Real sockets to one server. Paths are sent unchanged, also with a broken encoding. */
export const createTransport = (port: number, { ca, localAddress, mostSockets }: Line = {}) => {
  const kept = {
    keepAlive: true,
    ...(localAddress && { localAddress }),
    ...(mostSockets && { maxSockets: mostSockets }),
  }
  const agent = ca ? new SecureAgent({ ...kept, ca }) : new Agent(kept)
  const ask = ca ? requestSecurely : request
  return {
    send: (raw: RawRequest) =>
      new Promise<Answer>((resolve, reject) => {
        const { method, path, headers, body } = raw
        const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
        ask(
          { agent, host: '127.0.0.1', port, method, path, headers: { ...length, ...headers } },
          (response) => readAnswer(raw, response).then(resolve, reject),
        )
          .on('error', reject)
          .end(body)
      }),
    close: () => agent.destroy(),
  }
}

export type Send = Transport['send']

const queryText = (query: RequestOptions['query']) => {
  if (!query) return ''
  if (typeof query === 'string') return `?${query}`
  const texts = Object.entries(query).map(([key, value]): [string, string] => [key, String(value)])
  return `?${new URLSearchParams(texts)}`
}

/** One caller: every request carries its credentials. */
export class Client {
  readonly #send: Send
  readonly #headers: Record<string, string>

  constructor(send: Send, headers: Record<string, string> = {}) {
    this.#send = send
    this.#headers = headers
  }

  /** The same caller with further headers. */
  with(headers: Record<string, string>) {
    return new Client(this.#send, { ...this.#headers, ...headers })
  }

  request(method: string, path: string, data?: unknown, options: RequestOptions = {}) {
    const { headers, query, body, envelope } = options
    const hasEnvelope = data !== undefined || envelope !== undefined
    const json = hasEnvelope ? JSON.stringify({ data, ...envelope }) : undefined
    const contentType: Record<string, string> =
      json !== undefined && body === undefined ? { 'content-type': 'application/json' } : {}
    return this.#send({
      method,
      path: path + queryText(query),
      headers: { ...contentType, ...this.#headers, ...headers },
      body: body ?? json,
    })
  }

  get(path: string, options?: RequestOptions) {
    return this.request('GET', path, undefined, options)
  }

  head(path: string, options?: RequestOptions) {
    return this.request('HEAD', path, undefined, options)
  }

  options(path: string, options?: RequestOptions) {
    return this.request('OPTIONS', path, undefined, options)
  }

  put(path: string, data?: unknown, options?: RequestOptions) {
    return this.request('PUT', path, data, options)
  }

  post(path: string, data?: unknown, options?: RequestOptions) {
    return this.request('POST', path, data, options)
  }

  patch(path: string, data?: unknown, options?: RequestOptions) {
    return this.request('PATCH', path, data, options)
  }

  delete(path: string, data?: unknown, options?: RequestOptions) {
    return this.request('DELETE', path, data, options)
  }
}

/** A caller with a token. */
export const clientWithToken = (send: Send, token: string) => new Client(send, { 'x-auth-token': token })

/** A caller who sends a name and a digest with every request. */
export const basicHeader = (accountId: string, digest: string) => ({
  authorization: `Basic ${Buffer.from(`${accountId}:${digest}`).toString('base64')}`,
})
