// The envelope, and headers of requests and responses.
import { expect, it } from 'vitest'
import { qrPng } from '../../src/http/response/qr-png.ts'
import { describeAnyEngine, useWorld } from '../support/world/world.ts'

const png = qrPng('a face')

const noId = '0123456789abcdef0123456789abcdef'

describeAnyEngine('the envelope', (engine) => {
  const world = useWorld(engine)
  const users = () => `${world.acme.path}/users`

  it('carries everything about one record', async () => {
    const { body } = await world.ada.get(world.uli.path)
    expect(body).toEqual({
      data: expect.objectContaining({ id: world.uli.id, username: 'uli' }),
      metadata: { id: world.uli.id, created: 63934833600, modified: 63934833600, is_password_expired: false },
      revision: expect.stringMatching(/^[0-9a-f]{32}$/),
      tokens: { consumed: 0, remaining: 100 },
      auth_token: world.ada.token,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      timestamp: '2026-01-05T12:00:00.000Z',
      node: expect.stringContaining('@'),
      request_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      status: 'success',
    })
  })

  it('carries the status and a short name on errors', async () => {
    const { body } = await world.ada.get(`${users()}/${noId}`)
    expect(body).toEqual({
      data: { message: 'bad identifier', cause: noId },
      metadata: {},
      error: '404',
      message: 'bad_identifier',
      tokens: { consumed: 0, remaining: 100 },
      auth_token: world.ada.token,
      version: expect.any(String),
      timestamp: '2026-01-05T12:00:00.000Z',
      node: expect.any(String),
      request_id: expect.any(String),
      status: 'error',
    })
  })

  it('does not contain the version without a token', async () => {
    const { body } = await world.anonymous.get('/v2/auth/tokeninfo')
    expect(body).toEqual({
      data: { message: 'missing token in params' },
      metadata: {},
      error: '404',
      message: 'missing token in params',
      timestamp: '2026-01-05T12:00:00.000Z',
      node: expect.any(String),
      request_id: expect.any(String),
      status: 'error',
    })
  })

  it('echoes the token unless the operator says otherwise', async () => {
    await world.configure('crossbar', { include_auth_token: false })
    const { body } = await world.ada.get(world.uli.path)
    expect(body).not.toHaveProperty('auth_token')
    const renewed = await world.ada.put('/v2/auth', {}, { envelope: { action: 'refresh_token' } })
    expect(renewed.body.auth_token).toMatch(/^ey/)
    await world.configure('crossbar', { include_auth_token: true })
  })

  it('names the place of a created record', async () => {
    const made = await world.ada.put(`${users()}/`, { first_name: 'A', last_name: 'B' })
    expect(made).toSucceed(201)
    expect(made.headers.location).toBe(`${users()}/${made.data.id}`)
    expect(await world.ada.get(String(made.headers.location))).toSucceed()
  })

  it('is indented when asked by header, query or body', async () => {
    const pretty = [
      await world.ada.get(world.uli.path, { headers: { 'x-pretty-print': 'true' } }),
      await world.ada.get(world.uli.path, { query: { pretty_print: true } }),
      await world.ada.patch(world.uli.path, {}, { envelope: { pretty_print: true } }),
      await world.ada.get(`${users()}/${noId}`, { query: { pretty_print: true } }),
      await world.ada.get(users(), { query: { pretty_print: true, paginate: false } }),
    ]
    for (const { text, body } of pretty) expect(text).toBe(`${JSON.stringify(body, null, 2)}\n`)
    expect((await world.ada.get(world.uli.path)).text).not.toContain('\n')
  })
})

