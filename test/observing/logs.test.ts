import { expect, it } from 'vitest'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

describeAnyEngine('the log of requests', (engine) => {
  const world = useWorld(engine, undefined, async () => ({ logsAccess: true }))
  const lineOf = (requestId: unknown, message = 'request') =>
    world.logEntries.find((entry) => entry.message === message && entry.fields?.request_id === requestId)

  it('has a line for each, by which it is found in traces and in its answer', async () => {
    const { headers, body } = await world.ada.get(world.acme.path)
    const entry = lineOf(body.request_id)
    expect(entry?.level).toBe('info')
    expect(entry?.fields).toEqual({
      client_address: '127.0.0.1',
      method: 'GET',
      route: '/v2/accounts/{account_id}',
      status: 200,
      duration_ms: expect.any(Number),
      account_id: world.acme.id,
      actor: world.ada.id,
      reason: undefined,
      request_id: body.request_id,
      trace_id: String(headers.traceparent).split('-')[1],
    })
  })

  it('contains why a request was refused, in its line and in the line of the refusal', async () => {
    const answer = await world.rex.get(world.acme.path)
    expect(answer.status).toBe(403)
    const trace_id = String(answer.headers.traceparent).split('-')[1]
    expect(lineOf(answer.body.request_id)?.fields).toMatchObject({
      status: 403,
      reason: 'forbidden',
      trace_id,
    })
    const refusal = lineOf(answer.body.request_id, 'access denied')
    expect(refusal?.fields).toMatchObject({ reason: expect.any(String), trace_id, actor: world.rex.id })
  })

  it('has one for pages and for what is no path', async () => {
    const page = await world.anonymous.get('/healthz')
    expect(lineOf(page.headers['x-request-id'])?.fields).toMatchObject({ route: '/healthz', status: 200 })
    const nowhere = await world.ada.get('/v2/nowhere')
    expect(lineOf(nowhere.body.request_id)?.fields).toMatchObject({ route: 'unknown', status: 404 })
    const posted = await world.anonymous.post('/ingest/freeswitch/a-secret', {})
    const { route, status } = lineOf(posted.headers['x-request-id'])?.fields ?? {}
    expect([route, status]).toEqual(['/ingest/freeswitch/{secret}', 404])
  })
})

describeAnyEngine('without access lines', (engine) => {
  const world = useWorld(engine)

  it('the log still contains refusals', async () => {
    const answer = await world.rex.get(world.acme.path)
    const lines = world.logEntries.filter(({ fields }) => fields?.request_id === answer.body.request_id)
    expect(lines.map(({ message }) => message)).toEqual(['access denied'])
  })
})
