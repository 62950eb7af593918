// Events over WebSocket, in the protocol that clients of the family speak.
import { expect, it } from 'vitest'
import { gregorianNow } from '../../src/lib/gregorian.ts'
import type { Json } from '../../src/lib/json.ts'
import { eventually } from '../support/run/eventually.ts'
import { feedSettled, pathOfSockets, useWebSockets } from '../support/servers/web-sockets.ts'
import { describeEngines, useWorld } from '../support/world/world.ts'

describeEngines('websockets', (engine) => {
  const world = useWorld(engine)
  const { connect, refused } = useWebSockets(() => world.server.port)

  const subscribed = async (token: string, accountId: string, ...bindings: string[]) => {
    await feedSettled(world.server)
    const talk = await connect()
    const reply = await talk.ask('subscribe', token, { account_id: accountId, bindings })
    expect(reply).toMatchObject({
      status: 'success',
      data: { subscribed: bindings, subscriptions: bindings },
    })
    return talk
  }

  it.each([pathOfSockets, '/'])('answer a ping at %s with a pong and its request_id', async (path) => {
    const talk = await connect(path)
    talk.send(JSON.stringify({ action: 'ping', request_id: 'mine', data: {} }))
    await eventually(
      () => talk.said,
      ({ length }) => length === 1,
    )
    expect(talk.said).toEqual([
      { action: 'reply', request_id: 'mine', status: 'success', data: { response: 'pong' } },
    ])
  })

  it.each([0, 7, -1.5])('answer with the request_id %s as it came', async (request_id) => {
    const talk = await connect(pathOfSockets)
    talk.send(JSON.stringify({ action: 'ping', request_id, data: {} }))
    talk.send(JSON.stringify({ action: 'dance', request_id, data: {} }))
    await eventually(
      () => talk.said,
      ({ length }) => length === 2,
    )
    expect(talk.said.map((message) => message.request_id)).toEqual([request_id, request_id])
  })

  it('send what happens to documents under the binding as it was asked for, and nothing once it is unsubscribed', async () => {
    const { ada, acme } = world
    const talk = await subscribed(ada.token, acme.id, 'object.doc_created.user')
    const user = await world.user(acme)
    const [event] = await talk.heard(1)
    expect(event).toEqual({
      action: 'event',
      subscribed_key: 'object.doc_created.user',
      subscription_key: `doc_created.${acme.id}.user.*`,
      name: 'doc_created',
      routing_key: 'object.doc_created.user',
      data: {
        id: user.id,
        account_id: acme.id,
        type: 'user',
        action: 'doc_created',
        event_id: expect.stringMatching(/^\d{16}$/),
        timestamp: expect.any(Number),
        is_soft_deleted: false,
        doc: expect.objectContaining({ username: user.username, first_name: 'Some' }),
      },
    })
    expect(JSON.stringify(event)).not.toContain('pvt_')
    const binding = 'object.doc_created.user'
    const reply = await talk.ask('unsubscribe', ada.token, { account_id: acme.id, binding })
    expect(reply).toMatchObject({ status: 'success', data: { unsubscribed: [binding], subscriptions: [] } })
    const witness = await subscribed(ada.token, acme.id, binding)
    await world.user(acme)
    await witness.heard(1)
    await talk.ask('ping', undefined)
    expect(talk.events()).toHaveLength(1)
  })

  it('take wildcards, and send an event once for each binding that takes it', async () => {
    const { ada, acme } = world
    const bindings = ['object.*.*', 'object.*.device', 'object.doc_deleted.*']
    const talk = await subscribed(ada.token, acme.id, ...bindings)
    const { id, path } = await world.device(acme, { name: 'Desk' })
    expect(await ada.patch(path, { name: 'Door' })).toSucceed()
    expect(await ada.delete(path)).toSucceed()
    const events = (await talk.heard(7)).filter(({ data }) => data.id === id)
    expect(events.map(({ subscribed_key: key, name }) => [name, key])).toEqual([
      ['doc_created', 'object.*.*'],
      ['doc_created', 'object.*.device'],
      ['doc_edited', 'object.*.*'],
      ['doc_edited', 'object.*.device'],
      ['doc_deleted', 'object.*.*'],
      ['doc_deleted', 'object.*.device'],
      ['doc_deleted', 'object.doc_deleted.*'],
    ])
    const docs = events.map(({ data }) => [data.doc.id, data.doc.name])
    expect(docs).toEqual(['Desk', 'Desk', 'Door', 'Door', 'Door', 'Door', 'Door'].map((name) => [id, name]))
  })

  it('send call records that come in to bindings that name them', async () => {
    const { ada, acme, operator } = world
    const talk = await subscribed(ada.token, acme.id, 'object.doc_created.cdr')
    const other = await subscribed(ada.token, acme.id, 'object.*.*')
    const timestamp = gregorianNow(world.clock)
    const legs = ['first', 'second'].map((call_id) => ({
      call_id,
      timestamp,
      duration_seconds: 3,
      custom_channel_vars: { account_id: acme.id },
    }))
    expect(await operator.put('/v2/cdrs', legs)).toSucceed(201)
    const user = await world.user(acme)
    const events = await talk.heard(2)
    expect(events.map(({ name, data }) => [name, data.type, data.doc.call_id])).toEqual([
      ['doc_created', 'cdr', 'first'],
      ['doc_created', 'cdr', 'second'],
    ])
    expect(events.map(({ data }) => data.doc.id)).toEqual(events.map(({ data }) => data.id))
    expect((await other.heard(1)).map(({ data }) => data.id)).toEqual([user.id])
  })

  it('send no keys to a user who is no longer an admin', async () => {
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const bindings = ['object.doc_created.api_key', 'object.doc_created.device']
    const talk = await subscribed(admin.token, account.id, ...bindings)
    const types = async () => {
      const before = talk.events().length
      expect(await world.operator.put(`${account.path}/api_keys`, { name: 'K', scopes: ['*'] })).toSucceed()
      const { id } = await world.device(account)
      await eventually(
        () => talk.events(),
        (events) => events.some(({ data }) => data.id === id),
      )
      return talk
        .events()
        .slice(before)
        .map(({ data }) => data.type)
    }
    expect(await types()).toEqual(['api_key', 'device'])
    expect(await world.operator.patch(admin.path, { priv_level: 'user' })).toSucceed()
    await eventually(types, (told) => !told.includes('api_key'))
    expect(await types()).toEqual(['device'])
  })

  it('send nothing of other accounts, and nothing of keys to ordinary users', async () => {
    const { ada, uli, acme, rival, ross } = world
    const talk = await subscribed(uli.token, acme.id, 'object.*.*')
    const other = await subscribed(ross.token, rival.id, 'object.*.user')
    expect(await ada.put(`${acme.path}/api_keys`, { name: 'Robot', scopes: ['*'] })).toSucceed()
    await world.user(rival)
    await other.heard(1)
    const user = await world.user(acme)
    const events = await talk.heard(1)
    expect(events.map(({ data }) => [data.type, data.id])).toEqual([['user', user.id]])
  })

  it('accept bindings of calls, conferences and faxes', async () => {
    const { ada, acme } = world
    await subscribed(
      ada.token,
      acme.id,
      'call.CHANNEL_CREATE.*',
      'call.*.*',
      'conference.event.a1.*',
      'conference.command.a1',
      'fax.status.*',
      'fax.object.doc_created',
    )
  })

  it('are for the account of the token when none is named', async () => {
    await feedSettled(world.server)
    const talk = await connect()
    const reply = await talk.ask('subscribe', world.ada.token, { binding: 'object.doc_created.device' })
    expect(reply.status).toBe('success')
    const device = await world.device(world.acme)
    expect((await talk.heard(1))[0]?.data.id).toBe(device.id)
  })

  it('say what is wrong with a command', async () => {
    const { ada, acme, rival } = world
    const talk = await connect()
    const errorsOf = async (action: string, token: string | undefined, data: Json) => {
      const reply = await talk.ask(action, token, data)
      expect(reply.status).toBe('error')
      return reply.data.errors as string[]
    }
    const binding = 'object.doc_created.user'
    const noneAvailable = ['no available subscriptions to requested binding']
    expect(await errorsOf('subscribe', ada.token, { account_id: acme.id })).toEqual(['empty subscription'])
    expect(await errorsOf('subscribe', ada.token, { bindings: [] })).toEqual(['empty subscription'])
    expect(await errorsOf('subscribe', ada.token, { binding: '' })).toEqual(['empty subscription'])
    for (const unknown of [
      'nonsense',
      'nonsense.a.b',
      'object.doc_created.toString',
      'object.doc_moved.user',
      'object..user',
      'object.doc_created.user.x',
      'constructor.a.b',
    ])
      expect(await errorsOf('subscribe', ada.token, { binding: unknown })).toEqual(noneAvailable)
    expect(await errorsOf('unsubscribe', ada.token, { binding: 'nonsense' })).toEqual(noneAvailable)
    expect(await errorsOf('subscribe', undefined, { binding })).toEqual(['failed to authenticate token'])
    expect(await errorsOf('subscribe', 'no token', { binding })).toEqual(['failed to authenticate token'])
    expect(await errorsOf('unsubscribe', undefined, {})).toEqual(['failed to authenticate token'])
    expect(await errorsOf('subscribe', ada.token, { account_id: rival.id, binding })).toEqual([
      'unauthorized account id',
    ])
    expect(await errorsOf('subscribe', ada.token, { account_id: 'none', binding })).toEqual([
      'unauthorized account id',
    ])
    expect(await errorsOf('subscribe', ada.token, { account_id: '*', binding })).toEqual([
      'unauthorized wildcard account id',
    ])
    expect(await errorsOf('dance', ada.token, {})).toEqual(['unknown action'])
    talk.send('this is no JSON')
    await eventually(
      () => talk.said.at(-1)?.data.errors,
      (errors) => errors?.[0] === 'messages are JSON objects',
    )
    expect(talk.isClosed()).toBe(false)
  })

  it('let admins of the operator receive events of all accounts', async () => {
    await feedSettled(world.server)
    const talk = await connect()
    const binding = 'object.doc_created.user'
    const reply = await talk.ask('subscribe', world.operator.token, { account_id: '*', binding })
    expect(reply.status).toBe('success')
    const [one, other] = [await world.user(world.acme), await world.user(world.rival)]
    const ids = (await talk.heard(2)).map(({ data }) => data.id)
    expect(ids).toEqual([one.id, other.id])
  })

  it('end all subscriptions with an unsubscribe that names none', async () => {
    const { ada, acme } = world
    const talk = await subscribed(ada.token, acme.id, 'object.*.user', 'call.*.*')
    const reply = await talk.ask('unsubscribe', ada.token)
    expect(reply.data).toEqual({ unsubscribed: ['object.*.user', 'call.*.*'], subscriptions: [] })
  })

  it('hold tokens to their scopes and restrictions as requests are', async () => {
    const { acme, ada } = world
    const limited = await world.user(acme, { scope_restrictions: ['devices:read'] })
    const talk = await connect()
    const command = { account_id: acme.id, binding: 'object.*.user' }
    expect(await talk.ask('subscribe', limited.token, command)).toMatchObject({
      status: 'error',
      data: { errors: ['unauthorized account id'] },
    })
    const may = await world.user(acme, { scope_restrictions: ['websockets:read'] })
    expect(await talk.ask('subscribe', may.token, command)).toMatchObject({ status: 'success' })
    const restrictions = {
      cb_user_auth: { _: { devices: [{ allowed_accounts: ['*'], rules: { '/': ['_'] } }] } },
    }
    expect(await ada.post(`${acme.path}/token_restrictions`, { restrictions })).toSucceed()
    const own = await world.user(acme)
    expect((await talk.ask('subscribe', own.token, command)).status).toBe('error')
    expect(await world.operator.delete(`${acme.path}/token_restrictions`)).toSucceed()
  })

  const endedOf = async (talk: Awaited<ReturnType<typeof connect>>) =>
    (
      await eventually(
        () => talk.said.filter(({ status }) => status === 'error'),
        ({ length }) => length > 0,
      )
    ).at(-1)

  const ended = (error: string, binding: string) => ({
    action: 'reply',
    status: 'error',
    data: { errors: [error], unsubscribed: [binding], subscriptions: [] },
  })

  it('end a subscription when its token ends, and say so', async () => {
    const { acme } = world
    const user = await world.user(acme)
    const talk = await subscribed(user.token, acme.id, 'object.*.device')
    expect(await user.delete('/v2/token_auth')).toSucceed()
    expect(await endedOf(talk)).toMatchObject(ended('failed to authenticate token', 'object.*.device'))
    const witness = await subscribed(world.ada.token, acme.id, 'object.*.device')
    await world.device(acme)
    await witness.heard(1)
    await talk.ask('ping', undefined)
    expect(talk.events()).toEqual([])
  })

  it('end a subscription when its account is disabled, or deleted', async () => {
    const [one, other] = [await world.account(world.reseller), await world.account(world.reseller)]
    const [first, second] = [await world.admin(one), await world.admin(other)]
    const disabled = await subscribed(first.token, one.id, 'object.*.user')
    const deleted = await subscribed(world.ross.token, other.id, 'object.*.account')
    const gone = await subscribed(second.token, other.id, 'object.*.user')
    expect(await world.ross.patch(one.path, { enabled: false })).toSucceed()
    expect(await world.ross.delete(other.path)).toSucceed()
    expect(await endedOf(disabled)).toMatchObject(ended('failed to authenticate token', 'object.*.user'))
    expect(await endedOf(gone)).toMatchObject(ended('failed to authenticate token', 'object.*.user'))
    expect(await endedOf(deleted)).toMatchObject(ended('unauthorized account id', 'object.*.account'))
    expect(deleted.events().map(({ name }) => name)).toContain('doc_deleted')
  })

  it('tell the old parent of an account nothing that comes after its move', async () => {
    const [from, to] = [await world.account(world.reseller), await world.account(world.reseller)]
    const child = await world.account(from)
    const parent = await world.admin(from)
    const talk = await subscribed(parent.token, child.id, 'object.*.user')
    const witness = await subscribed(world.ross.token, child.id, 'object.*.user')
    await world.user(child)
    await talk.heard(1)
    expect(await world.operator.post(`${child.path}/move`, { to: to.id })).toSucceed()
    await world.user(child)
    await witness.heard(2)
    expect(await endedOf(talk)).toMatchObject(ended('unauthorized account id', 'object.*.user'))
    expect(talk.events()).toHaveLength(1)
  })

  it('are listed in public, and per account with their connections', async () => {
    const { acme, ada, uli, rex } = world
    const list = await world.anonymous.get('/v2/websockets')
    expect(list.data).toMatchObject({
      fax: ['fax.status.{FAX_ID}', 'fax.object.{ACTION}'],
      conference: ['conference.event.{CONFERENCE_ID}.{CALL_ID}', 'conference.command.{CONFERENCE_ID}'],
    })
    expect(list.data.call).toContain('call.PARK_ABANDONED.{CALL_ID}')
    expect(list.data.object).toContain('object.doc_deleted.call_recording')
    const account = await world.account(world.reseller)
    const admin = await world.admin(account)
    const of = `${account.path}/websockets`
    expect(await admin.get(of)).toSucceedWith([])
    const talk = await connect()
    await talk.ask('ping', admin.token)
    const [row] = (await admin.get(of)).data
    expect(row).toEqual({
      websocket_session_id: expect.any(String),
      account_id: account.id,
      bindings: [],
      timestamp: expect.any(Number),
      source: '127.0.0.1',
      destination: expect.stringMatching(/^crosspoint@/),
    })
    const binding = 'object.doc_created.user'
    await talk.ask('subscribe', admin.token, { binding, name: 'Desk', metadata: { room: 4 } })
    const one = `${of}/${row.websocket_session_id}`
    expect(await admin.get(one)).toSucceedWith({
      ...row,
      bindings: [binding],
      name: 'Desk',
      metadata: { room: 4 },
    })
    expect(await rex.get(one)).toFailWith(403, 'forbidden')
    expect(await uli.get(`${acme.path}/websockets`)).toFailWith(403, 'forbidden')
    expect(await ada.get(`${acme.path}/websockets/${row.websocket_session_id}`)).toFailWith(
      404,
      'bad_identifier',
    )
    talk.socket.close()
    await eventually(
      async () => (await admin.get(of)).data,
      (rows) => rows.length === 0,
    )
  })

  it('refuse an upgrade with a bad credential, or a sub-protocol', async () => {
    const bad = await refused(pathOfSockets, { headers: { authorization: 'Bearer nonsense' } })
    expect(bad).toMatchObject({ status: 403, body: { status: 'error', error: '403', message: 'forbidden' } })
    const good = await connect(pathOfSockets, { headers: { authorization: `Bearer ${world.ada.token}` } })
    expect((await good.ask('subscribe', undefined, { binding: 'call.*.*' })).status).toBe('error')
    expect(await refused(pathOfSockets, {}, ['chat'])).toMatchObject({
      status: 400,
      body: { message: 'validation error', data: { 'sec-websocket-protocol': {} } },
    })
    expect(await refused('/v2/websockets/elsewhere')).toMatchObject({ status: 404 })
  })

  it('are limited per address: 429', async () => {
    await world.configure('blackhole', { max_connections_per_ip: 1 })
    const first = await connect()
    expect(await refused()).toMatchObject({
      status: 429,
      headers: { 'retry-after': '10' },
      body: { message: 'too_many_requests' },
    })
    const behindProxy = await connect(pathOfSockets, { headers: { 'x-forwarded-for': '198.51.100.7' } })
    expect((await behindProxy.ask('ping', undefined)).status).toBe('success')
    await world.configure('blackhole', { max_connections_per_ip: 200, max_connections: 2 })
    expect(await refused()).toMatchObject({ status: 429 })
    first.socket.close()
    await first.closed()
    await world.configure('blackhole', { max_connections: 5000 })
    expect((await (await connect()).ask('ping', undefined)).status).toBe('success')
  })

  it('charge each command to the bucket of its connection', async () => {
    await world.configure('crossbar', { token_costs: 1 })
    await world.configure('token_buckets', { blackhole: { max_bucket_tokens: 3, tokens_fill_rate: 1 } })
    try {
      const [talk, other] = [await connect(), await connect()]
      const statuses = []
      for (let count = 0; count < 5; count += 1) statuses.push((await talk.ask('ping', undefined)).status)
      expect(statuses).toEqual(['success', 'success', 'success', 'error', 'error'])
      expect(talk.said.at(-1)?.data.errors[0]).toMatch(/^rate limiting threshold hit for /)
      expect((await other.ask('ping', undefined)).status).toBe('success')
      world.clock.advance({ seconds: 1 })
      expect((await talk.ask('ping', undefined)).status).toBe('success')
    } finally {
      await world.configure('crossbar', { token_costs: 0 })
    }
  })

  it('have a limited number of subscriptions', async () => {
    await world.configure('blackhole', { max_subscriptions: 2 })
    const talk = await connect()
    await world.configure('blackhole', { max_subscriptions: 1000 })
    const ask = (...bindings: string[]) => talk.ask('subscribe', world.ada.token, { bindings })
    expect((await ask('call.*.*', 'fax.status.*')).status).toBe('success')
    expect((await ask('call.*.*')).data).toMatchObject({ subscribed: [] })
    expect((await ask('fax.object.*')).data).toEqual({ errors: ['too many subscriptions'] })
  })
})