describeAnyEngine('headers', (engine) => {
  const world = useWorld(engine)
  const users = () => `${world.acme.path}/users`

  it('carry the request id of the client, or a new one', async () => {
    const asked = (id: string) => world.ada.get(world.uli.path, { headers: { 'x-request-id': id } })
    const own = await asked('abc')
    expect(own.headers['x-request-id']).toBe('abc')
    expect(own.body.request_id).toBe('abc')
    for (const id of ['', 'with space', 'x'.repeat(200), 'a\tb', '<script>']) {
      expect((await asked(id)).body.request_id).toMatch(/^[0-9a-f]{32}$/)
    }
    const failed = await world.anonymous.get('/v2/nosuch', { headers: { 'x-request-id': 'def' } })
    expect(failed.body.request_id).toBe('def')
  })

  it('carry a request id outside the API, too', async () => {
    const paths = ['/healthz', '/readyz', '/openapi.json', '/ingest/freeswitch/nobody', '/nowhere']
    for (const path of paths) {
      const asked = await world.anonymous.get(path, { headers: { 'x-request-id': 'beside' } })
      expect(asked.headers['x-request-id'], path).toBe('beside')
      expect((await world.anonymous.get(path)).headers['x-request-id'], path).toMatch(/^[0-9a-f]{32}$/)
    }
  })

  it('say that everything may be read from every origin, PATCH included', async () => {
    const { headers } = await world.ada.get(world.uli.path, { headers: { origin: 'https://app.example' } })
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS, HEAD',
      'access-control-max-age': '86400',
    })
    expect(headers['access-control-allow-headers']?.split(', ')).toEqual(
      expect.arrayContaining(['Authorization', 'If-Match', 'X-Auth-Token', 'X-Kazoo-Cluster-ID']),
    )
  })

  it('answer a preflight without a token, a body or a look at the store', async () => {
    const headers = {
      origin: 'https://app.example',
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'x-auth-token, content-type',
    }
    const answer = await world.unchanged(() => world.anonymous.options(users(), { headers }))
    expect(answer).toSucceed(200)
    expect(answer.headers).toMatchObject({ 'content-length': '0', allow: 'GET, HEAD, OPTIONS, PUT' })
    expect((await world.anonymous.options('/v2/nosuch', { headers })).status).toBe(200)
    expect((await world.anonymous.options(`/v2/accounts/${noId}`)).headers.allow).toBe(
      'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT',
    )
  })

  it('answer HEAD as GET, without the body', async () => {
    for (const path of [world.uli.path, users(), `${users()}/${noId}`, world.rival.path]) {
      const headers = { 'x-request-id': 'head' }
      const got = await world.ada.get(path, { headers })
      const head = await world.ada.head(path, { headers })
      expect(head.status).toBe(got.status)
      const { date: _got, connection: _alive, traceparent: _trace, ...same } = got.headers
      expect(head.headers).toMatchObject(same)
    }
    expect((await world.ada.head('/v2/user_auth')).status).toBe(405)
  })

  it('never let a browser guess the type', async () => {
    const answer = await world.ada.get(world.uli.path)
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
    })
  })
})

