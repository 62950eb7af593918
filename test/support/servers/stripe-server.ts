// A local stand-in for Stripe: the calls that Crosspoint makes, with idempotency keys, cards that are refused, and
// answers that get lost. Test cards are named as Stripe names them: pm_card_visa, pm_card_chargeDeclined, ...
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Json } from '../../../src/lib/json.ts'

export interface StripeCall {
  method: string
  path: string
  form: Readonly<Record<string, string>>
  key: string | undefined
  authorization: string | undefined
}

interface Reply {
  status: number
  body: Json
}

/** `mute`: completes the request and loses the response. `deaf`: does nothing. */
export type Manner = 'works' | 'mute' | 'deaf' | 'breaks'

const webhookSecret = 'whsec_sample'

const refusals: Record<string, string> = {
  pm_card_chargeDeclined: 'generic_decline',
  pm_card_insufficientFunds: 'insufficient_funds',
}

const cardError = (code: string, intent: Json): Reply => ({
  status: 402,
  body: {
    error: {
      type: 'card_error',
      code: 'card_declined',
      decline_code: code,
      message: 'Your card was declined.',
      payment_intent: intent,
    },
  },
})

const badRequest = (message: string, code = 'resource_missing'): Reply => ({
  status: 400,
  body: { error: { type: 'invalid_request_error', code, message } },
})

const metadataOf = (form: StripeCall['form']) =>
  Object.fromEntries(
    Object.entries(form).flatMap(([name, value]) => {
      const [, key] = /^metadata\[(.*)\]$/.exec(name) ?? []
      return key === undefined ? [] : [[key, value]]
    }),
  )

export type StripeServer = Awaited<ReturnType<typeof startStripe>>

