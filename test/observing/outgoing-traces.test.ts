// Each call to another server is a span of the request that has caused it, and is counted.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/lib/json.ts'
import { figureOf } from '../support/matchers/figures.ts'
import { eventually } from '../support/run/eventually.ts'
import { inFullRun } from '../support/run/run-length.ts'
import { type BookkeeperServer, startBookkeeper } from '../support/servers/bookkeeper-server.ts'
import { type DnsServer, startDnsServer } from '../support/servers/dns-server.ts'
import { answerWith, type HookReceiver, startHookReceiver } from '../support/servers/hook-receiver.ts'
import { lacks } from '../support/servers/installed.ts'
import { type Inventory, startInventory } from '../support/servers/inventory-server.ts'
import { type ObjectServer, startObjectServer } from '../support/servers/object-server.ts'
import { rabbitmqProgram, startRabbitmq } from '../support/servers/rabbitmq.ts'
import { type SmtpServer, startSmtpServer } from '../support/servers/smtp-server.ts'
import {
  type CollectedSpan,
  type SpanCollector,
  startSpanCollector,
} from '../support/servers/span-collector.ts'
import { type StripeServer, startStripe } from '../support/servers/stripe-server.ts'
import type { Client } from '../support/world/client.ts'
import { legOf, nowOf, sendLegs } from '../support/world/legs.ts'
import { createNumberSource } from '../support/world/numbers.ts'
import { describeAnyEngine, type Person, useWorld } from '../support/world/world.ts'

const callerSpan = '00f067aa0ba902b7'
const kinds = { client: 3, producer: 4 }

const portOf = (url: string) => Number(new URL(url).port)