describeAnyEngine('entity tags', (engine) => {
  const world = useWorld(engine)
  const users = () => `${world.acme.path}/users`

  it('are the revision of a record', async () => {
    const answer = await world.ada.get(world.uli.path)
    expect(answer.headers.etag).toBe(`"${answer.body.revision}"`)
  })

  it('answer 304 to who has the record already', async () => {
    for (const path of [world.uli.path, world.acme.path, users()]) {
      const { etag } = (await world.ada.get(path)).headers
      for (const tag of [`${etag}`, `"x", ${etag}`, '*', `W/${String(etag).replace('W/', '')}`]) {
        const again = await world.ada.get(path, { headers: { 'if-none-match': tag } })
        expect(again.status).toBe(304)
        expect(again.headers.etag).toBe(etag)
      }
      expect((await world.ada.get(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
    }
  })

  it('of a list are weak and change with it', async () => {
    const tag = async () => String((await world.ada.get(users())).headers.etag)
    const before = await tag()
    expect(before).toMatch(/^W\/"[0-9a-f]{32,}"$/)
    expect(await tag()).toBe(before)
    await world.user(world.acme)
    expect(await tag()).not.toBe(before)
  })

  it('of an account change with what is shown of the accounts around it', async () => {
    const account = await world.account(world.acme)
    const tag = async (client = world.ada) => String((await client.get(account.path)).headers.etag)
    const before = await tag()
    await world.account(account)
    expect(await tag()).not.toBe(before)
    expect(await tag(world.ross)).not.toBe(await tag())
  })

  it('change with every write, even one that changes nothing', async () => {
    const user = await world.user(world.acme)
    const { etag } = (await world.ada.get(user.path)).headers
    expect(await world.ada.patch(user.path, {})).toSucceed()
    expect((await world.ada.get(user.path)).headers.etag).not.toBe(etag)
  })

  it('hold a write back when the record is not what the client read', async () => {
    const user = await world.user(world.acme)
    const { etag } = (await world.ada.get(user.path)).headers
    const headers = { 'if-match': String(etag) }
    expect(await world.ada.patch(user.path, { note: 'one' }, { headers })).toSucceed()
    const data = { first_name: 'A', last_name: 'B' }
    const late = [
      () => world.ada.patch(user.path, { note: 'two' }, { headers }),
      () => world.ada.post(user.path, data, { headers }),
      () => world.ada.delete(user.path, undefined, { headers }),
    ]
    for (const write of late) {
      expect(await world.unchanged(write)).toFailWith(412, 'precondition failed', {
        message: 'the record has changed since it was read',
      })
    }
    expect(await world.ada.delete(user.path, undefined, { headers: { 'if-match': '*' } })).toSucceed()
  })

  it('hold a write back that is meant for an empty place', async () => {
    const user = await world.user(world.acme)
    const headers = { 'if-none-match': '*' }
    const writes = [
      () => world.ada.patch(user.path, { note: 'two' }, { headers }),
      () => world.ada.post(user.path, { first_name: 'A', last_name: 'B' }, { headers }),
      () => world.ada.delete(user.path, undefined, { headers }),
    ]
    for (const write of writes)
      expect(await world.unchanged(write)).toFailWith(412, 'precondition failed', {
        message: 'the record has changed since it was read',
      })
    expect((await world.ada.head(user.path, { headers })).status).toBe(304)
    // A path below it is not the user.
    const picture = { body: png, headers: { ...headers, 'content-type': 'image/png' } }
    expect(await world.ada.post(`${user.path}/photo`, undefined, picture)).toSucceed()
    const created = { first_name: 'Put', last_name: 'There' }
    expect(await world.ada.put(`${world.acme.path}/users`, created, { headers })).toSucceed()
  })

  it('of an account hold a write back too', async () => {
    const account = await world.account(world.acme)
    const { etag } = (await world.ada.get(account.path)).headers
    const headers = { 'if-match': String(etag) }
    expect(await world.ada.patch(account.path, { note: 'one' }, { headers })).toSucceed()
    expect(
      await world.unchanged(() => world.ada.patch(account.path, { note: 'two' }, { headers })),
    ).toFailWith(412, 'precondition failed')
  })

  it('let exactly one of several simultaneous writes through', async () => {
    const user = await world.user(world.acme)
    const { etag } = (await world.ada.get(user.path)).headers
    const headers = { 'if-match': String(etag) }
    const writes = ['a', 'b', 'c', 'd', 'e', 'f'].map((note) =>
      world.ada.patch(user.path, { note }, { headers }),
    )
    const answers = await Promise.all(writes)
    const winners = answers.filter(({ status }) => status === 200)
    expect(winners).toHaveLength(1)
    for (const loser of answers.filter((answer) => !winners.includes(answer))) {
      expect(loser).toFailWith(412, 'precondition failed')
    }
    expect((await world.ada.get(user.path)).data.note).toBe(winners[0]?.data.note)
  })

  it('are not needed for simultaneous PATCHes of different fields to be all kept', async () => {
    const user = await world.user(world.acme)
    const fields = ['one', 'two', 'three', 'four']
    const answers = await Promise.all(fields.map((field) => world.ada.patch(user.path, { [field]: true })))
    for (const answer of answers) expect(answer).toSucceed()
    expect((await world.ada.get(user.path)).data).toMatchObject({
      one: true,
      two: true,
      three: true,
      four: true,
    })
  })
})
