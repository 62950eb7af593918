import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { isInCidr, parseAddress, parseNetwork } from '../../lib/cidr.ts'
import { datastoreConflict, Failure, isFailure } from '../../lib/failure.ts'
import { randomHex } from '../../lib/ids.ts'
import { describeError, type Log } from '../../lib/log.ts'
import type { Author } from '../../storage/change-set.ts'
import type { Store } from '../../storage/store.ts'
import type { FoundPage, Pages, PlainPage } from '../exchange.ts'
import { readBytes } from './body-bytes.ts'
import { canonicalPeer, targetOf } from './client-address.ts'
import { type Encoding, encodingFor, encodings, hasAlready, tagOf } from './compression.ts'
import type { Readiness } from './readiness.ts'
import type { Site } from './site.ts'

interface Posted {
  /** The last segment of the path. */
  opener: string
  header(name: string): string
}

/** An address outside of `/v2` for machines. The last segment of its path is a secret. */
export interface PostedPage {
  /** The path before the secret, with its last slash. */
  below: string
  /** The response to other methods than POST. */
  expects: string
  /** In the audit log. */
  authMethod: string
  largestBytes: number
  isSecret(text: string): Promise<boolean>
  take(author: Author, bytes: Buffer, posted: Posted): Promise<{ status: number; content: object }>
  /** The log message for a failure. */
  fault: string
}

const send = (response: ServerResponse, status: number, content: object) => {
  const body = JSON.stringify(content)
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      // The rest of a rejected body would be parsed as the next request.
      ...(status >= 400 ? { connection: 'close' } : {}),
    })
    .end(body)
}

const secretIn = (below: string, request: IncomingMessage) => {
  const url = targetOf(request)
  // Senders append a query even if the URL has one.
  const [path = ''] = url.split('?', 1)
  const rest = path.slice(below.length).replace(/\/$/, '')
  return /^[A-Za-z0-9._~-]+$/.test(rest) ? rest : undefined
}

const authorOf = ({ authMethod }: PostedPage, { socket }: IncomingMessage): Author => {
  const author: Author = { requestId: randomHex(16), authMethod }
  return socket.remoteAddress ? { ...author, clientAddress: socket.remoteAddress } : author
}

// The sender may repeat these; other failures are faults of the server.
const expectedStatuses = [408, 413, 503, 507]

const statusOf = (error: Failure) => {
  const status = isFailure(error, datastoreConflict) ? 503 : error.answer.status
  return expectedStatuses.includes(status) ? status : undefined
}

const servePostedPage = (page: PostedPage, { store, log }: { store: Store; log: Log }): PlainPage => {
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    // Another process may have just changed the record or the secret.
    await store.fence()
    const secret = secretIn(page.below, request)
    if (secret === undefined || !(await page.isSecret(secret))) {
      return send(response, 404, { status: 'error', reason: 'not found' })
    }
    const bytes = await readBytes(request, page.largestBytes)
    const { status, content } = await page.take(authorOf(page, request), bytes, {
      opener: secret,
      header: (name) => String(request.headers[name] ?? ''),
    })
    send(response, status, content)
  }

  const answerFault = (response: ServerResponse, error: unknown) => {
    const status = error instanceof Failure ? statusOf(error) : undefined
    if (status === undefined) log.write('error', page.fault, { error: describeError(error) })
    if (!response.headersSent) send(response, status ?? 500, { status: 'error' })
  }

  return (request, response) => {
    if (request.method === 'POST')
      return take(request, response).catch((error) => answerFault(response, error))
    response.setHeader('allow', 'POST')
    send(response, 405, { status: 'error', reason: page.expects })
  }
}

interface FiguresDeps {
  /** In the text format of Prometheus. */
  text(): Promise<string>
  networks(): Promise<readonly string[]>
}

// With such a header the real address of the client is unknown.
const proxyHeaders = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'forwarded',
  'x-real-ip',
  'via',
]

// Prometheus gives up after ten seconds.
const networksTimeoutMs = 2000

