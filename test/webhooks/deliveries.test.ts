// Deliveries to receivers: repeated until success, in order for one record, and independent of each other.
import { expect, it } from 'vitest'
import { openSide } from '../../src/commands/moving/places.ts'
import { openDatabase } from '../../src/compose.ts'
import type { Json } from '../../src/lib/json.ts'
import { beginMove, cancelMove, closeStore } from '../../src/storage/moving/marks.ts'
import { eventually } from '../support/run/eventually.ts'
import {
  type Answering,
  answerWith,
  fallSilent,
  hangUp,
  startHookReceiver,
} from '../support/servers/hook-receiver.ts'
import { type MadeHook, useHooks } from '../support/world/webhooks.ts'
import { describeAnyEngine } from '../support/world/world.ts'

describeAnyEngine('telling a webhook', (engine) => {
  const hooks = useHooks(engine)
  const { world, hook, rename, attempts, hasten, relax, later } = hooks

  const waitingFor = ({ id }: MadeHook) =>
    world.server.store.all<{ sequence: number }>(
      'SELECT sequence FROM webhook_deliveries WHERE hook_id = $1 ORDER BY sequence',
      [id],
    )

  const nothingWaits = (made: MadeHook) =>
    eventually(
      () => waitingFor(made),
      (rows) => rows.length === 0,
    )

  const onlyAt =
    (at: string, answering: Answering): Answering =>
    (call, response) =>
      call.path === at ? answering(call, response) : answerWith(200)(call, response)

  it('is a success with any 2xx, and leaves an attempt with all details', async () => {
    const made = await hook(world.acme, { custom_request_headers: { 'X-Own': 'a-secret' } })
    hooks.receiver.answers(answerWith(204, '', { 'x-answer': 'yes' }))
    await rename(world.uli, 'Vera')
    const [attempt] = await attempts(made, 1)
    const [call] = hooks.receiver.to(made.at)
    expect(attempt).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      hook_id: made.id,
      hook_event: 'object',
      event_id: call?.headers['x-event-id'],
      uri: `${hooks.receiver.url}${made.at}`,
      method: 'post',
      req_headers: {
        'X-Own': '***',
        'content-type': 'application/json',
        'x-hook-id': made.id,
        'x-account-id': world.acme.id,
        'x-event-id': call?.headers['x-event-id'],
      },
      req_body: call?.text,
      resp_status_code: 204,
      resp_headers: expect.objectContaining({ 'x-answer': 'yes' }),
      resp_body: '',
      result: 'success',
      retries_left: 0,
      timestamp: expect.any(Number),
      duration_ms: expect.any(Number),
    })
    await nothingWaits(made)
  })

  it('ends when a move of the store has begun, and continues where it was when the move is canceled', async () => {
    const made = await hook(world.acme)
    hooks.receiver.answers(answerWith(503))
    await rename(world.uli, 'Wilma')
    await attempts(made, 1)
    const { store } = world.server
    const webhookJobs = () => store.all("SELECT name FROM leases WHERE name LIKE 'scheduled-job/webhook%'")
    const side = await openSide(world.config)
    const tables = await side.tables().finally(side.close)
    const db = await openDatabase(world.config)
    try {
      await beginMove(db, { id: 'move', to: 'elsewhere' })
      await eventually(webhookJobs, (rows) => rows.length === 0)
      await closeStore(
        db,
        tables.map(({ name }) => name),
      )
      hooks.receiver.answers(answerWith(200))
      await later(3600)
      await eventually(
        () =>
          world.server.scheduler.runNow('webhooks').then(
            () => true,
            () => false,
          ),
        Boolean,
      )
      expect(hooks.receiver.to(made.at)).toHaveLength(1)
    } finally {
      await cancelMove(db)
      await db.close()
    }
    const told = await attempts(made, 2)
    expect(told.map(({ result }) => result)).toEqual(['failure', 'success'])
    await nothingWaits(made)
    expect(hooks.receiver.to(made.at)).toHaveLength(2)
  })

  it('keeps the first 2,048 bytes of an answer, however long it is, without repeated secrets', async () => {
    const made = await hook(world.acme, { custom_request_headers: { 'X-Own': 'repeat-me' } })
    hooks.receiver.answers(answerWith(200, `repeat-me${'x'.repeat(500_000)}`))
    await rename(world.uli, 'Veit')
    const [attempt] = await attempts(made, 1)
    expect(attempt).toMatchObject({ result: 'success', resp_body: `***${'x'.repeat(2048 - 9)}` })
  })

  it.each([
    ['a 408', answerWith(408), { resp_status_code: 408, reason: 'status 408' }],
    ['a 429', answerWith(429), { resp_status_code: 429, reason: 'status 429' }],
    ['a 500', answerWith(500, 'no'), { resp_status_code: 500, resp_body: 'no', reason: 'status 500' }],
    ['a 503', answerWith(503), { resp_status_code: 503 }],
    ['a connection that is reset', hangUp, { client_error: 'unreachable', reason: 'no connection' }],
    ['no answer in time', fallSilent, { client_error: 'timeout', reason: 'no response before the timeout' }],
  ])('is repeated after %s, within five seconds, until it works', async (_what, answering, told) => {
    if (answering === fallSilent) await hasten()
    const made = await hook(world.acme)
    hooks.receiver.answers(onlyAt(made.at, answering))
    await rename(world.uli, 'Viktor')
    const [failed] = await attempts(made, 1)
    expect(failed).toMatchObject({ result: 'failure', ...told })
    expect(failed?.retries_left).toBeGreaterThan(50)
    hooks.receiver.answers(answerWith(200))
    await relax()
    later(5)
    const both = await attempts(made, 2)
    expect(both.map(({ result }) => result)).toEqual(['failure', 'success'])
    expect(new Set(both.map(({ event_id: id }) => id)).size).toBe(1)
    await nothingWaits(made)
  })

  it('is repeated when a 200 comes after the time that an answer may take', async () => {
    await hasten()
    const made = await hook(world.acme)
    hooks.receiver.answers(
      onlyAt(made.at, (_call, response) => void response.once('close', () => response.writeHead(200).end())),
    )
    await rename(world.uli, 'Valentin')
    expect((await attempts(made, 1))[0]).toMatchObject({ result: 'failure', client_error: 'timeout' })
    hooks.receiver.answers(answerWith(200))
    await relax()
    later(5)
    expect((await attempts(made, 2))[1]).toMatchObject({ result: 'success' })
  })

  it('is repeated while no server listens at the address', async () => {
    const away = await startHookReceiver()
    await away.close()
    const made = await hook(world.acme, { uri: `${away.url}/` })
    await rename(world.uli, 'Volker')
    expect((await attempts(made, 1))[0]).toMatchObject({ result: 'failure', client_error: 'unreachable' })
    const back = await startHookReceiver(away.port)
    later(5)
    expect((await attempts(made, 2))[1]).toMatchObject({ result: 'success' })
    await back.close()
  })

  it.each([
    ['a 400', answerWith(400), 400],
    ['a 404', answerWith(404), 404],
    ['a 410', answerWith(410), 410],
    ['a redirect into a private network', answerWith(302, '', { location: 'http://127.0.0.2:1/' }), 302],
    ['a redirect to anywhere', answerWith(307, '', { location: 'https://203.0.113.7/' }), 307],
  ])('is not repeated after %s', async (_what, answering, status) => {
    const made = await hook(world.acme)
    hooks.receiver.answers(onlyAt(made.at, answering))
    await rename(world.uli, `Wanda ${status}`)
    expect((await attempts(made, 1))[0]).toMatchObject({
      result: 'failure',
      resp_status_code: status,
      retries_left: 0,
    })
    await nothingWaits(made)
    expect(hooks.receiver.to(made.at)).toHaveLength(1)
  })

  it('is not repeated if the webhook has no retries', async () => {
    const made = await hook(world.acme, { retries: 0 })
    hooks.receiver.answers(onlyAt(made.at, answerWith(500)))
    await rename(world.uli, 'Walburga')
    expect((await attempts(made, 1))[0]).toMatchObject({ result: 'failure', retries_left: 0 })
    await nothingWaits(made)
    expect(hooks.receiver.to(made.at)).toHaveLength(1)
  })

  it('does not lead into a private network that was allowed when the hook was saved', async () => {
    const made = await hook(world.acme)
    await world.configure('crossbar', { allowed_private_hosts: [] })
    await rename(world.uli, 'Walter')
    expect((await attempts(made, 1))[0]).toMatchObject({
      result: 'failure',
      client_error: 'private',
      retries_left: 0,
    })
    expect(hooks.receiver.to(made.at)).toEqual([])
    await world.configure('crossbar', { allowed_private_hosts: ['127.0.0.1'] })
  })

  it('pauses longer each time, and gives an event up after three days', async () => {
    const made = await hook(world.acme)
    hooks.receiver.answers(onlyAt(made.at, answerWith(500)))
    await rename(world.uli, 'Wenzel')
    await attempts(made, 1)
    later(5)
    await attempts(made, 2)
    // The second pause is longer than the first.
    later(5)
    await rename(world.rex, 'Undelivered')
    const due = await world.server.store.all<{ due_at: number }>(
      'SELECT due_at FROM webhook_deliveries WHERE hook_id = $1',
      [made.id],
    )
    expect(Number(due[0]?.due_at)).toBeGreaterThan(world.clock.now())
    later(3 * 86_400)
    const all = await attempts(made, 3)
    expect(all[2]).toMatchObject({ result: 'failure', retries_left: 0 })
    await nothingWaits(made)
  })

  it('keeps the order of one record while other deliveries continue', async () => {
    const user = await world.user(world.acme)
    const made = await hook(world.acme)
    hooks.receiver.answers((call, response) =>
      answerWith(call.path === made.at && call.json.id === user.id ? 500 : 200)(call, response),
    )
    await rename(user, 'One')
    await attempts(made, 1)
    await rename(user, 'Two')
    await rename(user, 'Three')
    await rename(world.uli, 'Other')
    await attempts(made, 2)
    // The receiver got the event of the other record; of this one it got only the first.
    const told = hooks.receiver.to(made.at).filter(({ json }) => json.id === user.id)
    expect(new Set(told.map(({ headers }) => headers['x-event-id'])).size).toBe(1)
    hooks.receiver.answers(answerWith(200))
    later(5)
    await nothingWaits(made)
    const succeeded = (await attempts(made, 5)).filter(
      ({ result, req_body: body }) => result === 'success' && String(body).includes(user.id),
    )
    const ids = succeeded.map(({ event_id: id }) => String(id))
    expect(ids).toHaveLength(3)
    expect(ids).toEqual(ids.toSorted())
  })

  it('keeps the order of a record of which more waits than is looked at at once', async () => {
    const account = await world.account(world.reseller)
    const user = await world.user(account)
    const made = await hook(account)
    hooks.receiver.answers(onlyAt(made.at, answerWith(503)))
    for (let count = 0; count < 230; count += 1) await rename(user, `Name ${count}`)
    await attempts(made, 1)
    // These come while the others wait for their next try.
    later(1)
    for (let count = 0; count < 5; count += 1) await rename(user, `Later ${count}`)
    await eventually(
      () => waitingFor(made),
      (rows) => rows.length === 235,
    )
    const before = hooks.receiver.to(made.at).length
    hooks.receiver.answers(answerWith(200))
    later(5)
    await nothingWaits(made)
    const ids = hooks.receiver
      .to(made.at)
      .slice(before)
      .map(({ headers }) => String(headers['x-event-id']))
    expect(ids).toHaveLength(235)
    expect(ids).toEqual(ids.toSorted())
  })

  it('does not wait for another hook’s receiver that does not answer', async () => {
    const slow = await Promise.all(Array.from({ length: 12 }, () => hook(world.acme)))
    const quick = await hook(world.acme)
    const isSlow = new Set(slow.map(({ at }) => at))
    hooks.receiver.answers((call, response) => {
      if (!isSlow.has(call.path)) answerWith(200)(call, response)
    })
    const people = await Promise.all(Array.from({ length: 20 }, () => world.user(world.acme)))
    await hooks.receiver.told(quick.at, people.length)
    for (const { path } of slow) await world.operator.delete(path)
  })

  it('is limited to the configured number of concurrent events, however many wait', async ({
    onTestFinished,
  }) => {
    const made = await hook(world.acme)
    hooks.receiver.answers(onlyAt(made.at, answerWith(503)))
    const people = await Promise.all(Array.from({ length: 20 }, () => world.user(world.acme)))
    // All of them wait and are due together. Events that arrive during deliveries would start one by one.
    await attempts(made, people.length)
    const open = new Set<() => void>()
    let mostAtOnce = 0
    let told = 0
    hooks.receiver.answers((call, response) => {
      if (call.path !== made.at) return answerWith(200)(call, response)
      const end = () => {
        open.delete(end)
        told += 1
        answerWith(200)(call, response)
      }
      open.add(end)
      mostAtOnce = Math.max(mostAtOnce, open.size)
      // A ninth call would normally arrive within this time.
      if (open.size === 8) setTimeout(() => [...open].map((answer) => answer()), 50)
    })
    onTestFinished(() => {
      hooks.receiver.answers(answerWith(200))
      for (const end of open) end()
    })
    later(3600)
    await eventually(
      () => told,
      (count) => count >= 16,
    )
    expect(mostAtOnce).toBe(8)
    hooks.receiver.answers(answerWith(200))
    for (const end of open) end()
    await nothingWaits(made)
    await world.operator.delete(made.path)
  })

  it('waits while the hook is disabled, and continues when it is enabled', async () => {
    const made = await hook(world.acme)
    hooks.receiver.answers(onlyAt(made.at, answerWith(503)))
    await rename(world.uli, 'Xaver')
    await attempts(made, 1)
    await world.operator.patch(made.path, { enabled: false })
    hooks.receiver.answers(answerWith(200))
    later(3600)
    const witness = await hook(world.acme)
    await rename(world.uli, 'Xerxes')
    await attempts(witness, 1)
    expect(hooks.receiver.to(made.at)).toHaveLength(1)
    await world.operator.patch(made.path, { enabled: true })
    expect((await attempts(made, 2))[1]).toMatchObject({ result: 'success' })
  })

  it('ends when the hook is removed', async () => {
    const made = await hook(world.acme)
    hooks.receiver.answers(onlyAt(made.at, answerWith(503)))
    await rename(world.uli, 'Xenia')
    await attempts(made, 1)
    await world.operator.delete(made.path)
    await nothingWaits(made)
  })

  it('leaves attempts for 31 days, listed by account too, as a list of a time', async () => {
    const account = await world.account(world.reseller)
    const made = await hook(account)
    await world.user(account)
    const [attempt] = (await attempts(made, 1)) as [Json]
    const at = Number(attempt.timestamp)
    const list = (query: Record<string, number>) =>
      world.operator.get(`${hooks.hooksOf(account)}/attempts`, { query })
    const within = await list({ created_from: at, created_to: at })
    expect(
      (within.data as Json[]).map(({ id }) => id),
      within.text,
    ).toEqual([attempt.id])
    expect((await list({ created_from: at - 20, created_to: at - 10 })).data).toEqual([])
    const wide = await world.operator.get(`${made.path}/attempts`, { query: { created_from: 1 } })
    expect(wide).toBreak({ created_from: ['date_range'] })
    later(31 * 86_400 + 60)
    await world.server.scheduler.runNow('webhook attempts')
    expect((await list({ created_from: at, created_to: at })).data).toEqual([])
  })

  it('sends a sample on request, disabled or not', async () => {
    const made = await hook(world.acme, { enabled: false, version: 'v2' })
    const answer = await world.ada.post(`${made.path}/test`)
    expect(answer.data).toMatchObject({ result: 'success', resp_status_code: 200, resp_body: 'thank you' })
    const [call] = hooks.receiver.to(made.at)
    expect(call?.json).toMatchObject({ action: 'event', account_id: world.acme.id })
    hooks.receiver.answers(answerWith(500, 'out of order'))
    const failed = await world.ada.post(`${made.path}/test`)
    expect(failed.data).toMatchObject({ result: 'failure', resp_body: 'out of order', retries_left: 0 })
    expect(await attempts(made, 2)).toHaveLength(2)
  })
})
