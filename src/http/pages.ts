import type { ServerResponse } from 'node:http'
import type { Store } from '../storage/store.ts'
import type { PlainPage } from './exchange.ts'

const sendText = (response: ServerResponse, status: number, text: string) =>
  response
    .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' })
    .end(`${text}\n`)

/** Paths beside `/v2`, for load balancers and supervisors. */
export const pagesOf = (store: Store): ReadonlyMap<string, PlainPage> => {
  const isReady = async () => {
    try {
      await store.all('SELECT 1 AS one')
      return true
    } catch {
      // The reason is logged by requests that fail; here only yes or no is asked.
      return false
    }
  }

  return new Map<string, PlainPage>([
    ['/healthz', (_request, response) => void sendText(response, 200, 'ok')],
    [
      '/readyz',
      async (_request, response) => {
        const ready = await isReady()
        sendText(response, ready ? 200 : 503, ready ? 'ready' : 'the store does not answer')
      },
    ],
  ])
}
