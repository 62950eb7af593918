// A small number inventory that answers as a carrier's would, and can be made to misbehave.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

export interface InventoryRequest {
  method: string
  /** Decoded, with its query. */
  path: string
  authorization: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  body: any
}

type Manner = 'works' | 'hangs' | 'breaks' | 'floods' | 'no json' | 'refuses' | 'fails' | 'redirects'

const send = (response: ServerResponse, status: number, body: unknown) => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

/** How it misbehaves. What is not here, works. */
const misdeeds: Partial<Record<Manner, (response: ServerResponse, elsewhere: string) => void>> = {
  // Sends its head and then nothing: only a limit on the whole time ends this.
  hangs: (response) => void response.writeHead(200).write('{'),
  breaks: (response) => void response.destroy(),
  floods(response) {
    response.writeHead(200, { 'content-type': 'application/json' })
    const piece = 'x'.repeat(1_000_000)
    const more = () => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', more).write('"')
    more()
  },
  'no json': (response) => void response.end('<html>busy</html>'),
  refuses: (response) => send(response, 200, { status: 'error', message: 'no', data: {} }),
  fails: (response) => send(response, 500, { status: 'success', data: {} }),
  redirects: (response, elsewhere) => void response.writeHead(302, { location: elsewhere }).end(),
}

const bodyOf = async (request: IncomingMessage) =>
  request.headers['content-type'] === 'application/json' ? json(request) : undefined

export type Inventory = Awaited<ReturnType<typeof startInventory>>

export const startInventory = async () => {
  const requests: InventoryRequest[] = []
  const state = {
    manner: 'works' as Manner,
    /** What it answers, by method and path without query: the `data` of a success, or a whole body with its status. */
    answers: new Map<string, unknown>(),
  }

  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    const { authorization } = request.headers
    const body = await bodyOf(request)
    requests.push({ method: request.method ?? '', path, authorization, body })
    const misdeed = misdeeds[state.manner]
    if (misdeed) return misdeed(response, `${url}/elsewhere`)
    const data = state.answers.get(`${request.method} ${path.split('?')[0]}`)
    if (data === undefined)
      return send(response, 404, { status: 'error', error: 404, message: 'Not Found', data: {} })
    send(response, 200, { status: 'success', data: typeof data === 'function' ? data(body) : data })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    url,
    requests,
    /** Works again, knows nothing and has heard nothing. */
    reset() {
      state.manner = 'works'
      state.answers.clear()
      requests.splice(0)
    },
    behave(manner: Manner) {
      state.manner = manner
    },
    /** `data`, or what makes it of the request's body. */
    answer(question: string, data: unknown) {
      state.answers.set(question, data)
    },
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