const isDirect = ({ headers }: IncomingMessage) => proxyHeaders.every((name) => headers[name] === undefined)

const refusal = `metrics are only for clients that connect directly from system_configs/crossbar metrics_networks\n`

export const metricsPage = ({ text, networks }: FiguresDeps): PlainPage => {
  let known: readonly string[] = []

  const isAllowed = async (request: IncomingMessage) => {
    // Metrics matter most when the store is down: then the last known networks are allowed.
    known = await Promise.race([
      networks().catch(() => known),
      sleep(networksTimeoutMs, known, { ref: false }),
    ])
    const peer = parseAddress(canonicalPeer(request.socket.remoteAddress ?? ''))
    if (!peer || !isDirect(request)) return false
    return known.some((network) => {
      const cidr = parseNetwork(network)
      return cidr !== undefined && isInCidr(peer, cidr)
    })
  }

  return async (request, response) => {
    if (!(await isAllowed(request))) {
      response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8' }).end(refusal)
      return
    }
    const body = Buffer.from(await text())
    response.writeHead(200, {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'content-length': body.length,
      'cache-control': 'no-store',
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
}

const sendText = (response: ServerResponse, status: number, text: string) =>
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    .end(`${text}\n`)

const compress: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (bytes) => promisify(gzip)(bytes),
}

/** A document that is made and compressed at its first request. */
const documentPage = (make: () => Promise<string>): PlainPage => {
  let bytes: Buffer | undefined
  let tag = ''
  const compressed = new Map<Encoding, Promise<Buffer>>()

  const bytesIn = (plain: Buffer, encoding: Encoding) => {
    const kept = compressed.get(encoding) ?? compress[encoding](plain)
    compressed.set(encoding, kept)
    return kept
  }

  return async (request: IncomingMessage, response: ServerResponse) => {
    bytes ??= Buffer.from(await make())
    tag ||= `"${hash('sha256', bytes, 'hex').slice(0, 32)}"`
    const encoding = encodingFor(request, encodings)
    const etag = tagOf(tag, encoding)
    const headers = {
      etag,
      'content-type': 'application/json',
      'access-control-allow-origin': '*',
      vary: 'accept-encoding',
    }
    if (hasAlready(request, etag)) return void response.writeHead(304, headers).end()
    const sent = encoding ? await bytesIn(bytes, encoding) : bytes
    response.writeHead(200, {
      ...headers,
      ...(encoding ? { 'content-encoding': encoding } : {}),
      'content-length': sent.length,
    })
    response.end(request.method === 'HEAD' ? undefined : sent)
  }
}

interface PageDeps {
  store: Store
  readiness: Readiness
  metrics: PlainPage
  openApi: () => Promise<string>
  posted: readonly PostedPage[]
  site: Site
  log: Log
}

/** Paths outside of `/v2`. */
export const pagesOf = ({ store, readiness, metrics, openApi, posted, site, log }: PageDeps): Pages => {
  const own: [path: string, answer: PlainPage][] = [
    ['/openapi.json', documentPage(openApi)],
    ['/healthz', (_request, response) => void sendText(response, 200, 'ok')],
    [
      '/readyz',
      async (_request, response) => {
        const found = await readiness.obstacle()
        sendText(response, found === undefined ? 200 : 503, found ?? 'ready')
      },
    ],
    ['/metrics', metrics],
  ]
  const exact = new Map<string, FoundPage>(own.map(([path, answer]) => [path, { route: path, answer }]))
  const below = posted.map((page) => ({
    prefix: page.below,
    page: { route: `${page.below}{secret}`, answer: servePostedPage(page, { store, log }) },
  }))

  const ofSite = (path: string, method: string): FoundPage | undefined => {
    const answer = site.find(path, method)
    return answer && { route: 'site', answer }
  }

  return {
    find(path, method) {
      // Most paths are of the API.
      if (path.startsWith('/v2/')) return undefined
      return (
        exact.get(path) ?? below.find(({ prefix }) => path.startsWith(prefix))?.page ?? ofSite(path, method)
      )
    },
  }
}
