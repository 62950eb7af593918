import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Log } from '../../lib/log.ts'
import type { Store } from '../../storage/store.ts'
import type { FoundPage, Pages, PlainPage } from '../exchange.ts'
import { type Encoding, encodingFor, encodings, hasAlready, tagOf } from './encodings.ts'
import { type PostedPage, servePostedPage } from './posted-page.ts'
import type { Readiness } from './readiness.ts'
import type { Site } from './site.ts'

const sendText = (response: ServerResponse, status: number, text: string) =>
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    .end(`${text}\n`)

const compress: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (bytes) => promisify(gzip)(bytes),
}

/** A document that is made when it is first asked for, and compressed when that is. */
const documentPage = (make: () => string): PlainPage => {
  let bytes: Buffer | undefined
  let tag = ''
  const compressed = new Map<Encoding, Promise<Buffer>>()

  const bytesIn = (plain: Buffer, encoding: Encoding) => {
    const kept = compressed.get(encoding) ?? compress[encoding](plain)
    compressed.set(encoding, kept)
    return kept
  }

  return async (request: IncomingMessage, response: ServerResponse) => {
    bytes ??= Buffer.from(make())
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
  openApi: () => string
  posted: readonly PostedPage[]
  site: Site
  log: Log
}

/** Paths beside `/v2`: for load balancers and supervisors, the description of the API, switches, and the console. */
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
    // What opens it is a secret.
    page: { route: `${page.below}{secret}`, answer: servePostedPage(page, { store, log }) },
  }))

  const ofSite = (path: string, method: string): FoundPage | undefined => {
    const answer = site.find(path, method)
    return answer && { route: 'site', answer }
  }

  return {
    find(path, method) {
      // Most paths are the API's, and none of these is a file.
      if (path.startsWith('/v2/')) return undefined
      return (
        exact.get(path) ?? below.find(({ prefix }) => path.startsWith(prefix))?.page ?? ofSite(path, method)
      )
    },
  }
}
