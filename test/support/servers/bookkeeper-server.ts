// A fake billing system of an operator: it charges, refunds, looks up payments and accepts invoices, and can lose its responses.
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface BookkeeperCall {
  headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: bodies of both kinds
  body: any
  text: string
}

/** `deaf`: does nothing. `mute`: completes the request and loses the response. */
export type Manner = 'works' | 'deaf' | 'mute' | 'breaks' | 'declines' | 'hangs'

const send = (response: ServerResponse, status: number, body: unknown) => {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

export type BookkeeperServer = Awaited<ReturnType<typeof startBookkeeper>>

export const startBookkeeper = async (secret = 'signing-secret') => {
  const calls: BookkeeperCall[] = []
  /** Movements by key: a repeated key gets the first answer. */
  const moved = new Map<string, { id: string; operation: string; amount: number; account: string }>()
  const refused = new Set<string>()
  const state = {
    /** How it behaves next; a function decides for each call. */
    manner: 'works' as Manner | ((call: BookkeeperCall) => Manner),
    syncStatus: 200,
    declines: { code: 'insufficient_funds', message: 'Not enough money', retryable: true },
  }

  const forged = ({ headers, text: body }: BookkeeperCall) => {
    const [, at, proof] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-crosspoint-signature'])) ?? []
    return proof !== createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')
  }

  const move = ({ body }: BookkeeperCall) => {
    const key = body.idempotency_key as string
    const known = moved.get(key)
    if (known) return known
    const { operation, amount_units: amount, account_id: account } = body
    const made = { id: `m-${moved.size + 1}`, operation, amount, account }
    moved.set(key, made)
    return made
  }

  const answer = (call: BookkeeperCall, response: ServerResponse) => {
    const { body } = call
    if (body.operation === undefined) return send(response, state.syncStatus, {})
    if (body.operation === 'lookup') {
      const known = moved.get(body.idempotency_key)
      if (known) return send(response, 200, { status: 'succeeded', id: known.id })
      return refused.has(body.idempotency_key)
        ? send(response, 402, { status: 'declined', ...state.declines })
        : send(response, 404, { status: 'not_found' })
    }
    send(response, 200, { status: 'succeeded', id: move(call).id })
  }

  const server = createServer(async (request, response) => {
    const body = await text(request)
    const call = { headers: request.headers, body: JSON.parse(body), text: body }
    calls.push(call)
    if (forged(call)) return send(response, 403, { status: 'forged' })
    const manner = typeof state.manner === 'function' ? state.manner(call) : state.manner
    const isMove = call.body.operation === 'charge' || call.body.operation === 'refund'
    if (manner === 'mute' && isMove) move(call)
    if (manner === 'deaf' || manner === 'mute') return void response.destroy()
    if (manner === 'hangs') return
    if (manner === 'breaks') return send(response, 500, {})
    if (manner === 'declines' && isMove && !moved.has(call.body.idempotency_key)) {
      refused.add(call.body.idempotency_key)
      return send(response, 402, { status: 'declined', ...state.declines })
    }
    answer(call, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/books`

  return {
    /** Settings for `system_configs/services.http_sync`. */
    settings: {
      http_url: url,
      authorization_header: 'Bearer of-the-operator',
      signing_secret: secret,
      timeout_ms: 2000,
    },
    calls,
    moved,
    state,
    /** Works again without earlier calls. Movements stay. */
    reset() {
      state.manner = 'works'
      state.syncStatus = 200
      calls.splice(0)
    },
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