const startProvisioner = async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('{}'))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/phones` }
}

const lacking = lacks('rabbitmq-server', rabbitmqProgram)

describeAnyEngine('a call to another server', (engine) => {
  let collector: SpanCollector
  let smtp: SmtpServer
  let objects: ObjectServer
  let dns: DnsServer
  let stripe: StripeServer
  let bookkeeper: BookkeeperServer
  let inventory: Inventory
  let provisioner: { server: Server; url: string }
  let receiver: HookReceiver

  const outside = async () => {
    collector = await startSpanCollector()
    smtp = await startSmtpServer()
    dns = await startDnsServer()
    objects = await startObjectServer()
    return {
      otlpEndpoint: collector.url,
      smtpUrl: smtp.url,
      dnsServers: [dns.text],
      callArchive: objects.place,
    }
  }
  // Events go from the feed to webhooks as time passes.
  const world = useWorld(engine, undefined, outside, { hasTimedJobs: true })

  beforeAll(async () => {
    stripe = await startStripe()
    bookkeeper = await startBookkeeper()
    inventory = await startInventory()
    provisioner = await startProvisioner()
    receiver = await startHookReceiver()
    await world.configure('crossbar', { allowed_private_hosts: ['127.0.0.1'] })
    await world.configure('services.stripe', stripe.settings)
    await world.configure('services.http_sync', bookkeeper.settings)
    await world.configure('number_manager', { carrier_modules: ['knm_other'] })
    await world.configure('number_manager.other', { phonebook_url: inventory.url })
    await world.configure('provisioner', { provisioning_url: provisioner.url })
  })

  afterAll(async () => {
    provisioner.server.close()
    await objects.stop()
    const others = [smtp, dns, stripe, bookkeeper, inventory, receiver, collector]
    await Promise.all(others.map((other) => other.close()))
  })

  let traces = 0

  /** A client whose requests have one trace. */
  const traced = ({ token }: Pick<Person, 'token'>): { trace: string; client: Client } => {
    traces += 1
    const trace = `${engine === 'sqlite' ? '5' : '9'}${String(traces).padStart(31, '0')}`
    const traceparent = `00-${trace}-${callerSpan}-01`
    return { trace, client: world.client({ 'x-auth-token': token, traceparent }) }
  }

  const spanOf = (trace: string, name: string): Promise<CollectedSpan> =>
    eventually(
      () => collector.spans.find((span) => span.traceId === trace && span.name === name),
      (found): found is CollectedSpan => found !== undefined,
    ) as Promise<CollectedSpan>

  const counted = async (purpose: string, outcome: string) =>
    figureOf(
      (await world.anonymous.get('/metrics')).text,
      'crosspoint_outgoing_request_duration_seconds_count',
      {
        purpose,
        outcome,
      },
    ) ?? 0

  const customer = async (bookkeeperType: string) => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    await world.ross.post(`${account.path}/services`, { bookkeeper: { type: bookkeeperType } })
    return { account, admin }
  }

  const httpCall = (url: string, method: string, status: number) => ({
    kind: kinds.client,
    attributes: {
      'http.request.method': method,
      'http.response.status_code': status,
      'server.address': '127.0.0.1',
      'server.port': portOf(url),
      ...(status >= 400 ? { 'error.type': String(status) } : {}),
    },
    status: status >= 400 ? { code: 2 } : { code: 0 },
  })

  it('to Stripe is one, each try of the library', async () => {
    const { account, admin } = await customer('stripe')
    const { trace, client } = traced(admin)
    const before = await counted('stripe', '2xx')
    const card = `pm_card_visa_traced_${engine}`
    expect(await client.put(`${account.path}/services/payment_tokens`, { payment_method: card })).toSucceed()
    const span = await spanOf(trace, 'POST stripe')
    expect(span).toMatchObject(httpCall(stripe.settings.api_url, 'POST', 200))
    expect(JSON.stringify(span)).not.toMatch(/sk_test|pm_card|cus_/)
    expect((await counted('stripe', '2xx')) - before).toBeGreaterThan(0)
  })

  inFullRun(() => {
    it('to Stripe that does not take the card has an error', async () => {
      const { account, admin } = await customer('stripe')
      await admin.put(`${account.path}/services/payment_tokens`, { payment_method: 'pm_card_chargeDeclined' })
      const { trace, client } = traced(admin)
      expect((await client.post(`${account.path}/services/topup`, { amount: 10 })).status).toBe(402)
      expect(await spanOf(trace, 'POST stripe')).toMatchObject(httpCall(stripe.settings.api_url, 'POST', 402))
    })
  })

  it('to a bookkeeper is one', async () => {
    const { account, admin } = await customer('http')
    const { trace, client } = traced(admin)
    expect(await client.post(`${account.path}/services/topup`, { amount: 10 })).toSucceed()
    const span = await spanOf(trace, 'POST bookkeeper')
    expect(span).toMatchObject(httpCall(bookkeeper.settings.http_url, 'POST', 200))
    expect(JSON.stringify(span)).not.toMatch(/books|of-the-operator/)
  })

  it('that is refused by the called server has an error', async () => {
    const { account, admin } = await customer('http')
    const { trace, client } = traced(admin)
    bookkeeper.state.manner = 'declines'
    await client.post(`${account.path}/services/topup`, { amount: 10 })
    bookkeeper.reset()
    expect(await spanOf(trace, 'POST bookkeeper')).toMatchObject(
      httpCall(bookkeeper.settings.http_url, 'POST', 402),
    )
  })

  it('that has no answer contains the cause of its failure', async () => {
    const { account, admin } = await customer('http')
    const { trace, client } = traced(admin)
    bookkeeper.state.manner = 'deaf'
    await client.post(`${account.path}/services/topup`, { amount: 10 })
    bookkeeper.reset()
    expect(await spanOf(trace, 'POST bookkeeper')).toMatchObject({
      attributes: { 'error.type': 'unreachable' },
      status: { code: 2 },
    })
    world.takeErrors()
  })

  it('to an inventory of numbers is one', async () => {
    inventory.reset()
    inventory.sellEverything()
    const number = createNumberSource('+1510556')()
    inventory.answer('GET /numbers/US/search', { [number]: { of: number } })
    const { trace, client } = traced(world.operator)
    const query = { prefix: '510556', quantity: 1 }
    expect((await client.get(`${world.acme.path}/phone_numbers`, { query })).data).toHaveLength(1)
    expect(await spanOf(trace, 'GET carrier')).toMatchObject(httpCall(inventory.url, 'GET', 200))
  })

  it('to the provisioning service is one, below the job that the request has left', async () => {
    const { trace, client } = traced(world.operator)
    const phone = { name: 'Desk', mac_address: '00:11:22:33:44:55', provision: { endpoint_brand: 'yealink' } }
    const account = await world.account(world.reseller)
    expect((await client.put(`${account.path}/devices`, phone)).status).toBe(201)
    const call = await spanOf(trace, 'POST provisioner')
    expect(call).toMatchObject(httpCall(provisioner.url, 'POST', 200))
    expect(call.parentSpanId).toBe((await spanOf(trace, 'job provisioning')).spanId)
  })

  it('of a webhook is one, and its request carries the trace of the original request', async () => {
    receiver.answers(answerWith(200, 'thank you'))
    const hook = { name: 'Traced', uri: `${receiver.url}/traced`, hook: 'object' }
    const made = await world.operator.put(`${world.acme.path}/webhooks`, {
      ...hook,
      custom_data: { type: 'device', action: 'all' },
    })
    expect(made.status).toBe(201)
    const { trace, client } = traced(world.operator)
    expect((await client.put(`${world.acme.path}/devices`, { name: 'Traced phone' })).status).toBe(201)
    const span = await spanOf(trace, 'POST webhook')
    expect(span).toMatchObject(httpCall(receiver.url, 'POST', 200))
    const call = await eventually(() => receiver.calls.find(({ path }) => path === '/traced'), Boolean)
    expect(call?.headers.traceparent).toBe(`00-${trace}-${span.spanId}-01`)
  })

  it('to a name server is one, which does not say what was looked up', async () => {
    await world.ada.put(`${world.acme.path}/whitelabel`, { domain: `traced-${engine}.test` })
    const { trace, client } = traced(world.ada)
    const before = await counted('dns', 'done')
    expect((await client.post(`${world.acme.path}/whitelabel/domains`)).status).toBe(200)
    const span = await eventually(
      () => collector.spans.find(({ traceId, name }) => traceId === trace && name.startsWith('look up ')),
      Boolean,
    )
    expect(span?.name).toMatch(/^look up [A-Z]+$/)
    expect(span?.attributes).toMatchObject({
      'network.protocol.name': 'dns',
      'network.transport': 'udp',
      'crosspoint.dns_record_type': span?.name.slice(8),
    })
    expect(JSON.stringify(collector.spans)).not.toContain(`traced-${engine}.test`)
    expect((await counted('dns', 'done')) - before).toBeGreaterThan(0)
  })

  const oldCalls = async () => {
    const account = await world.account(world.reseller)
    const time = nowOf(world) - 100 * 86_400
    await sendLegs(world, [legOf(account, time, {})])
    await world.configure('cdr', { archive_after_months: 1 })
    await world.server.scheduler.runNow('cdr-archive')
    const query = { created_from: String(time - 60), created_to: String(time + 60) }
    return { account, query, path: `${account.path}/cdrs` }
  }

  it('to the bucket of older call records is one, which does not say whose they are', async () => {
    const before = await counted('call_archive', '2xx')
    const { account, path, query } = await oldCalls()
    expect(objects.objects.size).toBe(1)
    expect((await counted('call_archive', '2xx')) - before).toBeGreaterThan(0)
    const { trace, client } = traced(world.operator)
    expect((await client.get(path, { query })).data).toHaveLength(1)
    const span = await spanOf(trace, 'GET call_archive')
    expect(span).toMatchObject(httpCall(objects.place.endpoint, 'GET', 206))
    const { bucket, accessKeyId } = objects.place
    const told = JSON.stringify(collector.spans.filter(({ name }) => name.endsWith(' call_archive')))
    for (const secret of [account.id, accessKeyId, `/${bucket}/`, '.parquet'])
      expect(told).not.toContain(secret)
  })

  inFullRun(() => {
    it('to a bucket that refuses it has an error', async () => {
      const { path, query } = await oldCalls()
      const kept = [...objects.objects]
      objects.objects.clear()
      const { trace, client } = traced(world.operator)
      expect((await client.get(path, { query })).status).toBe(503)
      // Events of these calls wait for them.
      for (const [key, bytes] of kept) objects.objects.set(key, bytes)
      expect(await spanOf(trace, 'GET call_archive')).toMatchObject(
        httpCall(objects.place.endpoint, 'GET', 404),
      )
    })
  })

  const welcome = async (name: string) => {
    const { trace, client } = traced(world.operator)
    const email = `${name}-${engine}@mail.test`
    const user = { first_name: 'A', last_name: 'B', username: email, email }
    expect(
      (await client.put(`${world.acme.path}/users`, { ...user, send_email_on_creation: true })).status,
    ).toBe(201)
    return { trace, email }
  }

  it('to the mail server is one, which does not say whom the letter is for', async () => {
    const { trace } = await welcome('taken')
    const span = await spanOf(trace, 'SEND mail')
    expect(span).toMatchObject({
      kind: kinds.client,
      parentSpanId: (await spanOf(trace, 'job mail')).spanId,
      attributes: {
        'network.protocol.name': 'smtp',
        'server.address': '127.0.0.1',
        'server.port': smtp.port,
        'crosspoint.smtp_reply_code': 250,
      },
    })
    expect(JSON.stringify(collector.spans)).not.toContain('mail.test')
  })

  inFullRun(() => {
    it('to a mail server that takes no letter has an error', async () => {
      smtp.refuseRecipient(`refused-${engine}@mail.test`, '550 no such person')
      const { trace } = await welcome('refused')
      expect(await spanOf(trace, 'SEND mail')).toMatchObject({
        attributes: { 'error.type': 'refused', 'crosspoint.smtp_reply_code': 550 },
        status: { code: 2 },
      })
      expect(await spanOf(trace, 'job mail')).toMatchObject({
        attributes: { 'error.type': 'failed', 'crosspoint.job_state': 'failed' },
      })
      expect(await counted('mail', 'refused')).toBe(1)
      world.takeErrors()
    })
  })

  describe.skipIf(lacking)(`with RabbitMQ${lacking}`, () => {
    it('to the message bus is one, and each message carries the trace of its request', async ({
      onTestFinished,
    }) => {
      const exchange = `traced.${engine}`
      const rabbit = await startRabbitmq()
      onTestFinished(async () => {
        await world.configure('events', { amqp: { exchange } })
        await rabbit.close()
      })
      const listener = await rabbit.listen(exchange, exchange)
      await world.configure('events', { amqp: { url: rabbit.url, exchange } })
      const { trace, client } = traced(world.operator)
      const { data } = await client.put(`${world.acme.path}/devices`, { name: 'Published' })
      const message = await eventually(
        () => listener.received.find(({ body }) => (body.record as Json).id === data.id),
        Boolean,
      )
      expect(message?.headers.traceparent).toMatch(new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`))
      const span = await eventually(
        () =>
          collector.spans.find(
            ({ name, links }) =>
              name === `publish ${exchange}` && links.some(({ traceId }) => traceId === trace),
          ),
        Boolean,
      )
      expect(span).toMatchObject({
        kind: kinds.producer,
        attributes: {
          'messaging.system': 'rabbitmq',
          'messaging.operation.name': 'publish',
          'messaging.operation.type': 'send',
          'messaging.destination.name': exchange,
          'messaging.batch.message_count': expect.any(Number),
          'server.port': portOf(rabbit.url),
        },
      })
      await listener.close()
    })
  })
})
