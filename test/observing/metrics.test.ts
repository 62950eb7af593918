import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { familiesIn, figureOf, figuresIn } from '../support/matchers/figures.ts'
import { eventually } from '../support/run/eventually.ts'
import { openEventStream } from '../support/servers/event-stream.ts'
import { lacks } from '../support/servers/installed.ts'
import { useWebSockets } from '../support/servers/web-sockets.ts'
import { runTask } from '../support/world/task-runs.ts'
import { addresses, passing } from '../support/world/throttled.ts'
import { credentialsOf, describeAnyEngine, useWorld } from '../support/world/world.ts'

const guide = readFileSync(join(import.meta.dirname, '../../docs/guides/monitoring.md'), 'utf8')

const lacking = lacks('promtool')

describeAnyEngine('the figures of a server', (engine) => {
  const world = useWorld(engine)
  const sockets = useWebSockets(() => world.server.port)
  const read = async () => {
    const answer = await world.anonymous.get('/metrics')
    expect(answer.status).toBe(200)
    return answer.text
  }
  const seconds = 'crosspoint_http_request_duration_seconds'

  it('are Prometheus text, with a duration for each method, route and status', async () => {
    const labels = { method: 'GET', route: '/v2/accounts/{account_id}', status: '200' }
    const before = figureOf(await read(), `${seconds}_count`, labels) ?? 0
    await world.ada.get(world.acme.path)
    await world.ada.get(world.acme.path)
    const answer = await world.anonymous.get('/metrics')
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(figureOf(answer.text, `${seconds}_count`, labels)).toBe(before + 2)
    expect(figureOf(answer.text, `${seconds}_bucket`, { ...labels, le: '+Inf' })).toBe(before + 2)
    expect(figureOf(answer.text, `${seconds}_sum`, labels)).toBeGreaterThan(0)
  })

  it('have one series for all unknown paths', async () => {
    for (const path of ['/v2/one', '/v2/two', `${world.acme.path}/nothing/of/the/kind`, '/three'])
      await world.ada.get(path)
    const made = figuresIn(await read()).filter(({ name }) => name === `${seconds}_count`)
    for (const { labels } of made) {
      expect(labels.route).toMatch(/^(?:\/v2\/|unknown$|site$|\/metrics$|\/healthz$|\/readyz$|\/)/)
      expect(labels.route).not.toMatch(/[0-9a-f]{32}|one|two|three|nothing/)
    }
    expect(figureOf(await read(), `${seconds}_count`, { route: 'unknown' })).toBeGreaterThanOrEqual(4)
  })

  it('tell of commits, caches, jobs, mail and sign-ins', async () => {
    const before = await read()
    const grown = async (name: string, labels: Record<string, string>, by: number) =>
      expect(
        (figureOf(await read(), name, labels) ?? 0) - (figureOf(before, name, labels) ?? 0),
      ).toBeGreaterThanOrEqual(by)
    const user = await world.user(world.acme, { password: 'a-secret-of-mine-1' })
    await world.operator.put(`/v2/accounts/${world.acme.id}/users`, {
      first_name: 'Mail',
      last_name: 'Reader',
      username: 'mail.reader@acme.test',
      email: 'mail.reader@acme.test',
      send_email_on_creation: true,
    })
    await world.deliverMail()
    await grown('crosspoint_store_commit_duration_seconds_count', {}, 2)
    await grown('crosspoint_store_batch_writes_sum', {}, 2)
    await grown('crosspoint_store_cache_lookups_total', { result: 'hit' }, 1)
    await grown('crosspoint_mail_attempts_total', { outcome: 'delivered' }, 1)
    await grown('crosspoint_jobs_attempts_total', { queue: 'mail', state: 'done' }, 1)
    const credentials = credentialsOf(user.username, 'wrong')
    await world.anonymous.put('/v2/user_auth', { credentials, account_name: 'acme' })
    await grown('crosspoint_password_hash_duration_seconds_count', {}, 1)
    const now = await read()
    expect(figureOf(now, 'crosspoint_jobs_running', { queue: 'mail' })).toBe(0)
    expect(figureOf(now, 'crosspoint_store_writers')).toBeGreaterThanOrEqual(1)
    expect(figureOf(now, 'crosspoint_connections_open')).toBeGreaterThanOrEqual(1)
    expect(figureOf(now, 'process_resident_memory_bytes')).toBeGreaterThan(1e6)
    expect(figureOf(now, 'nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0)
  })

  it('count call records by result', async () => {
    const record = {
      custom_channel_vars: { account_id: world.acme.id },
      call_id: 'counted',
      timestamp: 63_900_000_000,
    }
    const send = () => world.operator.put('/v2/cdrs', [record])
    const count = async (outcome: string) =>
      figureOf(await read(), 'crosspoint_call_records_total', { source: 'api', outcome }) ?? 0
    expect((await send()).data).toMatchObject({ accepted: 1 })
    expect((await send()).data).toMatchObject({ duplicates: 1 })
    expect([await count('accepted'), await count('duplicate')]).toEqual([1, 1])
  })

  const becomes = (name: string, value: number) =>
    eventually(
      async () => figureOf(await read(), name),
      (found) => found === value,
    )

  it('count what is open as long as it is', async () => {
    const names = ['crosspoint_event_streams_open', 'crosspoint_websockets_open'] as const
    const text = await read()
    const [streams = 0, webSockets = 0] = names.map((name) => figureOf(text, name))
    const stream = await openEventStream(world.server.port, `${world.acme.path}/events`, {
      'x-auth-token': world.ada.token,
    })
    const talk = await sockets.connect()
    await becomes(names[0], streams + 1)
    await becomes(names[1], webSockets + 1)
    stream.close()
    talk.socket.close()
    await becomes(names[0], streams)
    await becomes(names[1], webSockets)
  })

  it('count requests that come too fast, and no others', async () => {
    const throttled = async () => figureOf(await read(), 'crosspoint_requests_throttled_total') ?? 0
    const before = await throttled()
    await world.configure('crossbar', { token_costs: 1 })
    const somebody = world.ada.with(addresses()())
    const ask = () => somebody.get(world.acme.path)
    expect(await passing(ask)).toBeGreaterThan(1)
    expect(await throttled()).toBe(before + 1)
    for (let more = 0; more < 3; more += 1) expect((await ask()).status).toBe(429)
    expect(await throttled()).toBe(before + 4)
    await world.configure('crossbar', { token_costs: 0 })
  })

  it('count tasks by how they ended', async () => {
    const finished = async (status: string) =>
      figureOf(await read(), 'crosspoint_tasks_finished_total', { status }) ?? 0
    const before = await finished('success')
    const { task } = await runTask({
      by: world.ada,
      path: world.acme.path,
      category: 'number_management',
      action: 'dump',
    })
    expect(task.status).toBe('success')
    await eventually(
      () => finished('success'),
      (count) => count === before + 1,
    )
    await becomes('crosspoint_tasks_running', 0)
    expect(
      figureOf(await read(), 'crosspoint_task_batches_total', { outcome: 'done' }),
    ).toBeGreaterThanOrEqual(1)
  })

  it.skipIf(lacking)(`are taken by promtool without a complaint${lacking}`, async () => {
    const told = spawnSync('promtool', ['check', 'metrics'], { input: await read(), encoding: 'utf8' })
    expect([told.status, told.stdout, told.stderr]).toEqual([0, '', ''])
  })

  it('are shown to direct clients of the configured networks, and not behind a proxy', async () => {
    const forwarded = await world.client({ 'x-forwarded-for': '127.0.0.1' }).get('/metrics')
    expect([forwarded.status, forwarded.text]).toEqual([403, expect.stringContaining('metrics_networks')])
    await world.configure('crossbar', { metrics_networks: ['192.0.2.0/24'] })
    expect((await world.anonymous.get('/metrics')).status).toBe(403)
    await world.configure('crossbar', { metrics_networks: ['127.0.0.1'] })
    expect((await world.anonymous.get('/metrics')).status).toBe(200)
  })

  it('are those of the guide, each named with its type', async () => {
    const own = [...familiesIn(await read())].filter(([name]) => name.startsWith('crosspoint_'))
    const told = [...guide.matchAll(/^\| `(crosspoint_\w+)` \| (\w+) \|/gm)].map(([, name, type]) => [
      name,
      type,
    ])
    expect(told.toSorted()).toEqual(own.toSorted())
    for (const [name, type] of own) {
      expect(name.endsWith('_total')).toBe(type === 'counter')
      if (type === 'histogram') expect(name).toMatch(/_seconds$|_writes$/)
    }
  })
})
