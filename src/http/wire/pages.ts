import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../../lib/log.ts'
import type { Store } from '../../storage/store.ts'
import type { Life, Pages, PlainPage } from '../exchange.ts'
import { type PostedPage, servePostedPage } from './posted-page.ts'
import type { Site } from './site.ts'

const sendText = (response: ServerResponse, status: number, text: string) =>
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    .end(`${text}\n`)

/** A document that is made when it is first asked for. */
const documentPage = (make: () => string): PlainPage => {
  let bytes: Buffer | undefined
  let etag = ''
  return (request: IncomingMessage, response: ServerResponse) => {
    bytes ??= Buffer.from(make())
    etag ||= `"${hash('sha256', bytes, 'hex').slice(0, 32)}"`
    const headers = { etag, 'content-type': 'application/json', 'access-control-allow-origin': '*' }
    if (request.headers['if-none-match'] === etag) return void response.writeHead(304, headers).end()
    response.writeHead(200, { ...headers, 'content-length': bytes.length })
    response.end(request.method === 'HEAD' ? undefined : bytes)
  }
}

interface PageTools {
  store: Store
  life: Life
  openApi: () => string
  posted: readonly PostedPage[]
  site: Site
  log: Log
}

/** Paths beside `/v2`: for load balancers and supervisors, the description of the API, switches, and the console. */
export const pagesOf = ({ store, life, openApi, posted, site, log }: PageTools): Pages => {
  /** What keeps the server from serving, if anything does. */
  const obstacle = async () => {
    if (life.isEnding) return 'the server is about to end'
    try {
      await store.all('SELECT 1 AS one')
      return (await store.canWrite())
        ? undefined
        : 'the store cannot be written: it has no room, or its disk fails'
    } catch {
      // The reason is logged by requests that fail; here only yes or no is asked.
      return 'the store does not answer'
    }
  }

  const exact = new Map<string, PlainPage>([
    ['/openapi.json', documentPage(openApi)],
    ['/healthz', (_request, response) => void sendText(response, 200, 'ok')],
    [
      '/readyz',
      async (_request, response) => {
        const found = await obstacle()
        sendText(response, found === undefined ? 200 : 503, found ?? 'ready')
      },
    ],
  ])
  const below = posted.map((page) => [page.below, servePostedPage(page, { store, log })] as const)
  return {
    find: (path, method) =>
      exact.get(path) ?? below.find(([prefix]) => path.startsWith(prefix))?.[1] ?? site.find(path, method),
  }
}
