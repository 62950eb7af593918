// A small number inventory with configurable faults. It runs a request with an idempotency key once.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

export interface InventoryRequest {
  method: string
  /** Decoded, with its query. */
  path: string
  authorization: string | undefined
  key: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  body: any
}

/**
 * `mute`: completes the request and loses the response; `breaks`: does nothing; `holds`: completes it and responds later;
 * `ponders`: completes it later.
 */
type Manner =
  | 'works'
  | 'mute'
  | 'holds'
  | 'ponders'
  | 'hangs'
  | 'breaks'
  | 'floods'
  | 'no json'
  | 'refuses'
  | 'fails'
  | 'redirects'

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
    held: [] as (() => void)[],
  }
  /** What was answered under each key. */
  const replies = new Map<string, unknown>()
  /** Ordered and returned numbers, by idempotency key. */
  const [ordered, released] = [new Map<string, string>(), new Map<string, string>()]

  /** The number that a body is about, when it was done. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every shape
  const doneFor = (body: any, data: any) => {
    const number: string = body?.data?.numbers?.[0]
    return data?.[number]?.status === 'success' ? number : undefined
  }

  const replyTo = ({ method, path, key, body }: InventoryRequest) => {
    const known = key === undefined ? undefined : replies.get(key)
    if (known !== undefined) return known
    const answer = state.answers.get(`${method} ${path.split('?')[0]}`)
    const data = typeof answer === 'function' ? answer(body) : answer
    if (data === undefined) return undefined
    if (key !== undefined) {
      replies.set(key, data)
      const number = doneFor(body, data)
      if (number !== undefined) (path.endsWith('/order') ? ordered : released).set(key, number)
    }
    return data
  }

  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(request.url ?? '')
    const { authorization } = request.headers
    const body = await bodyOf(request)
    const key = request.headers['idempotency-key']?.toString()
    const asked: InventoryRequest = { method: request.method ?? '', path, authorization, key, body }
    requests.push(asked)
    // A repeated key with a stored result is not refused.
    const isDone = key !== undefined && replies.has(key) && state.manner === 'refuses'
    const misdeed = isDone ? undefined : misdeeds[state.manner]
    if (misdeed) return misdeed(response, `${url}/elsewhere`)
    if (state.manner === 'ponders') {
      await new Promise<void>((resolve) => state.held.push(resolve))
      // The client may be gone.
      if (response.destroyed) return
    }
    const data = replyTo(asked)
    if (state.manner === 'mute') return void response.destroy()
    if (state.manner === 'holds') await new Promise<void>((resolve) => state.held.push(resolve))
    if (data === undefined)
      return send(response, 404, { status: 'error', error: 404, message: 'Not Found', data: {} })
    send(response, 200, { status: 'success', data })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    url,
    requests,
    ordered,
    released,
    /** Ordered numbers that were not returned, with repetitions. */
    handedOut() {
      const left = [...ordered.values()]
      for (const number of released.values()) {
        const at = left.indexOf(number)
        if (at >= 0) left.splice(at, 1)
      }
      return left.sort()
    },
    /** Every order and return succeeds. */
    sellEverything() {
      const all = ({ data }: { data: { numbers: string[] } }) =>
        Object.fromEntries(
          data.numbers.map((number) => [number, { status: 'success', opaque: { sold: number } }]),
        )
      state.answers.set('PUT /numbers/US/order', all).set('POST /numbers/US/release', all)
    },
    /** Answers the requests that it held back. */
    letGo() {
      for (const answer of state.held.splice(0)) answer()
    },
    /** Works again, without earlier requests and results. */
    reset() {
      state.manner = 'works'
      state.answers.clear()
      replies.clear()
      ordered.clear()
      released.clear()
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
