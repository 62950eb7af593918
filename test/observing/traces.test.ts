import { afterAll, expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { startHookReceiver } from '../support/servers/hook-receiver.ts'
import { removeDataDir, startServerProcess } from '../support/servers/server-process.ts'
import { startSpanCollector } from '../support/servers/span-collector.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'
const callers = [`00-${traceId}-${parentId}-01`, `00-${traceId}-${parentId}-00`]
const kinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 }

const collector = await startSpanCollector()
afterAll(() => collector.close())

describeAnyEngine('answers of a server that exports nothing', (engine) => {
  const world = useWorld(engine)

  it('bear a place in a trace, whatever they are', async () => {
    for (const path of [world.acme.path, '/v2/nowhere', '/healthz', '/metrics', '/openapi.json'])
      expect((await world.ada.get(path)).headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
  })

  it('continue the trace of the caller', async () => {
    for (const traceparent of callers) {
      const answer = await world.client({ traceparent }).get('/v2/about')
      expect(answer.headers.traceparent).toMatch(
        new RegExp(`^00-${traceId}-(?!${parentId})[0-9a-f]{16}-${traceparent.slice(-2)}$`),
      )
    }
  })

  it('begin a new trace if the header has none', async () => {
    const none = [
      '',
      'nonsense',
      `ff-${traceId}-${parentId}-01`,
      `00-${'0'.repeat(32)}-${parentId}-01`,
      `00-${traceId}-${'0'.repeat(16)}-01`,
    ]
    for (const traceparent of none) {
      const { headers } = await world.client({ traceparent }).get('/v2/about')
      expect(headers.traceparent).toMatch(/^00-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-00$/)
      expect(headers.traceparent).not.toContain(traceId)
    }
  })
})

describeAnyEngine('a server that exports', (engine) => {
  const world = useWorld(engine, undefined, async () => ({
    otlpEndpoint: `${collector.url}/`,
    serviceName: `crosspoint on ${engine}`,
  }))

  it('sends a span of the request, and below it one of its commit', async () => {
    const traceparent = `00-${engine === 'sqlite' ? 'a' : 'b'}${traceId.slice(1)}-${parentId}-01`
    const [, trace = ''] = traceparent.split('-')
    const headers = { 'x-auth-token': world.ada.token, traceparent }
    const made = await world.client(headers).put(`${world.acme.path}/devices`, { name: 'Traced' })
    expect(made.status).toBe(201)
    const spans = await collector.ofTrace(trace, 2)
    const route = '/v2/accounts/{account_id}/devices'
    const request = spans.find(({ kind }) => kind === kinds.server)
    expect(request).toMatchObject({
      name: `PUT ${route}`,
      parentSpanId: parentId,
      spanId: String(made.headers.traceparent).split('-')[2],
      service: `crosspoint on ${engine}`,
      attributes: {
        'http.request.method': 'PUT',
        'http.route': route,
        'http.response.status_code': 201,
        'crosspoint.request_id': made.body.request_id,
      },
    })
    const commit = spans.find(({ name }) => name === 'store commit')
    expect(commit).toMatchObject({ kind: kinds.internal, parentSpanId: request?.spanId })
    expect(BigInt(commit?.endTimeUnixNano ?? 0) > BigInt(commit?.startTimeUnixNano ?? 0)).toBe(true)
    expect(collector.paths.every((path) => path === '/v1/traces')).toBe(true)
  })

  it('sends nothing of a trace that its caller does not record', async () => {
    const { headers } = await world.client({ traceparent: callers[1] ?? '' }).get('/v2/about')
    expect(headers.traceparent).toMatch(/-00$/)
    const after = await world.anonymous.get('/v2/about')
    await collector.ofTrace(String(after.headers.traceparent).split('-')[1] ?? '', 1)
    expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([])
  })

  it('has its calls to others carry the trace, and says how they ended', async () => {
    const receiver = await startHookReceiver()
    await world.configure('crossbar', { allowed_private_hosts: ['127.0.0.1'] })
    const hook = await world.ada.put(`${world.acme.path}/webhooks`, {
      name: 'Traced',
      uri: `${receiver.url}/hook`,
      hook: 'task.finished',
      http_verb: 'post',
    })
    expect(hook.status).toBe(201)
    const tested = await world.ada.post(`${hook.request.path}/${hook.data.id}/test`, {})
    expect(tested.status).toBeLessThan(300)
    const [call] = await eventually(
      () => receiver.calls,
      ({ length }) => length > 0,
    )
    const [, trace = '', span] = String(call?.headers.traceparent).split('-')
    const spans = await collector.ofTrace(trace, 1)
    expect(
      await eventually(() => collector.spans.find(({ spanId }) => spanId === span), Boolean),
    ).toMatchObject({
      name: 'POST webhook',
      kind: kinds.client,
      attributes: {
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(receiver.url).port),
        'http.response.status_code': 200,
      },
    })
    expect(spans.length).toBeGreaterThan(0)
    await receiver.close()
  })

  it('carries out what a request has left as a part of its trace, and says how that ended', async () => {
    await world.deliverMail()
    const trace = `${engine === 'sqlite' ? 'c' : 'd'}${traceId.slice(1)}`
    const headers = { 'x-auth-token': world.operator.token, traceparent: `00-${trace}-${parentId}-01` }
    const made = await world.client(headers).put(`${world.acme.path}/users`, {
      first_name: 'Traced',
      last_name: 'Letter',
      username: `letter-${engine}@acme.test`,
      email: `letter-${engine}@acme.test`,
      send_email_on_creation: true,
    })
    expect(made.status).toBe(201)
    await world.deliverMail()
    const called = (name: string) =>
      eventually(() => collector.spans.find((span) => span.traceId === trace && span.name === name), Boolean)
    const [welcome, letter] = [await called('job new_user'), await called('job mail')]
    expect(welcome?.parentSpanId).toBe(String(made.headers.traceparent).split('-')[2])
    expect(letter).toMatchObject({
      kind: kinds.consumer,
      parentSpanId: welcome?.spanId,
      links: [{ traceId: trace, spanId: welcome?.spanId }],
      attributes: {
        'messaging.system': 'crosspoint',
        'messaging.operation.name': 'job',
        'messaging.operation.type': 'process',
        'messaging.destination.name': 'mail',
        'messaging.message.id': expect.stringMatching(/^[0-9a-f]{32}$/),
        'crosspoint.job_attempts': 1,
        'crosspoint.job_state': 'done',
      },
    })
    expect(JSON.stringify(letter)).not.toContain('acme.test')
  })
})

it('A server whose collector is away serves, says that spans are lost, and ends well', async () => {
  const server = await startServerProcess({
    CROSSPOINT_DATABASE_URL: undefined,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
  })
  expect((await fetch(`${server.url}/v2/about`)).headers.get('traceparent')).toMatch(/-01$/)
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
  expect(await server.end()).toBe(0)
  expect(server.faults().map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      time: expect.any(String),
      level: 'warn',
      message: 'spans could not be sent',
      reason: 'connect ECONNREFUSED 127.0.0.1:9',
    },
  ])
  removeDataDir(server)
})