export const startStripe = async () => {
  const calls: StripeCall[] = []
  const state = {
    manner: 'works' as Manner | ((call: StripeCall) => Manner),
    expires: { year: 2030, month: 12 },
    /** Status of new charges. */
    chargesBecome: 'succeeded' as 'succeeded' | 'processing',
  }
  let made = 0
  const kept = { customers: [] as Json[], intents: [] as Json[], refunds: [] as Json[] }
  const owners = new Map<string, string>()
  const replies = new Map<string, Reply>()

  const create = (kind: keyof typeof kept, prefix: string, fields: Json): Json => {
    made += 1
    const one = { id: `${prefix}_${made}`, object: prefix, created: Math.floor(Date.now() / 1000), ...fields }
    kept[kind].push(one)
    return one
  }

  const methodJson = (id: string) => ({
    id,
    object: 'payment_method',
    type: 'card',
    customer: owners.get(id) ?? null,
    card: { brand: 'visa', last4: '4242', exp_year: state.expires.year, exp_month: state.expires.month },
  })

  const charge = (form: StripeCall['form']): Reply => {
    const { amount, currency, customer, payment_method: method = '', description } = form
    if (owners.get(method) !== customer) return badRequest('No such PaymentMethod')
    const refusal = Object.keys(refusals).find((card) => method.startsWith(card))
    const intent = create('intents', 'pi', {
      object: 'payment_intent',
      amount: Number(amount),
      currency,
      customer,
      description,
      metadata: metadataOf(form),
      status: refusal ? 'requires_payment_method' : state.chargesBecome,
      last_payment_error: refusal
        ? { code: 'card_declined', decline_code: refusals[refusal], message: 'Your card was declined.' }
        : null,
    })
    return refusal ? cardError(refusals[refusal] as string, intent) : { status: 200, body: intent }
  }

  const refund = (form: StripeCall['form']): Reply => {
    const intent = kept.intents.find(({ id }) => id === form.payment_intent)
    if (!intent) return badRequest('No such payment_intent')
    const given = kept.refunds.filter((one) => one.payment_intent === intent.id)
    const left = Number(intent.amount) - given.reduce((sum, one) => sum + Number(one.amount), 0)
    if (Number(form.amount) > left)
      return badRequest('Refund is greater than the charge', 'charge_already_refunded')
    const fields = {
      object: 'refund',
      payment_intent: intent.id,
      amount: Number(form.amount),
      currency: intent.currency,
      status: 'succeeded',
    }
    return { status: 200, body: create('refunds', 're', { ...fields, metadata: metadataOf(form) }) }
  }

  const listOf = (rows: readonly Json[]): Reply => ({
    status: 200,
    body: { object: 'list', data: rows.toReversed(), has_more: false, url: '/v1/list' },
  })

  const routes: [pattern: RegExp, reply: (id: string, form: StripeCall['form']) => Reply][] = [
    [
      /^POST \/v1\/customers$/,
      (_id, form) => ({
        status: 200,
        body: create('customers', 'cus', { name: form.name, metadata: metadataOf(form) }),
      }),
    ],
    [
      /^POST \/v1\/setup_intents$/,
      (_id, form) => ({
        status: 200,
        body: { id: 'seti_1', object: 'setup_intent', client_secret: `secret_of_${form.customer}` },
      }),
    ],
    [
      /^POST \/v1\/payment_methods\/(\w+)\/attach$/,
      (id, form) => {
        if (!id.startsWith('pm_')) return badRequest('No such PaymentMethod')
        owners.set(id, form.customer ?? '')
        return { status: 200, body: methodJson(id) }
      },
    ],
    [
      /^POST \/v1\/payment_methods\/(\w+)\/detach$/,
      (id) => (owners.delete(id) ? { status: 200, body: methodJson(id) } : badRequest('It is not attached')),
    ],
    [/^POST \/v1\/payment_intents$/, (_id, form) => charge(form)],
    [
      /^GET \/v1\/payment_intents$/,
      (_id, form) => listOf(kept.intents.filter(({ customer }) => customer === form.customer)),
    ],
    [
      /^GET \/v1\/payment_intents\/(\w+)$/,
      (id) => {
        const intent = kept.intents.find((one) => one.id === id)
        return intent ? { status: 200, body: intent } : badRequest('No such payment_intent')
      },
    ],
    [
      /^GET \/v1\/customers\/(\w+)$/,
      (id) => {
        const customer = kept.customers.find((one) => one.id === id)
        return customer ? { status: 200, body: customer } : badRequest('No such customer')
      },
    ],
    [/^POST \/v1\/refunds$/, (_id, form) => refund(form)],
    [
      /^GET \/v1\/refunds$/,
      (_id, form) => listOf(kept.refunds.filter((one) => one.payment_intent === form.payment_intent)),
    ],
  ]

  const fresh = ({ method, path, form }: StripeCall): Reply => {
    for (const [pattern, reply] of routes) {
      const found = pattern.exec(`${method} ${path}`)
      if (found) return reply(found[1] ?? '', form)
    }
    return badRequest(`Unrecognized request URL ${method} ${path}`)
  }

  /** The same key gives the same reply; with other parameters it is refused. */
  const replyTo = (call: StripeCall): Reply => {
    if (call.authorization !== 'Bearer sk_test_sample')
      return { status: 401, body: { error: { type: 'invalid_request_error', message: 'Invalid API Key' } } }
    if (call.key === undefined || call.method !== 'POST') return fresh(call)
    const known = replies.get(call.key)
    if (known) return known
    const reply = fresh(call)
    replies.set(call.key, reply)
    return reply
  }

  const send = (response: ServerResponse, { status, body }: Reply) => {
    response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_1' })
    response.end(JSON.stringify(body))
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://stripe.test')
    const body = await text(request)
    const form = Object.fromEntries(new URLSearchParams(request.method === 'GET' ? url.search : body))
    const call: StripeCall = {
      method: request.method ?? '',
      path: url.pathname,
      form,
      key: request.headers['idempotency-key'] as string | undefined,
      authorization: request.headers.authorization,
    }
    calls.push(call)
    const manner = typeof state.manner === 'function' ? state.manner(call) : state.manner
    if (manner === 'deaf') return void response.destroy()
    if (manner === 'breaks')
      return send(response, { status: 500, body: { error: { type: 'api_error', message: 'no' } } })
    const reply = replyTo(call)
    if (manner === 'mute') return void response.destroy()
    send(response, reply)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    /** Settings for `system_configs/services.stripe`. */
    settings: {
      api_key: 'sk_test_sample',
      publishable_key: 'pk_test_sample',
      webhook_secret: webhookSecret,
      api_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      timeout_ms: 3000,
    },
    calls,
    kept,
    owners,
    /** A refund by a user in the dashboard of Stripe. */
    refundOutside: (intent: string, amount: number) =>
      refund({ payment_intent: intent, amount: String(amount) }).body,
    methodJson,
    /** What Stripe posts, and the signature that proves it. */
    event(type: string, object: Json, { secret = webhookSecret, at = 0, id = '' } = {}) {
      made += 1
      const body = JSON.stringify({ id: id || `evt_${made}`, object: 'event', type, data: { object } })
      const seconds = Math.floor(at / 1000)
      const digest = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
      return { body, signature: `t=${seconds},v1=${digest}` }
    },
    state,
    reset() {
      state.manner = 'works'
      state.chargesBecome = 'succeeded'
      state.expires = { year: 2030, month: 12 }
      calls.splice(0)
    },
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
