// Work that a request leaves for later is a part of its trace, also where its server has died and another one
// does it.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { eventually } from '../support/run/eventually.ts'
import { describeAnyEngine, makePlace, type Place } from '../support/servers/databases.ts'
import { startServerProcess } from '../support/servers/server-process.ts'
import { type SmtpServer, startSmtpServer } from '../support/servers/smtp-server.ts'
import { type SpanCollector, startSpanCollector } from '../support/servers/span-collector.ts'
import { openSession } from '../support/world/session.ts'

const traceId = 'e7f92f3577b34da6a3ce929d0e0e4736'

describeAnyEngine('a letter whose server has died', (engine) => {
  let place: Place
  let smtp: SmtpServer
  let collector: SpanCollector

  beforeEach(async () => {
    place = await makePlace(engine, { isUpgraded: engine === 'postgres' })
    smtp = await startSmtpServer()
    collector = await startSpanCollector()
  })

  afterEach(async () => {
    await Promise.all([smtp.close(), collector.close()])
    await place.remove()
  })

  const start = (name: string) =>
    startServerProcess(
      {
        CROSSPOINT_DATABASE_URL: place.databaseUrl,
        CROSSPOINT_SMTP_URL: smtp.url,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_SERVICE_NAME: name,
      },
      place.dataDir,
    )

  it('is delivered by the next one in the trace of the request', async () => {
    const first = await start('first')
    const { token, masterId, close } = await openSession(first)
    smtp.fallSilent()
    const made = await fetch(`${first.url}/v2/accounts/${masterId}/users`, {
      method: 'PUT',
      headers: {
        'content-type': 'application/json',
        'x-auth-token': token,
        traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
      },
      body: JSON.stringify({
        data: { first_name: 'A', last_name: 'B', username: 'traced@mail.test', email: 'traced@mail.test' },
      }),
    })
    expect(made.status).toBe(201)
    await eventually(
      () => smtp.mails,
      ({ length }) => length > 0,
    )
    close()
    await first.end('SIGKILL')
    smtp.speak()
    const second = await start('second')
    const letter = await eventually(
      () => collector.spans.find((span) => span.service === 'second' && span.name === 'job mail'),
      Boolean,
    )
    expect(letter).toMatchObject({
      traceId,
      parentSpanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      links: [{ traceId, spanId: letter?.parentSpanId }],
      attributes: { 'crosspoint.job_state': 'done' },
    })
    expect(smtp.mails.map(({ to }) => to)).toContainEqual(['traced@mail.test'])
    expect(await second.end()).toBe(0)
  })
})
