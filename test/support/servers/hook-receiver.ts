// A receiver of webhooks over real sockets, which may be slow, refuse, hang up or redirect.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { parseStrictly } from '../matchers/repeated-keys.ts'
import { eventually } from '../run/eventually.ts'

/** A request as it came. */
export interface HookCall {
  method: string
  /** Without its query. */
  path: string
  /** As it was sent, without the question mark. */
  query: string
  headers: IncomingHttpHeaders
  text: string
  /** The value of a JSON body. */
  // biome-ignore lint/suspicious/noExplicitAny: payloads of every kind
  json: any
  /** Fields of a form, or of the query. */
  form: URLSearchParams
}

/** The reaction to a call: a status, or a custom answer. */
export type Answering = (call: HookCall, response: ServerResponse) => unknown

const parse = (body: string) => {
  try {
    return parseStrictly(body)
  } catch {
    return undefined
  }
}

/** Ends the connection without a word. */
export const hangUp: Answering = (_call, response) => void response.socket?.resetAndDestroy()

/** Never answers. */
export const fallSilent: Answering = () => undefined

export const answerWith =
  (status: number, body = '', headers: Record<string, string> = {}): Answering =>
  (_call, response) =>
    void response.writeHead(status, headers).end(body)

export type HookReceiver = Awaited<ReturnType<typeof startHookReceiver>>

export const startHookReceiver = async (port = 0) => {
  const calls: HookCall[] = []
  const state = { answer: answerWith(200, 'thank you') as Answering }
  const server = createServer(async (request, response) => {
    const [path = '', query = ''] = (request.url ?? '').split('?', 2)
    const body = await text(request)
    const call: HookCall = {
      method: request.method ?? '',
      path,
      query,
      headers: request.headers,
      text: body,
      json: parse(body),
      form: new URLSearchParams(request.method === 'GET' ? query : body),
    }
    calls.push(call)
    state.answer(call, response)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const { port: taken } = server.address() as AddressInfo

  return {
    port: taken,
    url: `http://127.0.0.1:${taken}`,
    calls,
    /** How it behaves from now on. */
    answers(answer: Answering) {
      state.answer = answer
    },
    /** Calls to a path, once this number has arrived. */
    told: (path: string, count: number) =>
      eventually(
        () => calls.filter((call) => call.path === path),
        (found) => found.length >= count,
      ),
    to: (path: string) => calls.filter((call) => call.path === path),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
