// Named API keys: what they may do, from where and until when, and that a change of that is felt at once.
import { describe, expect, it } from 'vitest'
import { startServer } from '../../src/compose.ts'
import type { Json } from '../../src/lib/json.ts'
import { eventually } from '../support/run/eventually.ts'
import { createTestLog } from '../support/run/log.ts'
import { Client, createTransport } from '../support/world/client.ts'
import { describeEngines, type TestAccount, useWorld } from '../support/world/world.ts'

describeEngines('named API keys', (engine) => {
  const world = useWorld(engine)
  const gregorian = () => Math.floor(world.clock.now() / 1000) + 62_167_219_200
  const holding = (token: string) => world.anonymous.with({ 'x-auth-token': token })
  const bearing = (key: string, by = world.anonymous) => by.with({ authorization: `Bearer ${key}` })
  const customer = () => world.account(world.reseller)

  const make = async (account: TestAccount, fields: Json, maker: Client = world.ross) => {
    const made = await maker.put(`${account.path}/api_keys`, { name: 'A key', ...fields })
    expect(made, made.text).toSucceed()
    const { key, id } = made.data as { key: string; id: string }
    return { id, key, path: `${account.path}/api_keys/${id}`, client: bearing(key), made }
  }

  const opened = async (key: string) => {
    const answer = await world.anonymous.put('/v2/api_auth', { api_key: key })
    expect(answer, answer.text).toSucceed()
    return holding(answer.body.auth_token as string)
  }

  it('are created, listed, read, changed and revoked, and show the key itself only once', async () => {
    const account = await customer()
    const expires = gregorian() + 3600
    const fields = { name: 'Provisioning', scopes: ['devices:write', 'cdrs:read'], networks: ['127.0.0.1'] }
    const { made, id, key, path } = await make(account, { ...fields, expires })
    expect(made.data).toEqual({ id, key, ...fields, expires })
    expect(key).toMatch(/^cpk_[0-9a-f]{32}[A-Za-z0-9_-]{28}$/)
    expect(made.headers['cache-control']).toContain('no-store')
    const list = await world.ross.get(`${account.path}/api_keys`)
    expect(list).toSucceedWith([{ id, ...fields, expires }])
    expect(await world.ross.get(path)).toSucceedWith({ id, ...fields, expires })
    const changed = await world.ross.patch(path, { name: 'Other', expires: null, networks: null })
    expect(changed).toSucceedWith({ id, name: 'Other', scopes: fields.scopes })
    expect(await world.ross.delete(path)).toSucceedWith({ id, name: 'Other', scopes: fields.scopes })
    expect(await world.ross.get(`${account.path}/api_keys`)).toSucceedWith([])
    const kept = await world.snapshot()
    const audit = await world.server.store.all('SELECT author, before_doc, after_doc FROM audit_log')
    expect(JSON.stringify([kept, audit])).not.toContain(key)
    expect(JSON.stringify([kept, audit])).not.toContain(key.slice(-28))
  })

  it('are taken by api_auth and as a bearer, within their scope, and in accounts below', async () => {
    const account = await customer()
    const below = await world.account(account)
    const { client, key, id } = await make(account, { scopes: ['devices:read'] })
    const session = await opened(key)
    for (const caller of [client, session]) {
      for (const { path } of [account, below]) expect(await caller.get(`${path}/devices`)).toSucceedWith([])
      expect(await caller.get(`${world.acme.path}/devices`)).toFailWith(403, 'forbidden')
      for (const act of [
        () => caller.put(`${account.path}/devices`, { name: 'Phone' }),
        () => caller.get(`${account.path}/users`),
        () => caller.get(account.path),
      ]) {
        expect(await world.unchanged(act)).toFailWith(403, 'forbidden', {
          message: 'forbidden',
          cause: 'access denied by the scope of the API key',
        })
      }
    }
    expect((await client.get(`${account.path}/devices`)).body.auth_token).toBeUndefined()
    expect((await session.get('/v2/token_auth')).data).toMatchObject({
      account_id: account.id,
      api_key_id: id,
    })
    const other = `${key.slice(0, -1)}${key.endsWith('A') ? 'B' : 'A'}`
    for (const answer of [
      await bearing(other).get(`${account.path}/devices`),
      await holding(key).get(`${account.path}/devices`),
    ])
      expect(answer.status).toBe(401)
    expect((await world.anonymous.put('/v2/api_auth', { api_key: other })).status).toBe(404)
  })

  it('that may write in an area may read there; a GET that acts is a write', async () => {
    const account = await customer()
    const writer = (await make(account, { scopes: ['devices:write'] })).client
    const phone = await writer.put(`${account.path}/devices`, { name: 'Phone' })
    expect(phone).toSucceed()
    const place = `${account.path}/devices/${phone.data.id}`
    expect((await writer.get(place)).data.name).toBe('Phone')
    const reader = (await make(account, { scopes: ['devices:read'] })).client
    const call = await reader.get(`${place}/quickcall/4711`)
    expect(call).toFailWith(403, 'forbidden')
    expect((await writer.get(`${place}/quickcall/4711`)).status).toBe(501)
    world.takeErrors()
  })

  it('end at once when they are revoked, with the sessions they opened, in every process', async () => {
    const account = await customer()
    const { client, key, path } = await make(account, { scopes: ['devices:read'] })
    const session = await opened(key)
    const other = await startServer(world.config, { clock: world.clock, log: createTestLog().log })
    const transport = createTransport(other.port)
    const there = [bearing(key, new Client(transport.send))]
    const where = `${account.path}/devices`
    try {
      for (const caller of [client, session, ...there]) expect(await caller.get(where)).toSucceed()
      await world.ross.patch(path, { scopes: ['users:read'] })
      for (const caller of [client, session]) expect((await caller.get(where)).status).toBe(403)
      await eventually(
        () => Promise.all(there.map((caller) => caller.get(where))),
        (answers) => answers.every(({ status }) => status === 403),
      )
      expect(await session.get(`${account.path}/users`)).toSucceed()
      await world.ross.delete(path)
      for (const caller of [client, session])
        expect((await caller.get(`${account.path}/users`)).status).toBe(401)
      await eventually(
        () => Promise.all(there.map((caller) => caller.get(where))),
        (answers) => answers.every(({ status }) => status === 401),
      )
    } finally {
      transport.close()
      await other.stop()
    }
  })

  it('end at their time without anything being written, and so do their sessions', async () => {
    const account = await customer()
    const { client, key, path } = await make(account, { scopes: ['*'], expires: gregorian() + 600 })
    const session = await opened(key)
    const { exp } = JSON.parse(
      Buffer.from(
        String((await session.get(account.path)).body.auth_token).split('.')[1] as string,
        'base64url',
      ).toString(),
    )
    expect(exp).toBe(gregorian() + 600 - 62_167_219_200)
    await world.ross.patch(path, { expires: gregorian() + 60 })
    for (const caller of [client, session]) expect(await caller.get(account.path)).toSucceed()
    world.clock.advance({ seconds: 61 })
    for (const caller of [client, session]) expect((await caller.get(account.path)).status).toBe(401)
    expect((await world.anonymous.put('/v2/api_auth', { api_key: key })).status).toBe(401)
    expect(await world.unchanged(() => world.ross.patch(path, { expires: gregorian() }))).toBreak({
      expires: ['minimum'],
    })
    expect(await world.ross.patch(path, { name: 'It has ended' })).toSucceed()
  })

  it('are good from their networks alone, and so are their sessions', async () => {
    const account = await customer()
    const { client, key, path } = await make(account, { scopes: ['*'], networks: ['127.0.0.0/8', '::1'] })
    const session = await opened(key)
    for (const caller of [client, session]) expect(await caller.get(account.path)).toSucceed()
    await world.ross.patch(path, { networks: ['192.0.2.0/24'] })
    for (const caller of [client, session]) expect((await caller.get(account.path)).status).toBe(401)
    expect((await world.anonymous.put('/v2/api_auth', { api_key: key })).status).toBe(401)
    expect(await world.unchanged(() => world.ross.patch(path, { networks: ['192.0.2.0/33'] }))).toBreak({
      'networks.0': ['wrong_format'],
    })
  })

  it('are made by admins alone, and by keys that give no more than they have', async () => {
    const account = await customer()
    const user = await world.user(account)
    const where = `${account.path}/api_keys`
    const act = { name: 'More', scopes: ['devices:read'] }
    for (const ask of [() => user.put(where, act), () => user.get(where)])
      expect(await world.unchanged(ask)).toFailWith(403, 'forbidden')
    const expires = gregorian() + 600
    const limits = { expires, networks: ['127.0.0.0/8'] }
    const scopes = ['api_keys:write', 'devices:write']
    const { client } = await make(account, { scopes, ...limits })
    const broader: [Json, string][] = [
      [{ scopes: ['users:read'] }, 'scopes'],
      [{ scopes: ['*'] }, 'scopes'],
      [{ expires: expires + 1 }, 'expires'],
      [{ expires: undefined }, 'expires'],
      [{ networks: ['127.0.0.0/7'] }, 'networks'],
      [{ networks: undefined }, 'networks'],
    ]
    for (const [more, field] of broader) {
      const data = { ...act, ...limits, ...more }
      expect(await world.unchanged(() => client.put(where, data)), field).toBreak({ [field]: ['forbidden'] })
    }
    const made = await make(account, { ...act, ...limits, networks: ['127.0.0.1'] }, client)
    expect(await client.patch(made.path, { name: 'Mine' })).toSucceed()
    expect(await client.delete(made.path)).toSucceed()
    const wide = await make(account, { scopes: ['*'] })
    for (const ask of [() => client.patch(wide.path, { name: 'Mine' }), () => client.delete(wide.path)])
      expect((await world.unchanged(ask)).status).toBe(400)
    expect((await world.acmeKey.get(`${world.acme.path}/api_keys`)).status).toBe(200)
  })

  it('with limits cannot read the API key of the account or impersonate another user', async () => {
    const account = await customer()
    const user = await world.user(account)
    const limited = await make(account, { scopes: ['*'], networks: ['127.0.0.1'] })
    const session = await opened(limited.key)
    const areas = ['accounts', 'users', 'auth', 'user_auth', 'api_key'].map((area) => `${area}:write`)
    const scoped = await make(account, { scopes: areas })
    for (const { client } of [limited, scoped]) {
      expect((await client.get(`${account.path}/api_key`)).status).toBe(403)
      expect((await client.put(`${account.path}/api_key`, {})).status).toBe(403)
      const shown = await client.get(account.path, { query: { include_api_key: 'true' } })
      expect(shown.text).not.toContain('"api_key"')
    }
    expect((await session.put('/v2/auth', {}, { envelope: { action: 'refresh_token' } })).status).toBe(403)
    const master = await make(world.master, { scopes: ['*'] }, world.operator)
    const impersonate = { envelope: { action: 'impersonate_user' } }
    expect((await master.client.put(`${user.path}/user_auth`, {}, impersonate)).status).toBe(403)
    const unlimited = await make(account, { scopes: ['*'] })
    expect(await unlimited.client.get(`${account.path}/api_key`)).toSucceed()
    expect((await unlimited.client.put(`${account.path}/api_key`, {})).status).toBe(403)
    expect(await session.delete('/v2/token_auth')).toSucceed()
    expect((await session.get(account.path)).status).toBe(401)
  })

  it('with limits make no admins and change none, in the account of the operator neither', async () => {
    for (const account of [await customer(), world.master]) {
      const { client } = await make(account, { scopes: ['users:write'] }, world.operator)
      const admin = await world.admin(account)
      const name = { first_name: 'No', last_name: 'Admin' }
      const made = () => client.put(`${account.path}/users`, { ...name, priv_level: 'admin' })
      expect(await world.refused(made)).toBreak({ priv_level: ['forbidden'] })
      for (const ask of [
        () => client.patch(admin.path, { email: 'mine@example.test' }),
        () => client.post(admin.path, { ...name, priv_level: 'user' }),
      ])
        expect(await world.refused(ask)).toBreak({
          priv_level: ['forbidden'],
          scope_restrictions: ['forbidden'],
        })
      expect(await client.put(`${account.path}/users`, name)).toSucceed()
    }
  })

  it('with limits cannot grant more than they have, by creating a user or by taking over one', async () => {
    const account = await customer()
    const { client } = await make(account, { scopes: ['users:write'] })
    const user = await world.user(account)
    const users = `${account.path}/users`
    const name = { first_name: 'New', last_name: 'User' }
    const signIn = { ...name, username: 'new.user', password: 'first-secret' }
    for (const ask of [
      () => client.put(users, signIn),
      () => client.put(users, { ...name, email: 'new@acme.test' }),
      () => client.put(users, { ...signIn, scope_restrictions: ['users:write', 'devices:read'] }),
      () => client.put(users, { ...signIn, scope_restrictions: [] }),
      () => client.patch(user.path, { password: 'other-secret' }),
      () => client.patch(user.path, { credentials: '0'.repeat(32) }),
      () => client.patch(user.path, { email: 'mine@acme.test' }),
      () => client.patch(user.path, { username: 'mine', password: 'other-secret' }),
      () => client.patch(user.path, { require_password_update: true }),
    ])
      expect(await world.refused(ask)).toBreak({ scope_restrictions: ['forbidden'] })
    expect(await client.put(users, name)).toSucceed()
    expect(await client.put(users, { ...signIn, scope_restrictions: ['users:read'] })).toSucceed()
    expect(await client.patch(user.path, { timezone: 'Europe/Berlin' })).toSucceed()
  })

  describe('when the one key of the account is replaced', () => {
    const replaced = async (data: Json = {}) => {
      const account = await customer()
      const admin = await world.again(await world.admin(account))
      const holder = await world.keyHolder(account)
      const put = await admin.put(`${account.path}/api_key`, data)
      expect(put).toSucceed()
      return { account, admin, holder, key: String(put.data.api_key) }
    }
    const renew = { envelope: { action: 'refresh_token' } }

    it('sessions of the old key continue, but cannot read keys or renew', async () => {
      const { account, holder, key } = await replaced()
      expect(await holder.get(account.path)).toSucceed()
      const asks = [
        () => holder.get(`${account.path}/api_key`),
        () => holder.put('/v2/auth', {}, renew),
        () => holder.put(`${account.path}/api_keys`, { name: 'Mine', scopes: ['users:read'] }),
      ]
      for (const ask of asks) {
        const answer = await world.refused(ask)
        expect(answer).toFailWith(403, 'forbidden', {
          message: 'forbidden',
          cause: 'the API key that opened this session was replaced',
        })
      }
      const shown = await holder.get(account.path, { query: { include_api_key: 'true' } })
      expect(shown).toSucceed()
      expect(shown.text).not.toContain(key)
    })

    it('sessions of the old key cannot live on as a user', async () => {
      const { account, admin, holder } = await replaced()
      const users = `${account.path}/users`
      const user = await world.user(account)
      const name = { first_name: 'New', last_name: 'User' }
      const signIn = { username: 'new.user', password: 'first-secret' }
      for (const ask of [
        () => holder.put(users, { ...name, ...signIn }),
        () => holder.put(users, { ...name, ...signIn, scope_restrictions: ['users:read'] }),
        () => holder.put(users, { ...name, email: 'new@acme.test' }),
        () => holder.patch(user.path, { password: 'other-secret' }),
        () => holder.patch(user.path, { credentials: '0'.repeat(32) }),
        () => holder.patch(user.path, { username: 'mine', password: 'other-secret' }),
        () => holder.patch(user.path, { email: 'mine@acme.test' }),
      ])
        expect(await world.refused(ask)).toBreak({ scope_restrictions: ['forbidden'] })
      for (const ask of [
        () => holder.put(users, { ...name, priv_level: 'admin' }),
        () => holder.patch(user.path, { priv_level: 'admin' }),
        () => holder.patch(admin.path, { timezone: 'Europe/Berlin' }),
        () => holder.delete(admin.path),
      ])
        expect(await world.refused(ask)).toBreak({ priv_level: ['forbidden'] })
      expect(await holder.put(users, name)).toSucceed()
      expect(await holder.patch(user.path, { timezone: 'Europe/Berlin' })).toSucceed()
    })

    it('sessions of the new key can read keys and renew', async () => {
      const { account, key } = await replaced()
      const holder = await world.keyHolder(account)
      expect((await holder.get(`${account.path}/api_key`)).data).toEqual({ api_key: key })
      expect(await holder.put('/v2/auth', {}, renew)).toSucceed()
    })

    it('end_sessions ends the sessions of the old key and no others', async () => {
      const { account, admin, holder, key } = await replaced({ end_sessions: true })
      expect((await holder.get(account.path)).status).toBe(401)
      expect(await admin.get(account.path)).toSucceed()
      const current = await world.keyHolder(account)
      expect((await current.get(`${account.path}/api_key`)).data).toEqual({ api_key: key })
      expect(await admin.put(`${account.path}/api_key`, {})).toSucceed()
      expect(await current.get(account.path)).toSucceed()
      expect((await holder.get(account.path)).status).toBe(401)
    })
  })

  it('remember when they were used, and do not write at every request', async () => {
    const account = await customer()
    const { client, path, id } = await make(account, { scopes: ['devices:read'] })
    const begun = gregorian()
    const lastUsed = async () => (await world.ross.get(path)).data.last_used
    await client.get(`${account.path}/devices`)
    expect(await eventually(lastUsed, (at) => at !== undefined)).toBe(begun)
    expect((await world.ross.get(`${account.path}/api_keys`)).data[0]).toMatchObject({ last_used: begun })
    world.clock.advance({ seconds: 290 })
    await client.get(`${account.path}/devices`)
    expect(await lastUsed()).toBe(begun)
    world.clock.advance({ seconds: 11 })
    await client.get(`${account.path}/devices`)
    expect(await eventually(lastUsed, (at) => at !== begun)).toBe(begun + 301)
    await world.configure('api_keys', { last_used_every_s: 10 })
    world.clock.advance({ seconds: 301 })
    await client.get(`${account.path}/devices`)
    await eventually(lastUsed, (at) => at === begun + 602)
    world.clock.advance({ seconds: 11 })
    await client.get(`${account.path}/devices`)
    await eventually(lastUsed, (at) => at === begun + 613)
    await world.ross.delete(path)
    expect(await world.server.store.all('SELECT key_id FROM api_key_uses WHERE key_id = $1', [id])).toEqual(
      [],
    )
  })

  it('end with their account, and stand behind what they did', async () => {
    const account = await customer()
    const { client, id } = await make(account, { scopes: ['devices:write'] })
    const phone = await client.put(`${account.path}/devices`, { name: 'Phone' })
    const [entry] = await world.server.store.all(
      'SELECT author FROM audit_log WHERE account_id = $1 AND record_id = $2',
      [account.id, phone.data.id],
    )
    expect(JSON.parse(String(entry?.author))).toMatchObject({ authAccountId: account.id, authKeyId: id })
    expect(await world.ross.delete(account.path)).toSucceed()
    expect((await client.get(`${account.path}/devices`)).status).toBe(401)
    for (const [table, column] of [
      ['api_key_uses', 'account_id'],
      ['claims', 'holder_account_id'],
    ])
      expect(
        await world.server.store.all(`SELECT 1 FROM ${table} WHERE ${column} = $1`, [account.id]),
      ).toEqual([])
  })

  it('go the way of the account’s own key: a module that is switched off takes none of them', async () => {
    const account = await customer()
    const { client, key } = await make(account, { scopes: ['*'] })
    expect(await client.get(account.path)).toSucceed()
    await world.ross.post(`${account.path}/security`, { auth_modules: { cb_api_auth: { enabled: false } } })
    expect((await client.get(account.path)).status).toBe(401)
    expect((await world.anonymous.put('/v2/api_auth', { api_key: key })).status).toBe(401)
  })
})
